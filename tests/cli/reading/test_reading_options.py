"""The options of reading are the same for every command, and none of them is dropped in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main
from tests.command_line import tracearena
from tests.made_files import check_ins, commuters

from tracearena.cli import build
from tracearena.io import pwscup, read
from tracearena.traces import Traces

ALL = {"--from", "--columns", "--no-header", "--delimiter", "--decimal", "--time-format", "--one-user"}
AT_PLACES = {"--places", "--times", "--grid", "--top", "--interval", "--resample", "--utc-hours"}
READERS = {
    "attack", "audit", "check inferred-table", "check inferred-traces", "check obfuscated", "contest data",
    "convert", "describe", "evaluate", "lbs", "obfuscate", "protect", "score trace-inference",
    "score usefulness", "score utility", "similarity", "sweep", "synthesize",
}  # fmt: skip
OF_POINTS = {f"applications {name}" for name in ("error", "gossip", "homes", "hotspots", "uniqueness")}


def answer(*arguments: object) -> dict[str, Any]:
    done = tracearena(*arguments, "--json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def refused(*arguments: object) -> str:
    done = tracearena(*arguments)
    assert (done.status, done.out) == (2, ""), done.err
    return done.err


def options() -> dict[str, dict[str, str | None]]:
    """Every command with its options and the section of help each stands in."""
    commands = {}
    for name, command in typer.main.get_command(build()).commands.items():  # type: ignore[attr-defined]
        for path, one in {name: command, **_inside(name, command)}.items():
            commands[path] = {
                declared: getattr(parameter, "rich_help_panel", None)
                for parameter in one.params
                for declared in parameter.opts
            }
    return commands


def _inside(name: str, command: Any) -> dict[str, Any]:
    return {f"{name} {sub}": one for sub, one in getattr(command, "commands", {}).items()}


@pytest.mark.slow
def test_every_command_that_reads_traces_has_the_same_options() -> None:
    declared = options()
    for command in READERS | OF_POINTS | {"pseudonymise", "deniability"}:
        assert set(declared[command]) >= ALL, command
    for command in READERS:
        assert set(declared[command]) >= AT_PLACES | {"--timezone", "--hours"}, command
    for command in ("convert", "sweep"):
        assert {"--split-at", "--reference-days"} <= set(declared[command])
    for command, known in declared.items():
        # A new contest recognises the format of its traces.
        if "--columns" in known and command != "contest new":
            assert known["--columns"] == known["--from"] == "Reading", command


def test_help_shows_the_options_of_reading_by_themselves() -> None:
    out = tracearena("obfuscate", "--help").out
    own, reading = out.split("\nReading:\n")
    assert "--digits" in own
    assert "--digits" not in reading
    assert "--columns" in reading
    assert "--columns" not in own


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """The contest's files, with the places where every command finds them."""
    reference, original = make_walks(users=10, days=4).split_days(2)
    pwscup.write_places(original.places, tmp_path / "info_region.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    return tmp_path


@pytest.mark.slow
def test_the_contests_files_and_their_tables_give_the_same_scores(team: Path) -> None:
    answer("obfuscate", "MRLH(1,1,0.3)", team / "org.csv", team / "ano.csv", "--seed", 1)
    answer("obfuscate", "MRLH(1,1,0.3)", team / "org.csv", team / "ano.parquet", "--seed", 1)
    first, second = (
        answer("score", "utility", "--original", team / "org.csv", "--obfuscated", team / name)
        for name in ("ano.csv", "ano.parquet")
    )
    assert first == second
    for name, to in (("ano.csv", "pub.csv"), ("ano.parquet", "pub.parquet")):
        original = ["--original", team / "org.csv"] if name == "ano.csv" else []
        secret = team / f"{name}.secret.csv"
        answer("pseudonymise", team / name, team / to, *original, "--id-table", secret, "--seed", 2)
    known = ("--reference", team / "ref.csv", "--seed", 3)
    answer("attack", "VisitProb-R", team / "e.csv", *known, "--anonymized", team / "pub.csv")
    answer("attack", "VisitProb-R", team / "e.parquet", *known, "--anonymized", team / "pub.parquet")
    assert (team / "e.csv").read_text().startswith("user_id\n")
    assert pl.read_parquet(team / "e.parquet").columns == ["pse_id", "user_id"]
    of_contest, of_tables = (
        answer("score", "reidentification", "--id-table", team / secret, "--inferred", team / guess)
        for secret, guess in (("ano.csv.secret.csv", "e.csv"), ("ano.parquet.secret.csv", "e.parquet"))
    )
    assert of_contest == of_tables


def test_a_form_can_be_asked_for(team: Path) -> None:
    answer("obfuscate", "No", team / "org.csv", team / "table.csv", "--to", "table")
    assert (team / "table.csv").read_text().startswith("user_id,time_id,places,lat,lng\n")
    assert "--to = 'gpx' is not allowed" in refused(
        "obfuscate", "No", team / "org.csv", team / "x.csv", "--to", "gpx"
    )
    assert "files of format pwscup are CSV" in refused(
        "obfuscate", "No", team / "org.csv", team / "x.parquet", "--to", "pwscup"
    )
    source = check_ins(team / "checkins.csv", users=3, days=2)
    assert "the name of a table must end in" in refused("obfuscate", "No", source, team / "x.txt")


def test_halves_of_one_file_are_what_two_files_give(tmp_path: Path) -> None:
    source = check_ins(tmp_path / "checkins.csv")
    both = ("--defences", "No", "--defences", "RR(2)", "--attacks", "VisitProb-R", "--seed", 1)
    answer("sweep", tmp_path / "one.csv", "--original", source, "--split-at", "2012-04-09", *both)
    reference, original = tmp_path / "reference.parquet", tmp_path / "original.parquet"
    answer("convert", source, original, "--split-at", "2012-04-09", "--reference", reference)
    answer("sweep", tmp_path / "two.csv", "--original", original, "--reference", reference, *both)
    one, two = (pl.read_csv(tmp_path / name) for name in ("one.csv", "two.csv"))
    # Nothing is random without a defence; with one the places stand in another order.
    assert one.row(0) == two.row(0)
    assert one["defence"].to_list() == two["defence"].to_list()


@pytest.mark.slow
def test_halves_become_the_contests_files(tmp_path: Path) -> None:
    source = check_ins(tmp_path / "checkins.csv")
    grid = ("--grid", "8x8", "--to", "pwscup")
    made = answer(
        "convert", source, tmp_path / "org.csv", "--reference", tmp_path / "ref.csv",
        "--reference-days", 6, *grid,
    )  # fmt: skip
    assert set(made["written"]) >= {str(tmp_path / name) for name in ("org.csv", "ref.csv")}
    swept = answer(
        "sweep", tmp_path / "t.csv", "--original", tmp_path / "org.csv", "--reference", tmp_path / "ref.csv",
        "--defences", "No", "--attacks", "VisitProb-R", "--seed", 1,
    )  # fmt: skip
    assert (swept["failed"], swept["best_s_R_min"]) == (0, 0.0)


def test_hours_keep_the_instants_of_a_working_day(tmp_path: Path) -> None:
    source = commuters(tmp_path / "gps.csv", users=4, days=4)
    hours = ("--hours", "8-18", "--grid", "8x8", "--resample", "last", "--interval", "30min")
    assert answer("describe", source, "--hours", "8-18")["events"] == 4 * 4 * 20
    described = answer("describe", source, *hours)
    assert (described["events"], described["missing"]) == (4 * 4 * 20, 0)
    assert described["dropped"]["outside the hours 8-18"] == 4 * 4 * 28
    answer("convert", source, tmp_path / "org.csv", *hours, "--to", "pwscup")
    assert read(tmp_path / "org.csv").traces.is_complete


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("describe CHECKINS --hours 18-8", "hours = '18-8' is not allowed"),
        ("describe CHECKINS --resample last", "--resample does not apply to events"),
        ("describe GPS --interval 30min", "--interval does not apply to GPS points without --grid"),
        ("describe GPS --places PLACES", "--places does not apply to GPS points"),
        ("describe OBFUSCATED --grid 4x4", "--grid does not apply to released traces in a table"),
        ("describe OBFUSCATED --hours 8-18", "--hours does not apply to released traces"),
        ("describe OBFUSCATED --original GPS", "has GPS points"),
        ("obfuscate GeoInd(100m) GPS OUT --grid 4x4", "--grid does not apply to GeoInd(100m)"),
        ("obfuscate RR(1) GPS OUT", "put them on a grid"),
        ("obfuscate RR(1) CHECKINS OUT --digits 3", "--digits rounds coordinates"),
        ("attack Smooth(9) OUT --anonymized GPS --interval 1h", "--interval does not apply to Smooth(9)"),
        ("convert CHECKINS OUT --split-at 2012-04-05", "--reference needs --split-at"),
        ("convert CHECKINS OUT --reference NEW", "--reference needs --split-at"),
        ("convert CHECKINS OUT --reference NEW --split-at 2013-01-01", "there are no rows after 2013-01-01"),
        ("convert CHECKINS OUT --reference NEW --split-at tomorrow", "a date such as 2012-06-01"),
        (
            "convert CHECKINS OUT --reference NEW --split-at 2012-04-05 --reference-days 2",
            "not both",
        ),
        ("sweep OUT --original CHECKINS", "name reference traces with --reference"),
        (
            "sweep OUT --original CHECKINS --reference CHECKINS --split-at 2012-04-05",
            "--split-at does not apply to two files",
        ),
        ("score utility --original CHECKINS --obfuscated GPS", "put them on a grid"),
        ("score utility --original GPS --obfuscated OBFUSCATED --grid 8x8", "not one of the 64 known places"),
        ("pseudonymise GPS OUT --id-table NEW --hours 8-18", "No such option"),
        ("applications error --original GPS --released GPS --grid 4x4", "No such option"),
    ],
)
def test_an_option_without_meaning_is_refused(tmp_path: Path, words: str, told: str) -> None:
    files = {
        "CHECKINS": check_ins(tmp_path / "checkins.csv", users=3, days=4),
        "GPS": commuters(tmp_path / "gps.csv", users=2, days=2),
        "OBFUSCATED": tmp_path / "obfuscated.csv",
        "PLACES": tmp_path / "places.csv",
        "OUT": tmp_path / "out.csv",
        "NEW": tmp_path / "new.csv",
    }
    files["PLACES"].write_text("place,lat,lng\na,40,-74\n")
    answer("obfuscate", "No", files["CHECKINS"], files["OBFUSCATED"])
    before = sorted(tmp_path.iterdir())
    assert told in refused(*[files.get(word, word) for word in words.split()])
    assert sorted(tmp_path.iterdir()) == before


