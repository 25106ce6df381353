"""Compiled loop of the linker: the Pólya likelihood of traces under people's counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

# Sparse tables of counts: row r is offsets[r]:offsets[r + 1] of bins and counts, bins ascending.
#
#   seen_offsets, seen_bins, seen_counts       B_p, what each trace shows
#   known_offsets, known_bins, known_counts    A_u, what is known of each person
#   n_known            number of rows (events) that A_u counts, n_u in the formula below


@njit(cache=True, nogil=True)
def polya_prior(bins: Array, counts: Array, alpha: Array) -> Array:
    """Return lgamma(α+B) - lgamma(α) of each entry of a sparse table, α being ``alpha[bin]``."""
    found = np.empty(len(counts))
    for e in range(len(counts)):
        a = alpha[bins[e]]
        found[e] = math.lgamma(a + counts[e]) - math.lgamma(a)
    return found


@njit(cache=True, nogil=True)
def polya_scores(
    first: int,
    stop: int,
    pair_offsets: Array,
    pair_traces: Array,
    seen_offsets: Array,
    seen_bins: Array,
    seen_counts: Array,
    known_offsets: Array,
    known_bins: Array,
    known_counts: Array,
    seen_without: Array,
    n_seen: Array,
    which_n_seen: Array,
    n_known: Array,
    alpha: Array,
    alpha_total: float,
    scores: Array,
) -> None:
    """Write the scores of the pairs of the people from `first` up to `stop`.

    log P(B_p | A_u) - log P(B_p | nobody), where counts are drawn with reinforcement: a bin that a person
    had A times and the prior α has the weight α + A, and each draw adds one to it. Only bins that both
    have differ from the prior:

        Σ_b [lgamma(α+A+B) - lgamma(α+A) - lgamma(α+B) + lgamma(α)]
        - lgamma(α₀+n_u+n_p) + lgamma(α₀+n_u) + lgamma(α₀+n_p) - lgamma(α₀).

    `seen_*` and `known_*` are the rows of two sparse tables of counts, `alpha` the prior of each bin and
    `alpha_total` (α₀) its sum over all bins. `seen_without` is lgamma(α+B) - lgamma(α) of each entry
    (`polya_prior`). Trace p has ``n_seen[which_n_seen[p]]`` rows: many have equally many. The pairs of
    person u are those from ``pair_offsets[u]`` on, each with a trace of `pair_traces` and its place in
    `scores`.
    """
    own = np.zeros(alpha.shape[0])
    of_own = np.zeros(alpha.shape[0])
    of_rows = np.empty(len(n_seen))
    for u in range(first, stop):
        for e in range(known_offsets[u], known_offsets[u + 1]):
            b = known_bins[e]
            own[b] = alpha[b] + known_counts[e]
            of_own[b] = math.lgamma(own[b])
        total = alpha_total + n_known[u]
        base = math.lgamma(total) - math.lgamma(alpha_total)
        for n in range(len(n_seen)):
            of_rows[n] = base - math.lgamma(total + n_seen[n]) + math.lgamma(alpha_total + n_seen[n])
        for pair in range(pair_offsets[u], pair_offsets[u + 1]):
            p = pair_traces[pair]
            score = of_rows[which_n_seen[p]]
            for e in range(seen_offsets[p], seen_offsets[p + 1]):
                b = seen_bins[e]
                if own[b] > 0.0:
                    score += math.lgamma(own[b] + seen_counts[e]) - of_own[b] - seen_without[e]
            scores[pair] = score
        for e in range(known_offsets[u], known_offsets[u + 1]):
            own[known_bins[e]] = 0.0
