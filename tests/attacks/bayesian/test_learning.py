"""Weights are learnt where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.attacks.bayesian.candidates import Pairs, everybody
from tracearena.attacks.bayesian.learning import _Loss, centred, learn_weights


def a_lesson(n: int = 40, noise: int = 2, seed: int = 0) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """All pairs of n traces and users; the first column tells, the others are noise."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(n)
    pairs = everybody(n, n)
    table = rng.normal(size=(n * n, 1 + noise))
    table[:, 0] += 4 * (pairs.users == truth[pairs.traces])
    table[:, 1:] *= 10
    return pairs, table, truth


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_the_slope_is_the_slope(share: float) -> None:
    pairs, table, truth = a_lesson(12)
    kept = np.random.default_rng(3).random(len(table)) < share
    pairs, table = Pairs.of(pairs.traces[kept], pairs.users[kept].astype(np.int64), 12, 12), table[kept]
    loss = _Loss(pairs, table, truth)
    for weights in (np.array([0.3, 0.02, 0.01]), np.array([1.5, 0.0, 0.2]), np.zeros(3)):
        value, slope = loss(weights)
        for k in range(3):
            step = 1e-6 * np.eye(3)[k]
            assert (loss(weights + step)[0] - loss(weights - step)[0]) / 2e-6 == pytest.approx(
                slope[k], abs=1e-6
            )
        assert np.isfinite(value)


def test_what_tells_is_found_among_noise() -> None:
    pairs, table, truth = a_lesson()
    starts = 0.1 * np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    weights = learn_weights(pairs, table, truth, starts)
    assert (weights >= 0).all()
    spread = weights * table.std(axis=0)
    assert spread[0] > 3 * spread[1:].max()
    untaught = table @ starts[1]
    taught = table @ weights
    rank = [(taught.reshape(40, 40), untaught.reshape(40, 40))]
    for own, other in rank:
        assert (own.argmax(axis=1) == truth).mean() > (other.argmax(axis=1) == truth).mean() + 0.3


def test_nothing_to_learn_from_is_no_mistake() -> None:
    pairs = everybody(3, 3)
    truth = np.array([-1, -1, -1])
    weights = learn_weights(pairs, np.zeros((9, 2)), truth, np.full((1, 2), 0.1))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()


def test_what_speaks_for_anybody_is_taken_away() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 8)) + 100 * rng.normal(size=(6, 1)) + 100 * rng.normal(size=(1, 8))
    found = centred(everybody(6, 8), scores.reshape(-1, 1)).reshape(6, 8)
    expected = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    assert found == pytest.approx(expected)
