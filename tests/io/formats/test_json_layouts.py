"""Files that people have besides plain tables: each exact layout is read, or refused in a sentence."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena
from tests.io.formats import json_layouts as layouts
from tests.io.formats.json_layouts import LAYOUTS, Layout

import tracearena as ta
from tracearena.errors import FileError, ParameterError
from tracearena.io import Input
from tracearena.io.formats.json_files import TWICE, parse_json_line


def written(folder: Path, name: str, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_file_of_the_exact_layout_is_read_or_refused(tmp_path: Path, layout: Layout) -> None:
    path = written(tmp_path, layout.file, layout.content)
    if layout.refusal:
        with pytest.raises(FileError, match=layout.refusal):
            ta.read(path)
    if not layout.users:
        return
    assert Input(path).format == layout.format
    traces, report = ta.read(path, **layout.options)
    assert (tuple(traces.user_ids.tolist()), len(traces)) == (layout.users, layout.points)
    assert len(traces) + report.dropped_rows == report.rows
    assert ta.read(path, layout.format, **layout.options).traces == traces


@pytest.mark.parametrize("layout", [x for x in LAYOUTS if not x.options], ids=lambda layout: layout.name)
def test_the_command_line_says_the_same(tmp_path: Path, layout: Layout) -> None:
    done = tracearena("describe", written(tmp_path, layout.file, layout.content), "--json")
    if layout.refusal:
        assert (done.status, done.out) == (2, "")
        assert layout.refusal in done.err
    else:
        assert done.status == 0
        assert done.json["users"] == len(layout.users)


def test_the_name_of_a_file_does_not_matter(tmp_path: Path) -> None:
    path = written(tmp_path, "x.txt", layouts.RECORDS)
    assert ta.read(path).traces.n_points == 2


def test_a_file_of_another_kind_than_asked_for_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "x.json", layouts.RECORDS)
    with pytest.raises(FileError, match=r"is not a geojson file: .* \(--from google-records\)"):
        ta.read(path, "geojson")


class TestGoogle:
    def test_each_device_is_a_trajectory(self, tmp_path: Path) -> None:
        traces = ta.read(written(tmp_path, "Records.json", layouts.RECORDS)).traces
        assert traces.trajectory_ids.tolist() == [-577680260, 5]
        assert traces.latitude.tolist() == [48.1371079, 0.0481372]
        assert traces.time_ms[0] == 1_642_007_904_190

    def test_a_lost_bit_of_32_is_put_back_and_said(self, tmp_path: Path) -> None:
        place = {
            "latitudeE7": 481371079,
            "longitudeE7": 4294967296 - 737000000,
            "timestampMs": "1387172545711",
        }
        traces, report = ta.read(written(tmp_path, "r.json", {"locations": [place]}))
        assert traces.longitude.tolist() == [-73.7]
        assert report.noticed == {"overflow": 1}

    def test_places_that_cannot_be_used_are_numbered(self, tmp_path: Path) -> None:
        good = layouts.RECORDS["locations"][0]
        bad = [
            {"timestamp": "2022-01-12T17:18:24Z"},
            good | {"latitudeE7": "north"},
            good | {"timestamp": None},
            good | {"timestamp": "yesterday"},
            good | {"latitudeE7": True},
            7,
        ]
        reading = ta.read(written(tmp_path, "r.json", {"locations": [good, *bad]}))
        assert reading.traces.n_points == 1
        assert reading.report.dropped == {"unparsable time": 3, "bad latitude": 3}
        said = " ".join(reading.report.lines())
        assert "row 3, lat 'north'" in said
        assert "row 5, time 'yesterday'" in said

    def test_numbers_may_be_text(self, tmp_path: Path) -> None:
        place = {"latitudeE7": "481371079", "longitudeE7": "115753822", "timestampMs": 1387172545711}
        traces = ta.read(written(tmp_path, "r.json", {"locations": [place]})).traces
        assert (traces.latitude[0], traces.time_ms[0]) == (48.1371079, 1387172545711)

    def test_a_visit_is_its_place_from_start_to_end(self, tmp_path: Path) -> None:
        traces = ta.read(
            written(tmp_path, "t.json", {"semanticSegments": [layouts.ANDROID["semanticSegments"][1]]})
        ).traces
        assert traces.latitude.tolist() == [48.1351, 48.1351]
        assert np.diff(traces.time_ms).tolist() == [7_200_000]

    def test_minutes_are_counted_from_the_start_of_a_path(self, tmp_path: Path) -> None:
        traces = ta.read(written(tmp_path, "t.json", layouts.IPHONE[:1])).traces
        assert str(traces.time_ms.astype("datetime64[ms]")[0]) == "2024-05-01T06:57:00.000"

    def test_positions_that_are_none_are_left_out(self, tmp_path: Path) -> None:
        path = [
            {"point": p, "time": "2024-05-01T08:03:00.000+02:00"}
            for p in ("48.1°, 11.5°", "here", "291°, 0°", None)
        ]
        segment = layouts.SEGMENT | {"timelinePath": path}
        reading = ta.read(written(tmp_path, "t.json", {"semanticSegments": [segment]}))
        assert (reading.traces.n_points, reading.report.dropped) == (1, {"bad latitude": 3})

    def test_no_columns_can_be_named(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="columns does not apply to files of format google-records"):
            ta.read(written(tmp_path, "r.json", layouts.RECORDS), columns={"user": "x"})


class TestGeoJson:
    def test_a_coordinate_system_is_heeded_and_said(self, tmp_path: Path) -> None:
        layout = next(layout for layout in LAYOUTS if "Mercator" in layout.name)
        traces, report = ta.read(written(tmp_path, "m.geojson", layout.content))
        assert (round(traces.latitude[0], 3), round(traces.longitude[0], 3)) == (48.139, 11.57)
        assert "WGS 84 / Pseudo-Mercator, and was converted to WGS84" in " ".join(report.lines())

    @pytest.mark.parametrize("name", ["EPSG:0", "x" * 300, 7])
    def test_a_coordinate_system_that_is_none_is_refused(self, tmp_path: Path, name: object) -> None:
        crs = {"type": "name", "properties": {"name": name}}
        good = layouts.feature("Point", [1, 2], user="a", time=layouts.TIMES[0])
        with pytest.raises(FileError, match="coordinate system"):
            ta.read(written(tmp_path, "m.geojson", layouts.collection(good, crs=crs)))

    def test_features_that_cannot_be_used_are_numbered(self, tmp_path: Path) -> None:
        good = layouts.feature("Point", [11.5, 48.1], user="a", time=layouts.TIMES[0])
        bad = [
            layouts.feature("Polygon", [], user="a"),
            layouts.feature("LineString", layouts.PATH, user="a", times=layouts.TIMES[:1]),
            layouts.feature("LineString", layouts.PATH, user="a"),
            {"type": "Feature", "geometry": None, "properties": None},
            None,
            layouts.feature("Point", [], user="a", time=layouts.TIMES[0]),
            layouts.feature("Point", [11.5, 248.1], user="a", time=layouts.TIMES[0]),
        ]
        reading = ta.read(written(tmp_path, "m.geojson", layouts.collection(good, good, good, *bad)))
        assert reading.traces.n_points == 3
        assert reading.report.dropped == {"bad feature": 5, "bad latitude": 2}
        said = " ".join(reading.report.lines())
        assert "row 4, column geometry: got 'Polygon': must be a point, or a line with times" in said
        assert "row 5, column times: got '1 times for 2 positions'" in said

    def test_lines_of_nobody_are_of_one_user_which_is_said(self, tmp_path: Path) -> None:
        line = layouts.feature("LineString", layouts.PATH, coordTimes=layouts.TIMES)
        path = written(tmp_path, "ann.geojson", layouts.collection(line, line))
        traces, report = ta.read(path)
        assert (traces.user_ids.tolist(), traces.n_trajectories) == (["ann"], 2)
        assert "noticed, one user: 1" in " ".join(report.lines())
        assert ta.read(path, one_user="eve").traces.user_ids.tolist() == ["eve"]

    def test_a_moving_point_has_milliseconds_too(self, tmp_path: Path) -> None:
        moving = layouts.MOVING | {"datetimes": [1577836800000, 1577836860000]}
        traces = ta.read(written(tmp_path, "a.json", {"type": "Feature", "temporalGeometry": moving})).traces
        assert traces.time_ms.tolist() == [1577836800000, 1577836860000]


class TestRows:
    def test_lines_that_are_no_rows_are_numbered(self, tmp_path: Path) -> None:
        row = layouts.ROW
        lines = [
            row + "}",
            '{"uid": 1, "uid": 2}',
            "",
            "nope",
            "[1]",
            row + "} {}",
            row.replace("48.1", "NaN") + "}",
        ]
        reading = ta.read(written(tmp_path, "a.jsonl", "\n".join(lines)))
        assert reading.report.dropped == {"bad row": 2, "bad json": 2, "bad latitude": 1}
        said = " ".join(reading.report.lines())
        assert "row 2 (line 2): got" in said
        assert "row 7, lat 'NaN'" in said

    def test_rows_may_lack_columns_and_mix_numbers_with_text(self, tmp_path: Path) -> None:
        rows = [
            {"uid": 1, "ts": 1577836800, "lat": 1, "lng": 2.5, "speed": 3},
            {"ts": "1577836860", "lng": "3", "lat": 1.5, "uid": "1"},
            {"uid": 10**30, "ts": 1577836800, "lat": [1], "lng": 2},
        ]
        reading = ta.read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))))
        assert reading.traces.latitude.tolist() == [1, 1.5]
        assert reading.report.dropped == {"bad latitude": 1}

    def test_a_name_in_every_row_is_refused(self, tmp_path: Path) -> None:
        names = ["_" * i + "lat" for i in range(400)]
        lines = [json.dumps({"user": 1, "time": 1577836800, name: 1, "lng": 1}) for name in names]
        with pytest.raises(FileError, match="more than 128 names"):
            ta.read(written(tmp_path, "a.jsonl", "\n".join(lines)))


class TestTrips:
    def test_a_trip_is_a_trajectory_of_two_points(self, tmp_path: Path) -> None:
        path = written(tmp_path, "bikes.csv", layouts.BIKE)
        traces, report = ta.read(path, one_user="ann", timezone="America/Chicago")
        assert (traces.user_ids.tolist(), traces.n_points, traces.n_trajectories) == (["ann"], 3, 2)
        assert report.dropped == {"bad latitude": 1}
        assert "row 2, lat ''" in " ".join(report.lines())

    def test_a_column_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="user=bikeid: there is no such column"):
            ta.read(written(tmp_path, "b.csv", layouts.BIKE), columns={"user": "bikeid"})

    def test_parquet_and_json_lines_hold_trips_too(self, tmp_path: Path) -> None:
        import polars as pl

        frame = pl.read_csv(written(tmp_path, "b.csv", layouts.BIKE))
        frame.write_parquet(tmp_path / "b.parquet")
        frame.write_ndjson(tmp_path / "b.jsonl")
        for name in ("b.csv", "b.parquet", "b.jsonl"):
            assert ta.read(tmp_path / name, columns={"user": "ride_id"}).traces.n_points == 3
            with pytest.raises(FileError, match="who made the trips"):
                ta.read(tmp_path / name)
        assert ta.read(frame, columns={"user": "ride_id"}).traces.n_points == 3
        for trips in (frame, tmp_path / "b.csv", tmp_path / "b.jsonl"):
            said = {"user": "RIDE ID"}
            assert ta.read(trips, columns=said).traces == ta.read(trips, columns={"user": "ride_id"}).traces

    def test_porto_counts_from_its_time_in_steps_of_15_seconds(self, tmp_path: Path) -> None:
        traces, report = ta.read(written(tmp_path, "train.csv", layouts.PORTO))
        assert traces.time_ms.tolist()[:3] == [1372636858000, 1372636873000, 1372636888000]
        assert traces.trajectory_ids.tolist() == [1372636858620000589, 1372637303620000596]
        assert report.dropped == {"missing data": 1}

    @pytest.mark.parametrize(
        "line",
        [
            "[[1,2],[3]]",
            "[[1,2,3]]",
            "[1,2]",
            "[[1,2]",
            "[[NaN,1]]",
            "",
            "x",
            "[[-08.6,41.1]]",
            "[[1e999,41.1]]",
            "[[" + "9" * 400 + ",41.1]]",
        ],
    )
    def test_a_polyline_that_is_none_is_left_out(self, tmp_path: Path, line: str) -> None:
        bad = layouts.PORTO.splitlines()[1].rpartition(',"[[')[0] + f',"{line}"\n'
        reading = ta.read(written(tmp_path, "train.csv", layouts.PORTO + bad))
        assert reading.report.dropped == {"missing data": 1, "not a list of [longitude,latitude]": 1}


class TestOwnTracks:
    def test_other_messages_are_counted(self, tmp_path: Path) -> None:
        lines = layouts.REC + "broken\n" + '2015-09-22T12:06:16Z\t*\t{"_type":"encrypted","data":"x"}\n'
        reading = ta.read(written(tmp_path, "a.rec", lines))
        assert reading.report.noticed == {"other messages": 1}
        assert reading.report.dropped == {"bad row": 1, "encrypted message": 1}

    def test_the_topic_names_user_and_device(self, tmp_path: Path) -> None:
        rows = [
            layouts.MESSAGE | {"topic": f"owntracks/{name}"} for name in ("jane/5s", "jane/ipad", "bob/x")
        ]
        traces = ta.read(written(tmp_path, "a.json", rows)).traces
        assert traces.user_ids.tolist() == ["bob", "jane"]
        assert traces.trajectory_ids.tolist() == ["x", "5s", "ipad"]


def test_a_repeated_key_among_many_is_found_in_one_pass() -> None:
    keys = [f'"{number}": 1' for number in range(40_000)]
    begin = time.process_time()
    found = parse_json_line("{" + ", ".join([*keys, keys[-1]]) + "}")
    assert found[TWICE] == "39999"
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"locations": [' + '{"a":' * 100_000, "nested too deeply|not complete JSON"),
        ('{"locations": [{"latitudeE7": ' + "9" * 5000 + "}]}", "not complete JSON"),
        ('{"locations": [], "locations": []}', "'locations' occurs twice"),
        ('{"locations": [1, 2', "not complete JSON"),
        ('{"locations": [1 2]}', "not complete JSON"),
        ('{"locations": []} x', "not complete JSON: Extra data"),
        ('{"locations": []}', "holds no"),
        ('{"locations": {}}', "holds no"),
        ('{"locations" []}', "holds no traces"),
        ('{"locations": ["' + "x" * 2_000_000 + '"]}', "more than 1,048,576 bytes"),
        ('{"features": []}', "holds no features"),
        ('{"type": "Feature", "properties": 5, "geometry": {"type": "Point"}}', "no column for the user"),
        ('{"semanticSegments": [{"startTime": 1}]}', "has no position"),
        ('[{"_type": "lwt"}]', "has no message"),
    ],
)
def test_broken_and_hostile_documents_are_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileError, match=words) as caught:
        ta.read(written(tmp_path, "a.json", text))
    assert len(str(caught.value)) < 2000
