"""Exact earth mover's distances on the map; they need the extra ``[emd]``.

[ppmtf] section 4.3 calls the distance in two dimensions too expensive and projects on the axes, [contest] on
50 directions. A row of a transition matrix has few places, and only what differs must be moved, so a
network simplex (POT) does it in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import ParameterError
from tracearena.metrics.distributions import population, populations_to_compare
from tracearena.metrics.similarity import compare_pairs
from tracearena.metrics.transitions import (
    BINS,
    compare_matrices,
    compare_populations,
    find_bins,
    matrices_to_compare,
    one_hot,
)
from tracearena.mobility.profiles import MobilityProfiles
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

    The unit is a bin, as in `tm_emd`, which is never larger, and `tm_emd_sliced`. The distance of two bins is
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
    others = matrices_to_compare(reference, traces, by_day)
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
    return compare_matrices(_CellDistances.of(places, bounds, bins), matrix, others)


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
    cells = _CellDistances.of(reference.places, bounds, bins)
    others = populations_to_compare(reference, traces, by_day)
    return compare_populations(cells, population(reference), others)


class _CellDistances(NamedTuple):
    """The bins that have places, and how far they lie apart."""

    on_cells: csr_array
    apart: NDArray[np.float64]

    @classmethod
    def of(cls, places: Places, bounds: Box | None, bins: int) -> _CellDistances:
        y, x = find_bins(places, bounds, bins)
        occupied, cell = np.unique(y * bins + x, return_inverse=True)
        at = np.stack(np.divmod(occupied, bins), axis=1).astype(np.float64)
        apart = np.linalg.norm(at[:, None] - at[None, :], axis=2)
        return cls(one_hot(cell, len(occupied)), apart)

    def distance(self, difference: NDArray[np.float64]) -> float:
        """Return the mean over rows of what it costs to move what is too much to where it is missing."""
        try:
            import ot
        except ImportError:
            raise ParameterError(
                "exact earth mover's distances need POT: install the extra, tracearena[emd]"
            ) from None
        total = 0.0
        for row in difference:
            much, little = np.flatnonzero(row > _NOTHING), np.flatnonzero(row < -_NOTHING)
            if len(much) and len(little):
                supply, demand = row[much], -row[little]
                scale = float(supply.sum())
                cost = np.ascontiguousarray(self.apart[np.ix_(much, little)])
                distance = ot.emd2(supply / scale, demand / demand.sum(), cost, numItermax=_MOST_STEPS)
                total += scale * float(distance)
        return total / max(len(difference), 1)


# Geographic similarity of users under any distance between places.

TRANSPORTS_PER_BLOCK = 64
Sparse = tuple[NDArray[np.int32], NDArray[np.float64]]


def transport_similarity(
    a: MobilityProfiles,
    b: MobilityProfiles,
    pairs: NDArray[np.int64],
    order: int,
    distance: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return 1 minus the expected earth mover's distance of each pair of users."""
    table = np.ascontiguousarray(distance, np.float64)
    m = a.n_places
    if table.shape != (m, m) or not ((table >= 0) & (table <= 1)).all():
        raise ParameterError(f"distance must be {m} × {m} numbers from 0 to 1")
    _build_table_emd(table)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        emd = _build_table_emd(table)
        compare = _first_order_similarity if order == 1 else _zeroth_order_similarity
        return np.array([compare(a, b, int(u), int(v), emd) for u, v in some], np.float64)

    return compare_pairs(work, pairs, TRANSPORTS_PER_BLOCK, report=True)


def _build_table_emd(table: NDArray[np.float64]) -> Callable[[Sparse, Sparse], float]:
    try:
        import ot
    except ImportError:
        raise ParameterError(
            "distances other than Hamming need POT: install the extra, tracearena[emd]"
        ) from None

    def emd(x: Sparse, y: Sparse) -> float:
        if not len(x[0]) or not len(y[0]):
            return 1.0
        return float(ot.emd2(x[1], y[1], np.ascontiguousarray(table[np.ix_(x[0], y[0])])))

    return emd


def _zeroth_order_similarity(a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, emd: Any) -> float:
    t = len(a.periods)
    similarity = [1 - emd(_slice_visits(a, u * t + tau), _slice_visits(b, v * t + tau)) for tau in range(t)]
    return float(np.dot(a.periods.shares, similarity))


def _first_order_similarity(a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, emd: Any) -> float:
    t, total = len(a.periods), 0.0
    for tau in range(t):
        first, theirs = int(a.visit_offsets[u * t + tau]), int(b.visit_offsets[v * t + tau])
        known = {int(place): theirs + i for i, place in enumerate(_slice_visits(b, v * t + tau)[0])}
        for i, (place, share) in enumerate(zip(*_slice_visits(a, u * t + tau), strict=True)):
            if int(place) not in known:
                continue
            for then in range(t):
                weight = a.periods.pair_shares[tau, then]
                if weight > 0:
                    mine, other = _slice_moves(a, first + i, then), _slice_moves(b, known[int(place)], then)
                    total += weight * share * (1 - emd(mine, other))
    return float(total)


def _slice_visits(profiles: MobilityProfiles, row: int) -> Sparse:
    own = slice(profiles.visit_offsets[row], profiles.visit_offsets[row + 1])
    return profiles.visit_places[own], profiles.visit_probabilities[own]


def _slice_moves(profiles: MobilityProfiles, entry: int, then: int) -> Sparse:
    """Return where visit `entry` leads if the next instant is in period `then`."""
    row = entry * len(profiles.periods) + then
    own = slice(profiles.move_offsets[row], profiles.move_offsets[row + 1])
    return profiles.move_places[own], profiles.move_probabilities[own]
