"""The figures of fake traces, on a handful of people."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tracearena.papers import figure
from tracearena.papers.data import Size


@pytest.mark.long
@pytest.mark.parametrize("name", ["sglt-similarity", "sglt-tables", "sglt-qq", "sglt-lbs", "sglt-classes"])
def test_every_figure_has_a_picture_and_its_numbers(name: str, tmp_path: Path) -> None:
    less: dict[str, Any] = {"counts": (2,)} if name == "sglt-lbs" else {}
    picture, table = figure(name)(tmp_path, seed=1, size=Size(30), **less)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(table.read_text().splitlines()) > 3


@pytest.mark.long
def test_the_published_table_stands_beside_both_sets_of_rules(shared_data: Path, tmp_path: Path) -> None:
    said: list[Any] = []
    picture, table = figure("sglt-published")(
        tmp_path,
        data=shared_data / "ppmtf-tokyo",
        seed=2,
        tell=said.append,
        classes=(200,),
        dropped=(0, 1),
        seeds=1,
    )
    with table.open(newline="") as file:
        rows = {(row["rules"], row["classes"], row["par_l"]): row for row in csv.DictReader(file)}
    assert picture.suffix == ".svg"
    assert len([key for key in rows if key[0] == "published"]) == 40
    assert float(rows["published", "200", "1.0"]["tp_tv"]) == pytest.approx(0.60178)
    program, paper, artefact = said
    assert program.holds
    assert not paper.holds
    assert not artefact.holds  # in part only
    failed = float(rows["program", "200", "1"]["at_first_place"])
    assert failed > 0.15 > 0.01 > float(rows["program, decoder mended", "200", "1"]["at_first_place"])
