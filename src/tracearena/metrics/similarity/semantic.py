"""Semantic similarity: do two users live alike, wherever their places are?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator, seed_sequence, stream
from tracearena.metrics.similarity.geographic import PAIRS_PER_BLOCK, Order, checked_pairs, of_all_pairs
from tracearena.mobility.profiles import MobilityProfiles

SEARCHES_PER_BLOCK = 16


def semantic_similarity(
    a: MobilityProfiles, b: MobilityProfiles, pairs: Any = None, *, order: Order = 0, seed: SeedLike = None
) -> NDArray[np.float64]:
    """Return the semantic similarity of pairs of users, from 0 to 1.

    The geographic similarity (Hamming) under the best renaming of the second user's places, one
    renaming for each period ([1] section 3.4). Where people live does not count, only how.

    Parameters
    ----------
    a, b, pairs
        As in `geographic_similarity`.
    order
        0 compares visits, 1 transitions (a search: `first_order_mapping`).
    seed
        Of the search, in which every pair has a stream of its own; the zeroth order has no randomness in
        its value.

    References
    ----------
    .. [1] Bindschaedler and Shokri, IEEE S&P 2016 [sglt].

    Notes
    -----
    The paper solves an assignment problem in O(places³). For the Hamming distance none is needed:
    min is supermodular, so both lists in descending order are the best pairing.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> a = MobilityProfiles.of(Traces.from_dense([[0, 0, 0, 1]], places, clock))
    >>> b = MobilityProfiles.of(Traces.from_dense([[2, 3, 3, 3]], places, clock))
    >>> semantic_similarity(a, b).tolist()
    [1.0]
    """
    chosen = checked_pairs(a, b, pairs, order)
    if order == 1:
        return of_all_pairs(_searching(a, b, seed_sequence(seed)), chosen, SEARCHES_PER_BLOCK, report=True)
    mine, theirs = _descending(a), _descending(b)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        from tracearena.metrics.similarity._kernels import semantic_zeroth

        values = np.zeros(len(some))
        semantic_zeroth(some, a.periods.shares, a.visit_offsets, mine, b.visit_offsets, theirs, values)
        return values

    return of_all_pairs(work, chosen, PAIRS_PER_BLOCK)


def _searching(
    a: MobilityProfiles, b: MobilityProfiles, root: np.random.SeedSequence
) -> Callable[..., NDArray[np.float64]]:
    """Return what searches the mappings of some pairs, each from a stream of its own."""

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        from tracearena.metrics.similarity.mapping import first_order_mapping

        found = [
            first_order_mapping(a, b, int(u), int(v), seed=stream(root, first + k))
            for k, (u, v) in enumerate(some)
        ]
        return np.array([one.similarity for one in found])

    return work


@dataclass(frozen=True, eq=False)
class RankedPlaces:
    """The visited places of each user and period, the most visited first.

    Attributes
    ----------
    offsets
        Row ``u * periods + τ`` begins here.
    places, shares
        Visited places and their probabilities, descending in a row.
    """

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, profiles: MobilityProfiles, *, seed: SeedLike = None) -> RankedPlaces:
        """Rank the places; equally visited ones stand in random order."""
        chance = generator(seed).random(len(profiles.visit_places))
        order = np.lexsort([chance, -profiles.visit_probabilities, _rows(profiles)])
        return cls(profiles.visit_offsets, profiles.visit_places[order], profiles.visit_probabilities[order])

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the ranked places of one user and period."""
        return self.places[self.offsets[number] : self.offsets[number + 1]]


def _rows(profiles: MobilityProfiles) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))


def _descending(profiles: MobilityProfiles) -> NDArray[np.float64]:
    return profiles.visit_probabilities[np.lexsort([-profiles.visit_probabilities, _rows(profiles)])]
