"""The table of formats names functions that exist, and every format that is written is read again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import tracearena as ta
from tracearena.io import Input
from tracearena.io.formats.recognition import FORMAT_TABLE


@pytest.mark.parametrize("row", FORMAT_TABLE.values(), ids=str)
def test_readers_and_writers_exist(row: ta.io.formats.recognition.Format) -> None:
    for name in filter(None, (row.reader, row.writer)):
        module, _, function = name.partition(":")
        assert callable(getattr(import_module(f"tracearena.io.{module}"), function))


@pytest.mark.parametrize("name", [row.name for row in FORMAT_TABLE.values() if row.writer])
def test_what_is_written_is_recognised_as_what_it_is(name: str, tmp_path: Path) -> None:
    if name in ("gpkg", "geoparquet"):
        pytest.importorskip("geopandas")
    folder = name in ("partitions", "geolife", "gpx")
    path = tmp_path / ("out" if folder else f"out.{name}" if name in ("geojson", "gpkg") else "out.csv")
    if FORMAT_TABLE[name].holds == "points":
        ta.write(ta.cities.simulate_gps(users=2, days=1, seed=1), path, to=name)
    else:
        city = ta.simulate(users=4, days=2, seed=1)
        if name == "peopleflow":  # 35 instants for each user
            city = city.take_instants(0, 35)
        ta.write(city, path, to=name, places_out=tmp_path / "places.csv")
    source = Input(path)
    assert name in source.guess.formats
    assert source.holds_points == (FORMAT_TABLE[name].holds == "points")
