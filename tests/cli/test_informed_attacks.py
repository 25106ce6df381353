"""Attacks that are told the defence, and bounds, on the command line."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Done


@pytest.fixture
def attack(run: Callable[..., Done], team: Path) -> Callable[..., Done]:
    """Attack a release under PL(4,1)."""
    places = ("--places", team / "places.csv")
    run("obfuscate", "PL(4,1)", team / "org.csv", team / "ano.csv", *places, "--seed", 1)
    run(
        *("pseudonymise", team / "ano.csv", team / "pub.csv", "--original", team / "org.csv"),
        *("--id-table", team / "ids.csv", *places, "--seed", 2),
    )

    def attacked(name: str, *options: object) -> Done:
        files = ("--reference", team / "ref.csv", "--anonymized", team / "pub.csv", *places, "--seed", 3)
        return run("attack", name, team / "etable.csv", *files, *options)

    return attacked


def test_an_attack_is_told_the_mechanism(attack: Callable[..., Done], team: Path) -> None:
    done = attack("Bayes-R", "--mechanism", "PL(4,1)", "--json")
    assert done.status == 0, done.err
    assert done.json["attack"] == "Bayes-R(PL(4,1))"
    told = (team / "etable.csv").read_text()
    assert attack("Bayes-R(PL(4,1))").status == 0
    assert (team / "etable.csv").read_text() == told


@pytest.mark.parametrize(
    ("name", "mechanism", "said"),
    [
        ("VisitProb-R", "PL(4,1)", "--mechanism does not apply to VisitProb-R"),
        ("Habits-T", "PL(4,1)", "--mechanism does not apply to Habits-T"),
        ("Smooth(9)", "PL(4,1)", "--mechanism do not apply to Smooth(9)"),
        ("Bayes-R", "PL(4", "is not the name of an algorithm"),
        ("Bayes-R", "Nothing", "there is no defence called 'Nothing'"),
        ("Bayes-R", "VisitProb-R", "a defence"),
        ("Bayes-R(PL(4,1))", "PL(2,1)", "already has a mechanism"),
        ("Bayes-R", "adaptive", "here name it with --mechanism"),
        ("Bayes-R(adaptive)", None, "name it with --mechanism"),
    ],
)
def test_a_mechanism_that_means_nothing_is_refused(
    attack: Callable[..., Done], team: Path, name: str, mechanism: str | None, said: str
) -> None:
    done = attack(name, *(() if mechanism is None else ("--mechanism", mechanism)))
    assert done.status == 2
    assert said in done.err
    assert not (team / "etable.csv").exists()


@pytest.mark.slow
def test_bounds_are_printed_and_written(run: Callable[..., Done], team: Path) -> None:
    files = ("--places", team / "places.csv", "--reference", team / "ref.csv", "--original", team / "org.csv")
    chosen = ("--defences", "No", "--defences", "PL(0.1,1)", "--attacks", "samples", "--seed", 1)
    done = run("bounds", team / "bounds.csv", *files, *chosen, "--json")
    assert done.status == 0, done.err
    result = done.json
    assert result["above_ceiling"] == 1
    assert result["ceiling_low"] <= result["ceiling"] <= result["ceiling_high"]
    assert "PL(0.1,1): " in done.err
    assert "only shows that the attacks are weak" in done.err
    with open(team / "bounds.csv", newline="") as file:
        assert [line["defence"] for line in csv.DictReader(file)] == ["No", "PL(0.1,1)"]


@pytest.mark.slow
def test_a_sweep_draws_the_band(run: Callable[..., Done], team: Path) -> None:
    files = ("--places", team / "places.csv", "--reference", team / "ref.csv", "--original", team / "org.csv")
    chosen = ("--defences", "No", "--defences", "PL(4,1)", "--attacks", "strongest", "--seed", 1)
    done = run("sweep", team / "table.csv", *files, *chosen, "--band", "--plot", team / "sweep.svg", "--json")
    assert done.status == 0, done.err
    result = done.json
    assert result["strongest_T"].endswith("defences)")
    assert f"habits alone leave {result['s_T_ceiling']:.3f}" in (team / "sweep.svg").read_text()
    with open(team / "table.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert all(float(line["s_T_estimate"]) <= float(line["s_T_ceiling"]) for line in lines)


@pytest.mark.slow
def test_points_are_linked_as_points(run: Callable[..., Done], tmp_path: Path) -> None:
    known, public = tmp_path / "known.parquet", tmp_path / "public.parquet"
    run("city", known, "--mode", "fleet", "--users", 30, "--days", 4, "--seed", 1)
    run("pseudonymise", known, public, "--id-table", tmp_path / "ids.csv", "--seed", 2)
    files = ("--reference", known, "--anonymized", public)
    done = run("attack", "Link-R", tmp_path / "guess.csv", *files, "--seed", 3, "--json")
    assert done.status == 0, done.err
    truth, guess = (
        dict(csv.reader((tmp_path / name).read_text().splitlines())) for name in ("ids.csv", "guess.csv")
    )
    assert sum(truth[one] == guess[one] for one in truth) > 20
