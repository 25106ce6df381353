"""Inner loops of a choice in turn: who of a trace's listed users is still free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tracearena.attacks.overlap import Candidates

Array = NDArray[Any]

NOBODY = -1
UNTOLD = -2


@njit(cache=True, nogil=True)
def take_listed(first: int, stop: int, found: Candidates, tie: float, free: Array, chosen: Array) -> int:
    """Let trace after trace take its best user who is still free (-1 if none), and return where that ends.

    It ends early at a trace whose list does not tell.
    """
    for p in range(first, stop):
        user = _told(found, p, tie, free)
        if user == UNTOLD:
            return p
        chosen[p] = user
        if user != NOBODY:
            free[user] = False
    return stop


@njit(cache=True, nogil=True)
def running_out(first: int, stop: int, found: Candidates, tie: float, free: Array, fewest: int) -> Array:
    """Return the traces with a full list that names fewer free users, or that does not tell."""
    rows = np.empty(stop - first, np.int64)
    n = 0
    for p in range(first, stop):
        left = 0
        for user in found.users[p]:
            left += user < 0 or free[user]
        rows[n] = p
        n += (left < fewest and found.users[p, -1] >= 0) or _told(found, p, tie, free) == UNTOLD
    return rows[:n]


@njit(cache=True, nogil=True)
def _told(found: Candidates, p: int, tie: float, free: Array) -> int:
    """Return the first free user at most `tie` below the best free one, if the list tells."""
    users, scores = found.users[p], found.scores[p]
    first, limit = NOBODY, -np.inf
    for k in range(len(users)):
        user = users[k]
        if user < 0 or scores[k] < limit:
            break
        if not free[user]:
            continue
        if first < 0:
            first, limit = user, scores[k] - tie
        first = min(first, user)
    if first < 0:
        return NOBODY if users[-1] < 0 else UNTOLD
    if first < found.beyond[p] or scores[-1] < limit:
        return first
    # Somebody who is not listed may come before her. Who it is was found out for the highest score.
    best = found.best[p]
    return best if free[best] and limit == scores[0] - tie else UNTOLD