def test_reference_and_release_of_other_days_and_places_meet(tmp_path: Path) -> None:
    """A table names its own places only, and counts from its own first day."""
    rows = {
        "reference": "ann,2012-04-01 10:00,park,40.7,-74\nbob,2012-04-01 10:00,bar,40.8,-74\n",
        "original": "ann,2012-05-07 09:00,park,40.7,-74\nbob,2012-05-07 09:00,zoo,40.9,-74\n",
    }
    for name, text in rows.items():
        (tmp_path / f"{name}.csv").write_text("user,time,venue,lat,lng\n" + text)
    public, secret, guess = (tmp_path / name for name in ("public.csv", "secret.csv", "guess.csv"))
    answer("pseudonymise", tmp_path / "original.csv", public, "--id-table", secret)
    known = ("--reference", tmp_path / "reference.csv", "--anonymized", public, "--seed", 1)
    answer("attack", "VisitProb-R", guess, *known)
    found = answer("score", "reidentification", "--id-table", secret, "--inferred", guess)
    assert found["identified"] >= 1


def test_users_who_are_missing_in_the_reference_are_told(tmp_path: Path) -> None:
    source = check_ins(tmp_path / "checkins.csv", users=4, days=6)
    rows = source.read_text().splitlines(keepends=True)
    late = [row for row in rows if not (row.startswith("user03") and row < "user03,2012-04-06")]
    source.write_text("".join(late))
    original, reference = tmp_path / "o.csv", tmp_path / "r.csv"
    halves = answer("convert", source, original, "--split-at", "2012-04-06", "--reference", reference)
    assert (halves["reference_users"], halves["users_in_one_half"]) == (3, 1)
    answer("pseudonymise", original, tmp_path / "p.csv", "--id-table", tmp_path / "s.csv")
    done = tracearena(
        "attack", "VisitProb-T", tmp_path / "t.csv", "--reference", reference,
        "--anonymized", tmp_path / "p.csv",
    )  # fmt: skip
    assert done.status == 0
    assert "has 3 users but" in done.err
    score = answer("score", "trace-inference", "--original", original, "--inferred", tmp_path / "t.csv")
    assert (score["users_not_scored"], score["cells"]) == (1, 3 * 3 * 4)


