"""Fewer, larger places: a grid that all events are put on."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.intake.discretise import robust_box
from tracearena.traces import Box, GpsTraces, Grid, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.area import tessellation

Floats = NDArray[np.float64]


def grid_over(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], side_m: float, most: int
) -> Grid:
    """Return a grid over where the points are, of cells of `side_m`, or larger so that there are `most`."""
    box = robust_box(pl.Series(latitude), pl.Series(longitude))
    height, width = box.size_m()
    side = max(side_m, math.sqrt(max(height * width, 1.0) / most))
    grid = tessellation(box, side)
    while len(grid) > most:
        side *= 1.02
        grid = tessellation(box, side)
    return grid


def cells_of(grid: Grid, latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the cell of each point; points outside are at the border."""
    box: Box = grid.box
    inside = np.clip(latitude, box.south, box.north), np.clip(longitude, box.west, box.east)
    return grid.cell_of(*inside)


def cell_side_m(grid: Grid) -> float:
    """Return the mean side of the cells."""
    height, width = grid.box.size_m()
    return math.sqrt(height / grid.rows * width / grid.columns)


def clipped(points: GpsTraces, grid: Grid) -> GpsTraces:
    """Return GPS points with those outside the grid at its border."""
    box = grid.box
    return points.moved(
        np.clip(points.latitude, box.south, box.north), np.clip(points.longitude, box.west, box.east)
    )


def coarse_places(places: Places, grid: Grid) -> tuple[Places, NDArray[np.int32]]:
    """Return the cells of a grid as places, sensitive where a place in them is, and each place's cell."""
    cell = cells_of(grid, places.latitude, places.longitude)
    sensitive = np.zeros(len(grid), bool)
    sensitive[cell[places.sensitive]] = True
    return Places.of_grid(grid, sensitive=sensitive), cell


def moved_traces(traces: Traces, places: Places, cell: NDArray[np.int32]) -> Traces:
    """Return the events at other places: at ``cell[p]`` what was at p."""
    return Traces(
        places,
        traces.clock,
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        instants=traces.instants,
        place_index=cell[traces.place_index],
        timestamps=traces.timestamps,
        span=traces.span,
    )


def moved_release(released: ObfuscatedTraces, places: Places, cell: NDArray[np.int32]) -> ObfuscatedTraces:
    """Return what is released at other places; a set becomes the set of its cells."""
    sets = [np.unique(cell[released.sets[one]]) for one in range(len(released.sets))]
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
        sets=PlaceSets.of(sets),
        span=released.span,
    )


def one_place(released: ObfuscatedTraces, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return one place for each event, any of a set at random; -1 for a deleted one."""
    place = released.codes.astype(np.int64)
    chosen = np.flatnonzero(released.is_set)
    if len(chosen):
        sets = released.set_index[chosen]
        member = (rng.random(len(chosen)) * released.sets.sizes[sets]).astype(np.int64)
        place[chosen] = released.sets.members[released.sets.offsets[sets] + member]
    return place
