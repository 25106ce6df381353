"""``tracearena city``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracearena import cities, io
from tracearena.cli import build
from tracearena.errors import ParameterError
from tracearena.io import pwscup


def run(*arguments: str | Path) -> dict[str, object]:
    done = CliRunner().invoke(build(["city"]), ["city", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_a_regular_city_is_written_as_contest_files(tmp_path: Path) -> None:
    out, places = tmp_path / "city.csv", tmp_path / "info_region.csv"
    result = run(out, "--users", "30", "--days", "2", "--seed", "1", "--places-out", places, "--json")
    assert out.read_text().startswith("user_id,time_id,reg_id\n1,1,")
    assert result["events"] == 30 * 2 * 20
    assert result["written"] == [str(out), str(places)]
    read = pwscup.read_traces(out, pwscup.read_places(places))
    expected = cities.simulate(users=30, days=2, seed=1, clock=pwscup.PWS_CLOCK)
    assert (read.place_index == expected.place_index).all()
    assert read.places.sensitive.sum() == 37


def test_check_ins_are_written_as_a_table_of_events(tmp_path: Path) -> None:
    out = tmp_path / "checkins.csv"
    result = run(out, "--users", "20", "--days", "60", "--mode", "checkins", "--seed", "1", "--json")
    traces, report = io.read(out, timezone="Etc/GMT-10")
    assert result["format"] == report.format == "table"
    assert traces.n_users == 20
    assert traces.n_events == result["events"]
    assert "food/" in out.read_text()


@pytest.mark.parametrize("to", ["table", "gowalla", "tsmc", "foursquare", "ppmtf"])
@pytest.mark.parametrize("mode", ["regular", "checkins"])
def test_every_format_takes_both_modes(to: str, mode: str, tmp_path: Path) -> None:
    out = tmp_path / "city_XX.txt"
    result = run(out, "--users", "3", "--days", "2", "--mode", mode, "--to", to, "--seed", "1", "--json")
    rows = sum(1 for line in out.read_text().splitlines() if line)
    assert rows - result["events"] in (0, 1)  # type: ignore[operator]


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        run(tmp_path / name, "--users", "5", "--days", "1", "--seed", "9", "--json")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "gpx"], "one of pwscup"),
        (["--mode", "checkins", "--to", "pwscup"], "one event per instant"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    options: list[str], message: str, tmp_path: Path
) -> None:
    out = tmp_path / "city.csv"
    with pytest.raises(ParameterError, match=message):
        CliRunner().invoke(build(["city"]), ["city", str(out), *options], catch_exceptions=False)
    assert not out.exists()


@pytest.mark.parametrize("option", ["--users", "--days"])
def test_a_city_of_nobody_is_bad_usage(option: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(build(["city"]), ["city", str(tmp_path / "x.csv"), option, "0"])
    assert done.exit_code == 2