def test_a_release_is_described_by_time_of_day(tmp_path: Path) -> None:
    source = check_ins(tmp_path / "checkins.csv", users=3, days=3)
    released = tmp_path / "released.parquet"
    answer("obfuscate", "MRLH(1,1,0.5)", source, released, "--grid", "4x4", "--seed", 1)
    alone = answer("describe", released)
    assert (alone["kept"], alone["moved"], alone["events"]) == (None, None, 36)
    assert alone["released"] + alone["sets"] + alone["deleted"] == 36
    compared = answer(
        "describe", released, "--original", source, "--grid", "4x4", "--html", tmp_path / "x.html"
    )
    assert compared["kept"] + compared["moved"] == alone["released"]
    totals = [sum(row[name] for row in compared["by_time"].values()) for name in ("sets", "deleted")]
    assert totals == [alone["sets"], alone["deleted"]]
    assert compared["true_in_set"] == compared["sets"]
    page = (tmp_path / "x.html").read_text()
    assert f"{alone['deleted']} deleted" in page
    people = tracearena("describe", released).out
    assert f"deleted          {alone['deleted']} (" in people
    assert "08:00  " in people or "09:00  " in people


def test_columns_of_other_names_go_all_the_way(tmp_path: Path) -> None:
    """What is said of the owner's table is not said of what we wrote ourselves."""
    source = commuters(tmp_path / "gps.csv", users=4, days=4)
    text = (
        source.read_text().replace("user,time,lat,lon", "ship;when;y;x").replace(",", ";").replace(".", ",")
    )
    source.write_text(text)
    said = ("--columns", "user=ship,time=when,lat=y,lng=x", "--decimal", ",")
    assert answer("describe", source, *said)["events"] == 4 * 4 * 48
    released, public, secret = (tmp_path / name for name in ("r.csv", "p.csv", "s.csv"))
    answer("obfuscate", "GeoInd(100m)", source, released, *said, "--seed", 1)
    error = answer("applications", "error", "--original", source, "--released", released, *said)
    assert (error["points"], error["unmatched"]) == (4 * 4 * 48, 0)
    answer("pseudonymise", source, public, "--id-table", secret, *said)
    known = ("--reference", source, "--anonymized", public, "--grid", "8x8", "--seed", 1)
    answer("attack", "VisitProb-R", tmp_path / "g.csv", *known, *said)
    found = answer("score", "reidentification", "--id-table", secret, "--inferred", tmp_path / "g.csv")
    assert found["identified"] == 4
    grid = ("--grid", "8x8", "--resample", "last")
    answer("obfuscate", "MRLH(1,1,0.1)", source, tmp_path / "m.parquet", *said, *grid, "--seed", 1)
    scored = ("--original", source, "--obfuscated", tmp_path / "m.parquet")
    assert 0 < answer("score", "utility", *scored, *said, *grid)["utility"] < 1


def test_a_table_without_header_of_one_person(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("2012-04-03 10:00,40.7,-74\n2012-04-03 11:00,40.8,-74\n")
    said = ("--no-header", "--columns", "time=1,lat=2,lng=3", "--one-user", "me")
    answer("convert", tmp_path / "x.csv", tmp_path / "out.csv", *said)
    assert read(tmp_path / "out.csv").traces.user_ids.tolist() == ["me"]


def test_a_layout_is_refused_where_there_are_no_columns(team: Path) -> None:
    told = refused("describe", team / "org.csv", "--decimal", ",")
    assert "decimal does not apply to files of format pwscup" in told
