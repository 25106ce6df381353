"""Hours are local where the zone can be told, and say whose they are where it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena import io
from tracearena.io import read
from tracearena.io.alignment import keep_hours
from tracearena.io.fields.coordinates import find_local_time

GUESSED = (
    "times are local to America/New_York, guessed from the coordinates; set another zone with --timezone"
)
HEADER = "user,time,lat,lng,place\n"


def events(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "t.csv"
    path.write_text(header + "".join(row + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_check_ins_of_new_york_are_in_the_time_of_new_york(shared_data: Path) -> None:
    """In UTC the busiest hour is 23:00; in New York it is 19:00."""
    by_hour = {}
    for zone in (None, "UTC", "America/New_York"):
        traces, report = io.read(shared_data / "gowalla-nyc.txt.gz", timezone=zone)
        hour = traces.clock.time_of_day(traces.instants)
        by_hour[zone] = np.bincount(hour, minlength=24)
        assert report.clock is not None
        if zone is None:
            assert str(report.clock) == GUESSED
    assert by_hour[None].tolist() == by_hour["America/New_York"].tolist()
    assert (by_hour["UTC"].argmax(), by_hour[None].argmax()) == (23, 19)


def test_the_guess_is_said_in_text_in_json_and_on_the_page(tmp_path: Path) -> None:
    path = events(tmp_path, "1,2012-04-03T17:00:00Z,40.7,-74.0,a", "1,2012-04-12T17:00:00Z,40.7,-74.0,a")
    text = tracearena("describe", path)
    assert GUESSED in text.out.splitlines()
    assert "2012-04-03 13:00" in text.out
    done = tracearena("describe", path, "--json", "--html", tmp_path / "page.html")
    assert (done.json["first"], done.json["times"]) == ("2012-04-03 13:00", GUESSED)
    page = (tmp_path / "page.html").read_text()
    assert "Times are local to America/New_York, guessed from the coordinates" in page
    assert page.count('"text":"time of day, America/New_York"') == 2
    assert "The busiest time of day is 13:00 (America/New_York)" in page
    assert "local time of day" not in page


def test_convert_goes_by_the_same_clock_and_says_so(tmp_path: Path) -> None:
    path = events(tmp_path, "1,2012-04-03T17:00:00Z,40.7,-74.0,a")
    done = tracearena("convert", path, tmp_path / "out.csv")
    assert (done.status, GUESSED in done.err.splitlines()) == (0, True)
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("1,2012-04-03T17:00:00Z,-240,")
    asked = tracearena("convert", path, tmp_path / "utc.csv", "--timezone", "UTC")
    assert "times" not in asked.err
    assert (tmp_path / "utc.csv").read_text().splitlines()[1].startswith("1,2012-04-03T17:00:00Z,0,")


def test_data_of_several_zones_goes_by_that_of_most_points_and_says_its_share(tmp_path: Path) -> None:
    rows = ["1,2012-04-03T17:00:00Z,40.7,-74.0,a", "1,2012-04-03T18:00:00Z,35.7,139.7,b"]
    path = events(tmp_path, *rows, rows[1].replace("1,", "2,", 1))
    done = tracearena("describe", path, "--json")
    assert done.json["times"].startswith("times are local to Asia/Tokyo, where 66.6 % of the events are,")


@pytest.mark.parametrize(
    ("row", "first", "told"),
    [
        ("1,2012-04-03 17:00,40.7,-74.0,a", "17:00", "times have no zone and are read as local"),
        ("1,2012-04-03T17:00:00-07:00,40.7,-74.0,a", "17:00", "from the offsets in the file"),
        (
            "1,2012-04-03T17:00:00Z,0.5,-150,a",
            "17:00",
            "times are UTC, because the coordinates determine no zone",
        ),
        ("1,1333472400,35.7,139.7,a", "02:00", "local to Asia/Tokyo, guessed"),
    ],
)
def test_what_is_assumed_is_said(tmp_path: Path, row: str, first: str, told: str) -> None:
    done = tracearena("describe", events(tmp_path, row), "--html", tmp_path / "page.html")
    assert told in done.out
    assert f" {first}\n" in done.out
    page = (tmp_path / "page.html").read_text()
    axis = "UTC" if "UTC" in told else "Asia/Tokyo" if "Tokyo" in told else "local, as in the file"
    assert f'"text":"time of day, {axis}"' in page


def test_a_files_own_offsets_are_kept(tmp_path: Path) -> None:
    line = "7\tv\tc\tBar\t40.7\t-74.0\t60\tTue Apr 03 18:00:09 +0000 2012\n"
    (tmp_path / "tsmc.txt").write_text(line)
    found = tracearena("describe", tmp_path / "tsmc.txt", "--json").json
    assert (found["first"], found["times"]) == (
        "2012-04-03 19:00",
        "times are local, from the offsets in the file",
    )


def test_one_bad_time_does_not_change_whose_hours_they_are(tmp_path: Path) -> None:
    path = events(tmp_path, "1,2012-04-03T17:00:00Z,40.7,-74.0,a", "2,last Tuesday,40.7,-74.0,a")
    assert tracearena("describe", path, "--json").json["times"] == GUESSED


def test_parts_of_a_data_set_go_by_the_clock_of_its_places(tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text("place,lat,lng\na,40.7,-74\nb,40.8,-74\nc,35.7,139.7\n")
    for name, row in (("x", "1,2012-04-03T17:00:00Z,a"), ("y", "2,2012-04-03T17:00:00Z,c")):
        (tmp_path / f"{name}.csv").write_text(f"user,time,place\n{row}\n")
        _, report = io.read(tmp_path / f"{name}.csv", places=places)
        assert report.clock is not None
        assert report.clock.zone == "America/New_York"


def test_gps_points_are_shown_and_gridded_in_the_guessed_zone(tmp_path: Path) -> None:
    moments = pl.Series([1_333_472_400_000]).cast(pl.Datetime("ms")).dt.replace_time_zone("UTC")
    frame = pl.DataFrame({"user": ["a"], "time": moments, "lat": [40.7], "lon": [-74.0]})
    frame.write_parquet(tmp_path / "p.parquet")
    done = tracearena("describe", tmp_path / "p.parquet", "--json", "--html", tmp_path / "page.html")
    assert done.json["first"] == "2012-04-03T17:00:00Z"
    assert done.json["times"] == f"UTC (Z) here; on pages and grids {GUESSED}"
    page = (tmp_path / "page.html").read_text()
    assert "The busiest time of day is 13:00 (America/New_York)" in page
    assert '"text":"time of day, America/New_York"' in page
    done = tracearena("convert", tmp_path / "p.parquet", tmp_path / "e.csv", "--grid", "2x2")
    assert GUESSED in done.err.splitlines()
    assert ",-240," in (tmp_path / "e.csv").read_text()


def test_gps_points_without_a_zone_are_as_written(tmp_path: Path) -> None:
    path = events(tmp_path, "1,2012-04-03 17:00:00,40.7,-74.0", header="user,time,lat,lng\n")
    local = find_local_time(*read(path).as_points())
    assert local.zone == "UTC"
    assert "are read as UTC" in str(local)
    tracearena("describe", path, "--html", tmp_path / "page.html")
    assert "The busiest time of day is 17:00 (UTC)" in (tmp_path / "page.html").read_text()


TOKYO = ("1,2012-04-03T18:00:00,35.7,139.7", "1,2012-04-03T19:00:00,35.71,139.71")


@pytest.mark.parametrize(
    "bad", [[], ["1,2012-04-03T19:00:00,999,139.71"], [",2012-04-03T19:00:00,35.7,139.7"]]
)
def test_a_bad_row_does_not_shift_the_hours_of_the_others(tmp_path: Path, bad: list[str]) -> None:
    path = events(tmp_path, *TOKYO, *bad, header="user,time,lat,lng\n")
    traces, report = read(path, grid="2x2").as_events()
    assert (traces.instants.tolist(), report.dropped_rows) == ([18, 19], len(bad))
    assert "are read as UTC" in str(report.clock)


def test_points_that_are_left_out_do_not_shift_the_hours_of_the_rest(tmp_path: Path) -> None:
    path = events(tmp_path, *TOKYO, header="user,time,lat,lng\n")
    some = keep_hours(keep_hours(read(path), (18, 19)), (18, 19))
    assert (len(some.traces), find_local_time(*some.as_points()).zone) == (1, "UTC")


@pytest.mark.parametrize(("second", "zone"), [("", "UTC"), ("Z", "Asia/Tokyo")])
def test_files_of_a_folder_go_by_utc_only_if_none_names_a_zone(
    tmp_path: Path, second: str, zone: str
) -> None:
    for name, row in (("a", TOKYO[0]), ("b", TOKYO[1].replace(":00,", f":00{second},"))):
        (tmp_path / f"{name}.csv").write_text(f"user,time,lat,lng\n{row}\n{row.replace('35.7', '999')}\n")
    assert find_local_time(*read(tmp_path).as_points()).zone == zone


@pytest.mark.parametrize("name", ["ts_utc", "utc_time", "timestamp_utc", "UTC"])
@pytest.mark.parametrize(
    ("header", "place", "grid"), [("lat,lng,place", ",a", ()), ("lat,lng", "", ("--grid", "2x2"))]
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("way", ["whole", "parts"])
def test_a_column_named_utc_is_in_utc(
    tmp_path: Path, name: str, header: str, place: str, grid: tuple[str, ...], kind: str, way: str
) -> None:
    """Its times need no zone of their own; hours are those of the place."""
    rows = f"1,2012-04-03 17:00:00,40.7,-74.0{place}", f"2,2012-04-03 18:30:00,40.71,-74.0{place}"
    path = events(tmp_path, *rows, header=f"user,{name},{header}\n")
    if kind == "parquet":
        table = pl.read_csv(path, try_parse_dates=True)
        assert table.schema[name] == pl.Datetime("us")
        path = tmp_path / "events.parquet"
        table.write_parquet(path)
    to = ("--to", "partitions") if way == "parts" else ()
    done = tracearena("convert", path, tmp_path / ("out" if to else "out.parquet"), *grid, *to)
    assert done.status == 0, done.err
    assert GUESSED in done.err.splitlines()
    made = pl.read_parquet(tmp_path / ("out/*.parquet" if to else "out.parquet"))
    assert made["time"].dt.strftime("%H:%M").sort().to_list() == ["17:00", "18:30"]
    assert made["utc_offset_min"].to_list() == [-240, -240]
