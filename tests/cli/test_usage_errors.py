"""A user's mistake: one clear message, exit status 2, and nothing written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture
def commands(team: Path, run) -> dict[str, list[object]]:  # type: ignore[no-untyped-def]
    """Commands that would run well; OUT stands for the output."""
    places = ["--places", team / "places.csv"]
    original = ["--original", team / "org.csv"]
    assert run("obfuscate", "RR(1)", team / "org.csv", team / "ano.csv", *places, "--seed", 1).status == 0
    shuffled = run(
        "pseudonymise", team / "ano.csv", team / "pub.csv", *original, "--id-table", team / "t.csv"
    )
    assert shuffled.status == 0
    known = [*places, "--reference", team / "ref.csv"]
    return {
        "obfuscate": ["RR(1)", team / "org.csv", "OUT", *places],
        "pseudonymise": [team / "ano.csv", "OUT", *original, "--id-table", team / "new.csv"],
        "attack": ["VisitProb-R", "OUT", *known, "--anonymized", team / "pub.csv"],
        "sweep": ["OUT", *known, *original, "--defences", "No", "--attacks", "Random-R"],
        "convert": [team / "org.csv", "OUT", *places, "--test-share", 0.5, "--test", team / "new.csv"],
        "city": ["OUT", "--users", 2, "--days", 1, "--places-out", team / "new.csv"],
    }


@pytest.mark.parametrize("command", ["obfuscate", "pseudonymise", "attack", "sweep", "convert", "city"])
@pytest.mark.parametrize(("out", "told"), [("", "is a folder"), ("missing/out.csv", "does not exist")])
def test_an_output_that_cannot_be_is_refused_before_anything_is_written(  # type: ignore[no-untyped-def]
    run, team: Path, commands, command: str, out: str, told: str
) -> None:
    before = sorted(team.rglob("*"))
    done = run(command, *[team / out if word == "OUT" else word for word in commands[command]])
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert str(team / out) in done.err
    assert told in done.err
    assert sorted(team.rglob("*")) == before


@pytest.mark.parametrize("command", ["obfuscate", "pseudonymise", "attack", "sweep", "convert"])
def test_no_input_is_overwritten(run, team: Path, commands, command: str) -> None:  # type: ignore[no-untyped-def]
    read = team / ("ref.csv" if command == "attack" else "org.csv")
    before = read.read_bytes()
    done = run(command, *[read if word == "OUT" else word for word in commands[command]])
    assert (done.status, read.read_bytes() == before) == (2, True)
    assert f"{read}: is an input; write to another file" in done.err


@pytest.mark.parametrize("command", ["pseudonymise", "convert", "city"])
def test_two_outputs_cannot_go_to_one_file(run, team: Path, commands, command: str) -> None:  # type: ignore[no-untyped-def]
    out = team / "." / "new.csv"
    done = run(command, *[out if word == "OUT" else word for word in commands[command]])
    assert (done.status, out.exists()) == (2, False)
    assert "two outputs cannot be written to the same file" in done.err


@pytest.mark.parametrize(
    "name", ["MRLH(1,1,0.5)", "PPMTF", "tracearena.obfuscation.samples_2019:NoObfuscation", "VisitProb-R(1)"]
)
def test_what_is_no_attack_does_not_attack(run, team: Path, commands, name: str) -> None:  # type: ignore[no-untyped-def]
    done = run("attack", name, team / "e.csv", *commands["attack"][2:])
    assert (done.status, (team / "e.csv").exists()) == (2, False)
    assert name.partition("(")[0] in done.err


def test_reference_traces_of_other_users_are_noticed(run, team: Path, commands) -> None:  # type: ignore[no-untyped-def]
    rows = (team / "ref.csv").read_text().splitlines(keepends=True)
    (team / "few.csv").write_text("".join(rows[: 1 + 29 * 40]))
    words = [team / "few.csv" if word == team / "ref.csv" else word for word in commands["attack"]]
    done = run("attack", words[0], team / "e.csv", *words[2:])
    assert (done.status, (team / "e.csv").exists()) == (2, False)
    assert "29 users" in done.err
    assert "30 pseudonyms" in done.err
    words = [team / "few.csv" if word == team / "ref.csv" else word for word in commands["sweep"]]
    done = run("sweep", team / "table.csv", *words[1:])
    assert (done.status, (team / "table.csv").exists()) == (2, False)
    assert "reference" in done.err


def test_an_attack_in_the_current_folder_is_found_by_its_import_path(  # type: ignore[no-untyped-def]
    run, team: Path, commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    (team / "own_guess.py").write_text(
        "from tracearena.attacks import RandomIdentification\nclass Guess(RandomIdentification): pass\n"
    )
    monkeypatch.chdir(team)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    done = run("attack", "own_guess:Guess", team / "e.csv", *commands["attack"][2:])
    assert (done.status, (team / "e.csv").exists()) == (0, True), done.err


@pytest.mark.parametrize("share", ["0", "1", "nan", "-0.5", "0.001"])
def test_a_share_that_leaves_no_testing_users_is_refused(run, team: Path, share: str) -> None:  # type: ignore[no-untyped-def]
    done = run(
        "convert", team / "org.csv", team / "new.csv", "--places", team / "places.csv",
        "--test-share", share, "--test", team / "test.csv",
    )  # fmt: skip
    assert (done.status, (team / "new.csv").exists(), (team / "test.csv").exists()) == (2, False, False)
    assert "test-share" in done.err


@pytest.mark.parametrize("size", [("--users", 10**12), ("--days", 10**8), ("--users", 10**7, "--days", 100)])
def test_a_city_too_large_for_any_memory_is_refused(run, tmp_path: Path, size: tuple[object, ...]) -> None:  # type: ignore[no-untyped-def]
    done = run("city", tmp_path / "city.csv", *size)
    assert done.status == 2
    assert "is not allowed" in done.err


def test_a_grid_too_large_for_any_memory_is_refused(run, team: Path) -> None:  # type: ignore[no-untyped-def]
    done = run("describe", team / "org.csv", "--places", team / "places.csv", "--grid", "99999x99999")
    assert done.status == 2
    assert "16,777,216 cells" in done.err
