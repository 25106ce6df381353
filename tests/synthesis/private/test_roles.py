"""What is drawn looks like the data, and nothing but noisy tables is kept."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from tracearena.cities import simulate
from tracearena.engine import seed_sequence
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.metrics import tp_tv
from tracearena.synthesis import SGD, PrivateRoles
from tracearena.synthesis.private.denoising import denoise, order_places, project_simplex, shrink_rank
from tracearena.synthesis.private.tables import Cost, Ints, OpenDPNoise
from tracearena.traces import Clock, Traces

CLOCK = Clock(instants_per_day=24)


@pytest.fixture(scope="module")
def city() -> Traces:
    return simulate(4000, 1, clock=CLOCK, seed=201)


def test_with_little_noise_the_population_is_nearer_than_that_of_one_markov_chain(city: Traces) -> None:
    # Draws of SGD scatter; virtual people are chosen to fit the population of each slot.
    other = simulate(4000, 1, clock=CLOCK, seed=202)
    made = PrivateRoles(epsilon=50).fit(city, seed=1).sample_users(4000, 1, seed=2)
    assert tp_tv(other, made) < tp_tv(other, SGD().fit(city).synthesize(1, seed=2)) - 0.03


def test_with_more_noise_the_population_is_farther(city: Traces) -> None:
    far, near = (
        tp_tv(city, PrivateRoles(epsilon=epsilon).fit(city, seed=1).sample_users(4000, 1, seed=2))
        for epsilon in (0.3, 8)
    )
    assert near < far - 0.05


def test_people_go_home_and_stay_there(city: Traces) -> None:
    made = PrivateRoles(epsilon=20).fit(city, seed=1).sample_users(500, 3, seed=2).dense().reshape(500, 3, 24)
    real = city.dense()
    stays, real_stays = (made[..., 2] == made[..., 4]).mean(), (real[:, 2] == real[:, 4]).mean()
    assert stays == pytest.approx(real_stays, abs=0.03)
    # The first place of the night is the same on all days, for nearly everybody.
    assert (made[:, 0, 3] == made[:, 2, 3]).mean() > 0.9


def test_a_model_comes_back_from_its_file_and_draws_the_same(city: Traces, tmp_path: Path) -> None:
    model = PrivateRoles(epsilon=1).fit(city, seed=1)
    model.save(tmp_path / "model.json")
    again = PrivateRoles.load(tmp_path / "model.json")
    assert again == model
    assert again.budget_ == model.budget_
    assert again.guarantee == model.guarantee
    assert again.sample_users(50, 2, seed=3) == model.sample_users(50, 2, seed=3)
    with pytest.raises(DataError, match="does not contain its training users"):
        again.synthesize()


def test_the_file_holds_noisy_tables_and_public_inputs_only(city: Traces, tmp_path: Path) -> None:
    named = city.with_user_ids([f"person {one}" for one in range(city.n_users)])
    PrivateRoles(epsilon=1).fit(named, seed=1).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    content = json.loads(text)
    assert set(content) == {
        "format", "version", "parameters", "guarantee", "seeded", "budget", "clock", "places", "tables",
    }  # fmt: skip
    assert "person" not in text.replace('"unit": "person"', "")
    assert set(content["tables"]) == {"homes", "works", "commutes", "arrivals", "roles", "visits"}
    assert "first_day" not in content["clock"]


def test_people_days_and_dates_of_the_data_do_not_show(city: Traces) -> None:
    made = PrivateRoles(epsilon=1).fit(city, seed=1).sample_users(7, 2, seed=1)
    assert made.user_ids.tolist() == list(range(1, 8))
    assert made.span == (0, 48)
    assert made.clock.first_day is None


def test_a_seed_voids_the_guarantee_and_says_so(city: Traces) -> None:
    model = PrivateRoles(epsilon=1)
    assert model.fit(city, seed=seed_sequence(3)).guarantee.startswith(
        "none: the noise was drawn from a seed"
    )
    pytest.importorskip("opendp")
    assert PrivateRoles(epsilon=1).fit(city).guarantee == "ε = 1, δ = 1e-06 for one person"


def test_real_noise_differs_from_fit_to_fit(city: Traces) -> None:
    pytest.importorskip("opendp")
    one, two = (PrivateRoles(epsilon=1).fit(city).noisy_["homes"] for _ in range(2))
    assert (one != two).mean() > 0.99


def test_without_a_seed_all_noise_is_opendps(city: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def add(self: OpenDPNoise, values: Ints, cost: Cost) -> Ints:
        drawn.append(cost)
        return values

    monkeypatch.setattr(OpenDPNoise, "add", add)
    model = PrivateRoles(epsilon=1).fit(city)
    assert drawn == list(model.budget_.costs)
    PrivateRoles(epsilon=1).fit(city, seed=1)
    assert len(drawn) == len(model.budget_.costs)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta"),
        ({"epsilon": 1, "shares": "homes=1"}, "shares"),
    ],
)
def test_parameters_without_a_guarantee_are_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        PrivateRoles(**given)


def test_epsilon_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        PrivateRoles(epsilon=1).epsilon = 2


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "tracearena-private-roles", "version": 9}'])
def test_other_files_are_no_models(content: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(FileError, match="is not a model file of PrivateRoles"):
        PrivateRoles.load(tmp_path / "model.json")


def test_denoising_comes_nearer_to_a_smooth_map_and_keeps_its_sum() -> None:
    side = 32
    row, column = np.divmod(np.arange(side * side), side)
    truth = 50 * np.exp(-((row - 12) ** 2 + (column - 20) ** 2) / 60)
    noisy = truth + np.random.default_rng(1).normal(0, 10, truth.shape)
    found = denoise(noisy[None], 10.0, order_places(np.column_stack([row, column]).astype(float)))[0]
    assert np.square(found - truth).mean() < 0.2 * np.square(noisy - truth).mean()
    assert found.sum() == pytest.approx(noisy.sum())


@pytest.mark.parametrize("places", [1, 2, 3, 5, 8, 100])
def test_without_noise_any_number_of_places_stays_as_it_is(places: int) -> None:
    points = np.random.default_rng(1).random((places, 2))
    values = np.random.default_rng(2).random((3, places))
    assert denoise(values, 0.0, order_places(points)) == pytest.approx(values)


def test_rank_is_shrunk_to_what_is_signal() -> None:
    rng = np.random.default_rng(1)
    signal = np.outer(np.sin(np.arange(24)), rng.normal(size=1000))
    factors, patterns = shrink_rank(signal + rng.normal(0, 0.5, signal.shape), 0.5)
    assert factors.shape[1] == 1
    assert np.square(factors @ patterns - signal).mean() < 0.02
    assert shrink_rank(rng.normal(size=(24, 1000)), 1.0)[0].shape[1] == 0


def test_the_nearest_point_of_the_simplex() -> None:
    assert project_simplex(np.array([0.5, -1.0, 1.5]), 1.0).tolist() == [0.0, 0.0, 1.0]
    assert project_simplex(np.array([1.0, 1.0]), 1.0).tolist() == [0.5, 0.5]
