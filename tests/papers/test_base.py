"""A figure is one function: what it returns is drawn, told and written by the base of all figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracearena.arena import AttackScores, SweepRow
from tracearena.arena.claims import ClaimResult
from tracearena.papers import base, list_figures
from tracearena.papers.base import Drawing, Figure, paper_figure
from tracearena.papers.data import FigureSource, Size

CLAIM = ClaimResult("lines rise", True, "slope 2, it takes 0", 2.0)


def draw_line(figure: Any, axes: Any) -> None:
    for panel in axes.flat if hasattr(axes, "flat") else [axes]:
        panel.plot([0, 1], [0, 2])


def make(drawing: Drawing | list[Drawing]) -> Figure:
    return Figure("paper-1", "a line", lambda source: drawing)


def test_the_decorator_is_the_only_registration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "REGISTRY", {})
    given: list[FigureSource] = []

    @paper_figure("paper-1", "a line")
    def compute(source: FigureSource, *, slope: int = 2) -> Drawing:
        given.append(source)
        return Drawing([{"slope": slope}])

    figure = base.REGISTRY["paper-1"]
    assert (figure.name, figure.shows) == ("paper-1", "a line")
    (table,) = figure(tmp_path, data=tmp_path, seed=3, size=Size(5, 2), slope=7)
    assert given == [FigureSource(tmp_path, 3, Size(5, 2))]
    assert table.read_text().split() == ["slope", "7"]
    with pytest.raises(TypeError, match="unknown"):
        figure(tmp_path, unknown=1)


@pytest.mark.parametrize("layout", [{}, {"ncols": 2}])
def test_claims_are_told_and_stand_below_the_title(layout: dict[str, int], tmp_path: Path) -> None:
    told: list[ClaimResult] = []
    drawing = Drawing([{"x": 1}], draw_line, layout=layout, title="A line", claims=[CLAIM])
    picture, table = make(drawing)(tmp_path, tell=told.append)
    assert [picture.name, table.name] == ["paper-1.svg", "paper-1.csv"]
    assert told == [CLAIM]
    text = picture.read_text()
    assert 0 < text.index("A line") < text.index("holds: lines rise (slope 2, it takes 0)")
    again, _ = make(drawing)(tmp_path)
    assert again.read_text() == text


def test_tables_are_records_columns_or_defences(tmp_path: Path) -> None:
    defences = [SweepRow("No", 1.0, True, AttackScores({"a": 0.5}, {"b": 0.25}))]
    drawing = Drawing({"": [{"a": 1, "b": 2}, {"a": 3}], "-rows": (("a", "b"), [(1, 2)]), "-sweep": defences})
    plain, rows, sweep = make(drawing)(tmp_path)
    assert [path.name for path in (plain, rows, sweep)] == [
        "paper-1.csv",
        "paper-1-rows.csv",
        "paper-1-sweep.csv",
    ]
    assert plain.read_text().split() == ["a,b", "1,2", "3,"]
    assert rows.read_text().split() == ["a,b", "1,2"]
    assert sweep.read_text().splitlines()[1].startswith("No,1.0,true,0.5,0.25")


def test_several_pictures_of_one_figure_have_names_of_their_own(tmp_path: Path) -> None:
    both = [Drawing([{"x": 1}], draw_line, name="paper-2", suffix="png"), Drawing([{"x": 2}], claims=[CLAIM])]
    told: list[ClaimResult] = []
    files = make(both)(tmp_path, tell=told.append)
    assert [path.name for path in files] == ["paper-2.png", "paper-2.csv", "paper-1.csv"]
    assert told == [CLAIM]


def test_figures_with_a_number_come_first_whatever_was_loaded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(list_figures())
    # Within a module figures are registered as they stand there.
    as_they_stand = sorted(list_figures().values(), key=lambda one: one.compute.__code__.co_firstlineno)
    for reverse in (False, True):
        loaded = sorted(as_they_stand, key=lambda one: one.compute.__module__, reverse=reverse)
        monkeypatch.setattr(base, "REGISTRY", {one.name: one for one in loaded})
        assert list(list_figures.__wrapped__()) == names
    contest = [name.partition("-")[2] for name in names if name.startswith("contest")]
    assert contest == [
        "4",
        "7",
        "8",
        "9",
        "12",
        "13",
        "16",
        "17",
        "18",
        "19",
        "people",
        "table2",
        "spread",
        "k-anonymity",
    ]
    assert len(names) == len(set(names))
    assert all(figure.name == name for name, figure in list_figures().items())
