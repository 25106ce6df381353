"""The same seed gives the same pages and pictures, whatever the surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracearena import formats
from tracearena.cities.gps import simulate_gps
from tracearena.formats import pwscup, write
from tracearena.traces import Traces

HERE = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "TRACEARENA_THREADS": "1", "SOURCE_DATE_EPOCH": ""}
THERE = {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "TRACEARENA_THREADS": "3"}


def made(folder: Path, surroundings: dict[str, str], arguments: tuple[object, ...]) -> dict[str, bytes]:
    """Run a command with its outputs in a folder of their own; return what it wrote."""
    folder.mkdir()
    environment = {name: value for name, value in (os.environ | surroundings).items() if value}
    command = [sys.executable, "-m", "tracearena", *map(str, arguments)]
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True, timeout=500)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(tmp_path: Path, *arguments: object) -> None:
    here = made(tmp_path / "here", HERE, arguments)
    there = made(tmp_path / "there", THERE, arguments)
    assert here
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    walks = make_walks(users=20, days=4)
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["html", "svg", "png", "pdf"])
def test_the_picture_of_a_sweep(team, tmp_path, kind):
    check(
        tmp_path, "sweep", "table.csv", "--places", team / "places.csv", "--reference", team / "ref.csv",
        "--original", team / "org.csv", "--defences", "No", "--defences", "RR(1)", "--attacks", "Random-R",
        "--attacks", "Random-T", "--seed", 1, "--plot", f"plot.{kind}",
    )  # fmt: skip


@pytest.mark.slow
def test_the_page_that_describes_events(tmp_path, make_check_ins):
    formats.write(make_check_ins(20, 300), tmp_path / "in.csv")
    check(tmp_path, "describe", tmp_path / "in.csv", "--html", "page.html")


@pytest.mark.slow
def test_the_page_that_describes_points(tmp_path):
    write(simulate_gps(3, 1, seed=1), tmp_path / "points.csv")
    check(tmp_path, "describe", tmp_path / "points.csv", "--from", "points", "--html", "page.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["city-map", "geo-2"])
def test_a_figure(tmp_path, name):
    check(tmp_path, "figure", name, "--out", "out", "--seed", 1)


@pytest.mark.slow
def test_the_page_of_the_demo(tmp_path):
    check(tmp_path, "demo", "--out", "out", "--teams", 2, "--seed", 1, "--attacks", "Habits-T")


@pytest.mark.long
def test_the_page_of_the_demo_with_all_further_attacks(tmp_path):
    check(tmp_path, "demo", "--out", "out", "--teams", 2, "--seed", 1)
