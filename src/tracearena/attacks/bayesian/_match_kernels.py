"""Inner loops of the matches: Pólya counts, the best candidates of every row and column, Sinkhorn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

FACTORS = 30
"""So many numbers up to the count of a symbol are multiplied before a logarithm is taken, …"""
SMALL, LARGE = 1e-100, 1e100
"""… or as many as the product stays between these: logarithms are what takes longest."""


@njit(cache=True, nogil=True)
def polya_block(
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
def polya_pairs(
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

    Every row and column has, beside its pairs, something else that it may be, with a score of
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
