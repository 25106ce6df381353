"""Coordinates without place ids are GPS points, for every command and in Python alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena as run

from tracearena import io
from tracearena.errors import ParameterError
from tracearena.io import read
from tracearena.traces import GpsTraces

CITIES = [(39.9, 116.4), (52.5, 13.4), (34.7, 135.5), (-33.9, 151.2)]
USERS, POINTS = 12, 60
ABROAD = "u11"


def answer(*arguments: object) -> dict[str, Any]:
    status, out, err = run(*arguments, "--json")
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Points every two minutes: most people in Beijing, some elsewhere, one in Sydney only."""
    rng = np.random.default_rng(5)
    parts = []
    for user in range(USERS):
        city = CITIES[-1] if f"u{user}" == ABROAD else CITIES[0] if user < 8 else CITIES[user % 3]
        parts.append(
            pl.DataFrame(
                {
                    "user_id": [f"u{user:02d}" if user < 10 else f"u{user}"] * POINTS,
                    "time": 1_225_700_000 + 120 * np.arange(POINTS),
                    "lat": city[0] + rng.normal(0, 0.01, POINTS),
                    "lon": city[1] + rng.normal(0, 0.01, POINTS),
                }
            )
        )
    times = pl.col("time").cast(pl.Int64).mul(1000).cast(pl.Datetime("ms")).dt.replace_time_zone("UTC")
    return pl.concat(parts).with_columns(times)


