"""Pairs of a trace p and a user u: candidates, posteriors W[p,u], and the one-to-one assignment.

W starts from exp(S[p,u]). In turn, the row of each trace is divided by its sum and a slack for none of its
candidates, and the column of each user by its sum (Sinkhorn). The assignment û maximises Σ_p S[p, û(p)], with
no user twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import LISTED, NOBODY, Floats, Ints, Ints32
from tracearena.engine import block_ranges, run_blocks
from tracearena.traces._arrays import unique_values


@dataclass(frozen=True)
class PairSettings:
    """Constants of candidates, posteriors and the assignment."""

    users_per_block: int = 64
    """Users who are scored at a time. Chosen by hand, not tuned."""
    max_kept_scores: int = 8_000_000
    """Scores of all pairs are kept up to this number. Chosen by hand, not tuned."""
    max_dense: int = 3000
    """Up to this many users and traces the assignment is solved on the full table. Chosen by hand, not
    tuned."""
    decimals: int = 9
    """Decimals of scores that are compared: further digits differ between processors."""
    elsewhere: float = 7.0
    """Log odds of the best pair of a trace against none of its candidates. Chosen by hand, not tuned."""
    sinkhorn_rounds: int = 40
    """Rounds of Sinkhorn's scaling. Chosen by hand, not tuned."""


SETTINGS = PairSettings()


Table = Callable[[int, int], Floats]
"""Scores of all traces for the users from one number up to another: traces × users."""


