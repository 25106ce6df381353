"""What a header does not say can be said, and what makes no sense is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracearena as ta
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io.fields.columns import NAMES, find_roles
from tracearena.io.options import Layout

CSV = "who,when,y1,x1,note\nanna,2012-04-03 18:00:06,40.7,-74.0,a\nben,2012-04-03 19:30:00,40.8,-73.9,b\n"
SAID = "user=who,time=when,lat=y1,lng=x1"


def file_of(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_are_said_as_a_text_or_as_a_mapping(tmp_path: Path) -> None:
    path = file_of(tmp_path, CSV)
    said = {"user": "who", "time": "when", "latitude": "y1", "lon": "x1"}
    traces = ta.read(path, columns=SAID).traces
    assert traces == ta.read(path, columns=said).traces == ta.read(pl.read_csv(path), columns=SAID).traces
    assert traces.user_ids.tolist() == ["anna", "ben"]


def test_a_column_that_is_said_is_a_place_and_makes_events(tmp_path: Path) -> None:
    traces = ta.read(file_of(tmp_path, CSV), columns=SAID + ",place=note").as_events().traces
    assert traces.places.ids.tolist() == ["a", "b"]


def test_a_column_that_is_said_goes_before_one_of_a_known_name(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,rider,time,lat,lng\n1,7,2012-04-03 18:00,40,-74\n")
    assert ta.read(path).traces.user_ids.tolist() == [1]
    traces, report = ta.read(path, columns={"user": "rider"})
    assert traces.user_ids.tolist() == [7]
    assert not any("could also be" in reason for reason in report.noticed)


def test_a_second_column_for_a_role_is_reported_and_the_first_by_preference_is_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, "timestamp,device,user,time,lat,lng\n2000-01-01,x,1,2012-04-03,40,-74\n")
    traces, report = ta.read(path)
    assert traces.user_ids.tolist() == [1]
    assert traces.time_ms.tolist() == [1_333_411_200_000]
    assert [reason for reason in report.noticed if "could also be" in reason] == [
        "columns that could also be the user, ignored: device (read is user)",
        "columns that could also be the time, ignored: timestamp (read is time)",
    ]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"columns": "who=who"}, "columns = 'who' is not allowed; it must be a role: user, time, date, lat"),
        ({"columns": "who"}, "such as user=MMSI"),
        ({"columns": "user="}, "such as user=MMSI"),
        ({"columns": "lng=x1,lon=y1"}, "the lng is given twice"),
        ({"columns": "lng=x1,lat=x1"}, "'x1' cannot have two roles"),
        ({"columns": SAID, "one_user": "me"}, "use either one_user or a column of users, not both"),
        ({"header": False}, "without a header every column needs its number"),
        ({"header": False, "columns": SAID}, "'who' is not allowed; it must be the number of a column"),
        ({"delimiter": "ab"}, "delimiter = 'ab'"),
        ({"delimiter": "x"}, "delimiter = 'x'"),
        ({"decimal": ";"}, "decimal = ';' is not allowed; it must be a point or a comma"),
        ({"time_format": "ISO"}, "time_format = 'ISO'"),
        ({"one_user": ""}, "one_user = ''"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, said: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ta.read(file_of(tmp_path, CSV), **said)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "frame"])
def test_a_column_that_is_not_there_is_named_with_the_header(tmp_path: Path, name: str) -> None:
    frame = pl.read_csv(CSV.encode())
    path = tmp_path / name
    if name == "t.csv":
        frame.write_csv(path)
    elif name == "t.parquet":
        frame.write_parquet(path)
    source = frame if name == "frame" else path
    with pytest.raises(FileError, match=r"got 'who, when, y1, x1, note': user=whom: there is no such column"):
        ta.read(source, columns="user=whom,time=when,lat=y1,lng=x1")


def test_a_missing_column_is_named_with_its_names_the_header_and_the_option(tmp_path: Path) -> None:
    with pytest.raises(FileError) as error:
        ta.read(file_of(tmp_path, "who,time,lat,lng\n1,2012-04-03,40,-74\n"))
    for words in (
        "no column for the user",
        "userid, uid, user",
        "'who, time, lat, lng'",
        "--columns user=NAME",
    ):
        assert words in str(error.value)


def test_the_number_of_a_column_beyond_the_last_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "1,2012-04-03,40,-74\n")
    with pytest.raises(FileError, match=r"got '4 columns': lng=5: there is no such column"):
        ta.read(path, header=False, columns="user=1,time=2,lat=3,lng=5")


def test_rows_without_a_header_are_counted_from_the_first_line(tmp_path: Path) -> None:
    path = file_of(tmp_path, "1,2012-04-03,40,-74\n1,never,40,-74\n")
    with pytest.raises(FileError, match=r"row 2 \(line 2\), column 2: got 'never': unparsable time"):
        ta.read(path, header=False, columns="user=1,time=2,lat=3,lng=4", strict=True)


@pytest.mark.parametrize(
    ("date", "clock", "moment"),
    [
        ("2012-04-03", "18:00:06", "2012-04-03 18:00:06"),
        ("03.04.2012", "18:00", "2012-04-03 18:00:00"),
        ("2012/4/3", "8:05:06", "2012-04-03 08:05:06"),
        ("2012-04-03", "18:00:06.250", "2012-04-03 18:00:06.250"),
        ("2012-04-03", "18:00:06Z", "2012-04-03 18:00:06"),
    ],
)
def test_a_date_and_a_time_of_day_are_one_time(tmp_path: Path, date: str, clock: str, moment: str) -> None:
    path = file_of(tmp_path, f"user,date,time,lat,lng\n1,{date},{clock},40,-74\n")
    expected = datetime.datetime.fromisoformat(moment + "+00:00").timestamp() * 1000
    assert ta.read(path).traces.time_ms.tolist() == [expected]


def test_a_whole_time_beside_a_date_is_taken_alone_and_digits_are_joined_when_said(tmp_path: Path) -> None:
    whole = file_of(tmp_path, "user,date,time,lat,lng\n1,1999-01-01,2012-04-03 18:00:06,40,-74\n")
    assert ta.read(whole).traces.time_ms.tolist() == [1_333_476_006_000]
    digits = file_of(tmp_path, "user,d,hms,lat,lng\n1,20120403,80006,40,-74\n")
    traces = ta.read(digits, columns="date=d,time=hms").traces
    assert traces.time_ms.tolist() == [1_333_440_006_000]


@pytest.mark.parametrize("said", [None, "date=date,time=time"])
@pytest.mark.parametrize("place", ["", ",place"])
@pytest.mark.parametrize("days", [("20190401", "20190402"), ("2019-04-01", "2019-04-02")])
@pytest.mark.parametrize(
    "clocks", [("093000", "174500"), ("93000", "174500"), ("0930", "1745"), ("930", "1745")]
)
def test_digits_beside_a_date_are_times_of_day(
    tmp_path: Path, clocks: tuple[str, str], days: tuple[str, str], place: str, said: str | None
) -> None:
    rows = [f"1,{day},{clock},40,-74{place and ',a'}" for day, clock in zip(days, clocks, strict=True)]
    path = file_of(tmp_path, f"user,date,time,lat,lng{place}\n" + "\n".join(rows) + "\n")
    times = ta.read(path, columns=said).traces.to_frame()["time"].dt.to_string("%Y-%m-%d %H:%M:%S")
    assert times.to_list() == ["2019-04-01 09:30:00", "2019-04-02 17:45:00"]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_numbers_of_a_frame_beside_a_date_are_times_of_day(kind: pl.DataType) -> None:
    days = [datetime.date(2019, 4, 1)] * 5
    clocks = pl.Series([93000, 100000, 5, 174500, None]).cast(kind)
    frame = pl.DataFrame({"user": 1, "date": days, "time": clocks, "lat": 40.7, "lng": -74.0})
    traces, report = ta.read(frame)
    assert (traces.n_points, report.dropped) == (4, {"unparsable time": 1})
    start = 1_554_076_800_000
    assert (traces.time_ms - start).tolist() == [5_000, 34_200_000, 36_000_000, 63_900_000]


def test_digits_that_are_no_time_of_day_are_not_read_without_their_date(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,date,time,lat,lng\n1,2019-04-01,1,40,-74\n1,2019-04-02,48,40,-74\n")
    with pytest.raises(
        FileError, match=r"column time: got '1': numbers next to a date .*--columns time=time"
    ):
        ta.read(path)
    assert ta.read(path, columns="time=time").traces.instants.tolist() == [0, 47]


def test_a_column_of_nothing_beside_a_date_is_said_to_have_no_time() -> None:
    frame = pl.DataFrame({"user": [1], "date": ["2019-04-01"], "time": [None], "lat": [40.7], "lng": [-74.0]})
    with pytest.raises(FileError, match="no time could be read"):
        ta.read(frame.with_columns(pl.col("time").cast(pl.Int64)))


def test_a_date_that_is_named_and_not_used_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,Day,timestamp,lat,lng\n1,2012-04-03,2013-01-01T18:00:00Z,40,-74\n")
    with pytest.raises(
        ParameterError, match="date=Day does not apply, because the column 'timestamp' has no times"
    ):
        ta.read(path, columns="date=Day")
    assert ta.read(path, columns="time=Day").traces.time_ms.tolist() == [1_333_411_200_000]


def test_typed_dates_and_times_of_day_are_joined() -> None:
    frame = pl.DataFrame(
        {
            "user": [1],
            "date": [datetime.date(2012, 4, 3)],
            "time": [datetime.time(18, 0, 6)],
            "lat": [40.7],
            "lng": [-74.0],
        }
    )
    assert ta.read(frame).traces.time_ms.tolist() == [1_333_476_006_000]


def test_a_time_of_day_without_a_date_is_refused_with_the_option(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,lat,lng\n1,18:00:06,40,-74\n")
    with pytest.raises(
        FileError, match="a time of day needs its date: name its column with --columns date=NAME"
    ):
        ta.read(path)


@pytest.mark.parametrize("format", ["table", "points"])
def test_a_format_of_times_goes_for_events_and_points(tmp_path: Path, format: str) -> None:
    path = file_of(tmp_path, "user,time,lat,lng,place\n1,03/04/2012 20:00:06.5 +0200,40.7,-74,a\n")
    traces = ta.read(path, format, time_format="%d/%m/%Y %H:%M:%S.%f %z").traces
    stamps = traces.timestamps if isinstance(traces, ta.Traces) else traces.time_ms
    assert stamps is not None
    assert stamps.tolist() == [1_333_476_006 if format == "table" else 1_333_476_006_500]
    if isinstance(traces, ta.Traces):
        assert traces.clock.label(int(traces.instants[0])) == "20:00"


def test_times_that_are_not_written_as_said_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,lat,lng\n1,2012-04-03,40,-74\n")
    with pytest.raises(
        FileError, match=r"no time could be read; they must have the format time_format = '%d/%m/%Y'"
    ):
        ta.read(path, time_format="%d/%m/%Y")


def test_options_without_use_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"user": [1], "time": [datetime.datetime(2012, 4, 3)], "lat": [40.7], "lng": [-74.0]}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        with pytest.raises(ParameterError, match="delimiter does not apply"):
            ta.read(source, delimiter=";")
        with pytest.raises(ParameterError, match="already has times"):
            ta.read(source, time_format="%Y")
        with pytest.raises(ParameterError, match="already has numbers"):
            ta.read(source, decimal=",")
    gpx = file_of(tmp_path, "<gpx/>", "t.gpx")
    with pytest.raises(ParameterError, match="columns, decimal do not apply to files of format gpx"):
        ta.read(gpx, columns="user=a", decimal=",")
    gowalla = file_of(tmp_path, "1\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22\n" * 3, "g.txt")
    with pytest.raises(ParameterError, match="one_user does not apply to files of format gowalla"):
        ta.read(gowalla, one_user="me")


def test_one_person_may_own_a_table_or_a_folder_of_gpx(tmp_path: Path) -> None:
    table = file_of(tmp_path, "time,lat,lng\n2012-04-03T18:00:06Z,40.7,-74\n")
    assert ta.read(table, one_user="anna").traces.user_ids.tolist() == ["anna"]
    merged, report = ta.read(file_of(tmp_path, "device,time,lat,lng\n1,2012-04-03,40,-74\n"), one_user="anna")
    assert merged.user_ids.tolist() == ["anna"]
    assert any("device (read is anna)" in reason for reason in report.noticed)
    (tmp_path / "tracks" / "spring").mkdir(parents=True)
    for number, name in enumerate(("a.gpx", "spring/b.gpx")):
        point = f'<trkpt lat="40.{number}" lon="-74"><time>2012-04-0{3 + number}T18:00:06Z</time></trkpt>'
        file_of(tmp_path / "tracks", f"<gpx><trk><trkseg>{point}</trkseg></trk></gpx>", name)
    assert ta.read(tmp_path / "tracks").traces.n_users == 2
    one = ta.read(tmp_path / "tracks", one_user="anna").traces
    assert (one.user_ids.tolist(), one.n_points, one.n_trajectories) == (["anna"], 2, 2)


def test_degrees_that_are_said_to_be_degrees_are_read_though_whole(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,t,x,y\n1,2012-04-03,-74,40\n")
    with pytest.raises(FileError, match="--columns lng=x,lat=y"):
        ta.read(path)
    assert ta.read(path, columns="lng=x,lat=y").traces.latitude.tolist() == [40]


def test_a_phone_near_an_antenna_is_a_point_and_not_an_event(tmp_path: Path) -> None:
    path = file_of(tmp_path, "imsi,time,cell_id,lat,lng\n1,2012-04-03,9,40,-74\n")
    assert isinstance(ta.read(path).traces, ta.GpsTraces)
    assert isinstance(ta.read(path, columns="place=cell_id").traces, ta.Traces)


def test_no_name_belongs_to_two_roles() -> None:
    names = [name for role in NAMES.values() for name in role]
    assert len(names) == len(set(names))
    for role, known in NAMES.items():
        for name in known:
            assert find_roles([name], [role]) == {role: name}


def test_a_layout_says_what_was_given() -> None:
    assert Layout().option_names == ()
    layout = Layout.parse(columns="user=1,time=2,lat=3,lng=4", header=False, delimiter="tab")
    assert layout.option_names == ("columns", "header", "delimiter")
    assert layout.delimiter == "\t"


def test_places_beside_antennas_that_are_nowhere_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, "caller,time,antenna\n1,2012-04-03,9\n")
    with pytest.raises(DataError, match="--places"):
        ta.read(path)
