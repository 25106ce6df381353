"""Figures of virtual users, deniability and the privacy budget, at a size that a test can afford."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import pytest

from tracearena.contest import ContestPlan
from tracearena.figures import _check_ins, _people_flow, figure
from tracearena.figures.contest import figure_4_and_19 as contest_4_and_19
from tracearena.figures.contest import figure_16 as contest_16
from tracearena.figures.contest import table_2 as contest_table_2
from tracearena.figures.ppmtf import figure_14 as ppmtf_14
from tracearena.figures.ppmtf import figure_15 as ppmtf_15
from tracearena.synthesis import PPMTF


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few people, few days, few iterations."""
    monkeypatch.setattr(_check_ins, "USERS", 150)
    monkeypatch.setattr(_check_ins, "DAYS", 10)
    monkeypatch.setattr(_people_flow, "USERS", 40)
    monkeypatch.setattr(contest_4_and_19, "USERS", 60)
    monkeypatch.setattr(contest_4_and_19, "DAYS", 4)
    monkeypatch.setattr(ppmtf_14, "KS", (1, 5, 20))
    monkeypatch.setattr(ppmtf_15, "ALPHAS", (1e-3, 10.0))
    monkeypatch.setattr(ppmtf_15, "ITERATIONS", 3)
    monkeypatch.setattr(contest_16, "DAYS", 4)
    monkeypatch.setattr(contest_table_2, "TEAMS", 2)
    monkeypatch.setattr(contest_table_2, "PLAN", ContestPlan(users=30, days=4))
    for module in ("contest_people", "fairness_table", "deniability_rates", "deniability_utility",
                   "virtual_diversity", "virtual_utility", "virtual_privacy"):  # fmt: skip
        monkeypatch.setattr(f"tracearena.figures.{module}.PPMTF", partial(PPMTF, iterations=5))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("ppmtf-10", 4),
        ("ppmtf-14", 9),
        ("ppmtf-15", 2),
        ("contest-16", 2),
        ("contest-17", 5),
        ("contest-18", 7),
        ("contest-table2", 4),
    ],
)
def test_a_figure_is_a_picture_and_its_numbers(name: str, rows: int, tmp_path: Path) -> None:
    picture, numbers = figure(name)(tmp_path, seed=1)
    assert "<svg" in picture.read_text()
    assert len(rows_of(numbers)) >= rows


def test_noon_and_homes_come_together(tmp_path: Path) -> None:
    files = figure("contest-19")(tmp_path, seed=1)
    assert [path.name for path in files] == [
        "contest-4.svg", "contest-4.csv", "contest-19.svg", "contest-19.csv",
    ]  # fmt: skip
    homes = rows_of(tmp_path / "contest-19.csv")
    assert [row["time"] for row in homes][:2] == ["06:00", "06:30"]
    assert float(homes[0]["at_home"]) > 0.9
    noon = rows_of(tmp_path / "contest-4.csv")
    assert len(noon) == 1_024
    assert sum(float(row["synthetic"]) for row in noon) == pytest.approx(1)
