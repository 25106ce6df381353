"""Loops of repeated bisection: which of two sides each place goes to."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ROUNDS = 40
"""Passes over the places in which a bisection may still move one; it ends long before."""


@njit(cache=True, nogil=True)
def improve_bisection(
    weights: NDArray[np.float64], orders: NDArray[np.int64], side: NDArray[np.int8]
) -> float:
    """Move places between two sides while √(weight within 0) + √(weight within 1) rises; return it.

    Weights are symmetric and count both ways, loops once. Row ``k`` of `orders` is the order in which
    places are asked in pass k. No side is left empty.
    """
    n = len(weights)
    link = np.zeros((2, n))
    within, count = np.zeros(2), np.zeros(2, np.int64)
    for v in range(n):
        count[side[v]] += 1
        for u in range(n):
            link[side[u], v] += weights[u, v]
    for v in range(n):
        within[side[v]] += link[side[v], v]
    for k in range(len(orders)):
        moved = False
        for v in orders[k]:
            here = side[v]
            there = 1 - here
            if count[here] == 1:
                continue
            left = max(within[here] - 2 * link[here, v] + weights[v, v], 0.0)
            joined = within[there] + 2 * link[there, v] + weights[v, v]
            if np.sqrt(left) + np.sqrt(joined) > np.sqrt(within[0]) + np.sqrt(within[1]) + 1e-12:
                within[here], within[there] = left, joined
                count[here] -= 1
                count[there] += 1
                side[v] = there
                for u in range(n):
                    link[here, u] -= weights[v, u]
                    link[there, u] += weights[v, u]
                moved = True
        if not moved:
            break
    return float(np.sqrt(within[0]) + np.sqrt(within[1]))