@pytest.fixture(params=["points.parquet", "points.csv", "points.txt", "semicolons.csv", "folder"])
def points(request: pytest.FixtureRequest, frame: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif request.param == "folder":
        path.mkdir()
        for number, part in enumerate(frame.iter_slices(300)):
            part.write_parquet(path / f"part-{number}.parquet")
    else:
        separator = ";" if "semicolons" in request.param else ","
        frame.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%SZ", separator=separator)
    return path


def test_every_command_counts_the_same_users_and_points(points: Path, tmp_path: Path) -> None:
    described = answer("describe", points)
    converted = answer("convert", points, tmp_path / "again.parquet")
    released = answer("obfuscate", "GeoInd(100m)", points, tmp_path / "r.parquet", "--seed", 1)
    error = answer("applications", "error", "--original", points, "--released", tmp_path / "r.parquet")
    traces = read(points).traces
    assert io.Input(points).format == "points"
    everything = (USERS, USERS * POINTS)
    assert (described["format"], described["places"]) == ("gps", None)
    assert (described["users"], described["events"]) == everything
    assert (converted["users"], converted["points"]) == everything
    assert (released["users"], released["points"]) == everything
    assert error["points"] == USERS * POINTS
    assert (traces.n_users, traces.n_points) == everything
    assert read(tmp_path / "again.parquet").traces == traces


def test_a_grid_makes_events_of_them_and_resampling_thins_them(points: Path, tmp_path: Path) -> None:
    box = ["--grid", "8x8", "--bounds", "39.5,116,40.3,116.8"]
    every = answer("convert", points, tmp_path / "all.csv", *box)
    hourly = answer("convert", points, tmp_path / "some.csv", *box, "--resample", "last")
    described = answer("describe", points, *box)
    inside = described["events"]
    assert 0 < inside < USERS * POINTS
    assert described["dropped"] == {"outside the bounds": USERS * POINTS - inside}
    # Users abroad stay users, but what is written has nothing of them.
    assert described["users"] == USERS
    assert 0 < every["users"] == hourly["users"] < USERS
    assert every["events"] == inside
    assert hourly["events"] < inside / 10
    traces, report = io.read(points, grid="8x8", bounds="39.5,116,40.3,116.8")
    assert (traces.n_users, traces.n_events, report.format) == (USERS, inside, "points")


def test_without_a_grid_nobody_puts_them_on_one(points: Path) -> None:
    with pytest.raises(ParameterError, match=r"has GPS points, .* put them on a grid"):
        io.read(points).as_events()
    assert isinstance(io.read(points).traces, GpsTraces)


def test_place_ids_make_events_and_a_format_can_be_forced(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.with_columns(place=pl.lit("here")).write_parquet(tmp_path / "events.parquet")
    frame.write_parquet(tmp_path / "points.parquet")
    assert answer("describe", tmp_path / "events.parquet")["format"] == "table"
    forced = answer("describe", tmp_path / "events.parquet", "--from", "points")
    assert (forced["format"], forced["users"], forced["events"]) == ("gps", USERS, USERS * POINTS)
    assert answer("describe", tmp_path / "points.parquet", "--from", "table")["format"] == "table"


def test_instants_are_no_times_of_a_receiver(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,time,lat,lng\n1,1,40,-74\n1,2,40,-74\n2,1,41,-74\n")
    assert answer("describe", tmp_path / "t.csv")["format"] == "table"


GPS_ALWAYS = [["--top", 5], ["--utc-hours"], ["--places", "PLACES"]]
GPS_WITHOUT_GRID = [["--interval", "30min"], ["--slot", "2h"]]
CONVERT_ONLY = [["--resample", "last"], ["--places-out", "NEW"], ["--timezone", "Asia/Tokyo"]]


@pytest.mark.parametrize(
    ("command", "options"),
    [("describe", o) for o in GPS_ALWAYS + GPS_WITHOUT_GRID]
    + [("convert", o) for o in GPS_ALWAYS + GPS_WITHOUT_GRID + CONVERT_ONLY]
    + [("convert", ["--grid", "4x4", "--test-share", 0.5, "--test", "NEW"]), ("convert", ["--seed", 1])],
)
def test_an_option_that_does_not_apply_to_points_is_refused(
    frame: pl.DataFrame, tmp_path: Path, command: str, options: list[object]
) -> None:
    frame.write_parquet(tmp_path / "points.parquet")
    (tmp_path / "places.csv").write_text("place,lat,lng\na,40,-74\n")
    before = sorted(tmp_path.iterdir())
    names = {"PLACES": tmp_path / "places.csv", "NEW": tmp_path / "new.csv"}
    given = [names.get(str(option), option) for option in options]
    out = [tmp_path / "out.csv"] if command == "convert" else []
    status, printed, err = run(command, tmp_path / "points.parquet", *out, *given)
    assert (status, printed) == (2, "")
    assert "not apply" in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--resample", "last"], "--resample does not apply to events"),
        (["--resample", "last", "--grid", "4x4"], "--resample does not apply to events"),
        (["--seed", 1], "--seed does not apply"),
        (["--grid", "4x4", "--places", "PLACES"], "cannot be combined with given places"),
        (["--top", 2, "--places", "PLACES"], "cannot be combined with given places"),
        (["--utc-hours"], "have no zone"),
    ],
)
def test_an_option_that_does_not_apply_to_events_is_refused(
    tmp_path: Path, options: list[object], told: str
) -> None:
    (tmp_path / "t.csv").write_text("user,time,lat,lng,place\n1,2012-04-03 10:00,40,-74,a\n")
    (tmp_path / "places.csv").write_text("place,lat,lng\na,40,-74\n")
    given = [tmp_path / "places.csv" if option == "PLACES" else option for option in options]
    status, _, err = run("convert", tmp_path / "t.csv", tmp_path / "out.csv", *given)
    assert (status, (tmp_path / "out.csv").exists()) == (2, False)
    assert told in err


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_separator_within_quotes_does_not_make_events_of_points(tmp_path: Path, separator: str) -> None:
    rows = [
        ["user", "address", "time", "lat", "lng"],
        ["a", f'"Main St{separator} 5"', "2012-04-03T18:00:00Z", "40.7", "-74.0"],
        ["a", f'"Main St{separator} 7"', "2012-04-03T19:00:00Z", "40.71", "-74.01"],
    ]
    path = tmp_path / "p.csv"
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    traces = read(path).as_points().traces
    assert np.diff(traces.time_ms).tolist() == [3_600_000]
