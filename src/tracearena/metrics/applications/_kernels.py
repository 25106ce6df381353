"""Loops of the applications: meetings, singled-out users, and users linked by likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _root(parent: Any, user: int) -> int:
    while parent[user] != user:
        parent[user] = parent[parent[user]]
        user = parent[user]
    return user


@njit(cache=True, nogil=True)
def spread_messages(slot: Any, user: Any, xyz: Any, axis: int, range_m: float, arrival: Any) -> None:
    """Fill ``arrival[source, user]`` with the slot in which the message arrives.

    Points are sorted by slot, then along `axis`, so that a point's neighbours in range lie in a
    short window after it.
    """
    n_users = arrival.shape[0]
    words = (n_users + 63) // 64
    heard = np.zeros((n_users, words), np.uint64)
    for u in range(n_users):
        heard[u, u // 64] = np.uint64(1) << np.uint64(u % 64)
    joined = np.zeros((n_users, words), np.uint64)
    parent = np.arange(n_users)
    limit = range_m * range_m
    begin, total = 0, len(slot)
    while begin < total:
        end = begin + 1
        while end < total and slot[end] == slot[begin]:
            end += 1
        met = False
        for i in range(begin, end):
            for j in range(i + 1, end):
                if xyz[j, axis] - xyz[i, axis] > range_m:
                    break
                a, b = _root(parent, user[i]), _root(parent, user[j])
                if a == b:
                    continue
                x, y, z = xyz[j, 0] - xyz[i, 0], xyz[j, 1] - xyz[i, 1], xyz[j, 2] - xyz[i, 2]
                if x * x + y * y + z * z <= limit:
                    parent[max(a, b)] = min(a, b)
                    met = True
        if met:
            _pass_on(user, begin, end, parent, heard, joined, slot[begin], arrival)
        begin = end


@njit(cache=True, nogil=True)
def _pass_on(
    user: Any, begin: int, end: int, parent: Any, heard: Any, joined: Any, now: int, arrival: Any
) -> None:
    """Give everybody of a chain what anybody of it has heard, and dissolve the chains."""
    words = heard.shape[1]
    for i in range(begin, end):
        root = _root(parent, user[i])
        for w in range(words):
            joined[root, w] |= heard[user[i], w]
    for i in range(begin, end):
        u = user[i]
        root = _root(parent, u)
        for w in range(words):
            fresh = joined[root, w] & ~heard[u, w]
            if fresh:
                heard[u, w] |= fresh
                for bit in range(64):
                    if fresh & (np.uint64(1) << np.uint64(bit)):
                        arrival[w * 64 + bit, u] = now
    for i in range(begin, end):
        for w in range(words):
            joined[_root(parent, user[i]), w] = np.uint64(0)
    for i in range(begin, end):
        parent[user[i]] = user[i]
