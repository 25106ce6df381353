"""Kernels of the simple synthesizers: walks of SGD, and chains of short steps."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray


# SGD. P(j | i, slot) is the share of j among the transitions counted from i to an instant of the slot,
# kept as running counts of sparse rows; a place is drawn by inverting them at a uniform number.
@njit(cache=True, nogil=True)
def draw_chain_walks(  # type: ignore[no-untyped-def]
    rows, offsets, targets, cumulative, first_cumulative, slot_of, n_places, copied, uniforms, out
):
    """Draw traces from one Markov chain whose matrices differ by slot: users × days × instants.

    `rows` are the sorted keys slot * places + place that were ever left; row ``r`` leads to
    ``targets[offsets[r]:offsets[r + 1]]`` with running counts `cumulative`. A place that was never
    left leads to any of `n_places`. ``copied[u, t]`` is a place to copy, -1 to draw. `first_cumulative` are
    running counts of the first place of a day, `slot_of` is the slot of each instant of a day, and `uniforms`
    has the shape of `out`.
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


# Chains of short steps. From place i a step leads to targets[offsets[i]:offsets[i + 1]] with probabilities
# `chances`: a sparse matrix P. Work is split by the place where a long step of `steps` short ones ends;
# a block has the places first, ..., first + ends - 1.
#   reach     R_m = P^m, columns of the block only, by R_m = P R_(m-1)
#   E-step    expected count of (i, j): Σ over long steps (s, e) and m of
#             count · P^m(s, i) P(i, j) P^(steps-1-m)(j, e) / P^steps(s, e)
#   bridges   next place j with probability ∝ P(i, j) P^(steps-m)(j, e)

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
    """Draw the places between ``starts[k]`` and place ``first + end[k]``, `steps` − 1 of them each.

    `uniforms` and `out` are bridges × (steps − 1).
    """
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
