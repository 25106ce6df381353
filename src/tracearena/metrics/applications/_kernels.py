"""Loops of the applications: meetings and singled-out users."""

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
def spread(slot: Any, user: Any, xyz: Any, axis: int, range_m: float, arrival: Any) -> None:
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


@njit(cache=True, nogil=True)
def _has(members: Any, first: int, stop: int, wanted: int) -> bool:
    while first < stop:
        middle = (first + stop) // 2
        if members[middle] < wanted:
            first = middle + 1
        else:
            stop = middle
    return first < len(members) and members[first] == wanted


@njit(cache=True, nogil=True)
def singled_out(
    own: Any, uniform: Any, translate: Any, visitor_offsets: Any, visitors: Any, target: int, k: int
) -> int:
    """Count draws of k of the codes `own` that only `target` has among the visitors of every code.

    ``uniform[d, i]`` drives Floyd's choice of k different codes. `translate` turns a code into
    a row of the index, -1 if nobody there has it.
    """
    m = len(own)
    size = min(k, m)
    chosen = np.empty(size, np.int64)
    hits = 0
    for d in range(len(uniform)):
        for i in range(size):
            top = m - size + i
            pick = min(int(uniform[d, i] * (top + 1)), top)
            for earlier in range(i):
                if chosen[earlier] == pick:
                    pick = top
                    break
            chosen[i] = pick
        hits += _only(own, chosen, translate, visitor_offsets, visitors, target)
    return hits


@njit(cache=True, nogil=True)
def _only(own: Any, chosen: Any, translate: Any, offsets: Any, visitors: Any, target: int) -> bool:
    rarest, fewest = -1, 2**62
    for i in range(len(chosen)):
        row = translate[own[chosen[i]]]
        if row < 0 or not _has(visitors, offsets[row], offsets[row + 1], target):
            return False
        if offsets[row + 1] - offsets[row] < fewest:
            rarest, fewest = row, offsets[row + 1] - offsets[row]
    for v in range(offsets[rarest], offsets[rarest + 1]):
        if visitors[v] == target:
            continue
        everywhere = True
        for i in range(len(chosen)):
            row = translate[own[chosen[i]]]
            if not _has(visitors, offsets[row], offsets[row + 1], visitors[v]):
                everywhere = False
                break
        if everywhere:
            return False
    return True
