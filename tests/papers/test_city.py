"""The pictures of the embedded city."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.errors import ParameterError
from tracearena.papers import figure
from tracearena.papers.data import Size


@pytest.mark.slow
def test_the_map_shows_everybody(tmp_path: Path) -> None:
    picture, table = figure("city-map")(tmp_path, seed=1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    header, *rows = table.read_text().splitlines()
    assert header == "reg_id,latitude,longitude,land_use,people_3h,people_12h"
    assert sum(float(row.split(",")[4]) for row in rows) == pytest.approx(20_000, rel=0.01)
    assert len(rows) == 1024


@pytest.mark.slow
def test_every_law_has_its_picture_and_its_numbers(tmp_path: Path) -> None:
    written = figure("city-laws")(tmp_path, seed=1, size=Size(150, 30), checkin_days=60)
    laws = ("gyration", "ranks", "exploration", "returns", "home", "entropy", "trips", "gaps")
    assert {path.name for path in written} == {
        "city-laws.csv",
        *(f"city-{law}.{suffix}" for law in laws for suffix in ("svg", "csv")),
    }
    assert all(path.stat().st_size > 200 for path in written)


@pytest.mark.parametrize("name", ["city-map", "city-laws"])
def test_there_is_no_published_data_of_a_city_that_does_not_exist(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="does not accept --data"):
        figure(name)(tmp_path, data=tmp_path)


@pytest.mark.long
def test_the_page_prints_the_exponents_that_the_figure_measures(tmp_path: Path) -> None:
    written = figure("city-laws")(tmp_path, seed=1)
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "city.md").read_text()
    table = next(path for path in written if path.name == "city-laws.csv").read_text().splitlines()[1:]
    measured = {line.split(",")[0]: line.split(",")[1:3] for line in table}
    rows = {
        "zipf": "visits to the k-th place",
        "exploration": "distinct places",
        "trip_exponent": "trip lengths",
        "entropy_real": "entropy",
        "predictability": "predictability",
    }
    for law, words in rows.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {words}"))
        assert all(f"{float(value):.2f}" in row for value in measured[law]), row
