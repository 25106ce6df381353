"""What an audit works on: the events of a file, the grid for heavy attacks, the cut, what is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.audit import phrases, words
from tracearena.audit.cells import Cells, coarse_places, events_of, moved_release
from tracearena.audit.cutting import Cut, cut_in_two
from tracearena.audit.settings import Choice, Settings
from tracearena.errors import DataError
from tracearena.intake.alignment import aligned
from tracearena.intake.local_time import LocalTime, asked_for, guessed
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import positions
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH, local_seconds_time

AnyTraces = Traces | GpsTraces | ObfuscatedTraces


@dataclass(frozen=True, eq=False)
class Published:
    """What an attacker sees, before it is cut and pseudonyms are drawn.

    Attributes
    ----------
    exact, coarse
        The events at their places, and at the cells for heavy attacks.
    points
        The GPS points that the events were made of, if there are any.
    at
        Where each user of the original stands in the release; -1 for one who is not released.
    """

    exact: ObfuscatedTraces
    coarse: ObfuscatedTraces
    points: GpsTraces | None
    at: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Material:
    """A file, ready to be attacked.

    Attributes
    ----------
    kind
        A key of `words.KINDS`.
    exact, coarse
        Events at the file's places (GPS points: at cells), and at the cells for the
        attacks that weigh all evidence; the same where places are few.
    points, zone
        The GPS points, and the time zone of their hours.
    cut
        Where time is cut.
    choices
        What was chosen for this file, and why.
    cell
        The cell for heavy attacks of each of the file's places; None where they are the same.
    cells
        The cells that were made of the file, for GPS points or for heavy attacks.
    """

    kind: str
    exact: Traces
    coarse: Traces
    points: GpsTraces | None
    zone: str | None
    cut: Cut
    choices: tuple[Choice, ...]
    cell: NDArray[np.int32] | None
    cells: Cells | None

    @classmethod
    def of(
        cls, traces: Traces | GpsTraces, settings: Settings, timezone: str | LocalTime | None = None
    ) -> Material:
        """Prepare traces; GPS points become events at cells."""
        if not len(traces):
            raise DataError("there is nothing to audit: the traces have no rows")
        choices: list[Choice] = []
        points, zone, cells = None, None, None
        if isinstance(traces, GpsTraces):
            points = traces
            cells = Cells.of(traces.latitude, traces.longitude, settings.cell_m, settings.most_places)
            exact, zone = _events(traces, cells, settings, timezone, choices)
            kind = "gps"
        else:
            exact = traces
            kind = "regular" if traces.is_regular and _is_dense(traces) else "check-ins"
        coarse, cell = exact, None
        if len(exact.places) > settings.most_places:
            everywhere = exact.places.latitude[exact.place_index], exact.places.longitude[exact.place_index]
            cells = Cells.of(*everywhere, settings.cell_m, settings.most_places)
            places, cell = coarse_places(exact.places, cells)
            coarse = exact.onto(places, cell)
            choices.append(phrases.coarse_choice(len(exact.places), cells))
        cut = cut_in_two(exact)
        choices.append(phrases.cut_choice(cut, exact))
        choices.append(phrases.people_choice(int(cut.both.sum()), settings))
        return cls(kind, exact, coarse, points, zone, cut, tuple(choices), cell, cells)

    def as_it_is(self) -> Published:
        """Return the file released unchanged."""
        exact = ObfuscatedTraces.unchanged(self.exact)
        coarse = exact if self.cell is None else ObfuscatedTraces.unchanged(self.coarse)
        return Published(exact, coarse, self.points, np.arange(self.exact.n_users))

    def release(self, released: AnyTraces, id_table: IdTable | None = None) -> tuple[Material, Published]:
        """Put what is released on the ground of the original; both may get further places."""
        released = _with_true_ids(released, id_table)
        if isinstance(released, GpsTraces):
            made = self.on_cells(released)
            return self, self._published(ObfuscatedTraces.unchanged(made), released)
        if self.points is not None:
            raise DataError("the release has events at places and the original GPS points")
        if isinstance(released, Traces):
            released = ObfuscatedTraces.unchanged(released)
        exact, released = aligned(self.exact, released)
        mine = self if exact is self.exact else self._on(exact)
        return mine, mine._published(released, None)

    def on_coarse_ground(self) -> Material:
        """Return the same with the cells for heavy attacks in the place of the file's places."""
        return replace(self, exact=self.coarse, cell=None)

    def part_of(self, people: NDArray[np.int64]) -> Material:
        """Return the material of some of the people, on the ground of all: the same grid, cut and clock."""
        exact = self.exact.take_users(people)
        coarse = exact if self.coarse is self.exact else self.coarse.take_users(people)
        cut = self.cut._replace(instant=self.cut.instant[people], both=self.cut.both[people])
        points = None if self.points is None else self.points.take_users(people)
        return replace(self, exact=exact, coarse=coarse, points=points, cut=cut)

    def coarsened(self, traces: Traces) -> Traces:
        """Return events at the file's places at the cells for heavy attacks, if there are any."""
        return traces if self.cell is None else traces.onto(self.coarse.places, self.cell)

    def on_cells(self, points: GpsTraces) -> Traces:
        """Return GPS points as events at the cells that the file's points are in."""
        if self.points is None or self.cells is None:
            raise DataError("the release has GPS points and the original events at places")
        return events_of(points, self.cells, self.exact.places, self.exact.clock, self.zone or "UTC")

    def _on(self, exact: Traces) -> Material:
        """Return the same with events at more places."""
        coarse, cell = exact, None
        if self.cell is not None and self.cells is not None:
            places, cell = coarse_places(exact.places, self.cells)
            coarse = exact.onto(places, cell)
        shift = exact.span[0] - self.exact.span[0]
        cut = self.cut._replace(instant=self.cut.instant + shift)
        return replace(self, exact=exact, coarse=coarse, cell=cell, cut=cut)

    def _published(self, released: ObfuscatedTraces, points: GpsTraces | None) -> Published:
        at = positions(self.exact.user_ids, released.user_ids)
        if at.max(initial=-1) < 0:
            raise DataError(words.NOBODY_KNOWN)
        coarse = released
        if self.cell is not None:
            coarse = moved_release(released, self.coarse.places, self.cell)
        return Published(released, coarse, points, at)


def _is_dense(traces: Traces) -> bool:
    return traces.n_events >= 0.5 * traces.n_users * traces.n_instants


def _events(
    points: GpsTraces,
    cells: Cells,
    settings: Settings,
    timezone: str | LocalTime | None,
    choices: list[Choice],
) -> tuple[Traces, str]:
    local = asked_for(timezone) if isinstance(timezone, str) else timezone
    local = guessed(points.latitude, points.longitude) if local is None else local
    zone = local.zone or "UTC"
    interval = round(settings.interval_min * 60)
    first = int(local_seconds_time(points.time_ms[[points.time_ms.argmin()]], zone)[0]) // DAY_S
    day = EPOCH + timedelta(days=first)
    clock = Clock(instants_per_day=DAY_S // interval, interval_s=interval, first_day=day)
    choices.append(Choice("local time", zone, str(local)))
    choices.append(phrases.cells_choice(cells, settings))
    choices.append(phrases.interval_choice(settings))
    return events_of(points, cells, cells.places(), clock, zone), zone


def _with_true_ids(released: Any, id_table: IdTable | None) -> Any:
    if id_table is None:
        return released
    at = positions(released.user_ids, id_table.pseudonyms)
    if (at < 0).any():
        raise DataError("the id table does not name every released user")
    return released.with_user_ids(id_table.user_ids[at])
