"""Loops of the plausible-deniability test.

A trace is a first place and a row of numbers of *steps* (slot, place, next place). Steps that many
traces share are worked out once for each verifying user.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints
from tracearena.synthesis.ppmtf._row_kernels import (
    TILE,
    clamped,
    clamped_rows,
    row_sums,
    rows_at_once,
    total_of,
)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _moved(row: Floats, inverse_sum: float, visits: Floats, scaled: Floats, here: float) -> float:
    """Return Σ_j min(row[j] · inverse_sum, visits[j] · scaled[j] · here), the own place included."""
    total = 0.0
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * scaled[j] * here)
    return total


@njit(cache=True, nogil=True)
def _step_logs(
    a: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, V: Floats, inverse_sums: Floats,
    smallest: float, offsets: Ints, slot: Index, target: Index, out: Floats,
) -> None:  # fmt: skip
    """Set ``out[s]`` to the log-probability of each step; steps are grouped by the place they leave.

    ``inverse_sums`` are one over the row sums.
    """
    n = len(B)
    room = rows_at_once(len(a), n)
    X, rows, backs, scaled = np.empty((room, len(a))), np.empty((room, n)), np.empty((room, n)), np.empty(n)
    for low in range(0, n, room):
        high = min(low + room, n)
        if offsets[low] == offsets[high]:
            continue
        clamped_rows(a, B[low:high], CT, smallest, X, rows)
        clamped_rows(a, C[low:high], BT, smallest, X, backs)
        for i in range(low, high):
            row, back = rows[i - low], backs[i - low]
            inverse_sum, ready = inverse_sums[i], False
            for s in range(offsets[i], offsets[i + 1]):
                t, j = slot[s], target[s]
                here = 1.0 / V[t, i]
                if i != j:
                    step = min(row[j] * inverse_sum, V[t, j] * back[j] * inverse_sums[j] * here)
                else:
                    if not ready:
                        for other in range(n):
                            scaled[other] = back[other] * inverse_sums[other]
                        ready = True
                    own = min(row[i] * inverse_sum, V[t, i] * scaled[i] * here)
                    step = max(1.0 - (_moved(row, inverse_sum, V[t], scaled, here) - own), 1e-300)
                out[s] = math.log(step)


@njit(cache=True, nogil=True)
def count_same_bucket(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, A2: Floats, B2T: Floats, D: Floats,
    first_slot: int, smallest: float, verifiers: Ints, offsets: Ints, slot: Index, target: Index,
    first: Index, steps: Index, owner: Ints, bucket: Floats, eta: float, counts: Index,
) -> None:  # fmt: skip
    """Add to ``counts[r]`` the verifiers other than ``owner[r]`` for whom trace r is in ``bucket[r]``.

    ``A`` and ``A2`` have a row a verifier.
    """
    n, n_slots = len(B), len(D)
    V, sums, inverse_sums = np.empty((n_slots, n)), np.empty(n), np.empty(n)
    tiles = np.empty((n + TILE - 1) // TILE)
    logs, first_logs = np.empty(len(slot)), np.empty(n)
    for v in range(len(verifiers)):
        a, a2, u = A[v], A2[v], verifiers[v]
        for t in range(n_slots):
            clamped(a2 * D[t], B2T, smallest, V[t])
        visit_total = total_of(V[first_slot], tiles)
        for i in range(n):
            first_logs[i] = math.log(V[first_slot, i] / visit_total)
        row_sums(a, B, CT, smallest, sums)
        inverse_sums[:] = 1.0 / sums
        _step_logs(a, B, BT, C, CT, V, inverse_sums, smallest, offsets, slot, target, logs)
        for r in range(len(first)):
            if owner[r] == u:
                continue
            total = first_logs[first[r]]
            for s in range(steps.shape[1]):
                total += logs[steps[r, s]]
            if math.floor(-total / eta) == bucket[r]:
                counts[r] += 1
