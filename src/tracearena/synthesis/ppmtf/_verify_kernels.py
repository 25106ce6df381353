"""Loops of the plausible-deniability test.

A trace is a first place and a row of numbers of *steps* (slot, place, next place). Steps that many
traces share are worked out once for each verifying user.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._kernels import TILE, clamped, total_of


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _moved(row, share, visits, scaled, here):  # type: ignore[no-untyped-def]
    """Return Σ_j min(row[j] · share, visits[j] · scaled[j] · here), the own place included."""
    total = 0.0
    for j in range(len(row)):
        total += min(row[j] * share, visits[j] * scaled[j] * here)
    return total


@njit(cache=True, nogil=True)
def _step_logs(a, B, BT, C, CT, V, sums, smallest, offsets, slot, target, row, back, scaled, out):  # type: ignore[no-untyped-def]
    """Set ``out[s]`` to the log-probability of each step; steps are grouped by the place they leave."""
    n = len(B)
    for i in range(n):
        if offsets[i] == offsets[i + 1]:
            continue
        clamped(a * B[i], CT, smallest, row)
        clamped(a * C[i], BT, smallest, back)
        scaled[0] = -1.0
        for s in range(offsets[i], offsets[i + 1]):
            t, j = slot[s], target[s]
            if i != j:
                step = min(row[j] / sums[i], V[t, j] * back[j] / (V[t, i] * sums[j]))
            else:
                if scaled[0] < 0.0:
                    for other in range(n):
                        scaled[other] = back[other] / sums[other]
                share, here = 1.0 / sums[i], 1.0 / V[t, i]
                own = min(row[i] * share, V[t, i] * scaled[i] * here)
                step = max(1.0 - (_moved(row, share, V[t], scaled, here) - own), 1e-300)
            out[s] = math.log(step)


@njit(cache=True, nogil=True)
def count_same_bucket(  # type: ignore[no-untyped-def]
    A, B, BT, C, CT, A2, B2T, D, first_slot, smallest, verifiers,
    offsets, slot, target, needed, first, steps, owner, bucket, eta, counts,
):  # fmt: skip
    """Add to ``counts[r]`` the verifiers other than ``owner[r]`` for whom trace r is in ``bucket[r]``.

    ``needed[i]`` says whether the sum of row i is wanted by any step.
    """
    n, n_slots = len(B), len(D)
    V = np.empty((n_slots, n))
    row, back, scaled, sums = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    tiles = np.empty((n + TILE - 1) // TILE)
    logs = np.empty(len(slot))
    for u in verifiers:
        for t in range(n_slots):
            clamped(A2[u] * D[t], B2T, smallest, V[t])
        visit_total = total_of(V[first_slot], tiles)
        for i in range(n):
            if needed[i]:
                clamped(A[u] * B[i], CT, smallest, row)
                sums[i] = total_of(row, tiles)
        _step_logs(A[u], B, BT, C, CT, V, sums, smallest, offsets, slot, target, row, back, scaled, logs)
        for r in range(len(first)):
            if owner[r] == u:
                continue
            total = math.log(V[first_slot, first[r]] / visit_total)
            for s in range(steps.shape[1]):
                total += logs[steps[r, s]]
            if math.floor(-total / eta) == bucket[r]:
                counts[r] += 1
