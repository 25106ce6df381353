"""A contest's day on the command line: obfuscate, check, pseudonymise, attack, score, sweep."""

import csv
from pathlib import Path

import pytest


def test_the_whole_chain(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    places = ("--places", team / "places.csv")
    done = run(
        "obfuscate", "MRLH(1,1,0.5)", team / "org.csv", team / "ano.csv", *places, "--seed", 1, "--json"
    )
    assert done.status == 0
    assert done.json["cells"] == 30 * 40
    checked = run("check", "obfuscated", team / "ano.csv", *places, "--original", team / "org.csv")
    assert checked.status == 0
    shuffled = run(
        "pseudonymise", team / "ano.csv", team / "pub.csv", "--original", team / "org.csv",
        "--id-table", team / "ptable.csv", "--seed", 2,
    )  # fmt: skip
    assert shuffled.status == 0, shuffled.err
    assert (team / "pub.csv").read_text().startswith("pse_id,time_id,reg_id\n31,41,")
    known = (*places, "--reference", team / "ref.csv", "--anonymized", team / "pub.csv", "--seed", 3)
    assert run("attack", "VisitProb-R", team / "etable.csv", *known).status == 0
    assert run("attack", "VisitProb-T", team / "etraces.csv", *known).status == 0
    scored = run(
        "score",
        "utility",
        *places,
        "--original",
        team / "org.csv",
        "--obfuscated",
        team / "ano.csv",
        "--json",
    )
    assert 0 < scored.json["utility"] < 0.7
    assert scored.json["valid"] is False
    identified = run(
        "score",
        "reidentification",
        "--id-table",
        team / "ptable.csv",
        "--inferred",
        team / "etable.csv",
        "--json",
    )
    assert 0 <= identified.json["reidentification"] < 1
    found = run(
        "score",
        "trace-inference",
        *places,
        "--original",
        team / "org.csv",
        "--inferred",
        team / "etraces.csv",
        "--json",
    )
    assert set(found.json) == {
        "trace_inference",
        "expected_error_km",
        "cells",
        "sensitive_cells",
        "sensitive_places",
    }


def test_the_same_seed_writes_the_same_bytes(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    for name in ("a.csv", "b.csv"):
        run(
            "obfuscate",
            "PL(4,1)",
            team / "org.csv",
            team / name,
            "--places",
            team / "places.csv",
            "--seed",
            9,
        )
    assert (team / "a.csv").read_bytes() == (team / "b.csv").read_bytes()


def test_the_seed_of_a_measurement_that_was_not_given_is_told_and_works_again(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    files = ("--places", team / "places.csv", "--reference", team / "ref.csv", "--original", team / "org.csv")
    what = ("--defences", "RR(1)", "--attacks", "Random-R")
    first = run("sweep", team / "a.csv", *files, *what)
    again = run("sweep", team / "b.csv", *files, *what, "--seed", first.err.split()[1])
    assert first.status == again.status == 0
    assert first.err.startswith("seed ")
    assert (team / "a.csv").read_bytes() == (team / "b.csv").read_bytes()


def test_the_judge_shuffles_without_a_seed_differently_every_time(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    run("obfuscate", "No", team / "org.csv", team / "ano.csv", "--places", team / "places.csv", "--seed", 1)
    tables = set()
    for k in range(3):
        done = run(
            "pseudonymise",
            team / "ano.csv",
            team / f"pub{k}.csv",
            "--original",
            team / "org.csv",
            "--id-table",
            team / f"p{k}.csv",
        )
        assert "seed" not in done.err
        tables.add((team / f"p{k}.csv").read_text())
    assert len(tables) == 3


def test_a_sweep_writes_its_table_and_picture(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    done = run(
        "sweep", team / "table.csv", "--places", team / "places.csv", "--reference", team / "ref.csv",
        "--original", team / "org.csv", "--defences", "No", "--defences", "PL(4,1)",
        "--attacks", "VisitProb-R", "--attacks", "Replay-T",
        "--seed", 1, "--plot", team / "figure.svg", "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    with (team / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    scores = ["VisitProb-R", "Replay-T", "s_R_min", "s_T_min", "strongest_R", "strongest_T"]
    assert list(rows[0]) == ["defence", "utility", "valid", *scores, "error"]
    assert [row["defence"] for row in rows] == ["No", "PL(4,1)"]
    assert rows[0]["valid"] == "true"
    assert "<svg" in (team / "figure.svg").read_text()


def test_a_picture_to_move_about_in_needs_nothing_from_elsewhere(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    run(
        "sweep", team / "table.csv", "--places", team / "places.csv", "--reference", team / "ref.csv",
        "--original", team / "org.csv", "--defences", "No", "--seed", 1, "--plot", team / "figure.html",
    )  # fmt: skip
    page = (team / "figure.html").read_text()
    assert "plotly" in page
    assert "<script src=" not in page


SWEEP = "sweep out.csv --places places.csv --reference ref.csv --original org.csv"
ATTACK = "out.csv --places places.csv --reference ref.csv --anonymized ref.csv"
UTILITY = "score utility --places places.csv --original org.csv"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("obfuscate PL(0,1) org.csv out.csv --places places.csv", "greater than 0"),
        ("obfuscate Blur(1) org.csv out.csv --places places.csv", "no defence called 'Blur'"),
        ("obfuscate No nowhere.csv out.csv --places places.csv", "nowhere.csv: No such file"),
        ("obfuscate No org.csv no/where/out.csv --places places.csv --seed 1", "no/where does not exist"),
        ("obfuscate No places.csv out.csv --places places.csv", "places.csv"),
        ("obfuscate No org.csv out.csv", "--places"),
        (f"attack PL(1,1) {ATTACK}", "PL is a defence for events at places"),
        (f"{SWEEP} --plot x.gif", ".svg"),
        ("figure contest-99", "no figure"),
        ("figure Contest8", "did you mean contest-8?"),
        ("figure contst-12", "did you mean contest-12?"),
        (f"{UTILITY} --obfuscated org.csv", "org.csv"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(  # type: ignore[no-untyped-def]
    run, team: Path, monkeypatch: pytest.MonkeyPatch, command: str, told: str
) -> None:
    monkeypatch.chdir(team)
    done = run(*command.split())
    assert done.status == 2
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (team / "out.csv").exists()
    assert not list(team.glob(".*.part"))


def test_the_legacy_draws_are_those_of_seed_1(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    common = ("--places", team / "places.csv", "--legacy-2019")
    run("obfuscate", "RR(4)", team / "org.csv", team / "a.csv", *common)
    run("obfuscate", "RR(4)", team / "org.csv", team / "b.csv", *common, "--seed", 1)
    run("obfuscate", "RR(4)", team / "org.csv", team / "c.csv", *common, "--seed", 2)
    assert (team / "a.csv").read_bytes() == (team / "b.csv").read_bytes() != (team / "c.csv").read_bytes()
