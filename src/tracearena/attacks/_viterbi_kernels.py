"""Viterbi decoding of the sets that a person sent."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Places = NDArray[np.int32]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def decode_chains(
    first: int,
    stop: int,
    chain_offsets: Ints,
    gaps: Ints,
    set_offsets: Ints,
    members: Places,
    visits: NDArray[np.float64],
    powers: NDArray[np.float32],
    guess: Places,
) -> None:
    """Write the most probable place of each event of the chains first..stop.

    ``gaps[e]`` instants lie between event e and the one before; ``powers[g - 1]`` is the transition
    matrix of g steps. After more steps than there are powers a person may be anywhere (`visits`).
    """
    for chain in range(first, stop):
        low, high = chain_offsets[chain], chain_offsets[chain + 1]
        if low == high:
            continue
        total = set_offsets[high] - set_offsets[low]
        back = np.zeros(total, np.int64)
        base = set_offsets[low]
        score = np.empty(total)
        for k in range(set_offsets[low], set_offsets[low + 1]):
            score[k - base] = visits[members[k]]
        for e in range(low + 1, high):
            top = 1e-300
            for i in range(set_offsets[e - 1], set_offsets[e]):
                top = max(top, score[i - base])
            for i in range(set_offsets[e - 1], set_offsets[e]):
                score[i - base] /= top
            for j in range(set_offsets[e], set_offsets[e + 1]):
                best, at = -1.0, set_offsets[e - 1]
                for i in range(set_offsets[e - 1], set_offsets[e]):
                    if gaps[e] <= len(powers):
                        value = score[i - base] * powers[gaps[e] - 1, members[i], members[j]]
                    else:
                        value = score[i - base] * visits[members[j]]
                    if value > best:
                        best, at = value, i
                score[j - base] = best
                back[j - base] = at
        best_at = set_offsets[high - 1]
        for k in range(set_offsets[high - 1], set_offsets[high]):
            if score[k - base] > score[best_at - base]:
                best_at = k
        for e in range(high - 1, low - 1, -1):
            guess[e] = members[best_at]
            best_at = back[best_at - base]
