"""GeoPackage and GeoParquet, and GeoJSON beside them: what other programs write, and what they read."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.errors import FileError, ParameterError
from tracearena.io import Input
from tracearena.traces import GpsTraces

geopandas = pytest.importorskip("geopandas")
pytest.importorskip("pyogrio")

NAMES = ("p.geojson", "p.geojson.gz", "p.gpkg", "p.geoparquet")
FORMATS = {"p.geojson": "geojson", "p.geojson.gz": "geojson", "p.gpkg": "gpkg", "p.geoparquet": "geoparquet"}


def points(seed: int = 4, whole: bool = False) -> GpsTraces:
    rng = np.random.default_rng(seed)
    times = rng.integers(2 * 10**12, 3 * 10**12, 60)
    return GpsTraces.from_points(
        np.array(["ann", "bob", 'a "quoted", ü'])[rng.integers(0, 3, 60)],
        times // 1000 * 1000 if whole else times,
        rng.uniform(-90, 90, 60),
        rng.uniform(-180, 180, 60),
        trajectories=rng.integers(0, 4, 60),
    )


def frame(**columns: object) -> geopandas.GeoDataFrame:
    given = {"user": ["ann", "bob"], "time": ["2020-01-01T00:00:00Z", "2020-01-01T00:01:00Z"]} | columns
    place = given.pop("geometry", geopandas.points_from_xy([11.5, 11.6], [48.1, 48.2]))
    return geopandas.GeoDataFrame(given, geometry=place, crs="EPSG:4326")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_gps_traces_written_are_read_again(tmp_path: Path, name: str, whole: bool) -> None:
    traces = points(whole=whole)
    assert ta.write(traces, tmp_path / name) == [tmp_path / name]
    assert Input(tmp_path / name).format == FORMATS[name]
    assert ta.read(tmp_path / name).traces == traces


@pytest.mark.parametrize("name", NAMES)
def test_events_written_are_read_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "c.csv").write_text(
        "user,time,lat,lng,place,category\na,2020-01-01 10:00,48.1,11.5,bar,food\n"
        "b,2020-01-02 11:00,48.2,11.6,gym,sport\n"
    )
    traces = ta.read(tmp_path / "c.csv", timezone="Europe/Berlin").traces
    ta.write(traces, tmp_path / name)
    again = ta.read(tmp_path / name, timezone="Europe/Berlin").traces
    assert again.places.ids.tolist() == ["bar", "gym"]
    assert (again.instants.tolist(), again.user_ids.tolist()) == (traces.instants.tolist(), ["a", "b"])


@pytest.mark.parametrize("to", ["geojson", "gpkg", "geoparquet", "gpx"])
def test_convert_writes_and_describe_reads(tmp_path: Path, to: str) -> None:
    ta.write(points(whole=True).take_users([0]), tmp_path / "p.csv")
    done = tracearena("convert", tmp_path / "p.csv", tmp_path / f"out.{to}", "--to", to, "--json")
    assert (done.status, done.json["to"]) == (0, to)
    seen = tracearena("describe", tmp_path / f"out.{to}", "--json")
    assert (seen.status, seen.json["users"]) == (0, 1)


@pytest.mark.parametrize("system", ["EPSG:3857", "EPSG:2154", "EPSG:4258"])
@pytest.mark.parametrize("name", ["p.gpkg", "p.parquet"])
def test_other_coordinate_systems_are_changed_and_it_is_said(tmp_path: Path, name: str, system: str) -> None:
    moved = frame().to_crs(system)
    if name == "p.gpkg":
        moved.to_file(tmp_path / name, driver="GPKG")
    else:
        moved.to_parquet(tmp_path / name)
    traces, report = ta.read(tmp_path / name)
    np.testing.assert_allclose(traces.latitude, [48.1, 48.2], atol=1e-8)
    np.testing.assert_allclose(traces.longitude, [11.5, 11.6], atol=1e-8)
    assert "converted to WGS84" in " ".join(report.lines())


def test_a_parquet_file_with_a_geometry_is_geoparquet_whatever_its_name(tmp_path: Path) -> None:
    frame().to_parquet(tmp_path / "p.parquet")
    assert Input(tmp_path / "p.parquet").format == "geoparquet"
    assert ta.read(tmp_path / "p.parquet").traces.user_ids.tolist() == ["ann", "bob"]


def test_what_is_no_point_is_left_out_with_its_number(tmp_path: Path) -> None:
    import shapely

    place = [shapely.Point(11.5, 48.1), shapely.LineString([(1, 2), (3, 4)]), None, shapely.Point()]
    mixed = frame(user=list("abcd"), time=["2020-01-01T00:00:00Z"] * 4, geometry=place)
    mixed.to_parquet(tmp_path / "p.parquet")
    traces, report = ta.read(tmp_path / "p.parquet")
    assert (traces.user_ids.tolist(), report.dropped, report.rows) == (["a"], {"bad geometry": 3}, 4)
    assert "row 2, column geometry: got 'LineString': must be a point" in " ".join(report.lines())
    with pytest.raises(FileError, match="must be a point"):
        ta.read(tmp_path / "p.parquet", strict=True)


def test_the_layer_with_times_is_read_and_several_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.gpkg"
    frame().to_file(path, layer="track_points", driver="GPKG")
    frame().drop(columns="time").to_file(path, layer="waypoints", driver="GPKG")
    assert ta.read(path).traces.n_points == 2
    frame().to_file(path, layer="more", driver="GPKG")
    with pytest.raises(FileError, match="several layers of points: track_points, more; keep only one"):
        ta.read(path)


def test_columns_can_be_named(tmp_path: Path) -> None:
    frame().rename(columns={"user": "MMSI", "time": "seen"}).to_file(tmp_path / "p.gpkg", driver="GPKG")
    with pytest.raises(FileError, match="no column for the time"):
        ta.read(tmp_path / "p.gpkg")
    traces = ta.read(tmp_path / "p.gpkg", columns={"user": "MMSI", "time": "seen"}).traces
    assert traces.user_ids.tolist() == ["ann", "bob"]
    assert ta.read(tmp_path / "p.gpkg", one_user="eve", columns={"time": "seen"}).traces.n_users == 1


@pytest.mark.parametrize("name", ["p.gpkg", "p.geoparquet"])
@pytest.mark.parametrize("missing", ["geopandas", "pyogrio"])
def test_without_the_extra_a_sentence_says_what_to_install(tmp_path: Path, name: str, missing: str) -> None:
    if (name, missing) == ("p.geoparquet", "pyogrio"):
        missing = "geopandas"
    ta.write(points(), tmp_path / name)
    with (
        mock.patch.dict(sys.modules, {missing: None}),
        pytest.raises(ParameterError, match=r"pip install 'tracearena\[geo\]'"),
    ):
        ta.read(tmp_path / name)
    with (
        mock.patch.dict(sys.modules, {missing: None}),
        pytest.raises(ParameterError, match=r"pip install 'tracearena\[geo\]'"),
    ):
        ta.write(points(), tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


class TestHostile:
    @pytest.mark.parametrize("name", ["p.gpkg", "p.geoparquet"])
    @pytest.mark.parametrize("at", [20, 200, 2000, -200, -20])
    def test_damaged_files_are_read_or_refused(self, tmp_path: Path, name: str, at: int) -> None:
        ta.write(points(), tmp_path / name)
        data = bytearray((tmp_path / name).read_bytes())
        data[at : at + 8 if at + 8 else None] = b"\xff" * 8
        (tmp_path / name).write_bytes(data)
        with contextlib.suppress(FileError):
            assert ta.read(tmp_path / name).traces.n_points <= 60

    @pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
    @pytest.mark.parametrize("name", ["p.gpkg", "p.geoparquet"])
    def test_files_cut_off_are_refused(self, tmp_path: Path, name: str, part: float) -> None:
        ta.write(points(), tmp_path / name)
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: int(part * len(data))])
        with pytest.raises(FileError, match=name):
            ta.read(tmp_path / name)

    def test_a_database_with_a_view_that_never_ends_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "p.gpkg"
        frame().to_file(path, layer="p", driver="GPKG")
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        with closing(sqlite3.connect(path)) as base:
            base.execute(f"CREATE VIEW endless AS {endless}")
            base.commit()
        with pytest.raises(FileError, match="has views in addition to tables"):
            ta.read(path)

    def test_a_trigger_with_the_name_of_a_view_does_not_hide_it(self, tmp_path: Path) -> None:
        ta.write(points(), tmp_path / "p.gpkg")
        with closing(sqlite3.connect(tmp_path / "p.gpkg")) as base:
            base.execute("CREATE VIEW seen AS SELECT 1 AS time")
            base.execute("CREATE TRIGGER seen INSTEAD OF INSERT ON seen BEGIN SELECT 1; END")
            base.commit()
        with pytest.raises(FileError, match="has views in addition to tables"):
            ta.read(tmp_path / "p.gpkg")

    @pytest.mark.slow
    @pytest.mark.parametrize("index", [False, True])
    @pytest.mark.parametrize("column", ["user", "note"])
    def test_one_long_text_a_thousand_times_is_not_unpacked(
        self, tmp_path: Path, column: str, index: bool
    ) -> None:
        long = frame().iloc[[0] * 1000].assign(**{column: "x" * 100_000})
        made = long.set_index(column) if index else long
        made.to_parquet(tmp_path / "p.parquet", index=index)
        assert (tmp_path / "p.parquet").stat().st_size < 100_000
        if (column, index) == ("note", False):
            with mock.patch("geopandas.read_parquet", wraps=geopandas.read_parquet) as read:
                assert ta.read(tmp_path / "p.parquet").traces.n_points == 1000
            assert read.call_args.kwargs["columns"] == ["user", "time", "geometry"]
        else:
            with pytest.raises(FileError, match="unpacks to more than 1,000 times its size"):
                ta.read(tmp_path / "p.parquet")

    def test_another_database_is_refused(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "p.gpkg")) as base:
            base.execute("CREATE TABLE t (x)")
            base.commit()
        with pytest.raises(FileError, match="is not a GeoPackage"):
            ta.read(tmp_path / "p.gpkg")

    def test_layers_of_lines_are_refused(self, tmp_path: Path) -> None:
        import shapely

        line = frame(geometry=[shapely.LineString([(1, 2), (3, 4)])] * 2)
        line.to_file(tmp_path / "p.gpkg", layer="ways", driver="GPKG")
        with pytest.raises(FileError, match=r"no layer of points; its layers: ways \(LINESTRING\)"):
            ta.read(tmp_path / "p.gpkg")
