"""Candidate search: the best few users of each trace by an inverted index, then greedy assignment.

A score is a user's base plus the sum, over the keys of the trace, of weight × value. Most users share
little with a trace and are never looked at: a `CandidateIndex` lists the users of each key. Every block of
traces finds its best users on its own (`find_best_candidates`), here or in a cluster; the choice is the same
as from the scores of all users.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import LISTED, NOBODY, TIE, Floats, GreedyMatch, Ints, Ints32, Mask
from tracearena.engine import block_ranges, current_progress, report, run_blocks, use

CANDIDATES = 32
"""Number of users that are kept for each trace."""

TRACES_PER_BLOCK = 256


class CandidateIndex(NamedTuple):
    """Who has which key, and how much of it. No value is negative.

    Attributes
    ----------
    base
        Score of each user for a trace that shares nothing with her.
    by_base
        Users tile by tile, by falling base, of equals the first first.
    group_ends
        For each position in `by_base` where those of the same tile and base end.
    n_keys
        How many keys there are.
    offsets, users, values
        Users of each key, one key after the other, tile by tile, counted from the first of the tile.
    row_offsets, row_keys, row_values
        Keys of each user, ascending, one user after the other.
    """

    base: Floats
    by_base: Ints
    group_ends: Ints
    n_keys: int
    offsets: Ints
    users: NDArray[np.uint16]
    values: Floats
    row_offsets: Ints
    row_keys: Ints32
    row_values: Floats

    @classmethod
    def of(cls, base: Floats, offsets: Ints, users: Ints32, values: Floats) -> Self:
        """Make an index from the users of each key, one key after the other."""
        from tracearena.attacks._kernels import group_by_user

        return cls._of_rows(base, len(offsets) - 1, *group_by_user(len(base), offsets, users, values))

    def restrict_to(self, kept: Ints) -> Self:
        """Return the index of some users alone, numbered again in the order given."""
        from tracearena.attacks._kernels import select_users

        rows = select_users(kept, self.row_offsets, self.row_keys, self.row_values)
        return self._of_rows(self.base[kept], self.n_keys, *rows)

    @classmethod
    def _of_rows(cls, base: Floats, n_keys: int, offsets: Ints, keys: Ints32, values: Floats) -> Self:
        from tracearena.attacks._kernels import TILE, group_by_tile

        tile = np.arange(len(base)) // TILE
        by_base = np.lexsort((-base, tile))
        same = (np.diff(base[by_base]) == 0) & (np.diff(tile) == 0)
        ends = np.append(np.flatnonzero(~same) + 1, len(base))
        group = np.cumsum(np.concatenate([[0], ~same])) if len(base) else np.zeros(0, np.int64)
        tiles = group_by_tile(n_keys, offsets, keys, values)
        return cls(base, by_base, ends[group], n_keys, *tiles, offsets, keys, values)


class TraceKeys(NamedTuple):
    """The keys of each trace, one trace after the other, and the weight of each; none is negative."""

    offsets: Ints
    keys: Ints
    weights: Floats

    def part(self, first: int, stop: int) -> TraceKeys:
        """Return some traces alone."""
        own = slice(self.offsets[first], self.offsets[stop])
        return TraceKeys(self.offsets[first : stop + 1] - own.start, self.keys[own], self.weights[own])

    def take(self, traces: Ints) -> TraceKeys:
        """Return these traces alone, in the order given."""
        sizes = np.diff(self.offsets)[traces]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        own = np.repeat(self.offsets[traces] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return TraceKeys(offsets, self.keys[own], self.weights[own])


class Candidates(NamedTuple):
    """The best users of each trace.

    Attributes
    ----------
    best
        The first user whose score is at most the tie below the highest.
    users, scores
        Traces × `CANDIDATES`, by falling score, of equals the first first; -1 where there are no more users.
    beyond
        No user below, except them, has a score that is at most the tie below the last of theirs.
    """

    best: Ints
    users: Ints32
    scores: Floats
    beyond: Ints


def find_best_candidates(
    index: CandidateIndex, items: TraceKeys, *, free: Mask | None = None, tie: float = TIE
) -> Candidates:
    """Return the best users of each trace, whatever other traces there are.

    Parameters
    ----------
    free
        Which users can be named; all of them if omitted.

    Examples
    --------
    >>> weights = np.array([1.0, 2.0, 4.0])
    >>> index = CandidateIndex.of(np.zeros(3), np.array([0, 2, 3]), np.array([0, 2, 1]), weights)
    >>> two_traces = TraceKeys(np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([1.0, 3.0, 1.0]))
    >>> find_best_candidates(index, two_traces).users[:, :4].tolist()
    [[2, 0, 1, -1], [2, 1, 0, -1]]
    """
    from tracearena.attacks._kernels import find_best_users

    shape = len(items.offsets) - 1, CANDIDATES
    best, beyond = np.empty((2, shape[0]), np.int64)
    found = Candidates(best, np.empty(shape, np.int32), np.empty(shape), beyond)
    find_best_users(index, items, np.ones(len(index.base), np.bool_) if free is None else free, tie, found)
    return found


def choose_by_candidates(
    parts: Iterable[tuple[CandidateIndex, TraceKeys]], n_users: int, *, tie: float = TIE
) -> GreedyMatch:
    """Choose for every trace as `choose_greedily` does from the scores of all users.

    Parameters
    ----------
    parts
        The traces in order, in one part or several, each with an index of the same users.
    """
    free, matches, progress = np.ones(n_users, np.bool_), [], current_progress()
    for index, items in parts:
        # Finding the best users of all traces is the first half of the work.
        ranges = block_ranges(len(items.offsets) - 1, TRACES_PER_BLOCK)
        with use(progress=lambda done, total: progress(done, 2 * total)):
            search = partial(_search_block, index, items, None, tie)
            blocks = run_blocks(search, ranges, anywhere=True, report=True)
        blocks = blocks or [find_best_candidates(index, items)]
        found = Candidates(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
        best, ranked = found.best.copy(), _rank_candidates(found)
        matches.append((best, assign_greedily(index, items, found, free, tie=tie), ranked))
    return GreedyMatch(*(np.concatenate(column) for column in zip(*matches, strict=True)))


def _search_block(
    index: CandidateIndex, items: TraceKeys, free: Mask | None, tie: float, block: int, first: int, stop: int
) -> Candidates:
    return find_best_candidates(index, items.part(first, stop), free=free, tie=tie)


def _rank_candidates(found: Candidates) -> Ints:
    """Return the best user of each trace, and after her the others by score."""
    ranked = np.full((len(found.best), LISTED), NOBODY, np.int64)
    ranked[:, 0] = found.best
    is_best = found.users == found.best[:, None]
    at = np.where(is_best.any(axis=1), is_best.argmax(axis=1), found.users.shape[1])
    place = np.arange(min(LISTED, found.users.shape[1]) - 1)
    others = place[None, :] + (place[None, :] >= at[:, None])
    ranked[:, 1 : 1 + len(place)] = np.take_along_axis(found.users, others, axis=1)
    return ranked


# Greedy assignment: each trace takes its best user who is still free.

_LONGEST_ROUND = 1 << 12
_FEWEST = 2
"""A trace gets new candidates when fewer of its own are free."""
_SHRUNK = 0.9
"""The index is rebuilt when no more than this share of its users is free."""
_ROWS_PER_BLOCK = 32


def assign_greedily(
    index: CandidateIndex, items: TraceKeys, found: Candidates, free: Mask, *, tie: float
) -> Ints:
    """Return the user that each trace takes, -1 if none is left; taken users are no longer free.

    Parameters
    ----------
    found
        The best users of each trace, of all or at least of those who are free; replaced as it is used up.
    """
    from tracearena.attacks._kernels import find_short_lists, take_listed

    n, blocks = len(found.best), -(-len(found.best) // TRACES_PER_BLOCK)
    chosen = np.full(n, NOBODY)
    users = np.arange(len(free))
    at, size = 0, _LONGEST_ROUND
    while at < n and free.any():
        stop = min(at + size, n)
        rows = find_short_lists(at, stop, found, tie, free, _FEWEST)
        if len(rows):
            still = free[users]
            if still.sum() <= _SHRUNK * len(users):
                index, users = index.restrict_to(np.flatnonzero(still)), users[still]
            _refresh_candidates(index, users, items.take(rows), free[users], tie, found, rows)
        reached = take_listed(at, stop, found, tie, free, chosen)
        # A list that ended within the round was not foreseen: the next one is not to be longer than that.
        size = min(2 * max(reached - at, _ROWS_PER_BLOCK), _LONGEST_ROUND)
        at = reached
        report(blocks + -(-at // TRACES_PER_BLOCK), 2 * blocks)
    return chosen


def _refresh_candidates(
    index: CandidateIndex,
    users: Ints,
    items: TraceKeys,
    free: Mask,
    tie: float,
    found: Candidates,
    rows: Ints,
) -> None:
    """Replace the candidates of some traces by the best of the free users of an index."""
    names = np.append(users, [len(users) and users[-1] + 1, NOBODY])
    ranges = block_ranges(len(rows), _ROWS_PER_BLOCK)
    blocks = run_blocks(partial(_search_block, index, items, free, tie), ranges)
    for (first, stop), block in zip(ranges, blocks, strict=True):
        own = rows[first:stop]
        found.best[own], found.users[own] = names[block.best], names[block.users]
        found.scores[own], found.beyond[own] = block.scores, names[block.beyond]
