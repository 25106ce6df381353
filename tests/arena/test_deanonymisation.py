"""Telling people apart by their ways."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tracearena.arena import Deanonymisation, deanonymise
from tracearena.attacks.deanonymisation import LstmClassifier, WindowForest, Windows, cut_windows
from tracearena.errors import DataError, ParameterError
from tracearena.obfuscation import GeoInd
from tracearena.traces import GpsTraces


def neighbours(users: int = 5, trajectories: int = 6, points: int = 60, apart_km: float = 3.0) -> GpsTraces:
    """Everybody wanders about a place of their own."""
    rng = np.random.default_rng(1)
    shape = (users, trajectories, points)
    home = np.arange(users)[:, None, None] * apart_km / 111
    latitude = 35 + home + rng.normal(0, 1e-4, shape).cumsum(axis=2)
    longitude = 139 + rng.normal(0, 1e-4, shape).cumsum(axis=2)
    day = np.arange(trajectories)[None, :, None] * 86_400_000
    times = np.broadcast_to(day + np.arange(points) * 5000, shape)
    user = np.broadcast_to(np.arange(users)[:, None, None], shape)
    trajectory = np.broadcast_to(np.arange(trajectories)[None, :, None], shape)
    return GpsTraces.from_points(
        user.ravel(), times.ravel(), latitude.ravel(), longitude.ravel(), trajectories=trajectory.ravel()
    )


def test_windows_do_not_cross_trajectories() -> None:
    windows = cut_windows(neighbours(users=2, trajectories=3, points=45), length=20)
    assert windows.values.shape == (2 * 3 * 2, 20, 6)
    assert windows.trajectory.tolist() == np.repeat(np.arange(6), 2).tolist()
    padded = cut_windows(neighbours(users=1, trajectories=1, points=15), length=20)
    assert np.ptp(padded.values[0, 14:, 0]) == 0


@pytest.mark.slow
def test_the_forest_knows_neighbours_apart_even_under_noise() -> None:
    released = GeoInd(expected_noise=100).transform(neighbours(), seed=1)
    result = deanonymise(released, WindowForest(trees=50), targets=4, length=20, seed=1)
    assert result.accuracy > 0.9
    assert result.confusion.sum() == result.test_windows
    assert result.accuracy == pytest.approx(np.trace(result.confusion) / result.test_windows)
    assert result.most_frequent < 0.5


@pytest.mark.slow
def test_nobody_is_told_apart_where_all_walk_the_same_streets() -> None:
    result = deanonymise(neighbours(apart_km=0), WindowForest(trees=50), targets=4, length=20, seed=1)
    assert result.accuracy < 0.6


def test_no_trajectory_is_learnt_and_asked() -> None:
    seen: list[set[int]] = []

    class Spy(WindowForest):
        def fit(self, windows, labels, classes, *, seed):  # type: ignore[no-untyped-def]
            seen.append(set(windows.trajectory.tolist()))
            super().fit(windows, labels, classes, seed=seed)

        def predict(self, windows):  # type: ignore[no-untyped-def]
            seen.append(set(windows.trajectory.tolist()))
            return super().predict(windows)

    deanonymise(neighbours(), Spy(trees=5), targets=2, length=20, seed=1)
    assert not seen[0] & seen[1]
    assert len(seen[0] | seen[1]) == 30


def test_targets_need_two_trajectories() -> None:
    with pytest.raises(DataError, match="two trajectories"):
        deanonymise(neighbours(trajectories=1), WindowForest(), targets=2, seed=1)
    with pytest.raises(ParameterError, match="test_share"):
        deanonymise(neighbours(), WindowForest(), test_share=1.5, seed=1)


@pytest.mark.slow
def test_the_network_learns_and_repeats_itself() -> None:
    pytest.importorskip("torch")
    traces = neighbours(users=3, trajectories=8)
    runs = [
        deanonymise(traces, LstmClassifier(hidden=16, epochs=12, batch=8), targets=2, length=20, seed=1)
        for _ in range(2)
    ]
    assert runs[0].accuracy > 0.6 > 0.5 > runs[0].most_frequent
    assert np.array_equal(runs[0].confusion, runs[1].confusion)


def test_balanced_accuracy_counts_every_class_alike() -> None:
    found = Deanonymisation(
        accuracy=0.9,
        most_frequent=0.9,
        confusion=np.array([[90, 0, 0], [5, 0, 0], [2, 0, 3]]),
        targets=np.array([1, 2]),
        train_windows=1,
        test_windows=100,
    )
    assert found.balanced_accuracy == pytest.approx((1 + 0 + 0.6) / 3)
    assert found.balanced_guess == pytest.approx(1 / 3)


def test_the_neural_attack_without_its_library_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    windows = cut_windows(neighbours(users=2), length=20)
    with pytest.raises(ParameterError, match=r"pip install 'tracearena\[neural\]'"):
        LstmClassifier().fit(windows, windows.trajectory % 2, 2, seed=1)


def test_classifiers_with_the_same_parameters_are_equal() -> None:
    assert LstmClassifier(hidden=8) == LstmClassifier(hidden=8) != LstmClassifier(hidden=9)
    assert WindowForest() == WindowForest()


def test_the_forest_knows_people_on_either_side_of_a_diagonal() -> None:
    """Places that only the difference of both coordinates tells apart, all over the map."""
    rng = np.random.default_rng(1)
    along, owner = rng.uniform(-50, 50, 400), np.arange(400) % 2
    values = rng.normal(0, 1e-3, (400, 10, 6)).astype(np.float32)
    values[:, :, 0] += along[:, None] + 0.2 * owner[:, None]
    values[:, :, 1] += along[:, None]
    windows = Windows(values, owner.astype(np.int32), np.arange(400, dtype=np.int32))
    forest, learnt = WindowForest(trees=30), np.arange(400) < 200
    forest.fit(windows.take(learnt), owner[learnt], 2, seed=1)
    assert (forest.predict(windows.take(~learnt)) == owner[~learnt]).mean() > 0.95
