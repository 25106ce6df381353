"""The location semantic graph: which places mean the same to different people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, block_ranges, fold_blocks
from tracearena.errors import DataError
from tracearena.metrics.similarity import RankedPlaces
from tracearena.mobility import MobilityProfiles

USERS_PER_BLOCK = 512
MOST_PLACES = 16_384


def semantic_graph(profiles: MobilityProfiles, *, seed: SeedLike = None) -> NDArray[np.float64]:
    """Return places × places weights: how much two places mean the same to different people.

    w(r, r') adds up P(τ) · similarity(u, v) over all pairs of users u ≠ v and periods τ in which
    the best mapping of u's places on v's pairs r with r' ([sglt] section 4.1, zeroth order).

    Parameters
    ----------
    profiles
        Of all seed users.
    seed
        Of the order of equally visited places; with short traces it decides much.

    Notes
    -----
    All pairs of users are compared, yet no table of pairs is held: beside the graph a block of
    users needs one number a user. The order of tied places is drawn once a user, not once a pair.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1], [2, 2, 2, 3]], places, clock)
    >>> semantic_graph(MobilityProfiles.of(traces)).tolist()
    [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    return pair_sums(profiles, RankedPlaces.of(profiles, seed=seed), weighted=False)


def pair_sums(profiles: MobilityProfiles, ranked: RankedPlaces, *, weighted: bool) -> NDArray[np.float64]:
    """Add up P(τ) · similarity(u, v) over all pairs u ≠ v for the places that share a rank.

    Parameters
    ----------
    ranked
        The visited places of every user and period in the order in which they are paired.
    weighted
        Multiply what a pair of places adds by the smaller of its two visit probabilities.
    """
    from tracearena.synthesis.sglt._kernels import add_pairs

    m = profiles.n_places
    if m > MOST_PLACES:
        raise DataError(f"a graph of {m:,} places is too large; merge them to {MOST_PLACES:,} or fewer")
    by_rank = _by_rank(ranked, len(profiles.periods))

    def work(block: int, first: int, stop: int) -> NDArray[np.float64]:
        graph, similarity = np.zeros((m, m)), np.zeros(profiles.n_users)
        own = ranked.offsets, ranked.places, ranked.shares
        add_pairs(first, stop, profiles.periods.shares, own, by_rank, weighted, similarity, graph)
        return graph

    if profiles.n_users == 0:
        return np.zeros((m, m))
    one_way = fold_blocks(work, block_ranges(profiles.n_users, USERS_PER_BLOCK))
    return np.asarray(one_way + one_way.T)


def _by_rank(
    ranked: RankedPlaces, periods: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Regroup by period and rank: offsets, and users, places and probabilities within."""
    lengths = np.diff(ranked.offsets)
    ranks = max(int(lengths.max(initial=0)), 1)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(len(rows)) - ranked.offsets[rows]
    user, period = np.divmod(rows, periods)
    group = period * ranks + rank
    order = np.lexsort([user, group])
    offsets = np.searchsorted(group[order], np.arange(periods * ranks + 1)).astype(np.int64)
    return offsets, user[order].astype(np.int32), ranked.places[order], ranked.shares[order]
