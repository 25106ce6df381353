"""Figures of the strength of attacks and defences."""

import csv
from pathlib import Path

import pytest

from tracearena.arena import AttackScores, SweepRow
from tracearena.papers import figure
from tracearena.papers.arena import AVERAGING, check_disguise_claims
from tracearena.papers.data import Size


@pytest.mark.slow
def test_old_and_new_attacks_are_drawn_with_the_band(tmp_path: Path) -> None:
    told: list[object] = []
    picture, numbers = figure("arena-attacks")(
        tmp_path, size=Size(20, 2), tell=told.append, defences=("No", "MRLH(0,0,0.1)")
    )
    assert "habits alone" in picture.read_text()
    assert len(told) == 3
    with numbers.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["defence"] for line in lines] == ["No", "MRLH(0,0,0.1)"]
    assert all(float(line["s_T_min"]) <= float(line["s_T_ceiling"]) + 1e-9 for line in lines)


@pytest.mark.slow
def test_the_front_is_marked(tmp_path: Path) -> None:
    picture, numbers = figure("arena-defences")(tmp_path, size=Size(20, 2), defences=("No", "MRLH(0,0,0.1)"))
    assert "Pareto front" in picture.read_text()
    with numbers.open(newline="") as file:
        assert {line["defence"]: line["on_front"] for line in csv.DictReader(file)}["No"] == "True"


def release(defence: str, left: float) -> SweepRow:
    return SweepRow(defence, 0.7, True, AttackScores({"Bayes-R": 0.5}, {"Bayes-T": left}))


@pytest.mark.parametrize(("impostor", "long", "short"), [(0.6, True, False), (0.3, False, True)])
def test_disguises_are_compared_on_long_and_on_short_traces(impostor: float, long: bool, short: bool) -> None:
    rows = [release(AVERAGING, 0.4), release("Impostor(0.7)", impostor), release("Decoy(0.7)", 0.35)]
    of_weeks, of_days = check_disguise_claims(rows, rows, 10)
    assert (of_weeks.holds, of_days.holds) == (long, short)
    assert "10 known and 10 released days" in of_weeks.statement
    assert "2 known and 2 released days" in of_days.statement
    assert f"Impostor(0.7) {impostor:.3f}" in of_days.measured
