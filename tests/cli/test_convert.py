"""``tracearena convert``: any format into any other, users set aside for testing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tracearena.cli import build
from tracearena.errors import ParameterError
from tracearena.io import read, write
from tracearena.traces import Traces


def converted(*arguments: object) -> dict:
    result = CliRunner().invoke(build(["convert"]), ["convert", *map(str, arguments), "--json"])
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


@pytest.mark.parametrize("to", ["table", "gowalla", "tsmc", "foursquare"])
def test_check_ins_go_through_every_format(
    make_check_ins: Callable[..., Traces], tmp_path: Path, to: str
) -> None:
    traces = make_check_ins()
    write(traces, tmp_path / "in.csv")
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "events.csv"
    found = converted(tmp_path / "in.csv", out, "--to", to, "--timezone", "America/New_York")
    assert (found["format"], found["to"], found["users"], found["events"]) == ("table", to, 20, 400)
    again, report = read(out, timezone="America/New_York")
    assert report.format == to
    np.testing.assert_array_equal(again.timestamps, traces.timestamps)
    np.testing.assert_array_equal(again.instants, traces.instants)
    np.testing.assert_array_equal(again.place_index, traces.place_index)


def test_users_set_aside_are_a_seeded_share(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    traces = make_check_ins(users=23)
    write(traces, tmp_path / "in.csv")
    sides = []
    for name in ("a", "b"):
        train, test = tmp_path / f"{name}.csv", tmp_path / f"{name}-test.csv"
        found = converted(tmp_path / "in.csv", train, "--test-share", 0.2, "--test", test, "--seed", 5)
        assert (found["users"], found["test_users"], found["seed"]) == (19, 4, 5)
        assert found["written"] == [str(train), str(test)]
        sides.append((train.read_bytes(), test.read_bytes()))
    assert sides[0] == sides[1]
    training, testing = read(tmp_path / "a.csv")[0], read(tmp_path / "a-test.csv")[0]
    assert sorted([*training.user_ids, *testing.user_ids]) == traces.user_ids.tolist()
    assert training.n_events + testing.n_events == traces.n_events


def test_ppmtf_numbers_training_users_first(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_check_ins(), tmp_path / "in.csv")
    converted(
        tmp_path / "in.csv", tmp_path / "traintraces_NY.csv", "--to", "ppmtf", "--top", 10, "--slot", "2h",
        "--places-out", tmp_path / "POI_NY.csv", "--seed", 1,
        "--test-share", 0.2, "--test", tmp_path / "testtraces_NY.csv",
    )  # fmt: skip
    assert read(tmp_path / "traintraces_NY.csv")[0].user_ids.tolist() == list(range(16))
    assert read(tmp_path / "testtraces_NY.csv")[0].user_ids.tolist() == list(range(16, 20))


def test_commas_in_categories_are_no_obstacle(tmp_path: Path) -> None:
    line = "470\tv\tc\tArts, Crafts\t40.7\t-74.0\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    (tmp_path / "in.txt").write_text(line)
    out = tmp_path / "traintraces_NY.csv"
    found = converted(tmp_path / "in.txt", out, "--to", "ppmtf", "--places-out", tmp_path / "POI_NY.csv")
    assert found["noticed"]["categories with a comma, written without"] == 1
    categories = read(out)[0].places.categories
    assert categories is not None
    assert categories.tolist() == ["Arts  Crafts"]


def test_testing_users_need_a_place_to_go(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_check_ins(), tmp_path / "in.csv")
    with pytest.raises(ParameterError, match="must be used together"):
        converted(tmp_path / "in.csv", tmp_path / "out.csv", "--test-share", 0.2)
    for share in (0, 1, 0.01):
        with pytest.raises(ParameterError, match="test-share"):
            converted(
                tmp_path / "in.csv", tmp_path / "out.csv", "--test-share", share, "--test", tmp_path / "t.csv"
            )
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_check_ins_become_contest_files(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_check_ins(events=3000), tmp_path / "in.csv")
    found = converted(
        tmp_path / "in.csv", tmp_path / "org.csv", "--to", "pwscup", "--grid", "4x4",
        "--places-out", tmp_path / "info_region.csv",
    )  # fmt: skip
    assert found["dropped"]["second event at an instant"] > 0
    assert found["events"] + found["dropped_rows"] == found["rows"] == 3000
    assert read(tmp_path / "org.csv")[1].format == "pwscup"


@pytest.mark.slow
def test_new_york_becomes_parquet_of_its_1000_places(shared_data: Path, tmp_path: Path) -> None:
    found = converted(
        shared_data / "gowalla-nyc.txt.gz", tmp_path / "ny.parquet", "--top", 1000, "--slot", "2h",
        "--bounds", "40.5,-74.28,41.0,-73.68", "--timezone", "America/New_York",
    )  # fmt: skip
    assert found["places"] == 1000
    assert found["dropped"] == {"outside the bounds": 1, "not among the 1,000 most visited places": 81_706}
    again, _ = read(tmp_path / "ny.parquet")
    assert again.n_events == found["events"] == 57_250


def test_gaps_are_filled_and_places_merged_on_the_way(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    traces = make_check_ins()
    write(traces, tmp_path / "in.csv")
    options = ("--timezone", "America/New_York", "--fill-gaps", "--merge-places", 4)
    found = converted(tmp_path / "in.csv", tmp_path / "out.csv", *options)
    assert found["places"] == 4
    again = read(tmp_path / "out.csv", timezone="America/New_York").traces
    days = len(np.unique(traces.user_index.astype(np.int64) * 10_000 + traces.clock.day_of(traces.instants)))
    assert again.n_events == found["events"] == days * traces.clock.instants_per_day
    assert len(np.unique(again.place_index)) == 4


@pytest.mark.parametrize("form", ["table", "points"])
@pytest.mark.parametrize(
    ("cut", "people", "rows"),
    [
        (("--from-date", "2012-04-04"), ["bob"], 2),
        (("--hours", "8-9"), ["ann"], 1),
        (("--bounds", "40.75,-74.5,40.85,-73.5"), ["bob"], 2),
    ],
    ids=lambda cut: " ".join(cut) if isinstance(cut, tuple) else "",
)
def test_what_is_counted_after_a_cut_is_what_is_written(
    tmp_path: Path, form: str, cut: tuple[str, str], people: list[str], rows: int
) -> None:
    (tmp_path / "in.csv").write_text(
        "user,time,place,lat,lng\n"
        "ann,2012-04-03 08:10:00+00:00,a,40.7,-74.0\n"
        "ann,2012-04-03 10:10:00+00:00,b,40.71,-74.0\n"
        "bob,2012-04-04 12:00:00+00:00,c,40.8,-74.0\n"
        "bob,2012-04-05 12:00:00+00:00,c,40.8,-74.0\n"
    )
    zone = ("--timezone", "UTC") if form == "table" else ()
    found = converted(tmp_path / "in.csv", tmp_path / "out.csv", "--from", form, *cut, *zone)
    written = read(tmp_path / "out.csv", timezone="UTC").traces
    if form == "points" and "--hours" in cut:  # which are those of New York
        people, rows = ["bob"], 2
    assert (found["users"], found["events" if form == "table" else "points"]) == (len(people), rows)
    assert (written.user_ids.tolist(), len(written)) == (people, rows)
    if form == "table":
        assert found["places"] == 1
        assert found["noticed"].get("users with one event", 0) == (1 if rows == 1 else 0)
