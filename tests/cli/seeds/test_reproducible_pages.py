"""The same seed gives the same pages and pictures, whatever the surroundings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tracearena import io
from tracearena.cities.gps import simulate_gps
from tracearena.io import pwscup, write
from tracearena.traces import Traces

HERE = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "TRACEARENA_THREADS": "1", "SOURCE_DATE_EPOCH": ""}
THERE = {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "TRACEARENA_THREADS": "3"}


PROGRAM = """
import json, sys
from contextlib import suppress
from tracearena.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["tracearena", *words]
    with suppress(SystemExit):
        main()
"""


def made(
    folder: Path, surroundings: dict[str, str], commands: Sequence[Sequence[object]]
) -> dict[str, bytes]:
    """Run commands with their outputs in a folder of their own; return what they wrote."""
    folder.mkdir()
    environment = {name: value for name, value in (os.environ | surroundings).items() if value}
    words = [[str(word) for word in command] for command in commands]
    program = [sys.executable, "-c", PROGRAM, json.dumps(words)]
    subprocess.run(program, check=True, cwd=folder, env=environment, capture_output=True, timeout=500)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(tmp_path: Path, *commands: Sequence[object]) -> None:
    here = made(tmp_path / "here", HERE, commands)
    there = made(tmp_path / "there", THERE, commands)
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
def test_pages_and_pictures(team: Path, tmp_path: Path, make_check_ins: Callable[..., Traces]) -> None:
    io.write(make_check_ins(20, 300), tmp_path / "in.csv")
    sweep = (
        "sweep", "table.csv", "--places", team / "places.csv", "--reference", team / "ref.csv", "--original",
        team / "org.csv", "--defences", "No", "--defences", "RR(1)", "--attacks", "Random-R", "--attacks",
        "Random-T", "--seed", 1, "--plot",
    )  # fmt: skip
    check(
        tmp_path,
        *((*sweep, f"plot.{kind}") for kind in ("html", "svg", "png", "pdf")),
        ("describe", tmp_path / "in.csv", "--html", "events.html"),
    )
    written = {path.name for path in (tmp_path / "here").rglob("*")}
    assert {"plot.html", "plot.svg", "plot.png", "plot.pdf", "events.html"} <= written


@pytest.mark.long
def test_pages_of_points_figures_and_the_demo(tmp_path: Path) -> None:
    write(simulate_gps(3, 1, seed=1), tmp_path / "points.csv")
    check(
        tmp_path,
        ("describe", tmp_path / "points.csv", "--from", "points", "--html", "points.html"),
        ("figure", "city-map", "--out", "map", "--seed", 1),
        ("figure", "geo-2", "--out", "geo", "--seed", 1),
        ("demo", "--out", "out", "--teams", 2, "--seed", 1),
    )
    written = {path.name for path in (tmp_path / "here").rglob("*")}
    assert {"points.html", "map", "geo", "out"} <= written
