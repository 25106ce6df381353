"""Traces take their users in turn: each the best one who is still free.

A trace chooses among its candidates. Before they run out it gets new ones, the best of the users who are
still free, together with the traces that follow it: so many are compared at a time, on all threads, and
with fewer and fewer users.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.matching import NOBODY
from tracearena.attacks.overlap import TRACES_PER_BLOCK, Candidates, Index, Items, best_of
from tracearena.engine import block_ranges, report, run_blocks

_LONGEST_ROUND = 1 << 12
_FEWEST = 2
"""A trace gets new candidates when fewer of its own are free."""
_SHRUNK = 0.9
"""The index is made anew when no more than this share of its users is free."""
_ROWS_PER_BLOCK = 32


def take_in_turn(
    index: Index, items: Items, found: Candidates, free: NDArray[np.bool_], *, tie: float
) -> NDArray[np.int64]:
    """Return the user whom each trace takes, -1 where nobody is left; they are not free any more.

    Parameters
    ----------
    found
        The best users of each trace, of all or at least of those who are free; replaced as it is used up.
    """
    from tracearena.attacks._turn_kernels import running_out, take_listed

    n, blocks = len(found.best), -(-len(found.best) // TRACES_PER_BLOCK)
    chosen = np.full(n, NOBODY)
    users = np.arange(len(free))
    at, size = 0, _LONGEST_ROUND
    while at < n and free.any():
        stop = min(at + size, n)
        rows = running_out(at, stop, found, tie, free, _FEWEST)
        if len(rows):
            still = free[users]
            if still.sum() <= _SHRUNK * len(users):
                index, users = index.among(np.flatnonzero(still)), users[still]
            _look_again(index, users, items.take(rows), free[users], tie, found, rows)
        reached = take_listed(at, stop, found, tie, free, chosen)
        # A list that ended within the round was not foreseen: the next one is not to be longer than that.
        size = min(2 * max(reached - at, _ROWS_PER_BLOCK), _LONGEST_ROUND)
        at = reached
        report(blocks + -(-at // TRACES_PER_BLOCK), 2 * blocks)
    return chosen


def _look_again(
    index: Index,
    users: NDArray[np.int64],
    items: Items,
    free: NDArray[np.bool_],
    tie: float,
    found: Candidates,
    rows: NDArray[np.int64],
) -> None:
    """Replace the candidates of some traces by the best of the free users of an index."""
    names = np.append(users, [len(users) and users[-1] + 1, NOBODY])
    ranges = block_ranges(len(rows), _ROWS_PER_BLOCK)
    blocks = run_blocks(partial(_block, index, items, free, tie), ranges)
    for (first, stop), block in zip(ranges, blocks, strict=True):
        own = rows[first:stop]
        found.best[own], found.users[own] = names[block.best], names[block.users]
        found.scores[own], found.beyond[own] = block.scores, names[block.beyond]


def _block(
    index: Index, items: Items, free: NDArray[np.bool_], tie: float, block: int, first: int, stop: int
) -> Candidates:
    return best_of(index, items.part(first, stop), free=free, tie=tie)
