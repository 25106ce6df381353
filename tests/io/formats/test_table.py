"""Tables of events: the names people use, the times they write, the frames they hold."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io import Choices, read, write
from tracearena.io import places as place_table
from tracearena.io.formats import checkins
from tracearena.traces import Clock, Traces

CSV = (
    "user_id,datetime,lat,lng,venue\n7,2012-04-03 18:00:06,40.7,-74.0,a\n8,2012-04-03 19:30:00,40.8,-73.9,b\n"
)


def file_of(folder: Path, text: str, name: str = "events.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "header",
    [
        "user_id,tracked_at,lat,lng,place",
        "uid,datetime,latitude,longitude,reg_id",
        "USER,Time,LAT,LON,POI_ID",
        "userId,timestamp,Latitude,Longitude,venueId",
        "user id,ts,lat,long,venue",
        '"user_id","time","lat","lng","place"',
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_go_by_many_names(tmp_path: Path, header: str, separator: str) -> None:
    rows = CSV.partition("\n")[2]
    text = (header + "\n" + rows).replace(",", separator)
    traces, report = read(file_of(tmp_path, text))
    assert report.format == "table"
    assert traces.user_ids.tolist() == [7, 8]
    assert traces.places.ids.tolist() == ["a", "b"]
    assert [traces.clock.label(int(i)) for i in traces.instants] == ["18:00", "19:00"]


@pytest.mark.parametrize(
    "name",
    ["ts", "ts_utc", "timestamp_utc", "time_utc", "utc_time", "datetime_utc", "utc_datetime", "utc", "UTC"],
)
def test_a_time_may_be_named_after_utc(tmp_path: Path, name: str) -> None:
    events = read(file_of(tmp_path, CSV.replace("datetime", name))).as_events().traces
    assert events.timestamps is not None
    assert events.timestamps.tolist() == [1_333_476_006, 1_333_481_400]
    assert events.clock.first_day == datetime.date(2012, 4, 3)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_check_ins_come_back_equal(make_check_ins: Callable[..., Traces], tmp_path: Path, name: str) -> None:
    traces = make_check_ins()
    write(traces, tmp_path / name)
    again, report = read(tmp_path / name)
    assert report.format == "table"
    assert again == traces


@pytest.mark.parametrize("interval", ["15min", "20min", "30min", "1h", "1s"])
def test_any_interval_comes_back_equal(
    make_check_ins: Callable[..., Traces], tmp_path: Path, interval: str
) -> None:
    write(make_check_ins(), tmp_path / "t.csv")
    options = {"interval": interval, "timezone": "Asia/Kolkata"}
    first, _ = read(tmp_path / "t.csv", **options)
    write(first, tmp_path / "again.csv")
    assert read(tmp_path / "again.csv", interval=interval)[0] == first


def test_grid_cells_come_back_equal_with_their_places(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    write(make_check_ins(), tmp_path / "t.csv")
    traces, _ = read(tmp_path / "t.csv", grid="8x6")
    written = write(traces, tmp_path / "g.csv", places_out=tmp_path / "places.csv")
    assert [path.name for path in written] == ["g.csv", "places.csv"]
    assert read(tmp_path / "g.csv", places=tmp_path / "places.csv")[0] == traces


def test_instants_without_dates_come_back_equal(make_walks: Callable[..., Traces], tmp_path: Path) -> None:
    walks = make_walks(missing=0.3)
    write(walks, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("user_id,time_id,place,lat,lng\n")
    again, _ = read(tmp_path / "t.csv", places=walks.places, interval="30min")
    assert again.clock == Clock(instants_per_day=48, interval_s=1800)
    np.testing.assert_array_equal(again.instants, walks.instants)
    np.testing.assert_array_equal(again.place_index, walks.place_index)


def test_dated_instants_come_back_equal_without_timestamps(tmp_path: Path) -> None:
    places = read(pl.read_csv(CSV.encode()))[0].places
    clock = Clock(instants_per_day=24, first_day=datetime.date(2024, 2, 29))
    traces = Traces.from_events([1, 1, 2], [3, 30, 4], [0, 1, 0], places, clock)
    write(traces, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")[0] == traces


def test_half_hours_are_found_out_and_come_back_equal(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    places = make_check_ins().places
    clock = Clock(instants_per_day=48, interval_s=1800, first_day=datetime.date(2024, 2, 29))
    dense = np.random.default_rng(0).integers(0, len(places), (9, 96))
    traces = Traces.from_dense(dense, places, clock)
    write(traces, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv")[0] == traces
    assert read(tmp_path / "t.csv", interval="2h")[0].clock.instants_per_day == 12


def test_points_read_as_a_table_are_gridded_at_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform([40.5, -74.2], [40.9, -73.7], (500, 2)).round(5)
    rows = [f"{i % 9},2012-04-03T{i % 24:02d}:00:00Z,{a},{b}" for i, (a, b) in enumerate(points)]
    traces, report = read(file_of(tmp_path, "\n".join(["uid,ts,lat,lon", *rows])), "table")
    assert traces.places.grid is not None
    assert (traces.places.grid.rows, traces.places.grid.columns) == (32, 32)
    assert traces.n_events + report.dropped_rows == 500


def test_one_outlier_does_not_stretch_the_default_grid(tmp_path: Path) -> None:
    rows = [f"1,2012-04-03T10:00:00Z,{40 + i / 1000},{-74 + i / 1000}" for i in range(300)]
    rows.append("1,2012-04-03T10:00:00Z,-33.9,151.2")
    traces, report = read(file_of(tmp_path, "\n".join(["uid,ts,lat,lon", *rows])), "table")
    assert traces.places.grid is not None
    assert traces.places.grid.north - traces.places.grid.south < 0.4
    assert report.to_dict()["dropped"] == {"outside the bounds": 1}
    assert [(e.fault.row, e.fault.column, e.fault.value) for e in report.examples] == [
        (301, "lat, lon", "-33.9, 151.2")
    ]


def test_a_single_point_has_a_grid(tmp_path: Path) -> None:
    traces, _ = read(file_of(tmp_path, "uid,ts,lat,lon\n1,2012-04-03T10:00:00Z,40,-74\n"), "table")
    assert traces.n_events == 1
    where = int(traces.place_index[0])
    assert (traces.places.latitude[where], traces.places.longitude[where]) == pytest.approx(
        (40, -74), abs=0.1
    )
    assert traces.clock.label(int(traces.instants[0])) == "06:00", "10:00 in UTC, in the time of the point"


def test_local_times_with_a_zone_get_their_utc(tmp_path: Path) -> None:
    traces, _ = read(file_of(tmp_path, CSV), timezone="America/New_York")
    assert traces.timestamps is not None
    assert traces.timestamps[0] == 1_333_476_006 + 4 * 3600
    assert traces.clock.label(int(traces.instants[0])) == "18:00"


def test_places_without_coordinates_ask_for_their_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,place\n1,2012-04-03 10:00:00,a\n1,2012-04-03 11:00:00,z\n")
    with pytest.raises(DataError, match="--places"):
        read(path)
    places = file_of(tmp_path, "place,lat,lng\na,40,-74\nb,41,-74\n", "places.csv")
    traces, report = read(path, places=places)
    assert traces.n_events == 1
    assert report.to_dict()["dropped"] == {"not in the file of places": 1}


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"header: got 'user, lat, lng': no column for the time"):
        checkins.read_event_table(file_of(tmp_path, "user,lat,lng\n1,2,3\n"))


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="header and no rows"):
        read(file_of(tmp_path, "user,time,lat,lng\n"), "table")


def test_times_nobody_can_read_are_refused_with_what_is_accepted(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,lat,lng\n1,April 3rd,40,-74\n2,April 4th,40,-74\n")
    for format in ("table", "points"):
        with pytest.raises(FileError, match=r"got 'April 3rd': no time could be read; accepted are ISO 8601"):
            read(path, format)


def test_when_every_row_is_bad_the_file_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,lat,lng\n1,2012-04-03 10:00,400.17,-74\n")
    with pytest.raises(FileError, match=r"column lat: got '400.17': bad latitude"):
        read(path, "table")


def test_quotes_and_commas_inside_fields_are_read(tmp_path: Path) -> None:
    text = 'user,time,lat,lng,place\n"Smith, J.",2012-04-03 10:00,40,-74,"Joe\'s ""Bar"""\n'
    traces, _ = read(file_of(tmp_path, text))
    assert traces.user_ids.tolist() == ["Smith, J."]
    assert traces.places.ids.tolist() == ['Joe\'s "Bar"']


