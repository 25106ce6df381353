"""Loops over the chain of short steps between two instants.

Pure functions on arrays. A chain is sparse, by rows: from place ``i`` a step leads to
``targets[offsets[i]:offsets[i + 1]]`` with the probabilities ``chances`` at the same positions. Work is
cut by the place where a long step ends, `ends` of them at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Index = NDArray[np.integer]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def compute_reach(
    offsets: Ints, targets: Index, chances: Floats, steps: int, first: int, ends: int
) -> Floats:
    """Return ``out[m, i, e]``: the chance to be at place ``first + e`` after m steps from place ``i``."""
    n = len(offsets) - 1
    out = np.zeros((steps + 1, n, ends))
    for e in range(ends):
        out[0, first + e, e] = 1.0
    for m in range(1, steps + 1):
        for i in range(n):
            mine = out[m, i]
            for at in range(offsets[i], offsets[i + 1]):
                chance, before = chances[at], out[m - 1, targets[at]]
                for e in range(ends):
                    mine[e] += chance * before[e]
    return out


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def add_expected_steps(
    offsets: Ints, targets: Index, chances: Floats, steps: int, first: int, ends: int, pair_offsets: Ints,
    pair_starts: Index, pair_counts: Floats, out: Floats,
) -> float:  # fmt: skip
    """Add the expected number of short steps of each kind, given long steps, to ``out``.

    Long steps that end at place ``first + e`` are ``pair_offsets[e]:pair_offsets[e + 1]`` of
    `pair_starts` and `pair_counts`. Returns their log-likelihood.
    """
    n = len(offsets) - 1
    to_end = compute_reach(offsets, targets, chances, steps, first, ends)
    weight, later = np.zeros((n, ends)), np.empty((n, ends))
    likelihood = 0.0
    for e in range(ends):
        for p in range(pair_offsets[e], pair_offsets[e + 1]):
            chance = to_end[steps, pair_starts[p], e]
            if chance > 0.0:
                likelihood += pair_counts[p] * math.log(chance)
                weight[pair_starts[p], e] += pair_counts[p] / chance
    for m in range(steps):
        later[:] = 0.0
        for i in range(n):
            mine = weight[i]
            if mine.max() == 0.0:
                continue
            for at in range(offsets[i], offsets[i + 1]):
                j, chance, total = targets[at], chances[at], 0.0
                rest, next_weight = to_end[steps - 1 - m, j], later[j]
                for e in range(ends):
                    total += mine[e] * rest[e]
                    next_weight[e] += chance * mine[e]
                out[at] += chance * total
        weight, later = later, weight
    return likelihood


@njit(cache=True, nogil=True)
def draw_bridges(
    offsets: Ints, targets: Index, chances: Floats, steps: int, first: int, ends: int, starts: Index,
    end: Index, uniforms: Floats, out: Index,
) -> None:  # fmt: skip
    """Draw the places between ``starts[k]`` and place ``first + end[k]``, `steps` − 1 of them each."""
    to_end = compute_reach(offsets, targets, chances, steps, first, ends)
    for k in range(len(starts)):
        i = starts[k]
        for m in range(1, steps):
            rest = to_end[steps - m]
            total = 0.0
            for at in range(offsets[i], offsets[i + 1]):
                total += chances[at] * rest[targets[at], end[k]]
            left = uniforms[k, m - 1] * total
            chosen = i
            for at in range(offsets[i], offsets[i + 1]):
                share = chances[at] * rest[targets[at], end[k]]
                if share > 0.0:
                    chosen = targets[at]
                    left -= share
                    if left < 0.0:
                        break
            i = chosen
            out[k, m - 1] = i
