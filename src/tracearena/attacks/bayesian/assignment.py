"""One to one: each trace is one user's, and each user has one trace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import LISTED, NOBODY
from tracearena.attacks.bayesian.candidates import CandidatePairs

DENSE = 3000
"""Up to so many users and traces the assignment is solved on the full table."""
_DECIMALS = 9
"""Scores are compared to this many decimals: the digits after them differ between processors."""


def assign_users(pairs: CandidatePairs, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the user of each trace so that the sum of the scores is the largest, -1 for nobody.

    Where pairs were left out as unlikely, a trace may stay without a user; these take, one after the
    other, what is still free.
    """
    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    if not n_traces or not n_users:
        return np.full(n_traces, -1, np.int64)
    solve = _assign_on_table if max(n_traces, n_users) <= DENSE else _assign_on_pairs
    chosen = solve(pairs, scores.round(_DECIMALS))
    free = np.setdiff1d(np.arange(n_users), chosen)
    left = np.flatnonzero(chosen < 0)
    chosen[left[: len(free)]] = free[: len(left)]
    return chosen


def _assign_on_table(pairs: CandidatePairs, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    from scipy.optimize import linear_sum_assignment

    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    low = scores.min(initial=0.0) - 10 * (np.ptp(scores) if len(scores) else 0.0) - 1.0
    table = np.full((n_traces, n_users), low)
    table[pairs.traces, pairs.users] = scores
    trace, user = linear_sum_assignment(table, maximize=True)
    chosen = np.full(n_traces, -1, np.int64)
    chosen[trace] = np.where(table[trace, user] > low, user, -1)
    return chosen


def _assign_on_pairs(pairs: CandidatePairs, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Solve on the pairs alone; every trace may also stay without a user, at a price above all others."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    span = float(np.ptp(scores)) if len(scores) else 0.0
    cost = scores.max(initial=0.0) - scores + 1.0
    rows = np.concatenate([pairs.traces, np.arange(n_traces)])
    columns = np.concatenate([pairs.users, n_users + np.arange(n_traces)])
    costs = np.concatenate([cost, np.full(n_traces, 10 * span + 10.0)])
    table = csr_matrix((costs, (rows, columns)), shape=(n_traces, n_users + n_traces))
    trace, column = min_weight_full_bipartite_matching(table)
    chosen = np.full(n_traces, -1, np.int64)
    chosen[trace] = np.where(column < n_users, column, -1)
    return chosen


def rank_users(
    pairs: CandidatePairs, scores: NDArray[np.float64], given: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return traces × `LISTED` users, the one given to the trace first and then by score, -1 for no more."""
    n_traces = len(pairs.offsets) - 1
    is_given = pairs.users == given[pairs.traces]
    order = np.lexsort((pairs.users, -scores, ~is_given, pairs.traces))
    rank = np.arange(len(order)) - pairs.offsets[pairs.traces] + 1
    ranked = np.full((n_traces, LISTED + 1), NOBODY, np.int64)
    ranked[:, 0] = given
    # Whoever was given without a pair of hers stands first all the same.
    alone = np.ones(n_traces, bool)
    alone[pairs.traces[is_given]] = False
    rank -= ~alone[pairs.traces]
    kept = rank <= LISTED
    ranked[pairs.traces[kept], rank[kept]] = pairs.users[order][kept]
    return ranked[:, :LISTED]


def compute_posteriors(
    pairs: CandidatePairs, scores: NDArray[np.float64], elsewhere: float = 7.0, rounds: int = 40
) -> NDArray[np.float64]:
    """Return how sure it is that each pair belongs together: Sinkhorn's doubly stochastic weights.

    Parameters
    ----------
    elsewhere
        How much less likely than the best pair it is that a trace is nobody's of those considered.
    rounds
        Sinkhorn rounds.
    """
    from tracearena.attacks.bayesian._matching_kernels import sinkhorn

    weights = np.empty(len(scores))
    sinkhorn(pairs.offsets, pairs.users, scores, elsewhere, rounds, weights)
    return weights
