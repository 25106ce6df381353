"""What is no position, no time of a line, no role or no second place is reported, and not read as one."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracearena as ta
from tracearena.errors import FileError, ParameterError
from tracearena.io import read_released
from tracearena.traces import time

HOURS = [f"2012-04-03T{hour}:00:00Z" for hour in (18, 19, 20)]
POINTS = "user,time,lat,lng,tz\na,2012-04-03T18:00:00Z,40.7,-74.0,540\n"
EVENTS = "user,time,place,lat,lng,tz\na,2012-04-03T18:00:00Z,p,40.7,-74.0,540\n"


def line(folder: Path, kind: str, coordinates: list[Any], times: list[Any]) -> Path:
    feature = {
        "type": "Feature",
        "geometry": {"type": kind, "coordinates": coordinates},
        "properties": {"user": "x", "coordTimes": times},
    }
    path = folder / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    return path


@pytest.mark.parametrize(
    ("text", "role", "words"),
    [
        (POINTS, "offset", "offset cannot be said of GPS points"),
        (POINTS, "category", "category cannot be said of GPS points"),
        (EVENTS, "trajectory", "trajectory cannot be said of events"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_role_without_use_is_refused_as_such(
    tmp_path: Path, text: str, role: str, words: str, suffix: str
) -> None:
    path, frame = tmp_path / f"a.{suffix}", pl.read_csv(text.encode())
    path.write_text(text)
    if suffix == "parquet":
        frame.write_parquet(path)
    if suffix == "jsonl":
        pl.concat([frame, frame]).write_ndjson(path)
    for table in (path, frame):
        with pytest.raises(ParameterError, match=words):
            ta.read(table, columns={role: "tz"})


@pytest.mark.parametrize("position", [5, "5", None, {"a": 1}])
def test_a_number_is_no_position_of_a_line(tmp_path: Path, position: Any) -> None:
    path = line(tmp_path, "LineString", [[-74, 40.7], position], HOURS[:2])
    assert ta.read(path).report.dropped == {"bad latitude": 1}


@pytest.mark.parametrize("position", [5, "5"])
def test_a_number_is_no_position_of_a_timeline(tmp_path: Path, position: Any) -> None:
    path = [{"point": point, "time": HOURS[0]} for point in ("48.1°, 11.5°", position)]
    segment = {"startTime": HOURS[0], "endTime": HOURS[1], "timelinePath": path}
    (tmp_path / "a.json").write_text(json.dumps({"semanticSegments": [segment]}))
    assert ta.read(tmp_path / "a.json").report.dropped == {"bad latitude": 1}


@pytest.mark.parametrize("count", [1, 3])
def test_lines_need_as_many_times_as_positions_together(tmp_path: Path, count: int) -> None:
    lines = [[[-74, 40.7]], [[-74, 40.8]]]
    assert ta.read(line(tmp_path, "MultiLineString", lines, HOURS[:2])).traces.n_points == 2
    with pytest.raises(FileError, match=f"{count} times for 2 positions"):
        ta.read(line(tmp_path, "MultiLineString", lines, HOURS[:count]))


def test_a_released_place_is_not_named_twice_in_two_spellings(tmp_path: Path) -> None:
    header, path = "user_id,time,places,lat,lng\n", tmp_path / "a.csv"
    path.write_text(header + "ann,2012-04-03T18:00:00,A %41,40.7 40.7,-74.0 -74.0\n")
    with pytest.raises(FileError, match="must not name a place twice"):
        read_released(path)
    path.write_text(header + "ann,2012-04-03T18:00:00,A%00,40.7,-74.0\n")
    with pytest.raises(FileError, match="must be places"):
        read_released(path)
    rows = [
        f"ann,2012-04-03T{hour}:00:00,{cell} B,40.7 40.7,-74.0 -74.0\n"
        for hour, cell in ((18, "A"), (19, "%41"))
    ]
    path.write_text(header + "".join(rows))
    first, second = read_released(path).traces.codes.tolist()
    assert first == second


def test_a_day_that_the_clocks_skip_is_read_before_the_change() -> None:
    local = int(datetime.datetime(2011, 12, 30, 12, tzinfo=datetime.UTC).timestamp())
    assert time.zone_to_utc(pl.Series([local]), "Pacific/Apia").to_list() == [local + 10 * 3600]
