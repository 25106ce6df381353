"""Weights are those under which the true one-to-one matching is most likely."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from tracearena.attacks.linking.linker import SETTINGS, LinkMatcher
from tracearena.attacks.linking.scoring import learn_weights
from tracearena.cities import simulate
from tracearena.engine import SeedLike
from tracearena.obfuscation import RandomizedResponse
from tracearena.traces import ObfuscatedTraces, Traces

Floats = NDArray[np.float64]
PENALTY = 1.0


def tables_of(strengths: list[float], n: int = 20, seed: int = 0) -> Floats:
    """Scores of kinds of evidence that are worth more and less, the truth on the diagonal."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(len(strengths), n, n))
    return noise + np.array(strengths)[:, None, None] * np.eye(n)


def loss(weights: Floats, tables: Floats, penalty: float = PENALTY) -> float:
    """Compute the loss as its formula is written: potentials by many rounds of Sinkhorn in logarithms."""
    scores = np.einsum("k,kij->ij", weights, tables)
    columns = np.zeros(len(scores))
    for _ in range(200):
        rows = -logsumexp(scores + columns, axis=1)
        columns = -logsumexp(scores + rows[:, None], axis=0)
    plan = np.exp(scores + rows[:, None] + columns)
    free = (plan * scores).sum() - (plan * np.log(plan)).sum()
    return float(free - np.trace(scores) + penalty / 2 * (weights**2).sum())


@pytest.mark.slow
def test_the_weights_minimise_the_loss() -> None:
    tables = tables_of([2.0, 1.0, 0.0])
    learned = learn_weights(tables.astype(np.float32), PENALTY)
    plain = minimize(loss, np.full(3, 0.3), args=(tables,), bounds=[(0, None)] * 3, method="L-BFGS-B")
    assert learned == pytest.approx(plain.x, abs=0.02)
    assert loss(learned, tables) == pytest.approx(plain.fun, rel=1e-3)


def test_the_slope_of_the_loss_at_the_weights_is_nothing() -> None:
    tables = tables_of([1.5, 0.7], seed=3)
    learned = learn_weights(tables.astype(np.float32), PENALTY)
    for kind in range(2):
        step = np.zeros(2)
        step[kind] = 1e-3
        slope = (loss(learned + step, tables) - loss(learned - step, tables)) / 2e-3
        # Far from the minimum the slope is of the size of the number of people.
        assert abs(slope) < 0.3


@pytest.mark.slow
def test_there_is_one_minimum() -> None:
    tables = tables_of([1.0, -0.5, 0.5], seed=5)
    rng = np.random.default_rng(1)
    for _ in range(8):
        ends = rng.uniform(0, 3, (2, 3))
        middle = loss(ends.mean(axis=0), tables)
        assert middle <= (loss(ends[0], tables) + loss(ends[1], tables)) / 2 + 1e-9


def test_what_speaks_for_a_person_whatever_the_trace_changes_nothing() -> None:
    tables = tables_of([1.0, 0.5])
    rng = np.random.default_rng(2)
    shifted = tables + rng.normal(0, 3, (2, 20, 1)) + rng.normal(0, 3, (2, 1, 20))
    given, other = (learn_weights(one.astype(np.float32), PENALTY) for one in (tables, shifted))
    assert other == pytest.approx(given, abs=0.02)


def test_evidence_that_is_worth_more_weighs_more_and_none_weighs_against() -> None:
    weights = learn_weights(tables_of([2.0, 0.5, -1.0], n=80).astype(np.float32), PENALTY)
    assert weights[0] > weights[1] > 0
    assert weights[2] == 0


def test_a_larger_penalty_makes_weights_smaller() -> None:
    tables = tables_of([1.0, 1.0]).astype(np.float32)
    sums = [learn_weights(tables, penalty).sum() for penalty in (0.1, 1.0, 10.0, 100.0)]
    assert sums == sorted(sums, reverse=True)


def test_without_evidence_there_are_no_weights() -> None:
    assert len(learn_weights(np.zeros((0, 5, 5), np.float32), PENALTY)) == 0


def test_each_part_of_the_known_days_is_released_by_itself() -> None:
    """What a defence decides for a person, it decides again for every release."""
    seen: list[tuple[int, int]] = []

    @dataclass(kw_only=True)
    class Watched(RandomizedResponse):
        def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
            day = original.clock.day_of(original.instants)
            seen.append((int(day.min()), int(day.max())))
            return super().transform(original, seed=seed)

    known = simulate(users=30, days=20, mode="checkins", checkins_per_user=60, seed=7)
    release = RandomizedResponse(epsilon=1.0).transform(known, seed=1)
    LinkMatcher(mechanism=Watched(epsilon=1.0), channel=False).fit(known).match(release, seed=2)
    whole = Counter(seen).most_common()
    assert len(whole) == 3
    (first, last), (_, end), (begin, _) = sorted(dict(whole), key=lambda one: (one[0], -one[1]))
    assert (first, last) == (0, 19)
    assert end + 1 == begin
    assert sorted(times for _, times in whole) == [1, SETTINGS.event_draws, SETTINGS.event_draws]


def test_weights_have_three_decimals() -> None:
    weights = learn_weights(tables_of([2.0, 1.0, 0.5]), PENALTY)
    assert weights.tolist() == weights.round(3).tolist()
    assert (weights != weights.round(2)).any()
