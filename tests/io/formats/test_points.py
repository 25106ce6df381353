"""Tables of points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracearena.errors import FileError
from tracearena.io import points, read, write
from tracearena.traces import GpsTraces


def csv(tmp_path: Path, text: str) -> Path:
    (tmp_path / "p.csv").write_text(text)
    return tmp_path / "p.csv"


@pytest.mark.parametrize("user", ["user_id", "uid", "user"])
@pytest.mark.parametrize("time", ["tracked_at", "datetime", "time", "timestamp", "ts"])
def test_columns_go_by_the_names_people_use(tmp_path: Path, user: str, time: str) -> None:
    text = f"Lon,{time},LAT,{user},tid\n116.3,2008-11-03T10:13:36Z,40.0,a,7\n"
    traces = points.read(csv(tmp_path, text)).traces
    assert (traces.latitude[0], traces.longitude[0], traces.trajectory_ids[0]) == (40.0, 116.3, 7)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2008-11-03T10:13:36Z", "UTC"),
        ("2008-11-03 18:13:36+08:00", "UTC"),
        ("2008-11-03T18:13:36.000+0800", "UTC"),
        ("2008-11-03 18:13:36", "Asia/Shanghai"),
        ("2008/11/03 10:13:36", "UTC"),
        ("1225707216", "UTC"),
        ("1225707216.0", "UTC"),
        ("1225707216000", "UTC"),
    ],
)
def test_times_in_many_dresses_are_one_moment(tmp_path: Path, text: str, zone: str) -> None:
    traces = points.read(csv(tmp_path, f"uid,time,lat,lon\na,{text},40,116\n"), timezone=zone).traces
    assert traces.time_ms.tolist() == [1_225_707_216_000]


def test_bad_rows_are_left_out_and_named(tmp_path: Path) -> None:
    rows = [
        "a,1,40,116",
        "a,x,40,116",
        "a,2,oops,116",
        "a,3,400.17,116",
        "b,5,40,116",
        ",6,40,116",
        "b,4,40,116",
    ]
    reading = points.read(csv(tmp_path, "uid,ts,lat,lon\n" + "\n".join(rows) + "\n"))
    assert reading.traces.n_points == 3
    assert reading.report.dropped == {"missing fields": 1, "unparsable time": 1, "bad latitude": 2}
    assert reading.report.noticed == {"odd date": 3, "unsorted": 1}
    assert any("row 2, ts 'x')" in line for line in reading.report.lines())
    as_events = read(csv(tmp_path, "uid,ts,lat,lon\n" + "\n".join(rows) + "\n"), "table").report
    assert as_events.dropped == reading.report.dropped


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uid,ts,lat\na,1,2\n", "no column for the longitude"),
        ("", "p.csv"),
        ("uid,ts,lat,lon\n", "has a header and no rows"),
        ("uid,ts,lat,lon\na,1,116,40\na,2,116,40\n", "swapped"),
    ],
)
def test_unusable_tables_are_one_clear_error(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        points.read(csv(tmp_path, text))


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(4)
    traces = GpsTraces.from_points(
        rng.integers(0, 5, 200), rng.integers(2 * 10**12, 3 * 10**12, 200), rng.uniform(-90, 90, 200),
        rng.uniform(-180, 180, 200), trajectories=rng.integers(0, 9, 200),
    )  # fmt: skip
    write(traces, tmp_path / name)
    assert read(tmp_path / name).traces == traces


def test_pandas_and_polars_frames_are_welcome() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"user": ["b", "a"], "time": ["2020-01-01T00:00:00Z"] * 2, "lat": [1.0, 2.0], "lng": [3.0, 4.0]}
    expected = read(pl.DataFrame(columns)).traces
    assert read(pandas.DataFrame(columns)).traces == expected
    assert read(expected.to_frame()).traces == expected


def test_a_path_of_no_known_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("hello")
    for name in ("x.txt", "missing.csv", "."):
        with pytest.raises(FileError, match=r"No such file|holds no traces"):
            read(tmp_path / name)


def test_points_outside_the_bounds_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "b.csv"
    file.write_text(
        "user,time,lat,lng\na,2012-04-03T18:00:00Z,40.7,-74.0\nb,2012-04-03T18:00:00Z,50.7,-74.0\n"
    )
    for grid in (None, "2x2"):
        traces, report = read(file, bounds="40,-75,41,-73", grid=grid)
        assert (len(traces), report.rows, report.dropped) == (1, 2, {"outside the bounds": 1})
        with pytest.raises(FileError, match="outside the bounds"):
            read(file, bounds="40,-75,41,-73", grid=grid, strict=True)
