"""Inner loops of the matches by habits: time of day, and where one goes next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.attacks.bayesian._profile_kernels import fill_profile

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def release_profile(
    profile: Array, used: Array, offsets: Array, places: Array, values: Array, floor: Array, released: Array
) -> None:
    """Write into ``released[k, t]`` how likely symbol ``used[k]`` is at t: Σ_x E(y|x) P_t(x)."""
    length = profile.shape[1]
    for k in range(used.shape[0]):
        y = used[k]
        row = released[k]
        row[:] = floor[y]
        for e in range(offsets[y], offsets[y + 1]):
            own = profile[places[e]]
            for t in range(length):
                row[t] += values[e] * own[t]


@njit(cache=True, nogil=True)
def profile_pairs(
    first: int,
    stop: int,
    pair_offsets: Array,
    first_listed: int,
    pair_rows: Array,
    said_offsets: Array,
    said: Array,
    said_counts: Array,
    visit_offsets: Array,
    times: Array,
    places: Array,
    counts: Array,
    in_time: Array,
    space_offsets: Array,
    space_members: Array,
    space_weights: Array,
    population: Array,
    others: float,
    used: Array,
    emission_offsets: Array,
    emission_places: Array,
    emission_values: Array,
    floor: Array,
    ordinary: Array,
    scores: Array,
) -> None:
    """Write the log-likelihood ratio of each pair by time of day.

    ``said[k]`` is symbol × time of day of a trace, as an index of ``ordinary`` (flat), which holds the
    logarithm of how likely that is of anybody. `pair_offsets` begins with user `first_listed`.
    """
    n_places, length = population.shape
    profile = np.empty((n_places, length))
    released = np.empty((used.shape[0], length))
    for u in range(first, stop):
        if pair_offsets[u - first_listed] == pair_offsets[u - first_listed + 1]:
            continue
        own = slice(visit_offsets[u], visit_offsets[u + 1])
        fill_profile(
            times[own],
            places[own],
            counts[own],
            in_time,
            space_offsets,
            space_members,
            space_weights,
            population,
            others,
            profile,
        )
        release_profile(profile, used, emission_offsets, emission_places, emission_values, floor, released)
        flat = released.ravel()
        for k in range(flat.shape[0]):
            flat[k] = math.log(flat[k]) - ordinary[k]
        for pair in range(pair_offsets[u - first_listed], pair_offsets[u - first_listed + 1]):
            row = pair_rows[pair]
            score = 0.0
            for k in range(said_offsets[row], said_offsets[row + 1]):
                score += said_counts[k] * flat[said[k]]
            scores[pair] = score


@njit(cache=True, nogil=True)
def markov_pairs(
    first: int,
    stop: int,
    pair_offsets: Array,
    pair_rows: Array,
    step_offsets: Array,
    step_from: Array,
    step_to: Array,
    step_times: Array,
    step_usual: Array,
    move_offsets: Array,
    move_from: Array,
    move_to: Array,
    move_counts: Array,
    symbol_offsets: Array,
    symbol_members: Array,
    visit_offsets: Array,
    times: Array,
    places: Array,
    counts: Array,
    in_time: Array,
    space_offsets: Array,
    space_members: Array,
    space_weights: Array,
    population: Array,
    others: float,
    share: float,
    weight: float,
    scores: Array,
) -> None:
    """Write the log-likelihood ratio of the steps of each pair's trace under the user's own moves.

    A step without an origin (-1) begins a chain. ``step_usual`` is Q(y|x) of the population. The
    moves of a user are sorted by origin and target.
    """
    n_places, length = population.shape
    n_symbols = symbol_offsets.shape[0] - 1
    profile = np.empty((n_places, length))
    begin = np.zeros(n_symbols, np.int64)
    end = np.zeros(n_symbols, np.int64)
    leaving = np.zeros(n_symbols)
    for u in range(first, stop):
        if pair_offsets[u] == pair_offsets[u + 1]:
            continue
        own = slice(visit_offsets[u], visit_offsets[u + 1])
        fill_profile(
            times[own],
            places[own],
            counts[own],
            in_time,
            space_offsets,
            space_members,
            space_weights,
            population,
            others,
            profile,
        )
        for k in range(move_offsets[u], move_offsets[u + 1]):
            x = move_from[k]
            if leaving[x] == 0:
                begin[x] = k
            end[x] = k + 1
            leaving[x] += move_counts[k]
        for pair in range(pair_offsets[u], pair_offsets[u + 1]):
            row = pair_rows[pair]
            score = 0.0
            for k in range(step_offsets[row], step_offsets[row + 1]):
                x, y, t = step_from[k], step_to[k], step_times[k]
                here, everybody = 0.0, 0.0
                for e in range(symbol_offsets[y], symbol_offsets[y + 1]):
                    here += profile[symbol_members[e], t]
                    everybody += population[symbol_members[e], t]
                if x < 0:
                    score += math.log(here / everybody)
                    continue
                known = 0.0
                if leaving[x] > 0:
                    for e in range(begin[x], end[x]):
                        if move_to[e] == y:
                            known = move_counts[e]
                            break
                usual = share * step_usual[k]
                expected = (1 - share) * here + usual
                ordinary = (1 - share) * everybody + usual
                score += math.log((known + weight * expected) / ((leaving[x] + weight) * ordinary))
            scores[pair] = score
        for k in range(move_offsets[u], move_offsets[u + 1]):
            leaving[move_from[k]] = 0.0
