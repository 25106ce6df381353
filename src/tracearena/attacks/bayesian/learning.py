"""Learned weights: how much each kind of evidence is worth, found where the truth is known.

A softmax over the users of a trace, maximised over all weights, was tried and left: half of the days
teach it to trust what few days show best (where one goes next), and whole traces are then matched worse
than by any of a few mixtures. So a mixture is chosen, and its scale.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.assignment import compute_posteriors
from tracearena.attacks.bayesian.candidates import CandidatePairs

POWERS = (-5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
"""Powers of two that a mixture is scaled by, to find how certain it makes one; then in smaller steps."""
FINER = (0.5,)
NEAR = (-1.0, -0.5, 0.0, 0.5)
GROWTH = (-1.0, 0.0, 1.0)
"""Powers of two by which the weights of traces half as long may be larger."""

CLEARLY = 0.05
"""The first mixture is kept unless another makes the truth less surprising by so much."""

LEAST_CERTAIN = 0.002
"""Traces that fit nobody's habits, whatever the weights, count as certain as this."""

Floats = NDArray[np.float64]
ScoredPairs = tuple[CandidatePairs, Floats]
"""Pairs and the weighed evidence of each."""


def learn_weights(pairs: CandidatePairs, table: Floats, truth: NDArray[np.int64], mixtures: Floats) -> Floats:
    """Return the mixture, scaled, under which Sinkhorn makes the true pairs the most certain.

    Parameters
    ----------
    table
        Pairs × kinds of evidence.
    truth
        The user of each trace.
    mixtures
        Weights of the columns of `table` to choose from, one row each.
    """
    if not (pairs.users == truth[pairs.traces]).any():
        return np.asarray(mixtures[0])

    def scaled(mixture: Floats) -> tuple[float, Floats]:
        scores = table @ mixture
        tried = [(compute_matching_loss(pairs, 2.0**power * scores, truth, 8), power) for power in POWERS]
        least, power = min(tried, key=lambda pair: pair[0])
        return least, np.asarray(2.0**power * mixture)

    first, *others = (scaled(mixture) for mixture in mixtures)
    least, best = min([first, *others], key=lambda pair: pair[0])
    if first[0] - least < CLEARLY:
        best = first[1]
    for step in FINER:
        near = [np.asarray(2.0**power * best) for power in (-step, 0.0, step)]
        best = min(near, key=lambda weights: compute_matching_loss(pairs, table @ weights, truth, 40))
    return best


def estimate_length_scale(long: ScoredPairs, short: ScoredPairs, truth: NDArray[np.int64]) -> float:
    """Return what weights are to be scaled by for traces twice as long as those they were learnt on.

    Parameters
    ----------
    long, short
        The pairs of the traces they were learnt on, with their scores by these weights, and the
        same of half of each trace. Where the halves would have the weights twice as large, twice
        the events say nothing new: then they are halved once more.
    """
    if not all((pairs.users == truth[pairs.traces]).any() for pairs, _ in (long, short)):
        return 1.0

    def together(choice: tuple[float, float]) -> float:
        power, growth = choice
        tried = ((long, 2.0**power), (short, 2.0 ** (power + growth)))
        return sum(
            compute_matching_loss(pairs, scale * scores, truth, 20) for (pairs, scores), scale in tried
        )

    power, growth = min(product(NEAR, GROWTH), key=together)
    return float(2.0 ** (power - max(growth, 0.0)))


def compute_matching_loss(
    pairs: CandidatePairs, scores: Floats, truth: NDArray[np.int64], rounds: int
) -> float:
    """Return -log of how certain Sinkhorn makes the true pairs, in the mean of those there are."""
    right = pairs.users == truth[pairs.traces]
    sure = compute_posteriors(pairs, scores, rounds=rounds)[right]
    return -float(np.log(np.maximum(sure, LEAST_CERTAIN)).mean())


def double_centre(pairs: CandidatePairs, table: Floats) -> Floats:
    """Take from every kind of evidence what speaks for a user whatever the trace, and the reverse."""
    table = table.copy()
    traces, n_traces = pairs.traces, len(pairs.offsets) - 1
    for _ in range(2):
        for group, count in ((pairs.users, pairs.n_users), (traces, n_traces)):
            number = np.maximum(np.bincount(group, minlength=count), 1)
            for column in table.T:
                column -= (np.bincount(group, column, count) / number)[group]
    return table
