"""Candidates: which users are worth a closer look for each trace, found without keeping the whole table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.traces._arrays import unique_values

Table = Callable[[int, int], NDArray[np.float64]]
"""Scores of all traces for the users from one number up to another: traces × users."""

_USERS_PER_BLOCK = 64
_MOST_KEPT = 8_000_000


class CandidatePairs(NamedTuple):
    """Pairs of a trace and a user who may be behind it, by trace, users ascending.

    Attributes
    ----------
    offsets, users
        Trace ``p`` may be ``users[offsets[p]:offsets[p + 1]]``.
    n_users
        Number of users in all.
    """

    offsets: NDArray[np.int64]
    users: NDArray[np.int32]
    n_users: int

    @property
    def traces(self) -> NDArray[np.int64]:
        """The trace of each pair."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def by_user(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the pairs of each user begin, and their numbers, traces ascending."""
        order = np.argsort(self.users, kind="stable")
        offsets = np.searchsorted(self.users[order], np.arange(self.n_users + 1))
        return offsets.astype(np.int64), order.astype(np.int64)

    @classmethod
    def of(
        cls, traces: NDArray[np.int64], users: NDArray[np.int64], n_traces: int, n_users: int
    ) -> CandidatePairs:
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
) -> tuple[CandidatePairs, list[NDArray[np.float64]] | None]:
    """Return the `keep` best users of each trace and the best traces of each user, by the sum of tables.

    Exact: every pair is scored, a block of users at a time. Where all scores can be kept meanwhile, those of
    the pairs are returned too, by table.
    """
    from tracearena.attacks.bayesian._matching_kernels import keep_best

    is_kept = n_traces * n_users <= _MOST_KEPT
    chooses = keep < n_users and n_traces > 0
    if not chooses and not is_kept:
        return build_all_pairs(n_traces, n_users), None
    kept = [np.empty((n_users, n_traces)) for _ in tables] if is_kept else None
    size = keep if chooses else 0
    best_scores = np.full((n_traces, size), -np.inf)
    best_users = np.full((n_traces, size), np.iinfo(np.int64).max, np.int64)
    of_user = min(size, n_traces)
    lock = Lock()

    def work(block: int, first: int, stop: int) -> NDArray[np.int64]:
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

    found = run_blocks(work, block_ranges(n_users, _USERS_PER_BLOCK))
    if chooses:
        traces = np.concatenate([np.repeat(np.arange(n_traces), keep), *(one.ravel() for one in found)])
        users = np.concatenate([best_users.ravel(), np.repeat(np.arange(n_users), of_user)])
        pairs = CandidatePairs.of(traces, users, n_traces, n_users)
    else:
        pairs = build_all_pairs(n_traces, n_users)
    return pairs, None if kept is None else [one[pairs.users, pairs.traces] for one in kept]
