"""The data of an audit: events, the grid for heavy attacks, the cut in time, and the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.linking.observations import find_best_cut
from tracearena.audit import texts
from tracearena.audit.settings import AuditChoice, Settings
from tracearena.errors import DataError
from tracearena.io.alignment import align_tables
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces._arrays import find_positions, mark_run_starts, unique_values
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import (
    MIDDLE_DEGREE_M,
    cell_keys,
    earth_centred,
    metres_per_degree,
    rows_of_keys,
)
from tracearena.traces.time import EPOCH, LocalTime, build_chosen_local_time, guess_local_time, local_seconds

AnyTraces = Traces | GpsTraces | ObfuscatedTraces


@dataclass(frozen=True, eq=False)
class AuditInput:
    """What is audited, and what is known about it.

    Attributes
    ----------
    traces, released
        Traces, GPS traces, a data frame or a file; the release may also be obfuscated traces.
    timezone
        Zone of the hours of GPS points; guessed from the coordinates if omitted.
    id_table
        Pseudonym → user, if the release has other ids than the original.
    mechanism
        The defence that made the release, or its name; adds attackers who know it.
    synthetic
        Whether the release is synthetic: nobody in it is a person of the original.
    others
        Traces of people who were not used for a synthetic release, to test membership.
    attacks
        Names of further attacks, such as ``my_module:MyLinker``.
    orders
        Users of the original and pseudonyms of the release in the order of their first rows, if the files
        have rows.
    columns
        Columns of the original and of the release that are neither time nor place (`read_column_values`).
    source, release_source
        The files that the traces were read from, for their names and digests.
    """

    traces: Any
    released: Any = None
    timezone: str | LocalTime | None = None
    id_table: IdTable | None = None
    mechanism: Any = None
    synthetic: bool = False
    others: Any = None
    attacks: Sequence[str] = ()
    orders: tuple[Any, Any] = (None, None)
    columns: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    source: Any = None
    release_source: Any = None


@dataclass(frozen=True, eq=False)
class AuditRelease:
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
class AuditData:
    """A file, ready to be attacked.

    Attributes
    ----------
    kind
        A key of `texts.KINDS`.
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
    choices: tuple[AuditChoice, ...]
    cell: NDArray[np.int32] | None
    cells: GridCells | None

    @classmethod
    def of(
        cls, traces: Traces | GpsTraces, settings: Settings, timezone: str | LocalTime | None = None
    ) -> AuditData:
        """Prepare traces; GPS points become events at cells."""
        if not len(traces):
            raise DataError("there is nothing to audit: the traces have no rows")
        choices: list[AuditChoice] = []
        points, zone, cells = None, None, None
        if isinstance(traces, GpsTraces):
            points = traces
            cells = GridCells.of(traces.latitude, traces.longitude, settings.cell_m, settings.most_places)
            local = build_chosen_local_time(timezone) if isinstance(timezone, str) else timezone
            local = guess_local_time(traces.latitude, traces.longitude) if local is None else local
            zone = local.zone or "UTC"
            interval = round(settings.interval_min * 60)
            first = int(local_seconds(traces.time_ms[[traces.time_ms.argmin()]], zone)[0]) // DAY_S
            day = EPOCH + timedelta(days=first)
            clock = Clock(instants_per_day=DAY_S // interval, interval_s=interval, first_day=day)
            choices.append(AuditChoice("local time", zone, str(local)))
            choices.append(texts.build_cells_choice(cells, settings))
            choices.append(texts.build_interval_choice(settings))
            exact = points_to_events(traces, cells, cells.places(), clock, zone)
            kind = "gps"
        else:
            exact = traces
            is_dense = traces.n_events >= 0.5 * traces.n_users * traces.n_instants
            kind = "regular" if traces.is_regular and is_dense else "check-ins"
        coarse, cell = exact, None
        if len(exact.places) > settings.most_places:
            everywhere = exact.places.latitude[exact.place_index], exact.places.longitude[exact.place_index]
            cells = GridCells.of(*everywhere, settings.cell_m, settings.most_places)
            places, cell = build_coarse_places(exact.places, cells)
            coarse = exact.onto(places, cell)
            choices.append(texts.build_coarse_choice(len(exact.places), cells))
        cut = choose_cut(exact)
        choices.append(texts.build_cut_choice(cut, exact))
        choices.append(texts.build_people_choice(int(cut.both.sum()), settings))
        return cls(kind, exact, coarse, points, zone, cut, tuple(choices), cell, cells)

    def release_unchanged(self) -> AuditRelease:
        """Return the file released unchanged."""
        exact = ObfuscatedTraces.from_traces(self.exact)
        coarse = exact if self.cell is None else ObfuscatedTraces.from_traces(self.coarse)
        return AuditRelease(exact, coarse, self.points, np.arange(self.exact.n_users))

    def release(self, released: AnyTraces, id_table: IdTable | None = None) -> tuple[AuditData, AuditRelease]:
        """Put what is released on the ground of the original; both may get further places."""
        if id_table is not None:
            at = find_positions(released.user_ids, id_table.pseudonyms)
            if (at < 0).any():
                raise DataError("the id table does not name every released user")
            released = released.with_user_ids(id_table.user_ids[at])
        if isinstance(released, GpsTraces):
            made = self.on_cells(released)
            return self, self._build_release(ObfuscatedTraces.from_traces(made), released)
        if self.points is not None:
            raise DataError(
                "the release has events at places, but the original has GPS points: both must be of one kind"
            )
        if isinstance(released, Traces):
            released = ObfuscatedTraces.from_traces(released)
        exact, released = align_tables(self.exact, released)
        if exact is self.exact:
            return self, self._build_release(released, None)
        coarse, cell = exact, None
        if self.cell is not None and self.cells is not None:
            places, cell = build_coarse_places(exact.places, self.cells)
            coarse = exact.onto(places, cell)
        shift = exact.span[0] - self.exact.span[0]
        cut = self.cut._replace(instant=self.cut.instant + shift)
        mine = replace(self, exact=exact, coarse=coarse, cell=cell, cut=cut)
        return mine, mine._build_release(released, None)

    def with_coarse_places(self) -> AuditData:
        """Return the same with the cells for heavy attacks instead of the file's places."""
        return replace(self, exact=self.coarse, cell=None)

    def take_people(self, people: NDArray[np.int64]) -> AuditData:
        """Return the material of some of the people, on the ground of all: the same grid, cut and clock."""
        exact = self.exact.take_users(people)
        coarse = exact if self.coarse is self.exact else self.coarse.take_users(people)
        cut = self.cut._replace(instant=self.cut.instant[people], both=self.cut.both[people])
        points = None if self.points is None else self.points.take_users(people)
        return replace(self, exact=exact, coarse=coarse, points=points, cut=cut)

    def to_coarse_places(self, traces: Traces) -> Traces:
        """Return events at the file's places at the cells for heavy attacks, if there are any."""
        return traces if self.cell is None else traces.onto(self.coarse.places, self.cell)

    def on_cells(self, points: GpsTraces) -> Traces:
        """Return GPS points as events at the cells that the file's points are in."""
        if self.points is None or self.cells is None:
            raise DataError(
                "the release has GPS points, but the original has events at places: both must be of one kind"
            )
        return points_to_events(points, self.cells, self.exact.places, self.exact.clock, self.zone or "UTC")

    def _build_release(self, released: ObfuscatedTraces, points: GpsTraces | None) -> AuditRelease:
        at = find_positions(self.exact.user_ids, released.user_ids)
        if at.max(initial=-1) < 0:
            raise DataError(texts.NOBODY_KNOWN)
        cell, places = self.cell, self.coarse.places
        coarse = released if cell is None else remap_release(released, places, cell)
        return AuditRelease(released, coarse, points, at)


# The cut in time: what an attacker knows of people, and what is released of them.

_ENOUGH = 0.8
"""Share of the people with two days that a common date must leave on both sides, …"""
_MANY = 200
"""… or this number of people: an attacker who knows the past knows everybody's up to one date."""

AnyEvents = TypeVar("AnyEvents", Traces, ObfuscatedTraces)


class Cut(NamedTuple):
    """From which instant on each person's events are the later ones.

    Attributes
    ----------
    instant
        First later instant of each person.
    both
        Who has events on both sides.
    is_common
        Whether all have the same date; otherwise everybody's own days are halved.
    by_days
        Whether days stay whole; a file of one day is cut within it.
    label
        The common date in words; empty if there is none.
    """

    instant: NDArray[np.int64]
    both: NDArray[np.bool_]
    is_common: bool
    by_days: bool
    label: str = ""

    def earlier(self, traces: AnyEvents, people: NDArray[np.int64] | None = None) -> AnyEvents:
        """Return the events before the cut, of all people or of those who the traces are of."""
        return traces.keep(traces.instants < self._of(people)[traces.user_index])

    def later(self, traces: AnyEvents, people: NDArray[np.int64] | None = None) -> AnyEvents:
        """Return the events from the cut on, of all people or of those who the traces are of."""
        return traces.keep(traces.instants >= self._of(people)[traces.user_index])

    def _of(self, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return self.instant if people is None else self.instant[people]


def choose_cut(traces: Traces) -> Cut:
    """Choose where to cut: at one date if most people are seen on both sides of it, else each at her own.

    >>> from tracearena.cities import simulate
    >>> choose_cut(simulate(users=5, days=4, seed=1)).is_common
    True
    """
    by_days = len(unique_values(traces.clock.day_of(traces.instants))) > 1
    length = traces.clock.instants_per_day if by_days else 1
    unit = traces.instants.astype(np.int64) // length
    fresh = mark_run_starts(traces.user_index, unit)
    users, units = traces.user_index[fresh].astype(np.int64), unit[fresh]
    offsets = np.searchsorted(users, np.arange(traces.n_users + 1))
    several = np.diff(offsets) > 1
    first, last = np.zeros((2, traces.n_users), np.int64)
    if len(units):
        first = units[np.minimum(offsets[:-1], len(units) - 1)]
        last = units[np.maximum(offsets[1:] - 1, 0)]
    # The unit that leaves the most people on both sides; of equals the nearest to the middle.
    common = int(units.min(initial=0))
    if several.any():
        common = find_best_cut(first[several], last[several], float(np.median(units)))
    divided = several & (first < common) & (common <= last)
    if divided.sum() >= min(_ENOUGH * several.sum(), _MANY):
        label, day = "", traces.clock.first_day
        if by_days:
            label = (
                f"the beginning of day {common + 1}" if day is None else f"{day + timedelta(common):%Y-%m-%d}"
            )
        return Cut(np.full(traces.n_users, common * length), divided, True, by_days, label)
    middle = np.minimum(offsets[:-1] + (np.diff(offsets) + 1) // 2, max(len(units) - 1, 0))
    return Cut(units[middle] * length, several, False, by_days)


# Cells of a world-wide grid, of which the most visited are places.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GridCells:
    """Some cells of a world-wide grid.

    Attributes
    ----------
    side_m
        Side of a cell.
    keys
        The cells, ascending.
    dropped
        Cells with points that are not among them; what lies there goes to the nearest that is.
    """

    side_m: float
    keys: Ints
    dropped: int

    @classmethod
    def of(cls, latitude: Floats, longitude: Floats, side_m: float, most: int) -> GridCells:
        """Return the cells of the points, the most visited if there are more than `most`.

        >>> cells = GridCells.of(np.array([0.001, 0.002, 5.0]), np.array([0.001, 0.001, 5.0]), 500.0, 10)
        >>> len(cells.keys), cells.index(np.array([0.0015, 6.0]), np.array([0.0, 5.0])).tolist()
        (2, [0, 1])
        """
        keys, counts = np.unique(cell_keys(latitude, longitude, side_m), return_counts=True)
        kept = np.argsort(-counts, kind="stable")[:most]
        return cls(side_m, np.sort(keys[kept]), max(len(keys) - most, 0))

    def centres(self) -> tuple[Floats, Floats]:
        """Return latitude and longitude of the middle of each cell."""
        row, column = rows_of_keys(self.keys)
        latitude = (row + 0.5) * self.side_m / MIDDLE_DEGREE_M
        width = np.maximum(metres_per_degree(latitude)[1], 1.0)
        return np.clip(latitude, -90, 90), np.clip((column + 0.5) * self.side_m / width, -180, 180)

    def index(self, latitude: Floats, longitude: Floats) -> NDArray[np.int32]:
        """Return the cell of each point, or the nearest one."""
        from scipy.spatial import KDTree

        wanted = cell_keys(latitude, longitude, self.side_m)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        strange = np.flatnonzero(self.keys[at] != wanted)
        if len(strange):
            tree = KDTree(earth_centred(*self.centres()))
            at[strange] = tree.query(earth_centred(latitude[strange], longitude[strange]))[1]
        return at.astype(np.int32)

    def places(self, sensitive: NDArray[np.bool_] | None = None) -> Places:
        """Return the cells as places. Their ids are texts, which cannot be confused with ids of the file."""
        ids = np.char.add("cell-", np.arange(1, len(self.keys) + 1).astype(str))
        return Places(*self.centres(), ids=ids, sensitive=sensitive)


def build_coarse_places(places: Places, cells: GridCells) -> tuple[Places, NDArray[np.int32]]:
    """Return cells as places, sensitive where a place in them is, and each place's cell."""
    cell = cells.index(places.latitude, places.longitude)
    sensitive = np.zeros(len(cells.keys), bool)
    sensitive[cell[places.sensitive]] = True
    return cells.places(sensitive), cell


def points_to_events(points: GpsTraces, cells: GridCells, places: Places, clock: Clock, zone: str) -> Traces:
    """Return one event for each person and instant that has a point near: the one nearest in time.

    An instant has the points from half an interval before it to half an interval after it. The clock
    has a first day; points before it have no event.
    """
    assert clock.first_day is not None
    local = local_seconds(points.time_ms, zone) - (clock.first_day - EPOCH).days * DAY_S
    instant = (local + clock.interval_s // 2) // clock.interval_s
    away = np.abs(local - instant * clock.interval_s)
    user = points.user_index.astype(np.int64)
    order = np.lexsort((away, instant, user))
    first = mark_run_starts(user[order], instant[order])
    chosen = order[first & (instant[order] >= 0)]
    return Traces.from_events(
        user[chosen],
        instant[chosen],
        cells.index(points.latitude[chosen], points.longitude[chosen]),
        places,
        clock,
        user_ids=np.arange(points.n_users),
    ).with_user_ids(points.user_ids)


def remap_release(released: ObfuscatedTraces, places: Places, cell: NDArray[np.int32]) -> ObfuscatedTraces:
    """Return the released traces at other places; a set becomes the set of its cells."""
    sizes = released.sets.sizes
    keys = np.repeat(np.arange(len(sizes)), sizes) * max(len(places), 1) + cell[released.sets.members]
    of_set, members = np.divmod(unique_values(keys), max(len(places), 1))
    codes = released.codes.copy()
    single = released.is_single
    codes[single] = cell[codes[single]]
    sets = PlaceSets(np.searchsorted(of_set, np.arange(len(sizes) + 1)), members)
    return released.replace(places=places, codes=codes, sets=sets)


def drop_unvisited(known: Traces, seen: ObfuscatedTraces) -> tuple[Traces, ObfuscatedTraces]:
    """Return both at the places where anybody is in either; venues only, for cells of a grid have neighbours.

    Few people of a large file are at few of its venues, and some attacks have a column for each.
    """
    places = known.places
    used = unique_values(np.concatenate([known.place_index, seen.pairs().place]))
    if places.grid is not None or not 0 < 2 * len(used) < len(places):
        return known, seen
    new = np.zeros(len(places), np.int32)
    new[used] = np.arange(len(used))
    fewer = places.take(used)
    return known.onto(fewer, new), remap_release(seen, fewer, new)


def choose_places(released: ObfuscatedTraces, rng: np.random.Generator) -> Ints:
    """Return one place for each event, any of a set at random; -1 for a deleted one."""
    place = released.codes.astype(np.int64)
    chosen = np.flatnonzero(released.is_set)
    if len(chosen):
        sets = released.set_index[chosen]
        member = (rng.random(len(chosen)) * released.sets.sizes[sets]).astype(np.int64)
        place[chosen] = released.sets.members[released.sets.offsets[sets] + member]
    return place
