"""Compiled loops of the likelihoods: Pólya counts, time profiles, transitions; and of their pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.attacks.bayesian._profile_kernels import fill_profile

if TYPE_CHECKING:
    from tracearena.attacks.bayesian.profiles import ProfileArrays

Array = NDArray[Any]

FACTORS = 30
"""This many factors are multiplied before a logarithm is taken, because logarithms take longest."""
SMALL, LARGE = 1e-100, 1e100
"""Where the number of factors is open, the logarithm is taken when the product leaves this range."""
MOVES_TABLE = 2048
"""Room to look up the moves of a user: at least twice as many as there are."""
SCATTER = 2654435761
"""Numbers of moves are multiplied by this to scatter them over the table."""


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
    """Write ``scores[p, u]`` of all traces (rows) for a block of users (columns).

    expected[y, u]      α_y + a_u(y)
    totals[u]           its sum over all observations
    occurrence_offsets, occurrence_rows, occurrence_counts
                        entries ``occurrence_offsets[y]:occurrence_offsets[y + 1]``: the traces in which y
                        occurs and b_p(y), ascending, so that each logarithm is taken once
    row_totals[p]       number of events of trace p
    baseline[p]         score of a user like the whole population, which is subtracted
    """
    alphabet_size, width = expected.shape
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
    for y in range(alphabet_size):
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
    """Write the scores of the listed pairs of users from `first` up to `stop`.

    pair_offsets, pair_rows     the traces user u is scored for, in the order of `scores`:
                                ``pair_rows[pair_offsets[u]:pair_offsets[u + 1]]``
    bag_offsets, bag_symbols, bag_counts        b_p(y): observations of trace p and how often each occurs
    model_offsets, model_symbols, model_values  Σ_x c_u(x) E(y|x) of user u, without the floor
    model_totals[u]     number of events of user u, each of which adds ``floor[y]`` to a_u(y)
    alpha[y], alpha_total   α_y and its sum
    baseline[p]         score of a user like the whole population, which is subtracted
    """
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
def fill_release_profile(
    profile: Array, used: Array, offsets: Array, places: Array, values: Array, floor: Array, released: Array
) -> None:
    """Write into ``released[k, t]`` how likely observation ``used[k]`` is at t: Σ_x E(y|x) P_t(x).

    profile[x, t]       P_t(x)
    offsets, places, values, floor
                        E(y|x): the places of observation y with their probabilities, and that of all others
    """
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
def score_profile_pairs(
    first: int,
    stop: int,
    pair_offsets: Array,
    first_listed: int,
    pair_rows: Array,
    observed_offsets: Array,
    observed: Array,
    observed_counts: Array,
    profiles: ProfileArrays,
    used: Array,
    emission_offsets: Array,
    emission_places: Array,
    emission_values: Array,
    floor: Array,
    ordinary: Array,
    scores: Array,
) -> None:
    """Write the log-likelihood ratio of each pair by time of day.

    pair_offsets, pair_rows     the traces of each user; `pair_offsets` begins with user `first_listed`
    observed_offsets, observed, observed_counts
                        what trace p was released as: an observation and a time of day as one index of
                        `ordinary`, and how often
    used[k]             the k-th observation that occurs
    emission_offsets, emission_places, emission_values, floor
                        E(y|x): the places of observation y with their probabilities, and that of all others
    ordinary            log Σ_x P_t(x) E(y|x) for the whole population, flat
    scores              out: one for each pair, in the order of `pair_rows`
    """
    length = profiles.population.shape[1]
    profile = np.empty(profiles.population.shape)
    released = np.empty((used.shape[0], length))
    for u in range(first, stop):
        if pair_offsets[u - first_listed] == pair_offsets[u - first_listed + 1]:
            continue
        fill_profile(u, profiles, profile)
        fill_release_profile(
            profile, used, emission_offsets, emission_places, emission_values, floor, released
        )
        flat = released.ravel()
        for k in range(flat.shape[0]):
            flat[k] = math.log(flat[k]) - ordinary[k]
        for pair in range(pair_offsets[u - first_listed], pair_offsets[u - first_listed + 1]):
            row = pair_rows[pair]
            score = 0.0
            for k in range(observed_offsets[row], observed_offsets[row + 1]):
                score += observed_counts[k] * flat[observed[k]]
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
    alphabet_size: int,
    profiles: ProfileArrays,
    share: float,
    weight: float,
    scores: Array,
) -> None:
    """Write the log-likelihood ratio of the steps of each pair's trace under the user's own moves.

    The likelihood of a step from x to y at time t is
    [c_u(xy) + β((1-γ) P_{u,t}(y) + γ Q(y|x))] / (c_u(x) + β), divided by the same for the whole population.

    pair_offsets, pair_rows     the traces user u is scored for
    step_offsets        trace p has steps ``step_offsets[p]:step_offsets[p + 1]``
    step_from[k]        x; `alphabet_size` where a chain begins
    step_keys[k]        the number of the move from x to y, the same for all users
    step_ends[k]        c: an observation with a time of day, listed below
    step_usual[k]       β γ Q(y|x)
    step_ordinary[k]    1 / likelihood of the step for the whole population
    end_offsets, end_places, end_times      places of c, and its time of day
    move_offsets, move_from, move_keys, move_counts     moves of user u: x, number of the move, c_u(xy)
    share, weight       γ and β
    scores              out: one for each pair, in the order of `pair_rows`
    """
    profile = np.empty(profiles.population.shape)
    here = np.empty(end_times.shape[0])
    keys = np.full(MOVES_TABLE, -1, np.int64)
    often = np.zeros(MOVES_TABLE)
    leaving = np.full(alphabet_size + 1, weight)
    given = np.empty(alphabet_size + 1)
    for u in range(first, stop):
        if pair_offsets[u] == pair_offsets[u + 1]:
            continue
        fill_profile(u, profiles, profile)
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
        for x in range(alphabet_size):
            given[x] = 1.0 / leaving[x]
        given[alphabet_size] = 1.0 / weight
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


@njit(cache=True, nogil=True)
def keep_best(scores: Array, first_column: int, best_scores: Array, best_columns: Array) -> None:
    """Take the columns of a block into each row's list of its best, a heap with the worst on top.

    Of equal scores the first column is the better one.

    scores[row, k]      the block: scores of column ``first_column + k``
    best_scores, best_columns
                        the heap of each row: its best scores, and their columns
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
    """Write a weight for each pair: exp(score), with rows (traces) and columns (users) scaled in turn.

    A row may be none of its pairs, with a score of `elsewhere` below its best, and its weights sum to less
    than 1 before columns are divided. Columns have no such slack and are divided last: they sum to 1. Where
    there are more columns than rows, rows therefore sum to more than 1.

    offsets, columns, scores    row r has the pairs ``offsets[r]:offsets[r + 1]`` of the other two
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
