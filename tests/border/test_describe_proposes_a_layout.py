"""A table of unknown columns is not read, but told how it may be."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.border.command_line import tracearena

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


def test_people_see_the_options_and_the_rows(table: Path) -> None:
    done = tracearena("describe", table)
    assert (done.status, done.out) == (2, "")
    assert "--columns user=vessel,time=stamp,lat=p1,lng=p2" in done.err
    assert "  user A, time 2012-04-03 19:00:00, lat 40.7223, lng -74.0223\n" in done.err
    assert "But the latitude may be p2" in done.err


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
