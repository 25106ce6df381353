"""Two teams have diversity if the users with the same number are as different as any two."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.metrics import measure_diversity
from tracearena.traces import Clock, Places, Traces

PLACES = Places(np.linspace(35, 36, 8), np.linspace(139, 140, 8))
CLOCK = Clock(instants_per_day=10)


def team(favourites: np.ndarray, seed: int) -> Traces:
    rng = np.random.default_rng(seed)
    table = np.where(
        rng.random((len(favourites), 10)) < 0.6,
        favourites[:, None],
        rng.integers(0, 8, (len(favourites), 10)),
    )
    return Traces.from_dense(table, PLACES, CLOCK)


def slow_tv(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(np.bincount(a, minlength=8) - np.bincount(b, minlength=8)).sum() / 2 / len(a))


def test_values_are_means_of_total_variations_over_the_same_pairs():
    rng = np.random.default_rng(1)
    first, second = (team(rng.integers(0, 8, 50), seed) for seed in (1, 2))
    found = measure_diversity(first, second, pairs=20, seed=3)
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence(3))).permutation(50)
    a, b = first.dense(), second.dense()
    same = [slow_tv(a[i], b[i]) for i in order[:20]]
    diff = [slow_tv(a[i], b[j]) for i, j in zip(order[:20], order[20:40], strict=True)]
    assert found.same_tv == pytest.approx(np.mean(same))
    assert found.diff_tv == pytest.approx(np.mean(diff))
    assert found.diff_sd == pytest.approx(np.std(diff))
    assert found.pairs == 20


def test_the_same_people_twice_have_no_diversity():
    favourites = np.random.default_rng(1).integers(0, 8, 400)
    found = measure_diversity(team(favourites, 1), team(favourites, 2), seed=1)
    assert found.pairs == 200
    assert found.gap > 1


def test_other_people_have_it():
    rng = np.random.default_rng(1)
    found = measure_diversity(team(rng.integers(0, 8, 2_000), 1), team(rng.integers(0, 8, 2_000), 2), seed=1)
    assert abs(found.gap) < 0.1


def test_teams_must_fit():
    a, b = team(np.zeros(4, int), 1), team(np.zeros(5, int), 1)
    with pytest.raises(DataError):
        measure_diversity(a, b)
    with pytest.raises(DataError):
        measure_diversity(a.take_users([0]), a.take_users([1]))
    with pytest.raises(ParameterError):
        measure_diversity(a, a, pairs=0)
