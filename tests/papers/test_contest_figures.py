"""The analyses of the contest paper, on teams small enough to wait for."""

import csv
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tracearena import create
from tracearena.arena import AttackScores, SweepRow
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.io import pwscup
from tracearena.metrics import tm_emd_sliced
from tracearena.papers import contest_scores as contest_13
from tracearena.papers import figure
from tracearena.papers.contest_board import check_contest_9_claims
from tracearena.papers.contest_scores import WEIGHTS
from tracearena.papers.data import (
    DEFENCES,
    STAND_INS,
    FigureSource,
    Size,
    load_points_of_interest,
    load_teams,
    load_virtual_teams,
)

SMALL = Size(60, 2)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_teams_are_different_people_under_the_same_numbers() -> None:
    one, two = load_teams(FigureSource(size=SMALL), 2)
    assert one.original.user_ids.tolist() == two.original.user_ids.tolist() == list(range(1, 61))
    assert one.reference.span == (0, 40)
    assert one.original.span == (40, 80)
    assert not np.array_equal(one.original.place_index, two.original.place_index)


def test_teams_are_read_from_contest_files(tmp_path: Path) -> None:
    (team,) = load_teams(FigureSource(size=SMALL))
    pwscup.write_places(team.original.places, tmp_path / "info_region.csv")
    with pytest.raises(DataError, match="reftraces"):
        load_teams(FigureSource(tmp_path))
    pwscup.write_traces(team.reference, tmp_path / "reftraces_team001_data01_IDP.csv")
    pwscup.write_traces(team.original, tmp_path / "orgtraces_team001_data01_IDP.csv")
    (again,) = load_teams(FigureSource(tmp_path), 3)
    assert np.array_equal(again.original.place_index, team.original.place_index)
    assert load_points_of_interest(tmp_path) is None


@pytest.mark.slow
def test_contest_9_has_a_point_for_every_defence(tmp_path: Path) -> None:
    picture, numbers = figure("contest-9")(tmp_path, seed=1, size=SMALL, iterations=3)
    rows = table(numbers)
    assert [row["defence"] for row in rows] == ["No", *(str(create(name)) for name in STAND_INS)]
    assert "FuzzyCount-T" in rows[0]
    assert b"R = " in picture.read_bytes()


def test_the_correlation_is_over_valid_releases_only() -> None:
    def row(s: float, t: float, valid: bool) -> SweepRow:
        return SweepRow("No", 1.0, valid, AttackScores({"a": s}, {"b": t}))

    valid = [row(0.1, 0.2, True), row(0.2, 0.4, True), row(0.3, 0.6, True)]
    (found,) = check_contest_9_claims([*valid, row(0.9, 0, False)])
    assert found.number == pytest.approx(1)


@pytest.mark.slow
def test_contest_12_has_every_attack_and_every_weight(tmp_path: Path) -> None:
    picture, points, weights = figure("contest-12")(tmp_path, seed=1, size=SMALL)
    assert picture.stat().st_size > 10_000
    rows = table(points)
    assert len(rows) == 18 * 3
    # With the weight of everything else the score is the capped error.
    assert all(float(row["s_T_weight_1"]) <= float(row["expected_error_km"]) / 2 + 1e-9 for row in rows)
    assert [int(row["hospital_weight"]) for row in table(weights)] == list(WEIGHTS)
    least = [
        min(float(row["s_T_weight_10"]) for row in rows if row["defence"] == defence)
        for defence in ("No", *DEFENCES)
    ]
    errors = [
        min(float(row["expected_error_km"]) for row in rows if row["defence"] == defence)
        for defence in ("No", *DEFENCES)
    ]
    expected = np.corrcoef(errors, least)[0, 1]
    assert float(table(weights)[WEIGHTS.index(10)]["correlation"]) == pytest.approx(expected)
    assert all(-1 <= float(row["correlation"]) <= 1 for row in table(weights))


