"""Loops that arrange cells: zeros drawn, cells taken apart, pairs sorted."""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints


@njit(cache=True, nogil=True)
def sample_zeros(
    positive: Ints, positive_offsets: Ints, n_cells: int, wanted: int, uniforms: Floats, out: Ints
) -> Ints:
    """Draw `wanted` cells of each user uniformly without replacement from those that are not positive.

    R. Floyd's algorithm on the ranks of the free cells, each rank then shifted past the positive
    cells below it: O(wanted) a user whatever the number of cells. All free cells where there are
    no more than `wanted`. Returns how many were written for each user.
    """
    users = len(positive_offsets) - 1
    written = np.zeros(users, np.int64)
    size = 16
    while size < 2 * wanted:
        size *= 2
    table = np.empty(size, np.int64)
    at = 0
    for u in range(users):
        mine = positive[positive_offsets[u] : positive_offsets[u + 1]]
        free = n_cells - len(mine)
        count = min(wanted, free)
        table[:] = -1
        for r in range(count):
            top = free - count + r
            rank = min(int(uniforms[u, r] * (top + 1)), top)
            if not _insert(table, rank):
                rank = top
                _insert(table, rank)
            out[at] = _shifted(mine, rank)
            at += 1
        written[u] = count
    return written


@njit(cache=True, nogil=True)
def _insert(table: Ints, value: int) -> bool:
    mask = len(table) - 1
    slot = (value * 0x9E3779B1 >> 7) & mask
    while table[slot] != -1:
        if table[slot] == value:
            return False
        slot = (slot + 1) & mask
    table[slot] = value
    return True


@njit(cache=True, nogil=True)
def _shifted(positive: Ints, rank: int) -> int:
    low, high = 0, len(positive)
    while low < high:
        middle = (low + high) // 2
        if positive[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


@njit(cache=True, nogil=True)
def split_cells(
    cells: Ints, counts: Ints, width: int, shift: int, user: Index, place: Index, target: Index
) -> None:
    """Write user, place and shifted target of cells, of which each user has the next ``counts[user]``."""
    c = 0
    for u in range(len(counts)):
        for _ in range(counts[u]):
            i = cells[c] // width
            user[c] = u
            place[c] = i
            target[c] = cells[c] - i * width + shift
            c += 1


@njit(cache=True, nogil=True)
def sort_pairs(
    key: Index, offsets: Ints, left: Index, right: Index, sorted_left: Index, sorted_right: Index
) -> None:
    """Put each pair behind the others of its key, whose place begins at ``offsets[key]``."""
    free = offsets.copy()
    for c in range(len(key)):
        at = free[key[c]]
        free[key[c]] = at + 1
        sorted_left[at] = left[c]
        sorted_right[at] = right[c]
