"""The loop that weighs traces."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints
from tracearena.synthesis.ppmtf._row_kernels import TILE, clamped, pair, row_sums, total_of


@njit(cache=True, nogil=True)
def log_likelihoods(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, A2: Floats, B2: Floats, B2T: Floats,
    D: Floats, slot_of: Ints, smallest: float, traces: Index, user: Ints, out: Floats,
) -> None:  # fmt: skip
    """Set ``out`` to the running log-likelihood of each trace (rows of places) as made for ``user``.

    ``A`` and ``A2`` have a row a trace. Traces must be grouped by user, so that the row sums of a user
    are computed once. Staying has probability 1 − Σ of the other moves, which needs the sums of all rows.
    """
    n = len(B)
    n_tiles = (n + TILE - 1) // TILE
    tiles = np.empty(n_tiles)
    row, back, visits, sums = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    complete = False
    for r in range(len(traces)):
        a, a2 = A[r], A2[r]
        if r == 0 or user[r] != user[r - 1]:
            sums[:] = -1.0
            complete = False
        clamped(a2 * D[slot_of[0]], B2T, smallest, visits)
        i = traces[r, 0]
        out[r, 0] = math.log(visits[i] / total_of(visits, tiles))
        for t in range(1, traces.shape[1]):
            i, j = traces[r, t - 1], traces[r, t]
            weight = D[slot_of[t]]
            if i == j:
                if not complete:
                    row_sums(a, B, CT, smallest, sums)
                    complete = True
                clamped(a * B[i], CT, smallest, row)
                clamped(a * C[i], BT, smallest, back)
                clamped(a2 * weight, B2T, smallest, visits)
                moved = 0.0
                for place in range(n):
                    if place != i:
                        proposed = row[place] / sums[i]
                        moved += min(proposed, visits[place] * back[place] / (visits[i] * sums[place]))
                step = max(1.0 - moved, 1e-300)
            else:
                for place in (i, j):
                    if sums[place] < 0.0:
                        clamped(a * B[place], CT, smallest, row)
                        sums[place] = total_of(row, tiles)
                step = pair(a, B[i], C[j], smallest) / sums[i]
                here = pair(a2, B2[i], weight, smallest)
                there = pair(a2, B2[j], weight, smallest) * pair(a, B[j], C[i], smallest)
                step = min(step, there / (here * sums[j]))
            out[r, t] = out[r, t - 1] + math.log(step)
