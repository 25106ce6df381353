"""What goes wrong without an error is said: merged names, other encodings, a defence that did nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.errors import ParameterError

NAMES = ("Müller", "Möller", "Maller")
ROWS = "".join(f"{name};2023-03-0{day} 12:00;50.9{day};6.9\n" for name in NAMES for day in (1, 2))


def test_text_of_windows_keeps_people_apart_and_the_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "excel.csv"
    path.write_bytes(("Kunde;Zeit;Breite;Länge\n" + ROWS).encode("cp1252"))
    traces, report = ta.read(path, columns="user=Kunde,lng=Länge")
    assert sorted(traces.user_ids.tolist()) == sorted(NAMES)
    assert list(report.noticed)[:1] == ["text that is not UTF-8, read as Windows-1252 (Western European)"]


def test_utf8_with_one_broken_byte_stays_utf8(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(("user;time;lat;lng\n" + ROWS).encode() + b"\xff;2023-03-01 12:00;50;6\n")
    assert set(NAMES) < set(ta.read(path).traces.user_ids.tolist())


def test_places_of_one_name_at_several_positions_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "home.csv"
    path.write_text(
        "user_id,datetime,lat,lng,venue\n"
        "anna,2012-04-03T18:00:06Z,40.7198,-74.0026,home\n"
        "ben,2012-04-03T19:00:06Z,40.6061,-73.9088,home\n"
        "ben,2012-04-03T20:00:06Z,40.7061,-74.0088,office\n"
        "ben,2012-04-03T21:00:06Z,40.7062,-74.0087,office\n"
    )
    done = tracearena("describe", path)
    assert "noticed, places of one name at several positions: 1 (first: " in done.out
    assert "home at 40.6061, -73.9088" in done.out
    gridded = tracearena("describe", path, "--grid", "8x8")
    assert "several positions" not in gridded.out


def test_a_defence_that_changed_nothing_is_told(tmp_path: Path) -> None:
    rows = "".join(f"{user},2012-04-03T1{user}:00:00Z,{30 + user},{110 + user},{user}\n" for user in range(5))
    path = tmp_path / "far.csv"
    path.write_text("user_id,datetime,lat,lng,venue\n" + rows)
    done = tracearena("obfuscate", "PL(4,1)", path, tmp_path / "out.csv", "--seed", 1, "--json")
    assert (done.status, done.json["kept"], done.json["moved"]) == (0, 5, 0)
    assert "warning: PL(4,1) changed nothing" in done.err
    assert "changed nothing" not in tracearena("obfuscate", "No", path, tmp_path / "no.csv").err


def test_a_grid_says_how_large_its_cells_are(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("user,time,lat,lng\n1,2012-04-03 18:00,0.0,0.0\n1,2012-04-03 19:00,1.0,1.0\n")
    done = tracearena("convert", path, tmp_path / "out.csv", "--grid", "10x10")
    assert "in cells of 11 km x 11 km" in done.err


def test_a_misspelt_option_of_read_is_told_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="read has no option 'gird'; did you mean grid"):
        ta.read(tmp_path / "x.csv", gird="8x8")


def test_decimal_commas_are_told_their_option(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text("user;time;lat;lon;place\nann;2023-03-01 12:00;50,901;6,95;cafe\n")
    done = tracearena("describe", path)
    assert done.status == 2
    assert "--decimal ," in done.err
    assert tracearena("describe", path, "--decimal", ",").status == 0
