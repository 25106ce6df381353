"""Loops of the simple synthesizers."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def draw_chain_walks(  # type: ignore[no-untyped-def]
    rows, offsets, targets, cumulative, first_cumulative, slot_of, n_places, copied, uniforms, out
):
    """Draw traces from one Markov chain whose matrices differ by slot: users × days × instants.

    `rows` are the sorted keys slot * places + place that were ever left; row ``r`` leads to
    ``targets[offsets[r]:offsets[r + 1]]`` with running counts `cumulative`. A place that was never
    left leads anywhere. ``copied[u, t]`` is a place to copy, -1 to draw.
    """
    users, days, length = out.shape
    for u in range(users):
        for d in range(days):
            for t in range(length):
                uniform = uniforms[u, d, t]
                if t < copied.shape[1] and copied[u, t] >= 0:
                    place = copied[u, t]
                elif t == 0:
                    place = np.searchsorted(first_cumulative, uniform * first_cumulative[-1], side="right")
                else:
                    key = slot_of[t] * n_places + out[u, d, t - 1]
                    r = np.searchsorted(rows, key)
                    if r < len(rows) and rows[r] == key:
                        mine = cumulative[offsets[r] : offsets[r + 1]]
                        at = np.searchsorted(mine, uniform * mine[-1], side="right")
                        place = targets[offsets[r] + min(at, len(mine) - 1)]
                    else:
                        place = int(uniform * n_places)
                out[u, d, t] = min(place, n_places - 1)