@pytest.mark.slow
def test_contest_13_measures_every_use_for_every_group(tmp_path: Path) -> None:
    _, numbers = figure("contest-13")(tmp_path, seed=1, size=SMALL, count=2)
    rows = table(numbers)
    assert len(DEFENCES) == 17
    assert len(rows) == 17 + 5 * 2
    for group in ("PL(4,1)", "PL(1,1)", "PL(0.1,1)", "Uniform", "Reference"):
        assert {row["team"] for row in rows if row["group"] == group} == {"1", "2"}
    mean = {
        group: np.mean([float(row["poi_accuracy"]) for row in rows if row["group"] == group])
        for group in ("17 defences", "PL(4,1)", "PL(0.1,1)", "Uniform", "Reference")
    }
    assert mean["PL(4,1)"] > 0.8 > mean["Reference"] > mean["Uniform"]
    uniform = [row for row in rows if row["group"] == "Uniform"]
    assert all(float(row["s_U"]) < 0.1 for row in uniform)


@pytest.mark.slow
def test_transitions_of_releases_are_compared_region_by_region() -> None:
    (team,) = load_teams(FigureSource(size=SMALL))
    (ours,) = (row for row in contest_13.measure_releases([team], None, 1) if row.defence == "PL(1,1)")
    seed = child_seed(seed_sequence(1), crc32(b"PL(1,1)"), 0)
    released = create("PL(1,1)").transform(team.original, seed=seed)
    assert team.original.places.grid is not None
    assert team.original.places.grid.rows == 32
    assert ours.tm_emd == tm_emd_sliced(team.original, released, bins=32)
    assert ours.tm_emd > tm_emd_sliced(team.original, released, bins=20)


@pytest.mark.slow
def test_contest_7_is_two_lines_that_meet_the_floor_and_the_ceiling_at_2_km(tmp_path: Path) -> None:
    picture, numbers = figure("contest-7")(tmp_path)
    rows = table(numbers)
    assert b"<svg" in picture.read_bytes()
    at = {float(row["distance_km"]): (float(row["g_U"]), float(row["g_T"])) for row in rows}
    assert at[0.0] == (1, 0)
    assert at[1.0] == (0.5, 0.5)
    assert at[2.0] == at[4.0] == (0, 1)


def test_virtual_teams_are_people_of_their_own_of_the_size_asked_for() -> None:
    one, two = load_virtual_teams(FigureSource(size=SMALL), 2, iterations=2)
    assert one.original.n_users == two.original.n_users == 60
    assert one.reference.n_instants == one.original.n_instants == 2 * 20
    assert not np.array_equal(one.original.place_index, two.original.place_index)


@pytest.mark.slow
def test_contest_spread_has_a_row_for_every_size_and_defence(tmp_path: Path) -> None:
    _, numbers = figure("contest-spread")(tmp_path, size=SMALL, users=(10, 20), count=2, days=2, iterations=2)
    assert [row["users"] for row in table(numbers)] == ["10"] * 4 + ["20"] * 4


def written(folder: Path, name: str, **options: Any) -> str:
    folder.mkdir()
    return figure(name)(folder, **options)[-1].read_text()


@pytest.mark.long
def test_figure_8_by_the_programs_of_2019_is_another_picture_of_the_same_releases(
    tmp_path: Path, osaka: Path
) -> None:
    """As `samples-4`, whose attackers and utility are those of the programs."""
    programs = written(tmp_path / "programs", "contest-8", data=osaka, legacy_2019=True)
    assert programs == written(tmp_path / "samples", "samples-4", data=osaka)
    usual = written(tmp_path / "usual", "contest-8", data=osaka)
    assert usual != programs
    assert [line.split(",")[0] for line in usual.splitlines()] == [
        line.split(",")[0] for line in programs.splitlines()
    ]


def test_the_zeros_of_training_are_a_choice_of_figures_that_train(tmp_path: Path) -> None:
    small: dict[str, Any] = {"size": Size(40, 4), "iterations": 2}
    usual = written(tmp_path / "usual", "contest-4", **small)
    assert written(tmp_path / "sampled", "contest-4", zeros="sampled", **small) == usual
    assert written(tmp_path / "all", "contest-4", zeros="all", **small) != usual
    with pytest.raises(ParameterError, match="contest-7 has no choice of the zeros"):
        figure("contest-7")(tmp_path, zeros="all")
