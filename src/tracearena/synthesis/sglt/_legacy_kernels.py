"""Loops of the published SGLT program: thinned classes, merged classes, decoding that can fail."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.synthesis.sglt._kernels import _draw_uniform

Places = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_KEPT = 3
"""So many places of a class are kept, whatever par_c."""


@njit(cache=True, nogil=True)
def _thin_classes(
    class_offsets: Ints,
    members: Places,
    par_c: float,
    state: NDArray[np.uint64],
    rng: np.random.Generator,
    secret: bool,
    draws: Floats,
    kept: Flags,
) -> None:
    """Drop each place with probability par_c, but not the last three of its class."""
    for c in range(len(class_offsets) - 1):
        first, stop = class_offsets[c], class_offsets[c + 1]
        for i in range(first, stop):
            draws[i] = _draw_uniform(state, rng, secret)
        spared = 0.0
        if stop - first >= LEAST_KEPT:
            spared = np.partition(draws[first:stop], stop - first - LEAST_KEPT)[stop - first - LEAST_KEPT]
        for i in range(first, stop):
            kept[members[i]] = draws[i] >= min(par_c, spared)


@njit(cache=True, nogil=True)
def _list_allowed(
    seed: Places,
    t: int,
    class_of: Places,
    class_offsets: Ints,
    members: Places,
    kept: Flags,
    par_m: float,
    par_l: float,
    state: NDArray[np.uint64],
    rng: np.random.Generator,
    secret: bool,
    chosen: Flags,
    out: Places,
) -> int:
    """Write the places from which the fake may choose at instant t; return how many.

    Of the class visited k instants away the first par_m^(k²) of the kept places join, rounded down; one
    visited before counts as an instant nearer, but for the last.
    """
    own, count = class_of[seed[t]], 0
    for i in range(class_offsets[own], class_offsets[own + 1]):
        place = members[i]
        if kept[place] and not (place == seed[t] and _draw_uniform(state, rng, secret) < par_l):
            out[count] = place
            count += 1
    for direction in (-1, 1):
        at = t + direction
        while 0 <= at < len(seed) and class_of[seed[at]] == own:
            at += direction
        if at < 0 or at >= len(seed):
            continue
        first, stop = class_offsets[class_of[seed[at]]], class_offsets[class_of[seed[at]] + 1]
        many = 0
        for i in range(first, stop):
            many += kept[members[i]]
        far = abs(at - t)
        if direction < 0:
            far = max(far - 1, 1)
        left = int(par_m ** (far**2) * many)
        for i in range(first, stop):
            place = members[i]
            if left > 0 and kept[place]:
                left -= 1
                if not chosen[place]:
                    chosen[place] = True
                    out[count] = place
                    count += 1
    for k in range(count):
        chosen[out[k]] = False
    return count


@njit(cache=True, nogil=True)
def make_legacy_fakes(
    seeds: Places,
    seed_rows: Ints,
    random_seeds: NDArray[np.uint64],
    rng: np.random.Generator,
    secret: bool,
    class_of: Places,
    class_offsets: Ints,
    members: Places,
    log_start: Floats,
    step_of: Ints,
    log_moves: Floats,
    par_c: float,
    par_m: float,
    par_l: float,
    par_v: float,
    fails: bool,
    out: Places,
    log_likelihood: Floats,
) -> None:
    """Make one fake of each seed row by randomised Viterbi decoding.

    Where no place is left at an instant, decoding ends if it `fails`: this and all later instants are
    at place 0. Otherwise every place may be chosen, the seed's own unless par_l drops it.
    """
    length, n = seeds.shape[1], len(class_of)
    sets, back = np.empty((length, n), np.int32), np.empty((length, n), np.int32)
    counts, score, fresh = np.empty(length, np.int64), np.empty(n), np.empty(n)
    chosen, kept, draws = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.empty(n)
    state = np.zeros(1, np.uint64)
    for f in range(len(seed_rows)):
        seed = seeds[seed_rows[f]]
        state[0] = random_seeds[f]
        _thin_classes(class_offsets, members, par_c, state, rng, secret, draws, kept)
        end = length
        for t in range(length):
            counts[t] = _list_allowed(
                seed,
                t,
                class_of,
                class_offsets,
                members,
                kept,
                par_m,
                par_l,
                state,
                rng,
                secret,
                chosen,
                sets[t],
            )
            if counts[t] == 0 and fails:
                end = t
                break
            if counts[t] == 0:
                for place in range(n):
                    if place != seed[t] or n == 1 or _draw_uniform(state, rng, secret) >= par_l:
                        sets[t, counts[t]] = place
                        counts[t] += 1
        out[f] = 0
        for t in range(end):
            for j in range(counts[t]):
                q = sets[t, j]
                if t == 0:
                    fresh[q] = log_start[q] + np.log(1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret))
                    continue
                best, at = -np.inf, sets[t - 1, 0]
                for i in range(counts[t - 1]):
                    r = sets[t - 1, i]
                    factor = 1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret)
                    value = score[r] + log_moves[step_of[t - 1], r, q] + np.log(factor)
                    if value > best:
                        best, at = value, r
                fresh[q] = best
                back[t, q] = at
            for j in range(counts[t]):
                score[sets[t, j]] = fresh[sets[t, j]]
        if end > 0:
            at = sets[end - 1, 0]
            for place in sets[end - 1, : counts[end - 1]]:
                if score[place] > score[at]:
                    at = place
            for t in range(end - 1, -1, -1):
                out[f, t] = at
                if t > 0:
                    at = back[t, at]
        log_likelihood[f] = log_start[out[f, 0]]
        for t in range(1, length):
            log_likelihood[f] += log_moves[step_of[t - 1], out[f, t - 1], out[f, t]]
