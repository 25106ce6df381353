"""Learned weights: how much each kind of evidence is worth, found where the truth is known.

A softmax over the users of a trace, maximised over all weights, was tried and left: half of the days
teach it to trust what few days show best (where one goes next), and whole traces are then matched worse
than by any of a few mixtures. So a mixture is chosen, and its scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.assignment import certainty
from tracearena.attacks.bayesian.candidates import Pairs

POWERS = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
"""Powers of two that a mixture is scaled by, to find how certain it makes one; then in smaller steps."""
FINER = (0.5,)

CLEARLY = 0.05
"""The first mixture is kept unless another makes the truth less surprising by so much."""

LEAST_CERTAIN = 0.002
"""Traces that fit nobody's habits, whatever the weights, count as certain as this."""

Floats = NDArray[np.float64]


def learn_weights(pairs: Pairs, table: Floats, truth: NDArray[np.int64], mixtures: Floats) -> Floats:
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
    right = np.flatnonzero(pairs.users == truth[pairs.traces])
    if not len(right):
        return np.asarray(mixtures[0])

    def surprise(weights: Floats, rounds: int) -> float:
        sure = certainty(pairs, table @ weights, rounds=rounds)[right]
        return -float(np.log(np.maximum(sure, LEAST_CERTAIN)).mean())

    def scaled(mixture: Floats) -> tuple[float, Floats]:
        tried = [np.asarray(2.0**power * mixture) for power in POWERS]
        return min(((surprise(one, 8), one) for one in tried), key=lambda pair: pair[0])

    first, *others = (scaled(mixture) for mixture in mixtures)
    least, best = min([first, *others], key=lambda pair: pair[0])
    if first[0] - least < CLEARLY:
        best = first[1]
    for step in FINER:
        near = [np.asarray(2.0**power * best) for power in (-step, 0.0, step)]
        best = min(near, key=lambda weights: surprise(weights, 40))
    return best


def centred(pairs: Pairs, table: Floats) -> Floats:
    """Take from every kind of evidence what speaks for a user whatever the trace, and the reverse."""
    table = table.copy()
    traces, n_traces = pairs.traces, len(pairs.offsets) - 1
    for _ in range(2):
        for group, count in ((pairs.users, pairs.n_users), (traces, n_traces)):
            number = np.maximum(np.bincount(group, minlength=count), 1)
            for column in table.T:
                column -= (np.bincount(group, column, count) / number)[group]
    return table