def test_a_quote_that_never_closes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read as a table"):
        read(file_of(tmp_path, 'user,time,lat,lng\n1,"2012-04-03,40,-74\n1,2012-04-03,40,-74\n'), "table")


def test_byte_order_mark_and_carriage_returns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode())
    traces, report = read(path)
    assert (traces.user_ids.tolist(), traces.places.ids.tolist()) == ([7, 8], ["a", "b"])
    assert report.dropped == {}


def test_a_column_named_row_does_no_harm(tmp_path: Path) -> None:
    rows = "x,1,2012-04-03 10:00,40,-74\ny,2,2012-04-03 11:00,41,-73\n"
    traces, _ = read(file_of(tmp_path, "row,user,time,lat,lng\n" + rows), "table")
    assert traces == read(file_of(tmp_path, "number,user,time,lat,lng\n" + rows, "other.csv"), "table").traces
    assert traces.user_ids.tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow"])
def test_any_data_frame_is_read(kind: str) -> None:
    frame: object = pl.read_csv(CSV.encode(), try_parse_dates=True)
    if kind == "lazy":
        frame = pl.read_csv(CSV.encode()).lazy()
    elif kind == "pandas":
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {
                "user_id": [7, 8],
                "datetime": pandas.to_datetime(["2012-04-03 18:00:06", "2012-04-03 19:30:00"]),
                "lat": [40.7, 40.8],
                "lng": [-74.0, -73.9],
                "venue": ["a", "b"],
            }
        )
    elif kind == "arrow":
        pytest.importorskip("pyarrow")
        frame = pl.read_csv(CSV.encode()).to_arrow()
    traces, report = read(frame)
    assert traces == read(pl.read_csv(CSV.encode()))[0]
    assert report.rows == 2


