"""Geographic similarity under any distance between places: exact earth mover's distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import ParameterError
from tracearena.metrics.similarity.geographic import of_all_pairs
from tracearena.mobility.profiles import MobilityProfiles

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
    _solver(table)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        emd = _solver(table)
        compare = _first if order == 1 else _zeroth
        return np.array([compare(a, b, int(u), int(v), emd) for u, v in some], np.float64)

    return of_all_pairs(work, pairs, TRANSPORTS_PER_BLOCK, report=True)


def _solver(table: NDArray[np.float64]) -> Callable[[Sparse, Sparse], float]:
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


def _zeroth(a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, emd: Any) -> float:
    t = len(a.periods)
    similarity = [1 - emd(_visits(a, u * t + tau), _visits(b, v * t + tau)) for tau in range(t)]
    return float(np.dot(a.periods.shares, similarity))


def _first(a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, emd: Any) -> float:
    t, total = len(a.periods), 0.0
    for tau in range(t):
        first, theirs = int(a.visit_offsets[u * t + tau]), int(b.visit_offsets[v * t + tau])
        known = {int(place): theirs + i for i, place in enumerate(_visits(b, v * t + tau)[0])}
        for i, (place, share) in enumerate(zip(*_visits(a, u * t + tau), strict=True)):
            if int(place) not in known:
                continue
            for then in range(t):
                weight = a.periods.pair_shares[tau, then]
                if weight > 0:
                    mine, other = _moves(a, first + i, then), _moves(b, known[int(place)], then)
                    total += weight * share * (1 - emd(mine, other))
    return float(total)


def _visits(profiles: MobilityProfiles, row: int) -> Sparse:
    own = slice(profiles.visit_offsets[row], profiles.visit_offsets[row + 1])
    return profiles.visit_places[own], profiles.visit_probabilities[own]


def _moves(profiles: MobilityProfiles, entry: int, then: int) -> Sparse:
    row = entry * len(profiles.periods) + then
    own = slice(profiles.move_offsets[row], profiles.move_offsets[row + 1])
    return profiles.move_places[own], profiles.move_probabilities[own]
