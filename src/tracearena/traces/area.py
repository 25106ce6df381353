"""The area that is looked at, and its cut into square cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.errors import DataError
from tracearena.traces.box import Box
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.gps import GpsTraces
from tracearena.traces.places import Grid
from tracearena.traces.spread import Spread, starting_with

CITY_KM = 22.0
MARGIN_KM = 2.0
MOST_CELLS = 250_000
_FIFTHS = 10_000
"""More than a row around the earth has fifths of a degree."""

Visit: TypeAlias = Callable[[Callable[[GpsTraces], Any]], list[Any]]
"""Returns what is made of all points, some users after the others."""
Ints: TypeAlias = NDArray[np.int64]


def tessellation(area: Box, side_m: float) -> Grid:
    """Cut an area into cells of about `side_m`: as many as fit its size to the nearest whole number.

    >>> grid = tessellation(Box(39.85, 116.25, 40.05, 116.5), 88.62)
    >>> grid.rows, grid.columns
    (251, 241)
    """
    require_number("side_m", side_m, above=0)
    height, width = area.size_m()
    rows, columns = max(1, round(height / side_m)), max(1, round(width / side_m))
    return Grid.over(area, rows, columns)


def default_area(traces: GpsTraces, side_m: float) -> Box:
    """Return the box of all points and 2 km around it, or of the city where most are if it is too large.

    Too large is more than 250,000 cells; the city is then the 22 × 22 km box with the most points,
    to about 1 km. The margin gives noise a place to go: without it, what leaves the box piles up
    at its border.
    """
    return area_of(lambda work: [work(traces)], side_m)


def area_of(visit: Visit, side_m: float) -> Box:
    """Return the `default_area` of points that are visited some users after the others."""
    tight = _box_of(visit(_box))
    degree_north, degree_east = (float(m) for m in metres_per_degree(tight.middle[0]))
    whole = tight.expanded(MARGIN_KM * 1000 / degree_north, MARGIN_KM * 1000 / max(degree_east, 1.0))
    height, width = whole.size_m()
    return whole if height * width / side_m**2 <= MOST_CELLS else _densest(visit)


def _box(traces: GpsTraces) -> Box | None:
    return Box.of(traces) if len(traces) else None


def _box_of(boxes: list[Box | None]) -> Box:
    known = np.array([[*box] for box in boxes if box is not None])
    if not len(known):
        raise DataError("there are no points, and so no box around them")
    return Box(*known[:, :2].min(axis=0).tolist(), *known[:, 2:].max(axis=0).tolist())


def _densest(visit: Visit) -> Box:
    row, column = _mode(visit)

    def near(traces: GpsTraces) -> GpsTraces:
        rows, columns = _fifths(traces)
        return traces.keep((np.abs(rows - row) <= 2) & (np.abs(columns - column) <= 2))

    around = _box_of(visit(lambda traces: _box(near(traces))))
    degree_north, degree_east = metres_per_degree(_middle(visit, near))
    size = np.array([CITY_KM * 1000 / float(degree_north), CITY_KM * 1000 / float(degree_east)])
    steps = max(1, round(CITY_KM))
    corner = np.array([around.south, around.west])

    def bins(latitude: Any, longitude: Any) -> Ints:
        steps_away = (np.column_stack([latitude, longitude]) - corner) / (size / steps)
        return np.asarray(np.floor(steps_away), np.int64)

    shape = tuple(bins(around.north, around.east)[0] + 1 + steps)

    def counted(traces: GpsTraces) -> NDArray[np.float64]:
        counts = np.zeros(shape)
        own = near(traces)
        np.add.at(counts, tuple(bins(own.latitude, own.longitude).T), 1)
        return counts

    sums = np.pad(reduce(add, visit(counted)).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    boxes = sums[steps:, steps:] - sums[:-steps, steps:] - sums[steps:, :-steps] + sums[:-steps, :-steps]
    at = np.unravel_index(int(np.argmax(boxes)), boxes.shape)
    south, west = corner + np.array(at) * size / steps
    return Box(float(south), float(west), float(south + size[0]), float(west + size[1]))


def _middle(visit: Visit, near: Callable[[GpsTraces], GpsTraces]) -> float:
    """Return the median latitude."""
    spread = reduce(add, visit(lambda traces: Spread.of(near(traces).latitude)))
    keys = spread.keys_of([0.5])
    again = visit(lambda traces: starting_with(near(traces).latitude, keys))
    return float(spread.quantiles([0.5], again)[0])


def _mode(visit: Visit) -> tuple[int, int]:
    """Return the fifth of a degree where most points are; the most southern and western of several."""

    def counted(traces: GpsTraces) -> Counter[int]:
        rows, columns = _fifths(traces)
        cells, counts = np.unique(rows * _FIFTHS + columns + _FIFTHS // 2, return_counts=True)
        return Counter(dict(zip(cells.tolist(), counts.tolist(), strict=True)))

    totals: Counter[int] = sum(visit(counted), Counter())
    row, column = divmod(min(totals, key=lambda cell: (-totals[cell], cell)), _FIFTHS)
    return row, column - _FIFTHS // 2


def _fifths(traces: GpsTraces) -> tuple[Ints, Ints]:
    return (
        np.floor(traces.latitude * 5).astype(np.int64),
        np.floor(traces.longitude * 5).astype(np.int64),
    )
