"""Distances between transition matrices.

All functions compare `traces` with a `reference`; 0 is perfect, and ``traces=None`` is the uniform baseline.
Distances on the ground are in bins: each side of the box of the city has 20 bins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_whole
from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.distributions import population, populations_to_compare
from tracearena.mobility.transitions import transition_matrix
from tracearena.mobility.weighted import build_weighted_events, check_comparable
from tracearena.traces import Box, Places

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from tracearena.mobility.weighted import AnyTraces


BINS = 20
DIRECTIONS = 50
_ROWS_PER_BLOCK = 64


def find_bins(
    places: Places, bounds: Box | None = None, bins: int = BINS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each place its bin from south to north (y) and from west to east (x).

    Bins are half-open; what lies on or beyond the border of the box belongs to the outermost bin.

    Parameters
    ----------
    bounds
        The box of the bins; by default `Box.of` the places.
    """
    require_whole("bins", bins, at_least=1)
    box = Box.of(places) if bounds is None else bounds
    if bounds is not None:
        if not (box.south < box.north and box.west < box.east):
            raise ParameterError.of("bounds", str(box), "south < north and west < east")
        if not box.contains(places.latitude, places.longitude).any():
            raise ParameterError(f"none of the {len(places):,} places is inside the bounds {box}")
    south, west, north, east = box
    return _bin_values(places.latitude, south, north, bins), _bin_values(places.longitude, west, east, bins)


def _bin_values(values: NDArray[np.float64], low: float, high: float, bins: int) -> NDArray[np.int64]:
    if high <= low:
        return np.zeros(len(values), np.int64)
    return np.clip(np.floor((values - low) / ((high - low) / bins)), 0, bins - 1).astype(np.int64)


def matrices_to_compare(
    reference: AnyTraces, traces: AnyTraces | None, by_day: bool
) -> list[csr_array | None]:
    """Return the matrices to be compared with the reference's; None is the uniform one."""
    check_comparable(reference, traces)
    if traces is None:
        return [None]
    events = build_weighted_events(traces)
    if not len(events.codes):
        raise DataError("there are no events to compare")
    if by_day:
        return [transition_matrix(one, adjacent=False) for one in events.days()]
    return [transition_matrix(events)]


def tm_tv(reference: AnyTraces, traces: AnyTraces | None, *, by_day: bool = False) -> float:
    """Return the total variation of the transition rows, averaged over all places ([2] TM-TV).

    Parameters
    ----------
    by_day
        For synthetic traces: each day of a user is a separate trace, in which all consecutive events are
        transitions. Each day number is compared separately, and the results are averaged.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=2)
    >>> stay, go = (Traces.from_dense([[0, to]], places, clock) for to in (0, 1))
    >>> tm_tv(stay, go)  # all leave the first place, and nobody is seen to leave the second
    0.5
    """
    truth = transition_matrix(reference)
    distances = [matrix_tv(truth, other) for other in matrices_to_compare(reference, traces, by_day)]
    return float(np.mean(distances))


def matrix_tv(truth: csr_array, other: csr_array | None) -> float:
    """Return the total variation of two transition matrices, averaged over rows; None is the uniform one."""
    m = truth.shape[0]
    if other is None:
        # Cells that are not stored differ from 1/m by 1/m.
        stored = np.abs(truth.data - 1 / m).sum() + (m * m - truth.nnz) / m
        return float(stored / (2 * m))
    return float(abs(truth - other).sum() / (2 * m))


def tm_emd(
    reference: AnyTraces,
    traces: AnyTraces | None,
    axis: Literal["x", "y"],
    *,
    bounds: Box | None = None,
    bins: int = BINS,
    by_day: bool = False,
) -> float:
    """Return the earth mover's distance of the transition rows along one axis, averaged over places.

    TM-EMD-X (west to east) and TM-EMD-Y (south to north) of [1] section 4.3: each row of the transition
    matrix is a distribution of the next place. It is projected on the bins of the axis; the distance is the
    number of bins over which its mass has to be moved.

    Parameters
    ----------
    bounds
        The box of the city; by default the box of the places.
    bins
        Number of bins along the axis.
    by_day
        As in `tm_tv`.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places, Traces
    >>> places = Places.of_grid(Grid(rows=1, columns=20, south=0, west=0, north=1, east=20))
    >>> clock = Clock(instants_per_day=2)
    >>> here, there = (Traces.from_dense([[0, to]], places, clock) for to in (0, 4))
    >>> tm_emd(here, there, "x")
    0.2
    """
    require_choice("axis", axis, ("x", "y"))
    y, x = find_bins(reference.places, bounds, bins)
    on_axis = one_hot(x if axis == "x" else y, bins)
    truth = project_rows(transition_matrix(reference), on_axis)
    distances = [
        axis_emd(truth - project_rows(other, on_axis))
        for other in matrices_to_compare(reference, traces, by_day)
    ]
    return float(np.mean(distances))


def axis_emd(difference: NDArray[np.float64]) -> float:
    """Return the earth mover's distance that a difference of rows × bins of an axis stands for."""
    return float(np.abs(np.cumsum(difference, axis=1)[:, :-1]).sum(axis=1).mean())


def one_hot(bin_of: NDArray[np.int64], bins: int) -> csr_array:
    """Return the matrix that adds places up to bins."""
    from scipy.sparse import csr_array

    m = len(bin_of)
    return csr_array((np.ones(m), bin_of, np.arange(m + 1)), shape=(m, bins))


