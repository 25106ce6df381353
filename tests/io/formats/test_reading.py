"""One door for files and frames, events and GPS points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import tracearena as ta
from tracearena.errors import FileError, ParameterError
from tracearena.io import Reading
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

POINTS = pl.DataFrame(
    {
        "uid": ["a", "a", "b"],
        "time": ["2020-01-01T10:00:00Z", "2020-01-01T11:00:00Z", "2020-01-01T10:30:00Z"],
        "lat": [35.70, 35.71, 35.72],
        "lon": [139.70, 139.71, 139.72],
    }
)


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "csv", "parquet"])
def test_coordinates_alone_are_points_and_on_a_grid_events(kind: str, tmp_path: Path) -> None:
    given: object = POINTS
    if kind == "pandas":
        given = pytest.importorskip("pandas").DataFrame(POINTS.to_dict(as_series=False))
    elif kind == "arrow":
        pytest.importorskip("pyarrow")
        given = POINTS.to_arrow()
    elif kind == "csv":
        given = tmp_path / "points.csv"
        POINTS.write_csv(given)
    elif kind == "parquet":
        given = tmp_path / "points.parquet"
        POINTS.write_parquet(given)
    reading = ta.read(given)
    traces, report = reading
    assert isinstance(reading, Reading)
    assert isinstance(traces, GpsTraces)
    assert (traces.n_points, report.format, report.rows) == (3, "points", 3)
    assert traces == ta.read(POINTS).traces
    events, told = ta.read(given, grid="4x4")
    assert isinstance(events, Traces)
    assert (events.n_events, told.rows) == (3, 3)
    assert told.clock is not None
    assert told.clock.zone == "Asia/Tokyo"


def test_a_column_of_places_makes_events() -> None:
    traces = ta.read(POINTS.with_columns(venue=pl.Series(["x", "y", "x"]))).as_events().traces
    assert (traces.n_events, len(traces.places)) == (3, 2)
    with pytest.raises(ParameterError, match="has events at places"):
        ta.read(POINTS.with_columns(venue=pl.lit("x"))).as_points()


def test_a_frame_is_read_within_bounds_and_what_needs_a_grid_is_refused() -> None:
    assert len(ta.read(POINTS, bounds="35.705,139,36,140").traces) == 2
    with pytest.raises(ParameterError, match=r"interval, resample needs a grid"):
        ta.read(POINTS, interval="20min", resample="last")
    with pytest.raises(ParameterError, match="table or points for a data frame"):
        ta.read(POINTS, "gowalla")


@pytest.mark.parametrize("with_places", [True, False])
def test_strict_refuses_what_would_be_left_out(with_places: bool) -> None:
    bad = POINTS.with_columns(lat=pl.Series([35.7, 95.0, 35.72]))
    if with_places:
        bad = bad.with_columns(venue=pl.Series(["x", "y", "x"]))
    assert ta.read(bad).report.dropped == {"bad latitude": 1}
    with pytest.raises(FileError, match=r"row 2, column lat.*95\.0"):
        ta.read(bad, strict=True)


def test_a_row_with_several_faults_is_dropped_once() -> None:
    bad = POINTS.with_columns(
        lat=pl.Series(["x", "y", "35.7"]),
        time=pl.Series(["soon", POINTS["time"][1], POINTS["time"][0]]),
    )
    report = ta.read(bad).report
    assert report.dropped == {"unparsable time": 1, "bad latitude": 1}
    assert [(example.reason, example.fault.row) for example in report.examples] == [
        ("unparsable time", 1),
        ("bad latitude", 2),
    ]


def test_what_is_written_by_the_front_door_is_read_by_it(
    make_check_ins: Callable[..., Traces], make_walks: Callable[..., Traces], tmp_path: Path
) -> None:
    events = make_check_ins()
    assert ta.write(events, tmp_path / "e.parquet") == [tmp_path / "e.parquet"]
    assert ta.read(tmp_path / "e.parquet", places=events.places).traces == events
    points = ta.read(POINTS).traces
    assert ta.write(points, tmp_path / "p.csv") == [tmp_path / "p.csv"]
    assert ta.read(tmp_path / "p.csv").traces == points
    walks = make_walks()
    hidden = ObfuscatedTraces.from_traces(walks)
    ta.write(hidden, tmp_path / "pub.csv", to="pwscup")
    assert ta.io.pwscup.read_anonymized(tmp_path / "pub.csv", walks.places) == hidden
    ta.write(hidden, tmp_path / "pub.parquet")
    assert ta.io.read_released(tmp_path / "pub.parquet", walks).traces == hidden
    with pytest.raises(ParameterError, match="for obfuscated traces"):
        ta.write(hidden, tmp_path / "pub.csv", to="gowalla")
    with pytest.raises(ParameterError, match="no places to write"):
        ta.write(points, tmp_path / "q.csv", places_out=tmp_path / "places.csv")
    assert list(tmp_path.glob("q*")) == []
