"""From GPS points to events and back: positions become places, times become instants.

`grid_points` and `resample_points` make events, `as_gps` makes points; `default_area` and `tessellation`
choose the grid.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from operator import add
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_number
from tracearena.errors import DataError
from tracearena.traces.box import Box
from tracearena.traces.clock import DAY_S, Clock
from tracearena.traces.geodesy import interpolate_geodesic, metres_per_degree
from tracearena.traces.gps import GpsTraces
from tracearena.traces.places import Grid, Places
from tracearena.traces.spread import ExactQuantiles, select_starting_with
from tracearena.traces.time import EPOCH, local_seconds, utc_ms
from tracearena.traces.traces import Traces

Method = Literal["last", "nearest", "interpolate"]


def grid_points(traces: GpsTraces, places: Places, clock: Clock, *, timezone: str = "UTC") -> Traces:
    """Make an event of every point: its cell, its instant, and its second as timestamp.

    Points outside the grid or outside the hours of the clock have no event; the difference
    between the numbers of points and events is how many.

    Parameters
    ----------
    places
        The cells of a grid.
    clock
        Instants; day 0 is its `first_day`, or the day of the first point where it has none.
    timezone
        Zone of the clock's hours, such as ``Asia/Shanghai``.
    """
    cell = _find_cells(traces.latitude, traces.longitude, places)
    local = local_seconds(traces.time_ms, timezone)
    clock = _set_first_day(clock, local)
    day = local // DAY_S - _first_day(clock)
    number = (local % DAY_S - clock.start_s) // clock.interval_s
    is_in_hours = (day >= 0) & (number >= 0) & (number < clock.instants_per_day)
    instant = day * clock.instants_per_day + number
    kept = np.flatnonzero((cell >= 0) & is_in_hours)
    return Traces.from_events(
        traces.user_index[kept],
        instant[kept],
        cell[kept],
        places,
        clock,
        user_ids=np.arange(traces.n_users),
        timestamps=traces.time_ms[kept] // 1000,
    ).with_user_ids(traces.user_ids)


def resample_points(
    traces: GpsTraces,
    places: Places,
    clock: Clock,
    *,
    method: Method = "last",
    max_gap_s: float | None = None,
    timezone: str = "UTC",
) -> Traces:
    """Say in which place each user was at each instant of a clock: at most one event per instant.

    Parameters
    ----------
    method
        ``last`` takes the latest point up to the instant, ``nearest`` the one nearest in time,
        ``interpolate`` the position between the points around it, along the geodesic.
    max_gap_s
        How far in time a point may be from the instant (for ``interpolate``, how far apart the two
        points may be); farther ones say nothing. The clock's interval by default.
    """
    require_choice("method", method, ("last", "nearest", "interpolate"))
    limit_ms = (clock.interval_s if max_gap_s is None else max_gap_s) * 1000
    clock = _set_first_day(clock, local_seconds(traces.time_ms, timezone))
    instants, moments = _list_instants(traces, clock, timezone)
    users = range(traces.n_users)
    parts = [_find_user_positions(traces, user, moments, method, limit_ms) for user in users]
    user = np.repeat(np.arange(traces.n_users), [len(part[0]) for part in parts])
    tick, latitude, longitude = (np.concatenate(column) for column in zip(*parts, strict=True))
    cell = _find_cells(latitude, longitude, places)
    kept = cell >= 0
    return Traces.from_events(
        user[kept],
        instants[tick[kept]],
        cell[kept],
        places,
        clock,
        user_ids=np.arange(traces.n_users),
        timestamps=moments[tick[kept]] // 1000,
    ).with_user_ids(traces.user_ids)


def as_gps(traces: Traces, *, timezone: str = "UTC") -> GpsTraces:
    """Make a point of every event: the centre of its place, at its timestamp or its instant.

    The clock needs a `first_day` unless the events have timestamps.
    """
    if traces.timestamps is not None:
        time_ms = traces.timestamps * 1000
    elif traces.clock.first_day is None:
        raise DataError("instants become times only if the clock has a first_day")
    else:
        first = (traces.clock.first_day - EPOCH).days
        days = traces.clock.day_of(traces.instants) + first
        time_ms = utc_ms(days * DAY_S + traces.clock.second_of_day(traces.instants), timezone)
    return GpsTraces(
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        time_ms=time_ms,
        latitude=traces.places.latitude[traces.place_index],
        longitude=traces.places.longitude[traces.place_index],
    )


def _find_cells(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], places: Places
) -> NDArray[np.int32]:
    if places.grid is None:
        raise DataError("GPS points need places that are the cells of a grid")
    return places.grid.cell_of(latitude, longitude)


def _set_first_day(clock: Clock, local: NDArray[np.int64]) -> Clock:
    """Give the clock a first day: that of the earliest point."""
    if clock.first_day is not None or not local.size:
        return clock
    day = EPOCH + timedelta(days=int(local.min()) // DAY_S)
    return dataclasses.replace(clock, first_day=day)


def _first_day(clock: Clock) -> int:
    return ((clock.first_day or EPOCH) - EPOCH).days


def _list_instants(
    traces: GpsTraces, clock: Clock, timezone: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all instants from the first point to the last, and their times."""
    if not len(traces):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    span = local_seconds(np.array([traces.time_ms.min(), traces.time_ms.max()]), timezone)
    first, last = span // DAY_S - _first_day(clock)
    instants = np.arange(max(first, 0) * clock.instants_per_day, (last + 1) * clock.instants_per_day)
    days = clock.day_of(instants) + _first_day(clock)
    return instants, utc_ms(days * DAY_S + clock.second_of_day(instants), timezone)