def project_rows(matrix: csr_array | None, on_bins: csr_array) -> NDArray[np.float64]:
    """Return rows × bins of a transition matrix; of the uniform one if it is None."""
    if matrix is None:
        m = on_bins.shape[0]
        return np.tile(on_bins.sum(axis=0) / m, (m, 1))
    return np.asarray((matrix @ on_bins).toarray())


def legacy_directions(count: int = DIRECTIONS) -> NDArray[np.float64]:
    """Return the directions (2 × count, unit columns) that the published sliced distances used.

    They come from NumPy's legacy generator with seed 0. They are the same for every row and data set, so that
    you can compare values.

    >>> legacy_directions()[:, 0].round(3).tolist()
    [0.892, -0.453]
    """
    require_whole("directions", count, at_least=1)
    normals = np.random.RandomState(0).normal(size=(2, count))
    return np.asarray(normals / np.sqrt((normals**2).sum(axis=0)))


def tm_emd_sliced(
    reference: AnyTraces,
    traces: AnyTraces | None,
    *,
    bounds: Box | None = None,
    bins: int = BINS,
    directions: int = DIRECTIONS,
    by_day: bool = False,
) -> float:
    """Return the sliced earth mover's distance of the transition rows, averaged over places.

    The mean over `legacy_directions` of the earth mover's distance of the rows projected on each
    direction, in bins ([2], where it is called TM-EMD; its tables say TM-SWD).

    Parameters
    ----------
    bounds, bins
        As in `tm_emd`, on both axes.
    directions
        How many directions; the published figures have 50.
    by_day
        As in `tm_tv`.

    References
    ----------
    .. [1] Murakami et al., PoPETs 2021 (PPMTF).
    .. [2] Murakami et al., Designing a location trace anonymization contest, PoPETs 2023 (PPMTF+).

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places, Traces
    >>> places = Places.of_grid(Grid(rows=1, columns=20, south=0, west=0, north=1, east=20))
    >>> clock = Clock(instants_per_day=2)
    >>> here, there = (Traces.from_dense([[0, to]], places, clock) for to in (0, 4))
    >>> round(tm_emd_sliced(here, there), 3)  # 4 bins in one row of 20, in directions all around
    0.134
    """
    slices = Slices.of(reference.places, bounds, bins, directions)
    others = matrices_to_compare(reference, traces, by_day)
    return compare_matrices(slices, transition_matrix(reference), others)


def tp_emd_sliced(
    reference: AnyTraces,
    traces: AnyTraces | None,
    *,
    bounds: Box | None = None,
    bins: int = BINS,
    directions: int = DIRECTIONS,
    by_day: bool = False,
) -> float:
    """Return the sliced earth mover's distance of the populations, averaged over slots (TP-SWD).

    Parameters are those of `tm_emd_sliced`.

    >>> from tracearena.traces import Clock, Grid, Places, Traces
    >>> places = Places.of_grid(Grid(rows=1, columns=20, south=0, west=0, north=1, east=20))
    >>> here, there = (Traces.from_dense([[at]], places, Clock(instants_per_day=1)) for at in (0, 4))
    >>> round(tp_emd_sliced(here, there), 2)
    2.68
    """
    slices = Slices.of(reference.places, bounds, bins, directions)
    others = populations_to_compare(reference, traces, by_day)
    return compare_populations(slices, population(reference), others)


class CellMetric(Protocol):
    """Cells of the city, and a distance between distributions over them."""

    @property
    def on_cells(self) -> csr_array:
        """The matrix that adds places up to cells."""

    def distance(self, difference: NDArray[np.float64]) -> float:
        """Return the mean over rows of the distance that a difference of distributions stands for."""


def compare_matrices(cells: CellMetric, truth: csr_array, others: Iterable[csr_array | None]) -> float:
    """Return the mean distance of transition matrices from a true one; None is the uniform one."""
    rows = project_rows(truth, cells.on_cells)
    return float(np.mean([cells.distance(rows - project_rows(other, cells.on_cells)) for other in others]))


def compare_populations(
    cells: CellMetric, truth: NDArray[np.float64], others: Iterable[NDArray[np.float64]]
) -> float:
    """Return the mean distance of populations from a true one."""
    return float(np.mean([cells.distance(np.asarray((truth - other) @ cells.on_cells)) for other in others]))


class Slices(NamedTuple):
    """Cells of the city in the order in which each direction meets them."""

    on_cells: csr_array
    order: NDArray[np.int64]
    gaps: NDArray[np.float64]

    @classmethod
    def of(cls, places: Places, bounds: Box | None, bins: int = BINS, directions: int = DIRECTIONS) -> Slices:
        """Cut the city into bins, and see in which order each of the `legacy_directions` meets them."""
        y, x = find_bins(places, bounds, bins)
        occupied, cell = np.unique(y * bins + x, return_inverse=True)
        cell_y, cell_x = np.divmod(occupied, bins)
        along = legacy_directions(directions).T @ np.array([cell_x, cell_y], np.float64)
        order = np.argsort(along, axis=1, kind="stable")
        gaps = np.diff(np.take_along_axis(along, order, axis=1), axis=1)
        return cls(one_hot(cell, len(occupied)), order, gaps)

    def distance(self, difference: NDArray[np.float64]) -> float:
        """Return the mean over rows and directions of the distance that `difference` stands for."""
        from tracearena.metrics._kernels import sum_sliced_distances

        rows = len(difference)

        def work(block: int, first: int, stop: int) -> float:
            return float(sum_sliced_distances(difference[first:stop], self.order, self.gaps).sum())

        total = sum(run_blocks(work, block_ranges(rows, _ROWS_PER_BLOCK)))
        return total / max(rows * len(self.order), 1)
