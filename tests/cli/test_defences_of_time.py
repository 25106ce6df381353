"""Defences of time and pipelines on the command line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena.cities import simulate, simulate_gps
from tracearena.io import pwscup, write


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check-ins, points, and a file of the contest."""
    folder = tmp_path_factory.mktemp("files")
    write(simulate(users=20, days=14, mode="checkins", seed=1), folder / "events.csv")
    write(simulate_gps(users=3, days=3, seed=1), folder / "points.csv")
    write(simulate_gps(users=3, days=3, seed=1), folder / "points", to="geolife")
    contest = simulate(6, 2, clock=pwscup.PWS_CLOCK, seed=1)
    pwscup.write_places(contest.places, folder / "info_region.csv")
    pwscup.write_traces(contest, folder / "org.csv")
    return folder


@pytest.mark.parametrize("defence", ["SwapTimes(1km,month)", "PerDay(2)", "PerDay(2)+RoundTime(part)"])
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("events.csv", ["user_id", "time", "places", "lat", "lng", "category"]),
        ("points.csv", ["user_id", "time", "latitude", "longitude", "traj"]),
        ("points", ["user_id", "time", "latitude", "longitude", "traj"]),
        ("org.csv", ["user_id", "time_id", "places", "lat", "lng"]),
    ],
)
def test_what_the_file_holds_decides(
    defence: str, name: str, columns: list[str], files: Path, tmp_path: Path
) -> None:
    done = tracearena("obfuscate", defence, files / name, tmp_path / "out.csv", "--seed", 1, "--json")
    assert done.status == 0, done.err
    assert done.json["defence"] == defence
    assert pl.read_csv(tmp_path / "out.csv").columns == columns


def test_points_on_a_grid_are_events(files: Path, tmp_path: Path) -> None:
    done = tracearena("obfuscate", "PerDay(2)", files / "points.csv", tmp_path / "out.csv", "--grid", "8x8")
    assert done.status == 0, done.err
    assert "places" in pl.read_csv(tmp_path / "out.csv").columns


@pytest.mark.parametrize("name", ["events.csv", "points.csv"])
def test_parts_of_users_are_the_whole(name: str, files: Path, tmp_path: Path) -> None:
    for defence in ("PerDay(2)+RoundTime(1h)", "Resample(1h)"):
        out, parts = tmp_path / f"{defence}.parquet", tmp_path / defence
        for to in ((out,), (parts, "--to", "partitions")):
            done = tracearena("obfuscate", defence, files / name, *to, "--seed", 1)
            assert done.status == 0, done.err
        assert pl.read_parquet(out).equals(pl.read_parquet(parts / "*.parquet"))


@pytest.mark.parametrize("defence", ["SwapTimes(1km,day)", "RR(1)+SwapHours(1km)"])
def test_who_needs_everybody_is_not_cut(defence: str, files: Path, tmp_path: Path) -> None:
    done = tracearena("obfuscate", defence, files / "events.csv", tmp_path / "x", "--to", "partitions")
    assert done.status == 2
    assert f"{defence} needs all users at once" in done.err


@pytest.mark.slow
def test_the_contests_files_hold_no_times(files: Path, tmp_path: Path) -> None:
    done = tracearena("obfuscate", "RoundTime(3h)", files / "org.csv", tmp_path / "x.csv", "--to", "pwscup")
    assert done.status == 2
    assert (
        "RoundTime(3h) changes times, but the contest's files of obfuscated traces have no times" in done.err
    )


@pytest.mark.parametrize("defence", ["SwapTimes(1km,month)", "PerDay(1)"])
def test_utility_of_changed_times_is_refused_in_a_sentence(defence: str, files: Path, tmp_path: Path) -> None:
    tracearena("obfuscate", defence, files / "events.csv", tmp_path / "x.csv", "--seed", 1)
    done = tracearena(
        "score", "utility", "--original", files / "events.csv", "--obfuscated", tmp_path / "x.csv"
    )
    assert done.status == 2
    assert (
        "a release with changed times, such as that of SwapTimes, cannot be compared event by event"
        in done.err
    )
    assert "Traceback" not in done.err


def test_a_zone_can_be_named_for_points(files: Path, tmp_path: Path) -> None:
    done = tracearena(
        "obfuscate", "RoundTime(day)", files / "points.csv", tmp_path / "x.csv", "--timezone", "Asia/Tokyo"
    )
    assert done.status == 0, done.err
    assert set(pl.read_csv(tmp_path / "x.csv")["time"].str.slice(11)) == {"15:00:00Z"}