def _find_user_positions(
    traces: GpsTraces, user: int, moments: NDArray[np.int64], method: Method, limit_ms: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the ticks at which a user's position is known, and the positions."""
    points = slice(traces.offsets[user], traces.offsets[user + 1])
    times = traces.time_ms[points]
    latitude, longitude = traces.latitude[points], traces.longitude[points]
    if not len(times):
        return np.empty(0, np.int64), np.empty(0), np.empty(0)
    before = np.searchsorted(times, moments, side="right") - 1
    after = np.minimum(np.searchsorted(times, moments, side="left"), len(times) - 1)
    has_before, has_after = before >= 0, times[after] >= moments
    before = np.maximum(before, 0)
    age, wait = moments - times[before], times[after] - moments
    if method == "last":
        known = has_before & (age <= limit_ms)
        return np.flatnonzero(known), latitude[before[known]], longitude[before[known]]
    if method == "nearest":
        take_before = has_before & (~has_after | (age <= wait))
        chosen = np.where(take_before, before, after)
        known = np.abs(times[chosen] - moments) <= limit_ms
        return np.flatnonzero(known), latitude[chosen[known]], longitude[chosen[known]]
    ticks = np.flatnonzero(has_before & has_after & (times[after] - times[before] <= limit_ms))
    a, b = before[ticks], after[ticks]
    share = age[ticks] / np.maximum(times[b] - times[a], 1)
    return ticks, *interpolate_geodesic(latitude[a], longitude[a], latitude[b], longitude[b], share)


# The area of a study, and its division into square cells.

CITY_KM = 22.0
MARGIN_KM = 2.0
MOST_CELLS = 250_000
_FIFTHS = 10_000
"""More than a row around the earth has fifths of a degree."""

Visit: TypeAlias = Callable[[Callable[[GpsTraces], Any]], list[Any]]
"""Calls a function on all points, a few users at a time, and returns the results."""
Ints: TypeAlias = NDArray[np.int64]


def tessellation(area: Box, side_m: float) -> Grid:
    """Return a grid with cells of about `side_m` metres; the numbers of rows and columns are rounded.

    >>> grid = tessellation(Box(39.85, 116.25, 40.05, 116.5), 88.62)
    >>> grid.rows, grid.columns
    (251, 241)
    """
    require_number("side_m", side_m, above=0)
    height, width = area.size_m()
    rows, columns = max(1, round(height / side_m)), max(1, round(width / side_m))
    return Grid.over(area, rows, columns)


def default_area(traces: GpsTraces, side_m: float) -> Box:
    """Return the box of all points with a margin of 2 km, or of the densest city if that is too large.

    Too large means more than 250,000 cells; the city is then the 22 × 22 km box with the most points, to
    about 1 km. Noise can move points into the margin; without it, points that leave the box would pile up at
    its border.
    """
    return find_default_area(lambda work: [work(traces)], side_m)


def find_default_area(visit: Visit, side_m: float) -> Box:
    """Return the `default_area` of points that are visited a few users at a time."""
    tight = _merge_boxes(visit(_find_box))
    degree_north, degree_east = (float(m) for m in metres_per_degree(tight.middle[0]))
    whole = tight.with_margin(MARGIN_KM * 1000 / degree_north, MARGIN_KM * 1000 / max(degree_east, 1.0))
    height, width = whole.size_m()
    return whole if height * width / side_m**2 <= MOST_CELLS else _find_densest_box(visit)


def _find_box(traces: GpsTraces) -> Box | None:
    return Box.of(traces) if len(traces) else None


def _merge_boxes(boxes: list[Box | None]) -> Box:
    known = np.array([[*box] for box in boxes if box is not None])
    if not len(known):
        raise DataError("there are no points, so there is no bounding box")
    return Box(*known[:, :2].min(axis=0).tolist(), *known[:, 2:].max(axis=0).tolist())


def _find_densest_box(visit: Visit) -> Box:
    row, column = _find_densest_fifth(visit)

    def near(traces: GpsTraces) -> GpsTraces:
        rows, columns = _to_degree_fifths(traces)
        return traces.keep((np.abs(rows - row) <= 2) & (np.abs(columns - column) <= 2))

    around = _merge_boxes(visit(lambda traces: _find_box(near(traces))))
    spread = reduce(add, visit(lambda traces: ExactQuantiles.of(near(traces).latitude)))
    keys = spread.keys_of([0.5])
    again = visit(lambda traces: select_starting_with(near(traces).latitude, keys))
    median_latitude = float(spread.quantiles([0.5], again)[0])
    degree_north, degree_east = metres_per_degree(median_latitude)
    size = np.array([CITY_KM * 1000 / float(degree_north), CITY_KM * 1000 / float(degree_east)])
    steps = max(1, round(CITY_KM))
    corner = np.array([around.south, around.west])

    def bins(latitude: Any, longitude: Any) -> Ints:
        steps_away = (np.column_stack([latitude, longitude]) - corner) / (size / steps)
        return np.asarray(np.floor(steps_away), np.int64)

    shape = tuple(bins(around.north, around.east)[0] + 1 + steps)

    def count_near(traces: GpsTraces) -> NDArray[np.float64]:
        counts = np.zeros(shape)
        own = near(traces)
        np.add.at(counts, tuple(bins(own.latitude, own.longitude).T), 1)
        return counts

    sums = np.pad(reduce(add, visit(count_near)).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    boxes = sums[steps:, steps:] - sums[:-steps, steps:] - sums[steps:, :-steps] + sums[:-steps, :-steps]
    at = np.unravel_index(int(np.argmax(boxes)), boxes.shape)
    south, west = corner + np.array(at) * size / steps
    return Box(float(south), float(west), float(south + size[0]), float(west + size[1]))


def _find_densest_fifth(visit: Visit) -> tuple[int, int]:
    """Return the fifth of a degree where most points are; the most southern and western of several."""

    def count_fifths(traces: GpsTraces) -> Counter[int]:
        rows, columns = _to_degree_fifths(traces)
        cells, counts = np.unique(rows * _FIFTHS + columns + _FIFTHS // 2, return_counts=True)
        return Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))

    totals: Counter[int] = sum(visit(count_fifths), Counter())
    row, column = divmod(min(totals, key=lambda cell: (-totals[cell], cell)), _FIFTHS)
    return row, column - _FIFTHS // 2


def _to_degree_fifths(traces: GpsTraces) -> tuple[Ints, Ints]:
    row, column = np.floor(traces.latitude * 5), np.floor(traces.longitude * 5)
    return row.astype(np.int64), column.astype(np.int64)
