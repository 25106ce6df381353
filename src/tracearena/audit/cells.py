"""Cells where people are: squares of a world-wide grid, of which the most visited are places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces._arrays import begins, different
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import (
    MIDDLE_DEGREE_M,
    cell_keys,
    earth_centred,
    metres_per_degree,
    rows_of_keys,
)
from tracearena.traces.time import EPOCH, local_seconds_time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
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
    def of(cls, latitude: Floats, longitude: Floats, side_m: float, most: int) -> Cells:
        """Return the cells of the points, the most visited if there are more than `most`.

        >>> cells = Cells.of(np.array([0.001, 0.002, 5.0]), np.array([0.001, 0.001, 5.0]), 500.0, 10)
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
        """Return the cells as places; their ids are no numbers, which could be taken for a file's own."""
        ids = np.char.add("cell-", np.arange(1, len(self.keys) + 1).astype(str))
        return Places(*self.centres(), ids=ids, sensitive=sensitive)


def coarse_places(places: Places, cells: Cells) -> tuple[Places, NDArray[np.int32]]:
    """Return cells as places, sensitive where a place in them is, and each place's cell."""
    cell = cells.index(places.latitude, places.longitude)
    sensitive = np.zeros(len(cells.keys), bool)
    sensitive[cell[places.sensitive]] = True
    return cells.places(sensitive), cell


def events_of(points: GpsTraces, cells: Cells, places: Places, clock: Clock, zone: str) -> Traces:
    """Return one event for each person and instant that has a point near: the one nearest in time.

    An instant has the points from half an interval before it to half an interval after it. The clock
    has a first day; points before it have no event.
    """
    assert clock.first_day is not None
    local = local_seconds_time(points.time_ms, zone) - (clock.first_day - EPOCH).days * DAY_S
    instant = (local + clock.interval_s // 2) // clock.interval_s
    away = np.abs(local - instant * clock.interval_s)
    user = points.user_index.astype(np.int64)
    order = np.lexsort((away, instant, user))
    first = begins(user[order], instant[order])
    chosen = order[first & (instant[order] >= 0)]
    return Traces.from_events(
        user[chosen],
        instant[chosen],
        cells.index(points.latitude[chosen], points.longitude[chosen]),
        places,
        clock,
        user_ids=np.arange(points.n_users),
    ).with_user_ids(points.user_ids)


def moved_release(released: ObfuscatedTraces, places: Places, cell: NDArray[np.int32]) -> ObfuscatedTraces:
    """Return what is released at other places; a set becomes the set of its cells."""
    sizes = released.sets.sizes
    keys = np.repeat(np.arange(len(sizes)), sizes) * max(len(places), 1) + cell[released.sets.members]
    of_set, members = np.divmod(different(keys), max(len(places), 1))
    codes = released.codes.copy()
    single = released.is_single
    codes[single] = cell[codes[single]]
    return ObfuscatedTraces(
        places,
        released.clock,
        user_ids=released.user_ids,
        offsets=released.offsets,
        instants=released.instants,
        codes=codes,
        sets=PlaceSets(np.searchsorted(of_set, np.arange(len(sizes) + 1)), members),
        timestamps=released.timestamps,
        span=released.span,
    )


def visited_only(known: Traces, seen: ObfuscatedTraces) -> tuple[Traces, ObfuscatedTraces]:
    """Return both at the places where anybody is in either; venues only, for cells of a grid have neighbours.

    Few people of a large file are at few of its venues, and some attacks have a column for each.
    """
    places = known.places
    used = different(np.concatenate([known.place_index, seen.pairs().place]))
    if places.grid is not None or not 0 < 2 * len(used) < len(places):
        return known, seen
    new = np.zeros(len(places), np.int32)
    new[used] = np.arange(len(used))
    fewer = places.take(used)
    return known.onto(fewer, new), moved_release(seen, fewer, new)


def one_place(released: ObfuscatedTraces, rng: np.random.Generator) -> Ints:
    """Return one place for each event, any of a set at random; -1 for a deleted one."""
    place = released.codes.astype(np.int64)
    chosen = np.flatnonzero(released.is_set)
    if len(chosen):
        sets = released.set_index[chosen]
        member = (rng.random(len(chosen)) * released.sets.sizes[sets]).astype(np.int64)
        place[chosen] = released.sets.members[released.sets.offsets[sets] + member]
    return place