def test_a_frame_of_traces_is_read_again(make_check_ins: Callable[..., Traces]) -> None:
    traces = make_check_ins()
    assert read(traces.to_frame())[0] == traces


def test_pandas_moments_with_a_zone_are_utc() -> None:
    pandas = pytest.importorskip("pandas")
    moments = pandas.to_datetime(["2012-04-03 14:00:06-04:00"]).tz_convert("America/New_York")
    frame = pandas.DataFrame({"user": ["x"], "time": moments, "lat": [40.0], "lng": [-74.0]})
    traces, _ = read(frame, "table").as_events()
    assert traces.timestamps is not None
    assert traces.timestamps.tolist() == [1_333_476_006]


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(ParameterError, match="pandas, Polars, GeoPandas or Arrow table"):
        read([1, 2, 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": "32"}, "rows x columns"),
        ({"grid": "0x4"}, "rows x columns"),
        ({"bounds": "1,2,3"}, "south,west,north,east"),
        ({"bounds": "41,-74,40,-73"}, "south < north"),
        ({"top": 0}, "at least 1"),
        ({"top": 5, "grid": "3x3"}, "not both"),
        ({"interval": "7min"}, "whole fraction of a day"),
        ({"interval": "soon"}, "20min"),
        ({"interval": "1h", "slot": "90min"}, "multiple of the interval"),
        ({"timezone": "Asia/Tokyo", "utc_hours": True}, "not both"),
        ({"timezone": "Nowhere/At_All"}, "timezone = 'Nowhere/At_All'"),
    ],
)
def test_choices_that_make_no_sense_are_refused(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read(file_of(tmp_path, CSV), **options)


def test_an_output_of_unknown_kind_is_refused(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="give a format"):
        write(make_check_ins(), tmp_path / "t.xyz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["places.csv", "places.parquet"])
def test_places_come_back_equal(make_check_ins: Callable[..., Traces], tmp_path: Path, name: str) -> None:
    places = make_check_ins().places
    place_table.write_place_table(places, tmp_path / name)
    assert place_table.read_place_table(tmp_path / name) == places


def test_choices_and_single_options_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="not both"):
        read(file_of(tmp_path, CSV), choices=Choices(), top=1)


def test_an_endless_id_costs_its_row_and_no_memory(tmp_path: Path) -> None:
    endless = "x" * 1_000_000
    rows = CSV + f"{endless},2012-04-03 18:00:06,40.7,-74.0,a\n9,2012-04-03 18:00:06,40.7,-74.0,{endless}\n"
    traces, report = read(file_of(tmp_path, rows))
    assert traces.n_events == 2
    assert report.to_dict()["dropped"] == {"overlong id": 2}
    assert len(str(report.to_dict())) < 2000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("place,lat\na,1\n", "no columns for a place, latitude and longitude"),
        ("place,lat,lng\na,x,1\n", "row 1, column lat: not a number"),
        ("place,lat,lng\na,400.17,1\n", r"latitude\[0\] = 400.17 is not allowed"),
        ("place,lat,lng\na,1,1\na,1,1\n", "two places have the same id"),
        ("place,lat,lng\n,1,1\n", "places without an id"),
        ("place,lat,lng,row,column\na,1,1,1,1\nb,1,2,1,2\n", "do not form a complete grid"),
    ],
)
def test_a_broken_file_of_places_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = file_of(tmp_path, text, "places.csv")
    with pytest.raises(FileError, match=message) as error:
        place_table.read_place_table(path)
    assert str(path) in str(error.value)
