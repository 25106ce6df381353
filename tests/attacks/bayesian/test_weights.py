"""Weights are learnt where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.attacks.bayesian.pairs import CandidatePairs, build_all_pairs, double_centre
from tracearena.attacks.bayesian.weights import (
    compute_matching_loss,
    compute_posteriors,
    estimate_length_scale,
    learn_weights,
)


def a_lesson(n: int = 40, noise: int = 2, seed: int = 0) -> tuple[CandidatePairs, np.ndarray, np.ndarray]:
    """All pairs of n traces and users; the first column tells, the others are noise."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(n)
    pairs = build_all_pairs(n, n)
    table = rng.normal(size=(n * n, 1 + noise))
    table[:, 0] += 4 * (pairs.users == truth[pairs.traces])
    table[:, 1:] *= 10
    return pairs, table, truth


def test_the_mixture_that_tells_is_found_among_noise() -> None:
    pairs, table, truth = a_lesson()
    mixtures = 0.1 * np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    weights = learn_weights(pairs, table, truth, mixtures)
    assert weights[0] > 0
    assert (weights[1:] == 0).all()


def test_the_scale_makes_as_certain_as_one_may_be() -> None:
    pairs, table, truth = a_lesson(noise=0)
    right = pairs.users == truth[pairs.traces]
    table = table - 2 * right[:, None]
    sure = {}
    for factor in (0.5, 1.0, 4.0):
        weights = learn_weights(pairs, factor * table, truth, np.full((1, 1), 0.5))
        sure[factor] = compute_posteriors(pairs, factor * table @ weights)[right].mean()
    # However the evidence is scaled, the truth ends about as certain: neither a guess nor beyond doubt.
    assert max(sure.values()) - min(sure.values()) < 0.1
    assert min(sure.values()) > 0.2
    assert max(sure.values()) < 0.9


@pytest.mark.parametrize(("of_half", "expected"), [(0.5, 0.5), (1.0, 1.0), (2.0, 1.0)])
def test_evidence_that_only_grows_with_length_is_weighed_less(of_half: float, expected: float) -> None:
    pairs, table, truth = a_lesson(n=200, noise=0)
    scores = table @ learn_weights(pairs, table, truth, np.full((1, 1), 0.5))
    found = estimate_length_scale((pairs, scores), (pairs, of_half * scores), truth)
    assert found == pytest.approx(expected, rel=0.45)


def test_nothing_to_learn_from_is_no_mistake() -> None:
    pairs = build_all_pairs(3, 3)
    truth = np.array([-1, -1, -1])
    weights = learn_weights(pairs, np.zeros((9, 2)), truth, np.full((1, 2), 0.1))
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()


def test_what_speaks_for_anybody_is_taken_away() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 8)) + 100 * rng.normal(size=(6, 1)) + 100 * rng.normal(size=(1, 8))
    found = double_centre(build_all_pairs(6, 8), scores.reshape(-1, 1)).reshape(6, 8)
    expected = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("power", range(-4, 4))
def test_evidence_that_is_twice_as_large_weighs_half_as_much(power: int) -> None:
    pairs, table, truth = a_lesson(noise=0)
    table = 4 * (table - 2 * (pairs.users == truth[pairs.traces])[:, None])
    usual = learn_weights(pairs, table, truth, np.full((1, 1), 1.0))
    found = learn_weights(pairs, 2.0**power * table, truth, np.full((1, 1), 1.0))
    assert found == pytest.approx(2.0**-power * usual)


@pytest.mark.parametrize("factor", [1.0, 1.2, 1.4, 1.7])
def test_weights_are_the_best_to_half_a_step(factor: float) -> None:
    pairs, table, truth = a_lesson(noise=0)
    table = 4 * factor * (table - 2 * (pairs.users == truth[pairs.traces])[:, None])
    weights = learn_weights(pairs, table, truth, np.full((1, 1), 1.0))
    less, least, more = (
        compute_matching_loss(pairs, 2.0**power * table @ weights, truth, 40) for power in (-0.5, 0, 0.5)
    )
    assert least <= min(less, more)
