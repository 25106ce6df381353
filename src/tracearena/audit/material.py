"""What an audit works on: the events of a file, the grid for heavy attacks, the cut, what is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.audit import phrases, words
from tracearena.audit.cutting import Cut, cut_in_two
from tracearena.audit.places import (
    cell_side_m,
    clipped,
    coarse_places,
    grid_over,
    moved_release,
    moved_traces,
)
from tracearena.audit.settings import Choice, Settings
from tracearena.errors import DataError
from tracearena.intake.alignment import aligned
from tracearena.intake.local_time import asked_for, guessed
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.gridding import resampled
from tracearena.traces.ids import positions

AnyTraces = Traces | GpsTraces | ObfuscatedTraces


@dataclass(frozen=True, eq=False)
class Published:
    """What an attacker sees, before it is cut and pseudonyms are drawn.

    Attributes
    ----------
    exact, coarse
        The events at their places, and on the grid for heavy attacks.
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
        Events at the file's places (GPS points: at the cells of a grid), and on the grid for the
        attacks that weigh all evidence; the same where places are few.
    points, zone
        The GPS points, and the time zone of their hours.
    cut
        Where time is cut.
    choices
        What was chosen for this file, and why.
    """

    kind: str
    exact: Traces
    coarse: Traces
    points: GpsTraces | None
    zone: str | None
    cut: Cut
    choices: tuple[Choice, ...]
    cell: NDArray[np.int32] | None

    @classmethod
    def of(cls, traces: Traces | GpsTraces, settings: Settings, timezone: str | None = None) -> Material:
        """Prepare traces; GPS points become events on a grid."""
        if not len(traces):
            raise DataError("there is nothing to audit: the traces have no rows")
        choices: list[Choice] = []
        points, zone = None, None
        if isinstance(traces, GpsTraces):
            points = traces
            exact, zone = _events_of(traces, settings, timezone, choices)
            kind = "gps"
        else:
            exact = traces
            kind = "regular" if traces.is_regular and _is_dense(traces) else "check-ins"
        coarse, cell = exact, None
        if len(exact.places) > settings.most_places:
            grid = grid_over(
                exact.places.latitude, exact.places.longitude, settings.cell_m, settings.most_places
            )
            places, cell = coarse_places(exact.places, grid)
            coarse = moved_traces(exact, places, cell)
            choices.append(phrases.coarse_choice(len(exact.places), grid, cell_side_m(grid)))
        cut = cut_in_two(exact)
        choices.append(phrases.cut_choice(cut, exact))
        choices.append(phrases.people_choice(int(cut.both.sum()), settings))
        return cls(kind, exact, coarse, points, zone, cut, tuple(choices), cell)

    def as_it_is(self) -> Published:
        """Return the file released unchanged."""
        exact = ObfuscatedTraces.unchanged(self.exact)
        coarse = exact if self.cell is None else ObfuscatedTraces.unchanged(self.coarse)
        return Published(exact, coarse, self.points, np.arange(self.exact.n_users))

    def release(self, released: AnyTraces, id_table: IdTable | None = None) -> tuple[Material, Published]:
        """Put what is released on the ground of the original; both may get further places."""
        released = _with_true_ids(released, id_table)
        if isinstance(released, GpsTraces):
            made = self.on_grid(released)
            return self, self._published(ObfuscatedTraces.unchanged(made), released)
        if self.points is not None:
            raise DataError("the release has events at places and the original GPS points")
        if isinstance(released, Traces):
            released = ObfuscatedTraces.unchanged(released)
        exact, released = aligned(self.exact, released)
        mine = self if exact is self.exact else self._on(exact)
        return mine, mine._published(released, None)

    def on_coarse_ground(self) -> Material:
        """Return the same with the grid for heavy attacks in the place of the file's places."""
        return replace(self, exact=self.coarse, cell=None)

    def coarsened(self, traces: Traces) -> Traces:
        """Return events at the file's places on the grid for heavy attacks, if there is one."""
        return traces if self.cell is None else moved_traces(traces, self.coarse.places, self.cell)

    def on_grid(self, points: GpsTraces) -> Traces:
        """Return GPS points as events on the grid that the file's points are on."""
        grid = self.exact.places.grid
        if self.points is None or grid is None:
            raise DataError("the release has GPS points and the original events at places")
        return _resampled(clipped(points, grid), self.exact.places, self.exact.clock, self.zone or "UTC")

    def _on(self, exact: Traces) -> Material:
        """Return the same with events at more places."""
        coarse, cell = exact, None
        if self.cell is not None:
            grid = self.coarse.places.grid
            assert grid is not None
            places, cell = coarse_places(exact.places, grid)
            coarse = moved_traces(exact, places, cell)
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


def _events_of(
    points: GpsTraces, settings: Settings, timezone: str | None, choices: list[Choice]
) -> tuple[Traces, str]:
    local = guessed(points.latitude, points.longitude) if timezone is None else asked_for(timezone)
    zone = local.zone or "UTC"
    grid = grid_over(points.latitude, points.longitude, settings.cell_m, settings.most_places)
    interval = round(settings.interval_min * 60)
    clock = Clock(instants_per_day=DAY_S // interval, interval_s=interval)
    choices.append(Choice("local time", zone, str(local)))
    choices.append(phrases.grid_choice(grid, cell_side_m(grid), settings))
    choices.append(phrases.interval_choice(settings))
    events = _resampled(clipped(points, grid), Places.of_grid(grid), clock, zone)
    if not len(events):
        raise DataError("no point lies near an instant; choose a longer interval")
    return events, zone


def _resampled(points: GpsTraces, places: Places, clock: Clock, zone: str) -> Traces:
    made = resampled(points, places, clock, method="nearest", timezone=zone)
    return made.without_timestamps()


def _with_true_ids(released: Any, id_table: IdTable | None) -> Any:
    if id_table is None:
        return released
    at = positions(released.user_ids, id_table.pseudonyms)
    if (at < 0).any():
        raise DataError("the id table does not name every released user")
    return released.with_user_ids(id_table.user_ids[at])
