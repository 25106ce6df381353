"""A new file holds what its name says, whatever command writes it and whatever it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.io import Input, read

EVENTS = "user,time,place,lat,lng\n" + "".join(
    f"{user},2012-04-0{day}T1{hour}:00:00,{place},{lat},-74.0\n"
    for user in "ab"
    for day, hour, place, lat in ((3, 8, "p", 40.7), (3, 9, "q", 40.71), (4, 8, "q", 40.71))
)
POINTS = "user,time,lat,lng\na,2012-04-03T18:00:00Z,40.7,-74.0\nb,2012-04-03T18:00:00Z,40.71,-74.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.csv").write_text(EVENTS)
    (tmp_path / "g.csv").write_text(POINTS)
    line = '{"user":"%s","time":"2012-04-03T18:00:00","place":"p","lat":40.7,"lng":-74.0}\n'
    (tmp_path / "e.jsonl").write_text(line % "a" + line % "b")
    assert tracearena("convert", "e.csv", "e.geojson", folder=tmp_path).status == 0
    return tmp_path


@pytest.mark.parametrize(
    ("source", "out", "format"),
    [
        ("e.csv", "x.geojson", "geojson"),
        ("e.geojson", "x.csv", "table"),
        ("e.jsonl", "x.csv", "table"),
        ("e.geojson", "x.parquet", "table"),
        ("g.csv", "x.geojson", "geojson"),
    ],
)
def test_pseudonymise_writes_what_the_name_says(folder: Path, source: str, out: str, format: str) -> None:
    done = tracearena("pseudonymise", source, out, "--id-table", "t.csv", folder=folder)
    assert done.status == 0, done.err
    assert Input(folder / out).format == format
    assert read(folder / out).traces.n_users == 2


def test_synthesize_writes_what_the_name_says(folder: Path) -> None:
    done = tracearena("synthesize", "Uniform", "e.csv", "x.geojson", "--seed", 1, folder=folder)
    assert done.status == 0, done.err
    assert Input(folder / "x.geojson").format == "geojson"


def test_convert_says_what_it_wrote(folder: Path) -> None:
    assert tracearena("convert", "e.csv", "x.geojson", "--json", folder=folder).json["to"] == "geojson"


@pytest.mark.parametrize(
    "command",
    [
        ("convert", "g.csv", "x.json"),
        ("convert", "g.csv", "x.zip"),
        ("convert", "e.csv", "x.json"),
        ("pseudonymise", "g.csv", "x.zip", "--id-table", "t.csv"),
        ("pseudonymise", "e.csv", "x.jsonl", "--id-table", "t.csv"),
        ("synthesize", "Uniform", "e.csv", "x.json"),
        ("obfuscate", "GeoInd(expected_noise=100m)", "g.csv", "x.json"),
    ],
)
def test_an_ending_that_is_none_of_ours_is_refused(folder: Path, command: tuple[str, ...]) -> None:
    before = sorted(folder.iterdir())
    done = tracearena(*command, folder=folder)
    assert done.status == 2
    assert "a file name that ends in .csv, .csv.gz, .parquet" in done.err
    assert sorted(folder.iterdir()) == before


def test_gps_traces_are_obfuscated_to_a_table_if_one_is_asked_for(folder: Path) -> None:
    defence = "GeoInd(expected_noise=100m)"
    done = tracearena("obfuscate", defence, "g.csv", "x.csv", "--to", "table", "--seed", 1, folder=folder)
    assert done.status == 0, done.err
    assert Input(folder / "x.csv").format == "points"
