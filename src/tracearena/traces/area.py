"""The area that is looked at, and its cut into square cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.traces.box import Box
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.gps import GpsTraces
from tracearena.traces.places import Grid

CITY_KM = 22.0
MARGIN_KM = 2.0
MOST_CELLS = 250_000


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
    tight = Box.of(traces)
    degree_north, degree_east = (float(m) for m in metres_per_degree(tight.middle[0]))
    whole = tight.expanded(MARGIN_KM * 1000 / degree_north, MARGIN_KM * 1000 / max(degree_east, 1.0))
    height, width = whole.size_m()
    return whole if height * width / side_m**2 <= MOST_CELLS else _densest(traces)


def _densest(traces: GpsTraces) -> Box:
    latitude, longitude = _around_mode(traces)
    degree_north, degree_east = metres_per_degree(np.median(latitude))
    size = np.array([CITY_KM * 1000 / float(degree_north), CITY_KM * 1000 / float(degree_east)])
    corner = np.array([latitude.min(), longitude.min()])
    steps = max(1, round(CITY_KM))
    bins = np.floor((np.column_stack([latitude, longitude]) - corner) / (size / steps)).astype(np.int64)
    counts = np.zeros(bins.max(axis=0) + 1 + steps)
    np.add.at(counts, (bins[:, 0], bins[:, 1]), 1)
    sums = np.pad(counts.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    boxes = sums[steps:, steps:] - sums[:-steps, steps:] - sums[steps:, :-steps] + sums[:-steps, :-steps]
    row, column = np.unravel_index(int(np.argmax(boxes)), boxes.shape)
    south, west = corner + np.array([row, column]) * size / steps
    return Box(float(south), float(west), float(south + size[0]), float(west + size[1]))


def _around_mode(traces: GpsTraces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points around the fifth of a degree where most are."""
    row = np.floor(traces.latitude * 5).astype(np.int64)
    column = np.floor(traces.longitude * 5).astype(np.int64)
    cells, counts = np.unique(row * 10_000 + column, return_counts=True)
    top = cells[int(np.argmax(counts))]
    mode = np.flatnonzero(row * 10_000 + column == top)[0]
    near = (np.abs(row - row[mode]) <= 2) & (np.abs(column - column[mode]) <= 2)
    return traces.latitude[near], traces.longitude[near]
