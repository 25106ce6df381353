"""Exact earth mover's distances on the map, for which the extra ``[emd]`` is needed.

[ppmtf] section 4.3 calls the distance in two dimensions too expensive and projects on the axes, [contest] on
50 directions. A row of a transition matrix has few places, and only what differs must be moved, so a
network simplex (POT) does it in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import ParameterError
from tracearena.metrics.distributions import population, populations
from tracearena.metrics.transitions import BINS, bins_of, matrices, one_hot, projected
from tracearena.mobility.transitions import transition_matrix
from tracearena.traces import Box, Places

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from tracearena.mobility.weighted import AnyTraces

_MOST_STEPS = 10_000_000
_NOTHING = 1e-12


def tm_emd_exact(
    reference: AnyTraces,
    traces: AnyTraces | None,
    *,
    bounds: Box | None = None,
    bins: int = BINS,
    by_day: bool = False,
) -> float:
    """Return the earth mover's distance of the transition rows on the map, averaged over places.

    In bins, as `tm_emd`, which is never larger, and `tm_emd_sliced`; the distance between two bins is
    the straight line between them.

    Parameters
    ----------
    bounds, bins, by_day
        As in `tm_emd`.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places, Traces
    >>> places = Places.of_grid(Grid(rows=20, columns=20, south=0, west=0, north=20, east=20))
    >>> clock = Clock(instants_per_day=2)
    >>> here, there = (Traces.from_dense([[0, to]], places, clock) for to in (0, 4 * 20 + 3))
    >>> 400 * tm_emd_exact(here, there)  # one of 400 rows goes 3 bins to the east and 4 to the north
    5.0
    """
    others = matrices(reference, traces, by_day)
    return matrix_emd(reference.places, transition_matrix(reference), others, bounds=bounds, bins=bins)


def matrix_emd(
    places: Places,
    matrix: csr_array,
    others: Iterable[csr_array | None],
    *,
    bounds: Box | None = None,
    bins: int = BINS,
) -> float:
    """Return the mean distance of transition matrices from one: see `tm_emd_exact`."""
    cells = _Cells.of(places, bounds, bins)
    truth = projected(matrix, cells.on_cells)
    return float(np.mean([cells.distance(truth - projected(other, cells.on_cells)) for other in others]))


def tp_emd_exact(
    reference: AnyTraces,
    traces: AnyTraces | None,
    *,
    bounds: Box | None = None,
    bins: int = BINS,
    by_day: bool = False,
) -> float:
    """Return the earth mover's distance of the populations on the map, averaged over slots.

    Parameters are those of `tm_emd_exact`.

    >>> from tracearena.traces import Clock, Grid, Places, Traces
    >>> places = Places.of_grid(Grid(rows=20, columns=20, south=0, west=0, north=20, east=20))
    >>> here, there = (Traces.from_dense([[at]], places, Clock(instants_per_day=1)) for at in (0, 83))
    >>> tp_emd_exact(here, there)
    5.0
    """
    cells = _Cells.of(reference.places, bounds, bins)
    truth = population(reference)
    found = [
        cells.distance(np.asarray((truth - other) @ cells.on_cells))
        for other in populations(reference, traces, by_day)
    ]
    return float(np.mean(found))


class _Cells(NamedTuple):
    """The bins that have places, and how far they lie apart."""

    on_cells: csr_array
    apart: NDArray[np.float64]

    @classmethod
    def of(cls, places: Places, bounds: Box | None, bins: int) -> _Cells:
        y, x = bins_of(places, bounds, bins)
        occupied, cell = np.unique(y * bins + x, return_inverse=True)
        at = np.stack(np.divmod(occupied, bins), axis=1).astype(np.float64)
        apart = np.linalg.norm(at[:, None] - at[None, :], axis=2)
        return cls(one_hot(cell, len(occupied)), apart)

    def distance(self, difference: NDArray[np.float64]) -> float:
        """Return the mean over rows of what it costs to move what is too much to where it is missing."""
        solve = _solver()
        total = 0.0
        for row in difference:
            much, little = np.flatnonzero(row > _NOTHING), np.flatnonzero(row < -_NOTHING)
            if len(much) and len(little):
                supply, demand = row[much], -row[little]
                scale = float(supply.sum())
                cost = np.ascontiguousarray(self.apart[np.ix_(much, little)])
                total += scale * solve(supply / scale, demand / demand.sum(), cost)
        return total / max(len(difference), 1)


def _solver() -> Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], float]:
    try:
        import ot
    except ImportError:
        raise ParameterError(
            "exact earth mover's distances need POT: install the extra, tracearena[emd]"
        ) from None
    return lambda a, b, cost: float(ot.emd2(a, b, cost, numItermax=_MOST_STEPS))
