"""Compiled loops of the likelihoods: time profiles, transitions, Pólya counts, Sinkhorn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tracearena.attacks.bayesian.profiles import ProfileArrays

Array = NDArray[Any]

MOVES_TABLE = 2048
"""Room to look up the moves of a user: at least twice as many as there are."""
SCATTER = 2654435761
"""Numbers of moves are multiplied by this to scatter them over the table."""


@njit(cache=True, nogil=True)
def fill_release_profile(
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
def compute_ring_shares(
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
def score_profile_pairs(
    first: int,
    stop: int,
    pair_offsets: Array,
    first_listed: int,
    pair_rows: Array,
    said_offsets: Array,
    said: Array,
    said_counts: Array,
    habits: ProfileArrays,
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
    length = habits.population.shape[1]
    profile = np.empty(habits.population.shape)
    released = np.empty((used.shape[0], length))
    for u in range(first, stop):
        if pair_offsets[u - first_listed] == pair_offsets[u - first_listed + 1]:
            continue
        fill_profile(u, habits, others, profile)
        fill_release_profile(
            profile, used, emission_offsets, emission_places, emission_values, floor, released
        )
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
def score_markov_pairs(
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
    habits: ProfileArrays,
    others: float,
    share: float,
    weight: float,
    scores: Array,
) -> None:
    """Write the log-likelihood ratio of the steps of each pair's trace under the user's own moves.

    A step from `n_symbols` begins a chain. Step k ends at place and time ``step_ends[k]``, which are listed:
    places ``end_places[end_offsets[c]:end_offsets[c + 1]]``, time ``end_times[c]``. ``step_usual`` is what
    the population's Q(y|x) adds, and ``step_ordinary`` one by how likely the step is for anybody. A key is
    the number of a move, for all users.
    """
    profile = np.empty(habits.population.shape)
    here = np.empty(end_times.shape[0])
    keys = np.full(MOVES_TABLE, -1, np.int64)
    often = np.zeros(MOVES_TABLE)
    leaving = np.full(n_symbols + 1, weight)
    given = np.empty(n_symbols + 1)
    for u in range(first, stop):
        if pair_offsets[u] == pair_offsets[u + 1]:
            continue
        fill_profile(u, habits, others, profile)
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


# Pólya likelihoods, the best candidates of every row and column, Sinkhorn.

FACTORS = 30
"""This many factors are multiplied before a logarithm is taken, because logarithms take longest."""
SMALL, LARGE = 1e-100, 1e100
"""Where the number of factors is open, the logarithm is taken when the product leaves this range."""


@njit(cache=True, nogil=True)
def score_polya_block(
    expected: Array,
    totals: Array,
    occurrence_offsets: Array,
    occurrence_rows: Array,
    occurrence_counts: Array,
    row_totals: Array,
    baseline: Array,
    scores: Array,
) -> None:
    """Write the scores of all traces (rows) for a block of users (columns).

    ``expected[y, u]`` is α_y + a_u(y), `totals` its sum over all symbols. The traces in which symbol
    y occurs are listed by how often it does, so that every logarithm is taken once.
    """
    n_symbols, width = expected.shape
    n_rows = scores.shape[0]
    gain = np.empty(width)
    for row in range(n_rows):
        # Most traces are of one length.
        if row == 0 or row_totals[row] != row_totals[row - 1]:
            for u in range(width):
                gain[u] = math.lgamma(totals[u]) - math.lgamma(totals[u] + row_totals[row])
        for u in range(width):
            scores[row, u] = gain[u] - baseline[row]
    product = np.empty(width)
    for y in range(n_symbols):
        gain[:] = 0.0
        reached = 0
        for k in range(occurrence_offsets[y], occurrence_offsets[y + 1]):
            while reached < occurrence_counts[k]:
                stop = min(occurrence_counts[k], reached + FACTORS)
                product[:] = 1.0
                while reached < stop:
                    for u in range(width):
                        product[u] *= expected[y, u] + reached
                    reached += 1
                for u in range(width):
                    gain[u] += math.log(product[u])
            row = scores[occurrence_rows[k]]
            for u in range(width):
                row[u] += gain[u]


@njit(cache=True, nogil=True)
def score_polya_pairs(
    first: int,
    stop: int,
    pair_offsets: Array,
    pair_rows: Array,
    bag_offsets: Array,
    bag_symbols: Array,
    bag_counts: Array,
    model_offsets: Array,
    model_symbols: Array,
    model_values: Array,
    model_totals: Array,
    floor: Array,
    alpha: Array,
    alpha_total: float,
    baseline: Array,
    scores: Array,
) -> None:
    """Write the scores of chosen pairs; those of user u are ``pair_offsets[u]:pair_offsets[u + 1]``."""
    own = np.zeros(alpha.shape[0])
    for u in range(first, stop):
        for e in range(model_offsets[u], model_offsets[u + 1]):
            own[model_symbols[e]] = model_values[e]
        total = alpha_total + model_totals[u]
        for pair in range(pair_offsets[u], pair_offsets[u + 1]):
            row = pair_rows[pair]
            score, events, product = 0.0, 0, 1.0
            for e in range(bag_offsets[row], bag_offsets[row + 1]):
                y = bag_symbols[e]
                base = alpha[y] + own[y] + floor[y] * model_totals[u]
                for k in range(bag_counts[e]):
                    product *= base + k
                    if not SMALL < product < LARGE:
                        score += math.log(product)
                        product = 1.0
                events += bag_counts[e]
            score += math.log(product)
            scores[pair] = score + math.lgamma(total) - math.lgamma(total + events) - baseline[row]
        for e in range(model_offsets[u], model_offsets[u + 1]):
            own[model_symbols[e]] = 0.0


@njit(cache=True, nogil=True)
def keep_best(scores: Array, first_column: int, best_scores: Array, best_columns: Array) -> None:
    """Take the columns of a block into each row's list of its best, a heap with the worst on top.

    Of equal scores the first column is the better one.
    """
    size = best_scores.shape[1]
    for row in range(scores.shape[0]):
        heap, columns = best_scores[row], best_columns[row]
        for k in range(scores.shape[1]):
            score, column = scores[row, k], first_column + k
            if score < heap[0] or (score == heap[0] and column > columns[0]):
                continue
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                other = child + 1
                if other < size and (
                    heap[other] < heap[child]
                    or (heap[other] == heap[child] and columns[other] > columns[child])
                ):
                    child = other
                if heap[child] > score or (heap[child] == score and columns[child] < column):
                    break
                heap[at], columns[at] = heap[child], columns[child]
                at = child
            heap[at], columns[at] = score, column


@njit(cache=True, nogil=True)
def sinkhorn(
    offsets: Array, columns: Array, scores: Array, elsewhere: float, rounds: int, weights: Array
) -> None:
    """Write a weight for each pair so that rows and columns sum to at most 1.

    Every row and column has, besides its pairs, something else that it may be, with a score of
    `elsewhere` below its best.
    """
    n_rows, n_columns = offsets.shape[0] - 1, 0
    for c in columns:
        n_columns = max(n_columns, c + 1)
    row_best = np.full(n_rows, -np.inf)
    for row in range(n_rows):
        for e in range(offsets[row], offsets[row + 1]):
            row_best[row] = max(row_best[row], scores[e])
    for row in range(n_rows):
        for e in range(offsets[row], offsets[row + 1]):
            weights[e] = math.exp(scores[e] - row_best[row])
    slack = math.exp(-elsewhere)
    # Columns are divided by their totals when the next round comes to the row, so that a round goes through
    # the table once.
    divisors, totals = np.ones(n_columns), np.empty(n_columns)
    for _ in range(rounds):
        totals[:] = 0.0
        for row in range(n_rows):
            total, largest = 0.0, 0.0
            for e in range(offsets[row], offsets[row + 1]):
                weights[e] /= divisors[columns[e]]
                total += weights[e]
                largest = max(largest, weights[e])
            total += slack * largest
            if total > 0:
                for e in range(offsets[row], offsets[row + 1]):
                    weights[e] /= total
            for e in range(offsets[row], offsets[row + 1]):
                totals[columns[e]] += weights[e]
        for c in range(n_columns):
            divisors[c] = max(totals[c], 1e-300)
    for e in range(weights.shape[0]):
        weights[e] /= divisors[columns[e]]


# Profiles of users, and the answer with the least expected loss.


@njit(cache=True, nogil=True)
def fill_profile(user: int, habits: ProfileArrays, others: float, profile: Array) -> None:
    """Write P_t(x) of one user into ``profile[x, t]``; her visits come sorted by place.

    ``in_time[s]`` spreads a visit at time s over the day, ``weights`` spreads it over the places around,
    and `others` is the weight of the whole population; her own is 1.
    """
    visit_offsets, times, places, counts, in_time, offsets, members, weights, population = habits
    length = profile.shape[1]
    profile[:] = 0.0
    own = np.zeros(length)
    total = np.zeros(length)
    k, stop = visit_offsets[user], visit_offsets[user + 1]
    while k < stop:
        place = places[k]
        own[:] = 0.0
        while k < stop and places[k] == place:
            for t in range(length):
                own[t] += counts[k] * in_time[times[k], t]
            k += 1
        for t in range(length):
            total[t] += own[t]
        for e in range(offsets[place], offsets[place + 1]):
            row = profile[members[e]]
            for t in range(length):
                row[t] += weights[e] * own[t]
    seen = total.sum() > 0
    for t in range(length):
        total[t] = 1.0 / (total[t] * (1.0 + others)) if seen and total[t] > 0 else 0.0
    share = others / (1.0 + others) if seen else 1.0
    for x in range(profile.shape[0]):
        for t in range(length):
            profile[x, t] = profile[x, t] * total[t] + share * population[x, t]


@njit(cache=True, nogil=True)
def compute_profile_gains(
    profile: Array,
    population: Array,
    common: Array,
    share: float,
    sensitivity: Array,
    offsets: Array,
    members: Array,
    worth: Array,
    gains: Array,
) -> None:
    """Write into ``gains[c, t]`` what answering c at t is worth by the profile alone.

    `common` is what it is worth by the population's, of which the profile holds this `share`: a
    user's own places are few, and only these are gone through.
    """
    length = profile.shape[1]
    row = np.empty(length)
    for c in range(profile.shape[0]):
        for t in range(length):
            gains[c, t] = share * common[c, t]
    for x in range(profile.shape[0]):
        is_own = False
        for t in range(length):
            row[t] = profile[x, t] - share * population[x, t]
            is_own = is_own or row[t] != 0.0
        if not is_own:
            continue
        for e in range(offsets[x], offsets[x + 1]):
            factor = sensitivity[x] * worth[e]
            gain = gains[members[e]]
            for t in range(length):
                gain[t] += factor * row[t]


@njit(cache=True, nogil=True)
def choose_best_answers(gains: Array, answers: Array) -> None:
    """Write the best answer at each time of day."""
    best = gains[0].copy()
    answers[:] = 0
    for c in range(1, gains.shape[0]):
        for t in range(gains.shape[1]):
            if gains[c, t] > best[t]:
                best[t] = gains[c, t]
                answers[t] = c


@njit(cache=True, nogil=True)
def score_held_out_visits(
    offsets: Array,
    places: Array,
    times: Array,
    days: Array,
    tables: Array,
    population: Array,
    others: float,
    likely: Array,
) -> int:
    """Add up how likely each visit is by its user's visits on other days, as logarithms; return how many.

    ``tables[s, t, r]`` is how a visit at s counts for t by temporal kernel r.
    """
    n_rhythms = tables.shape[2]
    own = np.empty(n_rhythms)
    total = np.empty(n_rhythms)
    scored = 0
    for u in range(offsets.shape[0] - 1):
        for e in range(offsets[u], offsets[u + 1]):
            own[:] = 0.0
            total[:] = 0.0
            for f in range(offsets[u], offsets[u + 1]):
                if days[f] == days[e]:
                    continue
                counts = tables[times[f], times[e]]
                for r in range(n_rhythms):
                    total[r] += counts[r]
                if places[f] == places[e]:
                    for r in range(n_rhythms):
                        own[r] += counts[r]
            if total[0] == 0.0:
                continue
            scored += 1
            common = others * population[places[e], times[e]]
            for r in range(n_rhythms):
                likely[r] += np.log((own[r] / total[r] + common) / (1.0 + others))
    return scored
