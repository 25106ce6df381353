"""Learned weights: how much each kind of evidence is worth, found where the truth is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.assignment import assign, certainty
from tracearena.attacks.bayesian.candidates import Pairs

DOUBT = 0.02
"""Share of the traces that fit nobody's habits, whatever the weights."""

SCALES = tuple(2.0**power for power in np.arange(-3.0, 6.0, 0.5))
"""Scales that are tried for the weights."""

Floats = NDArray[np.float64]


def learn_weights(pairs: Pairs, table: Floats, truth: NDArray[np.int64], starts: Floats) -> Floats:
    """Return non-negative weights of the columns of `table` that find the truth best.

    From the best start, and from the last, the likelihood of the truth is maximised: a softmax over the
    users of each trace and over the traces of each user. What finds the most right pairs after the
    one-to-one assignment wins; then the scale is fitted, so that Sinkhorn's certainty is right.

    Parameters
    ----------
    table
        Pairs × kinds of evidence.
    truth
        The user of each trace.
    starts
        Weights to begin with, one row each.
    """
    from scipy.optimize import minimize

    loss = _Loss(pairs, table, truth)
    bounds = [(0.0, 10.0)] * table.shape[1]

    def found(weights: Floats) -> int:
        return int((assign(pairs, table @ weights) == truth).sum())

    def improved(start: Floats) -> Floats:
        options = {"maxiter": 30}
        return np.asarray(
            minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        )

    first = max(starts, key=found)
    best = max([first, improved(first), improved(starts[-1])], key=found)
    return _scaled(pairs, table, truth, best)


def _scaled(pairs: Pairs, table: Floats, truth: NDArray[np.int64], weights: Floats) -> Floats:
    """Scale the weights so that the true pairs are the most certain (mean of the logarithm)."""
    right = np.flatnonzero(pairs.users == truth[pairs.traces])
    if not len(right):
        return weights
    score = table @ weights

    def surprise(scale: float) -> float:
        sure = certainty(pairs, scale * score)[right]
        return -float(np.log(np.maximum(sure, DOUBT / 10)).mean())

    return np.asarray(weights * min(SCALES, key=surprise))


class _Loss:
    """Minus the mean log-likelihood of the true pairs, and its slope."""

    def __init__(self, pairs: Pairs, table: Floats, truth: NDArray[np.int64]) -> None:
        is_right = pairs.users == truth[pairs.traces]
        offsets, order = pairs.by_user()
        self.views = (_view(pairs.offsets, table, is_right), _view(offsets, table[order], is_right[order]))

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        total, slope, number = 0.0, np.zeros(len(weights)), 0
        for starts, sizes, table, right in self.views:
            if not len(starts):
                continue
            score = table @ weights
            score -= np.repeat(np.maximum.reduceat(score, starts), sizes)
            power = np.exp(score)
            share = power / np.repeat(np.add.reduceat(power, starts), sizes)
            found = np.add.reduceat(share * right, starts)
            likely = (1 - DOUBT) * found + DOUBT * 1e-3
            # d log((1 - d) s + c) is (1 - d) s / (…) times (own evidence - mean evidence).
            pull = np.repeat((1 - DOUBT) * found / likely, sizes)
            total -= float(np.log(likely).sum())
            slope -= (pull * right) @ table - (share * pull) @ table
            number += len(starts)
        return total / max(number, 1), slope / max(number, 1)


def _view(
    offsets: NDArray[np.int64], table: Floats, right: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, NDArray[np.float64]]:
    """Return the groups in which the truth is a candidate; the others teach nothing."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    told = np.bincount(rows, right, len(offsets) - 1) > 0
    kept = told[rows]
    sizes = np.diff(offsets)[told]
    return np.cumsum(sizes) - sizes, sizes, table[kept], right[kept].astype(np.float64)


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
