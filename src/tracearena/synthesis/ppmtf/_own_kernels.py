"""The loop that bounds what a trace weighs under its own user, for the plausible-deniability test.

Row sums are made in float32 (`sum_bounds`), which is what weighing a trace costs most; all else is float64.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints, Small
from tracearena.synthesis.ppmtf._row_kernels import TILE, clamped, pair, total_of
from tracearena.synthesis.ppmtf._sieve_kernels import sum_bounds

_NOTHING = 1e-300


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _moved(row: Floats, inverse_sum: float, visits: Floats, back: Floats, inverse_sums: Floats) -> float:
    """Return Σ_j min(row[j] / Σ, visits[j] · back[j] / Σ_j)."""
    total = 0.0
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * back[j] * inverse_sums[j])
    return total


@njit(cache=True, nogil=True)
def bound_log_likelihoods(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, small_CT: Small, A2: Floats, B2: Floats,
    B2T: Floats, D: Floats, slot_of: Ints, smallest: float, traces: Index, user: Ints, running: Floats,
    low: Floats, high: Floats,
) -> None:  # fmt: skip
    """Bound the log-likelihood of each trace (rows of places) as made for ``user``.

    ``A`` and ``A2`` have a row a trace, and traces must be grouped by user, as for `log_likelihoods`, whose
    running log-likelihoods ``running`` is near to. The bounds leave more room than float64 needs.
    """
    n, n_slots = len(B), len(D)
    sizes = np.abs(C).sum(axis=0)
    tiles = np.empty((n + TILE - 1) // TILE)
    row, back, V = np.empty(n), np.empty(n), np.empty((n_slots, n))
    fewest, most = np.empty(n), np.empty(n)
    known = np.zeros(n_slots, np.bool_)
    for r in range(len(traces)):
        a, a2 = A[r], A2[r]
        if r == 0 or user[r] != user[r - 1]:
            known[:] = False
            sum_bounds(a, B, small_CT, sizes, smallest, fewest, most)
            fewest[:], most[:] = 1.0 / most, 1.0 / fewest  # of one over the sums from here on
        for t in slot_of:
            if not known[t]:
                clamped(a2 * D[t], B2T, smallest, V[t])
                known[t] = True
        here = traces[r, 0]
        weight = math.log(V[slot_of[0], here] / total_of(V[slot_of[0]], tiles))
        running[r, 0], low[r], high[r] = weight, weight, weight
        stayed = -1
        for s in range(1, traces.shape[1]):
            i, j, t = traces[r, s - 1], traces[r, s], slot_of[s]
            if i == j:
                if stayed != i:
                    clamped(a * B[i], CT, smallest, row)
                    clamped(a * C[i], BT, smallest, back)
                    back[i] = 0.0
                    stayed = i
                at = V[t, i]
                upper = max(1.0 - _moved(row, fewest[i] * at, V[t], back, fewest) / at, _NOTHING)
                lower = max(1.0 - _moved(row, most[i] * at, V[t], back, most) / at, _NOTHING)
            else:
                there = pair(a, B[i], C[j], smallest)
                returned = pair(a, B[j], C[i], smallest) * (V[t, j] / V[t, i])
                upper = min(there * most[i], returned * most[j])
                lower = min(there * fewest[i], returned * fewest[j])
            high[r] += math.log(upper)
            low[r] += math.log(lower)
            running[r, s] = running[r, s - 1] + math.log(upper)
