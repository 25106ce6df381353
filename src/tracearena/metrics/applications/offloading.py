"""Where to put hotspots, decided from released data and judged on the original [geo-ind]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.dataframes import Result
from tracearena.errors import DataError
from tracearena.metrics.applications.error import bayesian_update, mean_error_m
from tracearena.metrics.applications.paired import (
    ComparisonChunk,
    ComparisonChunks,
    IdTable,
    WholeComparison,
    are_row_by_row,
    with_true_ids,
)
from tracearena.traces import GpsTraces, Grid
from tracearena.traces.box import Box
from tracearena.traces.gridding import find_default_area, tessellation

RANGE_M = 50.0
MOST_MARGIN_KM = 100.0


@dataclass(frozen=True)
class Hotspots(Result):
    """How well hotspots serve people when they are placed by released data.

    Attributes
    ----------
    offloaded
        Share of the original points inside the chosen cells (1 for the original itself).
    offloaded_after_update
        The same when the cells are chosen after the Bayesian update.
    cells_found, cells_found_after_update
        Share of the hotspots' cells that hold an original point: cells, where `offloaded` is traffic.
    hotspots
        Number of hotspots: the non-empty cells of the original.
    rounds
        Rounds of the update.
    expected_noise_m
        Noise that the update assumed, metres.
    rows, columns
        Cells of the area.
    points
        Original points inside the area.
    area
        The area, degrees.
    margin_km
        How far around the area released points were counted where they lie.
    """

    offloaded: float
    offloaded_after_update: float
    cells_found: float
    cells_found_after_update: float
    hotspots: int
    rounds: int
    expected_noise_m: float
    rows: int
    columns: int
    points: int
    area: Box
    margin_km: float = 0.0


def hotspots(
    original: GpsTraces,
    released: GpsTraces,
    *,
    area: Box | None = None,
    expected_noise_m: float | None = None,
    rounds: int = 50,
    threshold: float = 1e-8,
    range_m: float = RANGE_M,
    margin_km: float = 0.0,
    id_table: IdTable | None = None,
) -> Hotspots:
    """Choose as many cells as the original fills by the released points, and count who is served.

    Cells are squares with the area of a circle of `range_m`. Original points outside the area do
    not count, nor do their released counterparts; released points that left it (and its margin) count
    for the cell at the border.

    Parameters
    ----------
    area
        The box to serve; by default see `default_area`.
    expected_noise_m
        Noise of the release, known to everybody ([geo-ind] assumes so); by default the mean
        distance between released and original points.
    rounds, threshold
        Of the Bayesian update.
    margin_km
        Count and update so far around the area too, at most 100. Without a margin what noise carries
        out is heaped up on the border, which the update takes for people.
    id_table
        Pseudonym → user, where the release has other ids than the original and its noise is to be measured.

    Notes
    -----
    Cells that tie for the last hotspots share them evenly, which is the expectation of choosing
    among them at random; empty cells are never chosen. A release whose points are not those of
    the original one by one is cut to the area itself.

    References
    ----------
    [geo-ind] section 5.1.
    """
    if id_table is not None or expected_noise_m is None:
        released = with_true_ids(original, released, id_table)
    return measure_hotspots_in_chunks(
        WholeComparison(original, released),
        area=area,
        expected_noise_m=expected_noise_m,
        rounds=rounds,
        threshold=threshold,
        range_m=range_m,
        margin_km=margin_km,
    )


def measure_hotspots_in_chunks(
    walk: ComparisonChunks,
    *,
    area: Box | None = None,
    expected_noise_m: float | None = None,
    rounds: int = 50,
    threshold: float = 1e-8,
    range_m: float = RANGE_M,
    margin_km: float = 0.0,
) -> Hotspots:
    """Return what `hotspots` does, of users who are walked through."""
    require_number("range_m", range_m, above=0)
    require_number("margin_km", margin_km, at_least=0, at_most=MOST_MARGIN_KM)
    side_m = range_m * math.sqrt(math.pi)
    if area is None:
        area = find_default_area(lambda work: walk.visit(lambda part: work(part.original)), side_m)
    grid = tessellation(area, side_m)
    true_counts = walk.fold(lambda part: _count_original_points(part, grid))
    if not true_counts.any():
        raise DataError(f"no original point lies in the area {area}")
    margin = math.ceil(margin_km * 1000 / side_m)
    wide = _with_margin(grid, margin)
    noisy_counts = walk.fold(lambda part: _count_noisy_points(part, grid, wide))
    noise = mean_error_m(walk) if expected_noise_m is None else expected_noise_m
    k = int((true_counts > 0).sum())
    update = None
    if noise > 0 and noisy_counts.any():
        table = noisy_counts.reshape(wide.rows, wide.columns)
        update = bayesian_update(
            table, side_m=side_m, expected_noise_m=noise, rounds=rounds, threshold=threshold
        )
    noisy = _without_margin(noisy_counts, wide, margin)
    updated = noisy if update is None else _without_margin(update.distribution, wide, margin)
    return Hotspots(
        offloaded=share_served(true_counts, noisy, k),
        offloaded_after_update=share_served(true_counts, updated, k),
        cells_found=share_served(true_counts > 0, noisy, k),
        cells_found_after_update=share_served(true_counts > 0, updated, k),
        hotspots=k,
        rounds=0 if update is None else update.rounds,
        expected_noise_m=float(noise),
        rows=grid.rows,
        columns=grid.columns,
        points=int(true_counts.sum()),
        area=area,
        margin_km=float(margin_km),
    )


def _with_margin(grid: Grid, cells: int) -> Grid:
    """Return the grid with so many more cells of the same size on every side."""
    height, width = (grid.north - grid.south) / grid.rows, (grid.east - grid.west) / grid.columns
    return Grid(
        rows=grid.rows + 2 * cells,
        columns=grid.columns + 2 * cells,
        south=grid.south - cells * height,
        west=grid.west - cells * width,
        north=grid.north + cells * height,
        east=grid.east + cells * width,
    )


def _without_margin(values: NDArray[Any], wide: Grid, cells: int) -> NDArray[Any]:
    table = values.reshape(wide.rows, wide.columns)
    return table[cells : wide.rows - cells, cells : wide.columns - cells].ravel()


def count_released_points(
    original: GpsTraces, released: GpsTraces, grid: Grid, wide: Grid | None = None
) -> NDArray[np.int64]:
    """Count the released points of people in the area in each cell.

    Parameters
    ----------
    grid
        The area.
    wide
        Where points are counted, the area itself by default; those outside count at its border.
    """
    part = ComparisonChunk(original, released, are_row_by_row(original, released))
    return _count_noisy_points(part, grid, grid if wide is None else wide)


def _count_original_points(part: ComparisonChunk, grid: Grid) -> NDArray[np.int64]:
    cell = grid.cell_of(part.original.latitude, part.original.longitude)
    return np.bincount(cell[cell >= 0], minlength=len(grid))


def _count_noisy_points(part: ComparisonChunk, grid: Grid, wide: Grid) -> NDArray[np.int64]:
    latitude, longitude = part.released.latitude, part.released.longitude
    judged = part.original if part.row_by_row else part.released
    inside = grid.cell_of(judged.latitude, judged.longitude) >= 0
    cell = wide.cell_of(
        np.clip(latitude[inside], wide.south, wide.north), np.clip(longitude[inside], wide.west, wide.east)
    )
    return np.bincount(cell, minlength=len(wide))


def share_served(
    true_counts: NDArray[np.int64] | NDArray[np.bool_],
    popularity: NDArray[np.int64] | NDArray[np.float64],
    k: int,
) -> float:
    """Share of the true counts in the k most popular cells; ties for the last places count in part."""
    k = min(k, int((popularity > 0).sum()))
    if k == 0:
        return 0.0
    least = np.partition(popularity, -k)[-k]
    above, tied = popularity > least, popularity == least
    share_of_tied = (k - int(above.sum())) / int(tied.sum())
    served = true_counts[above].sum() + share_of_tied * true_counts[tied].sum()
    return float(served / true_counts.sum())
