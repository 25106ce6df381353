"""The pictures of the embedded city."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.errors import ParameterError
from tracearena.figures import figure


def test_the_map_shows_everybody(tmp_path: Path) -> None:
    picture, table = figure("city-map")(tmp_path, seed=1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    header, *rows = table.read_text().splitlines()
    assert header == "reg_id,latitude,longitude,land_use,people_3h,people_12h"
    assert sum(float(row.split(",")[4]) for row in rows) == pytest.approx(20_000, rel=0.01)
    assert len(rows) == 1024


@pytest.mark.slow
def test_every_law_has_its_picture_and_its_numbers(tmp_path: Path) -> None:
    written = figure("city-laws")(tmp_path, seed=1)
    laws = ("gyration", "ranks", "exploration", "returns", "home", "entropy", "trips", "gaps")
    assert {path.name for path in written} == {
        "city-laws.csv",
        *(f"city-{law}.{suffix}" for law in laws for suffix in ("svg", "csv")),
    }
    assert all(path.stat().st_size > 200 for path in written)


@pytest.mark.parametrize("name", ["city-map", "city-laws"])
def test_there_is_no_published_data_of_a_city_that_does_not_exist(name: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="takes no --data"):
        figure(name)(tmp_path, data=tmp_path)
