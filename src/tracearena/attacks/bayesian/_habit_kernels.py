"""Inner loops of the matches by habits: time of day, and where one goes next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.attacks.bayesian._match_kernels import LARGE, SMALL
from tracearena.attacks.bayesian._profile_kernels import fill_profile

Array = NDArray[Any]

MOVES_TABLE = 2048
"""Room to look up the moves of a user: at least twice as many as there are."""
SCATTER = 2654435761
"""Numbers of moves are multiplied by this to scatter them over the table."""


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
def ring_shares(
    said: Array, times: Array, profile: Array, offsets: Array, places: Array, rings: Array, shares: Array
) -> None:
    """Write for each event how likely its user is in each ring around the place that is said of it.

    The places of all rings but the last are listed; the last holds all others.
    """
    last = shares.shape[1] - 1
    for k in range(said.shape[0]):
        y, t = said[k], times[k]
        shares[k] = 0.0
        for x in range(profile.shape[0]):
            shares[k, last] += profile[x, t]
        for e in range(offsets[y], offsets[y + 1]):
            here = profile[places[e], t]
            shares[k, rings[e]] += here
            shares[k, last] -= here


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
    step_keys: Array,
    step_ends: Array,
    step_usual: Array,
    step_ordinary: Array,
    end_offsets: Array,
    end_places: Array,
    end_times: Array,
    move_offsets: Array,
    move_from: Array,
    move_keys: Array,
    move_counts: Array,
    n_symbols: int,
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

    A step from `n_symbols` begins a chain. Step k ends at place and time ``step_ends[k]``, which are listed:
    places ``end_places[end_offsets[c]:end_offsets[c + 1]]``, time ``end_times[c]``. ``step_usual`` is what
    the population's Q(y|x) adds, and ``step_ordinary`` one by how likely the step is for anybody. A key is
    the number of a move, whoever makes it.
    """
    n_places, length = population.shape
    profile = np.empty((n_places, length))
    here = np.empty(end_times.shape[0])
    keys = np.full(MOVES_TABLE, -1, np.int64)
    often = np.zeros(MOVES_TABLE)
    leaving = np.full(n_symbols + 1, weight)
    given = np.empty(n_symbols + 1)
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
        for c in range(end_times.shape[0]):
            likely = 0.0
            for e in range(end_offsets[c], end_offsets[c + 1]):
                likely += profile[end_places[e], end_times[c]]
            here[c] = weight * (1 - share) * likely
        listed = move_offsets[u + 1] - move_offsets[u]
        if 2 * listed > keys.shape[0]:
            size = keys.shape[0]
            while size < 2 * listed:
                size *= 2
            keys = np.full(size, -1, np.int64)
            often = np.zeros(size)
        last = keys.shape[0] - 1
        for k in range(move_offsets[u], move_offsets[u + 1]):
            at = (move_keys[k] * SCATTER >> 20) & last
            while keys[at] >= 0:
                at = (at + 1) & last
            keys[at] = move_keys[k]
            often[at] = move_counts[k]
            leaving[move_from[k]] += move_counts[k]
        for x in range(n_symbols):
            given[x] = 1.0 / leaving[x]
        given[n_symbols] = 1.0 / weight
        for pair in range(pair_offsets[u], pair_offsets[u + 1]):
            row = pair_rows[pair]
            score, product = 0.0, 1.0
            for k in range(step_offsets[row], step_offsets[row + 1]):
                expected = here[step_ends[k]] + step_usual[k]
                at = (step_keys[k] * SCATTER >> 20) & last
                while keys[at] >= 0:
                    if keys[at] == step_keys[k]:
                        expected += often[at]
                        break
                    at = (at + 1) & last
                product *= expected * given[step_from[k]] * step_ordinary[k]
                if not SMALL < product < LARGE:
                    score += math.log(product)
                    product = 1.0
            scores[pair] = score + math.log(product)
        keys[:] = -1
        for k in range(move_offsets[u], move_offsets[u + 1]):
            leaving[move_from[k]] = weight
