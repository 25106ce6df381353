"""How people live is counted right, and virtual users are drawn beside them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.metrics import trace_inference_score
from tracearena.papers import figure
from tracearena.papers.contest_people import (
    ComparisonRow,
    Lives,
    check_contest_people_claims,
    compute_ratio,
    estimate_spread,
    measure_distances,
    measure_total_variation,
)
from tracearena.papers.data import Size
from tracearena.traces import Clock, Grid, Places, Traces

GRID = Grid(rows=3, columns=3, south=34.6, west=135.4, north=34.65, east=135.45)
PLACES = Places.of_grid(GRID, sensitive=np.arange(9) == 4, km_per_degree=(111, 91))
CLOCK = Clock(instants_per_day=3, start_s=11 * 3600, interval_s=1800)


def lives(table: list[list[int]]) -> Lives:
    return Lives.of(Traces.from_dense(table, PLACES, CLOCK))


def test_numbers_are_those_of_the_days() -> None:
    two = lives([[0, 0, 1, 0, 2, 2], [5, 4, 4, 3, 4, 8]])
    numbers = {name: compute_ratio(sums) for name, sums in two.numbers().items()}
    assert numbers["stays from one instant to the next"] == 3 / 8
    assert two.morning_places().tolist() == [0, 3]
    assert numbers["at home at 11:00"] == 3 / 4
    assert numbers["at home at 11:30"] == 1 / 4
    assert numbers["same place next day at 11:00"] == 1 / 2
    assert numbers["same place next day at 11:30"] == 1 / 2
    assert two.at_noon()[[1, 2, 4, 8]].tolist() == [1 / 4] * 4
    assert two.visit_counts()[:3].tolist() == pytest.approx([4 / 7, 1 / 7, 2 / 7])


def test_replay_is_the_attack() -> None:
    table = np.random.default_rng(3).integers(0, 9, size=(20, 12))
    traces = Traces.from_dense(table, PLACES, CLOCK)
    reference, original = traces.split_days(2)
    answer = original.with_places(reference.place_index)
    score = trace_inference_score(original, answer).trace_inference
    assert compute_ratio(Lives.of(traces).numbers()["replay leaves (s_T)"]) == pytest.approx(score)


def test_the_spread_between_halves_is_that_of_the_people() -> None:
    own = np.random.default_rng(1).random(400)
    assert estimate_spread((own, np.ones(400)), seed=1) == pytest.approx(
        own.std() * 2 / np.sqrt(400), rel=0.15
    )
    assert measure_total_variation(np.array([0.5, 0.5, 0]), np.array([0, 0.5, 0.5])) == 0.5


def test_people_lie_from_others_like_them_as_far_as_their_halves() -> None:
    rng = np.random.default_rng(2)
    some, more = (lives(rng.integers(0, 9, size=(200, 12)).tolist()) for _ in range(2))
    elsewhere = lives(rng.integers(0, 3, size=(200, 12)).tolist())
    for name, (far, halves) in measure_distances(some, more, seed=1).items():
        assert far == pytest.approx(halves, rel=0.3), name
    assert all(far > 2 * halves for far, halves in measure_distances(some, elsewhere, seed=1).values())


def test_a_number_too_far_is_named() -> None:
    near, far = (
        ComparisonRow("stays", "5-minute walk", 0.2, 0.2 + gap, 0.01, gap / 0.01) for gap in (0.01, 0.05)
    )
    held = ComparisonRow("stays", "5-minute walk, people held out", 0.2, 0.2, 0.01, 0.0)
    assert [found.holds for found in check_contest_people_claims([near, held])] == [True, True]
    said = check_contest_people_claims([near, far, held])[0]
    assert not said.holds
    assert "stays 5.0" in said.measured


def test_gaps_and_single_days_are_refused() -> None:
    with pytest.raises(DataError, match="without gaps"):
        lives([[0, -1, 1, 0, 1, 1]])
    with pytest.raises(DataError, match="two days"):
        lives([[0, 1, 1]])


@pytest.mark.long
def test_the_figure_has_its_numbers(tmp_path: Path) -> None:
    told: list[object] = []
    files = figure("contest-people")(tmp_path, seed=1, size=Size(40, 4), iterations=3, tell=told.append)
    assert [path.suffix for path in files] == [".svg", ".csv", ".csv", ".csv", ".csv"]
    with files[1].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 27
    assert len(told) == 2
    with files[2].open(newline="") as file:
        assert {row["time"] for row in csv.DictReader(file)} >= {"08:00", "17:30"}