class CandidatePairs(NamedTuple):
    """Pairs of a trace and a user who may be behind it, by trace, users ascending.

    Attributes
    ----------
    offsets, users
        Trace ``p`` may be ``users[offsets[p]:offsets[p + 1]]``.
    n_users
        Number of users in all.
    """

    offsets: Ints
    users: Ints32
    n_users: int

    @property
    def traces(self) -> Ints:
        """The trace of each pair."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def by_user(self) -> tuple[Ints, Ints]:
        """Return where the pairs of each user begin, and their numbers, traces ascending."""
        order = np.argsort(self.users, kind="stable")
        offsets = np.searchsorted(self.users[order], np.arange(self.n_users + 1))
        return offsets.astype(np.int64), order.astype(np.int64)

    def transpose(self) -> tuple[CandidatePairs, Ints]:
        """Return the pairs with users as rows and traces as columns, and the number of each before."""
        offsets, order = self.by_user()
        turned = CandidatePairs(offsets, self.traces[order].astype(np.int32), len(self.offsets) - 1)
        return turned, order

    @classmethod
    def of(cls, traces: Ints, users: Ints, n_traces: int, n_users: int) -> CandidatePairs:
        """Put pairs in order, each once."""
        keys = unique_values(traces * np.int64(n_users) + users)
        trace, user = np.divmod(keys, max(n_users, 1))
        offsets = np.searchsorted(trace, np.arange(n_traces + 1))
        return cls(offsets.astype(np.int64), user.astype(np.int32), n_users)


def build_all_pairs(n_traces: int, n_users: int) -> CandidatePairs:
    """Return all pairs."""
    users = np.tile(np.arange(n_users, dtype=np.int32), n_traces)
    return CandidatePairs(np.arange(n_traces + 1, dtype=np.int64) * n_users, users, n_users)


def find_best_pairs(
    tables: Sequence[Table], n_traces: int, n_users: int, keep: int
) -> tuple[CandidatePairs, list[Floats] | None]:
    """Return the `keep` best users of each trace and the best traces of each user, by the sum of tables.

    Exact: every pair is scored, a block of users at a time. Where all scores can be kept meanwhile, those of
    the pairs are returned too, by table.
    """
    from tracearena.attacks.bayesian._likelihood_kernels import keep_best

    is_kept = n_traces * n_users <= SETTINGS.max_kept_scores
    chooses = keep < n_users and n_traces > 0
    if not chooses and not is_kept:
        return build_all_pairs(n_traces, n_users), None
    kept = [np.empty((n_users, n_traces)) for _ in tables] if is_kept else None
    size = keep if chooses else 0
    best_scores = np.full((n_traces, size), -np.inf)
    best_users = np.full((n_traces, size), np.iinfo(np.int64).max, np.int64)
    of_user = min(size, n_traces)
    lock = Lock()

    def work(block: int, first: int, stop: int) -> Ints:
        scores = np.zeros((n_traces, stop - first))
        for number, table in enumerate(tables):
            of_kind = table(first, stop)
            scores += of_kind
            if kept is not None:
                kept[number][first:stop] = of_kind.T
        own_traces = np.full((stop - first, of_user), np.iinfo(np.int64).max, np.int64)
        if chooses:
            with lock:
                keep_best(scores, first, best_scores, best_users)
            own_scores = np.full((stop - first, of_user), -np.inf)
            keep_best(scores.T, 0, own_scores, own_traces)
        return own_traces

    found = run_blocks(work, block_ranges(n_users, SETTINGS.users_per_block))
    if chooses:
        traces = np.concatenate([np.repeat(np.arange(n_traces), keep), *(one.ravel() for one in found)])
        users = np.concatenate([best_users.ravel(), np.repeat(np.arange(n_users), of_user)])
        pairs = CandidatePairs.of(traces, users, n_traces, n_users)
    else:
        pairs = build_all_pairs(n_traces, n_users)
    return pairs, None if kept is None else [one[pairs.users, pairs.traces] for one in kept]


# Posteriors and the one-to-one assignment.


def double_centre(pairs: CandidatePairs, table: Floats) -> Floats:
    """Subtract row and column means from every kind of evidence, twice."""
    table = table.copy()
    traces, n_traces = pairs.traces, len(pairs.offsets) - 1
    for _ in range(2):
        for group, count in ((pairs.users, pairs.n_users), (traces, n_traces)):
            number = np.maximum(np.bincount(group, minlength=count), 1)
            for column in table.T:
                column -= (np.bincount(group, column, count) / number)[group]
    return table


def compute_posteriors(
    pairs: CandidatePairs,
    scores: Floats,
    elsewhere: float = SETTINGS.elsewhere,
    rounds: int = SETTINGS.sinkhorn_rounds,
) -> Floats:
    """Return the posterior of each pair by Sinkhorn's scaling of rows and columns.

    Every user is taken to be in the release, so that the posteriors of a user sum to 1, whereas a trace
    may be of none of its candidates. Where the reference has more users than the release, those who are
    not in it get the posteriors of whatever fits them best.

    Parameters
    ----------
    elsewhere
        Log odds of the best pair of a trace against none of its candidates.
    rounds
        Sinkhorn rounds.
    """
    from tracearena.attacks.bayesian._likelihood_kernels import sinkhorn

    weights = np.empty(len(scores))
    sinkhorn(pairs.offsets, pairs.users, scores, elsewhere, rounds, weights)
    return weights


def assign_users(pairs: CandidatePairs, scores: Floats) -> Ints:
    """Return the user of each trace in the assignment with the largest sum of scores, -1 for nobody.

    Where pairs were left out as unlikely, a trace may stay without a user; these take, one after the
    other, what is still free.
    """
    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    if not n_traces or not n_users:
        return np.full(n_traces, -1, np.int64)
    solve = _assign_on_table if max(n_traces, n_users) <= SETTINGS.max_dense else _assign_on_pairs
    chosen = solve(pairs, scores.round(SETTINGS.decimals))
    free = np.setdiff1d(np.arange(n_users), chosen)
    left = np.flatnonzero(chosen < 0)
    chosen[left[: len(free)]] = free[: len(left)]
    return chosen


def _assign_on_table(pairs: CandidatePairs, scores: Floats) -> Ints:
    from scipy.optimize import linear_sum_assignment

    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    low = scores.min(initial=0.0) - 10 * (np.ptp(scores) if len(scores) else 0.0) - 1.0
    table = np.full((n_traces, n_users), low)
    table[pairs.traces, pairs.users] = scores
    trace, user = linear_sum_assignment(table, maximize=True)
    chosen = np.full(n_traces, -1, np.int64)
    chosen[trace] = np.where(table[trace, user] > low, user, -1)
    return chosen


def _assign_on_pairs(pairs: CandidatePairs, scores: Floats) -> Ints:
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


def rank_users(pairs: CandidatePairs, scores: Floats, given: Ints) -> Ints:
    """Return traces × `LISTED` users, the one given to the trace first and then by score, -1 for no more."""
    n_traces = len(pairs.offsets) - 1
    is_given = pairs.users == given[pairs.traces]
    order = np.lexsort((pairs.users, -scores, ~is_given, pairs.traces))
    rank = np.arange(len(order)) - pairs.offsets[pairs.traces] + 1
    ranked = np.full((n_traces, LISTED + 1), NOBODY, np.int64)
    ranked[:, 0] = given
    # A user who was assigned without a scored pair stands first all the same.
    alone = np.ones(n_traces, bool)
    alone[pairs.traces[is_given]] = False
    rank -= ~alone[pairs.traces]
    kept = rank <= LISTED
    ranked[pairs.traces[kept], rank[kept]] = pairs.users[order][kept]
    return ranked[:, :LISTED]
