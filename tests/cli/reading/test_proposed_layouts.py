"""A table of unknown columns is not read, but told how it may be."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.command_line import tracearena

UNKNOWN = (
    "vessel;stamp;p1;p2;knots\n"
    "A;03/04/2012 18:00:00;40,7123;-74,0123;1,5\n"
    "A;03/04/2012 19:00:00;40,7223;-74,0223;2\n"
    "B;13/04/2012 18:00:00;40,7323;-74,0323;2,5\n"
    "B;13/04/2012 19:00:00;40,7423;-74,0423;2,5\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(UNKNOWN)
    return tmp_path / "table.csv"


@pytest.mark.slow
def test_what_is_proposed_can_be_read(table: Path) -> None:
    done = tracearena("describe", table, "--json")
    assert (done.status, done.json["readable"]) == (2, False)
    proposal = done.json["proposal"]
    assert proposal["rows"][0] == {
        "user": "A",
        "time": "2012-04-03 18:00:00",
        "lat": 40.7123,
        "lng": -74.0123,
    }
    assert len(proposal["rows"]) == 3
    described = tracearena("describe", table, *shlex.split(proposal["options"]), "--json")
    assert (described.status, described.json["users"], described.json["events"]) == (0, 2, 4)


@pytest.mark.slow
def test_people_see_the_options_and_the_rows(table: Path) -> None:
    done = tracearena("describe", table)
    assert (done.status, done.out) == (2, "")
    assert "--columns user=vessel,time=stamp,lat=p1,lng=p2" in done.err
    assert "  user A, time 2012-04-03 19:00:00, lat 40.7223, lng -74.0223\n" in done.err
    assert "the latitude may be p2" in done.err


@pytest.mark.parametrize("text", ["x\n1\n", "id,pos\n1,2\n3,4\n", ""])
def test_nothing_is_proposed_of_what_nobody_can_guess(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    done = tracearena("describe", tmp_path / "x.csv", "--json")
    assert (done.status, done.out) == (2, "")
    assert "x.csv" in done.err


def test_what_was_said_is_not_proposed_over(table: Path) -> None:
    done = tracearena("describe", table, "--columns", "user=vessel")
    assert (done.status, done.out) == (2, "")
    assert "no column for the time" in done.err


def cabspotting(folder: Path) -> Path:
    """One file per taxi, without a header: latitude, longitude, occupied or not, seconds since 1970."""
    folder.mkdir()
    for number, taxi in enumerate(("abboip", "abcoij", "abdremlu")):
        rows = [
            f"{37.75 + i / 997:.5f} {-122.39 - number / 91 - i / 991:.5f} {i // 7 % 2} {1213084687 - 61 * i}"
            for i in range(40)
        ]
        (folder / f"new_{taxi}.txt").write_text("\n".join(rows) + "\n")
    return folder


def t_drive(folder: Path) -> Path:
    """One file per taxi, without a header: taxi, time, longitude, latitude."""
    folder.mkdir()
    for taxi in (1, 2, 3):
        rows = [
            f"{taxi},2008-02-02 {i // 60:02}:{i % 60:02}:08,{116.51 + i / 991:.5f},{39.92 + i / 997:.5f}"
            for i in range(40)
        ]
        (folder / f"{taxi}.txt").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.parametrize(
    ("made", "options", "users"),
    [
        (cabspotting, "--columns time=4,lat=1,lng=2 --no-header --delimiter space", "new_abboip"),
        (t_drive, "--columns user=1,time=2,lat=4,lng=3 --no-header", "1"),
    ],
)
def test_a_folder_of_taxis_is_told_how_it_is_read(tmp_path: Path, made, options: str, users: str) -> None:
    folder = made(tmp_path / "taxis")
    described = tracearena("describe", folder)
    converted = tracearena("convert", folder, tmp_path / "points.csv")
    for done in (described, converted):
        assert done.status == 2
        assert f"try to read it with {options} (" in done.err
    assert ("each file is then one person, named like the file" in described.err) == (made is cabspotting)
    assert f"  user {users}, time 2008-" in described.err
    read = tracearena("describe", folder, *shlex.split(options), "--json")
    assert (read.status, read.json["users"], read.json["events"]) == (0, 3, 120)


def test_an_occupancy_flag_is_nobody(tmp_path: Path) -> None:
    file = cabspotting(tmp_path / "taxis") / "new_abboip.txt"
    done = tracearena("describe", file, "--json")
    proposal = done.json["proposal"]
    assert proposal["options"] == (
        "--columns time=4,lat=1,lng=2 --no-header --delimiter space --one-user new_abboip"
    )
    read = tracearena("describe", file, *shlex.split(proposal["options"]), "--json")
    assert (read.status, read.json["users"]) == (0, 1)
