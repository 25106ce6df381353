"""Figures of the strength of attacks and defences."""

import csv
from pathlib import Path

import pytest

from tracearena.figures import figure
from tracearena.figures.data import Size


@pytest.mark.slow
def test_old_and_new_attacks_are_drawn_with_the_band(tmp_path: Path) -> None:
    told: list[object] = []
    picture, numbers = figure("arena-attacks")(
        tmp_path, size=Size(20, 2), tell=told.append, defences=("No", "PL(1,1)")
    )
    assert "habits alone" in picture.read_text()
    assert len(told) == 3
    with numbers.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["defence"] for line in lines] == ["No", "PL(1,1)"]
    assert all(float(line["s_T_min"]) <= float(line["s_T_ceiling"]) + 1e-9 for line in lines)


@pytest.mark.slow
def test_the_front_is_marked(tmp_path: Path) -> None:
    picture, numbers = figure("arena-defences")(tmp_path, size=Size(20, 2), defences=("No", "PL(1,1)"))
    assert "Pareto front" in picture.read_text()
    with numbers.open(newline="") as file:
        assert {line["defence"]: line["on_front"] for line in csv.DictReader(file)}["No"] == "True"
