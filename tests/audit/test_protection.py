"""The cheapest defence that holds is found, proved on other people, and applied."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.border.command_line import tracearena
from tracearena.audit.ladder import ladder

from tracearena.algorithms import catalogue
from tracearena.audit import Protection, Share, protect
from tracearena.audit.protection_page import outcome, picture
from tracearena.audit.trials import Trial
from tracearena.cities import simulate
from tracearena.traces import Traces

DEFENCES = ["No", "PL(2,1)", "RR(0.01)", "RR(0.1)"]
TARGET = 0.3


@pytest.fixture(scope="module")
def people() -> Traces:
    return simulate(users=60, days=4, seed=2)


@pytest.fixture(scope="module")
def found(people: Traces) -> Protection:
    return protect(people, target=TARGET, defences=DEFENCES, seed=1)


@pytest.mark.slow
def test_all_are_tried_and_the_unprotected_file_fails(found: Protection) -> None:
    assert [one.defence for one in found.trials] == DEFENCES
    unprotected = found.trials[0]
    assert unprotected.risk is not None
    assert unprotected.risk.value > 0.9
    assert unprotected.screened
    assert unprotected.kept == pytest.approx(1.0)


@pytest.mark.slow
def test_the_chosen_one_holds_on_people_who_were_not_used_for_choosing(found: Protection) -> None:
    assert found.people == (30, 30)
    proof = found.proof
    assert proof is not None
    assert proof.risk is not None
    assert proof.risk.high <= TARGET
    assert not proof.screened
    assert found.chosen in ("RR(0.01)", "RR(0.1)")
    assert found.chosen == found.held[0].defence or len(found.proofs) > 1


def test_the_cheapest_that_held_comes_first() -> None:
    low, high = Share(0.0, 0.0, 0.04, 90, 0.01), Share(0.5, 0.4, 0.6, 90, 0.01)
    trials = (Trial("costly", low, kept=0.2), Trial("cheap", low, kept=0.6), Trial("useless", high, kept=0.9))
    tried = Protection(0.05, trials, (), None, (90, 90), 0.04, 1)
    assert [one.defence for one in tried.held] == ["cheap", "costly"]


def test_the_picture_names_those_that_none_beats_in_both() -> None:
    risks = [Share(value, 0.0, 0.9, 90, 0.01) for value in (0.1, 0.5, 0.5, 0.9)]
    kept = (0.2, 0.6, 0.4, 0.9)
    names = ("strong", "middle", "PPMTF(16,2,zeros=all)", "weak")
    trials = tuple(Trial(*one[:2], kept=one[2]) for one in zip(names, risks, kept, strict=True))
    figure, _ = picture(Protection(0.05, trials, (), None, (90, 90), 0.04, 1))
    (points,) = figure["data"]
    assert points["text"] == ["strong", "middle", "", "weak"]
    assert figure["layout"]["yaxis"]["range"][1] == pytest.approx(1.08 * 0.9)


def test_it_says_so_when_nothing_holds(people: Traces) -> None:
    found = protect(people, target=0.01, defences=["No"], seed=1)
    assert found.chosen is None
    assert "None of the 1 defences holds" in outcome(found)
    assert "So few people can prove no risk below 11.6%" in outcome(found)


@pytest.mark.slow
def test_the_picture_has_every_defence(found: Protection) -> None:
    figure, (_, rows) = picture(found)
    drawn = [name for part in figure["data"] for name in part["customdata"]]
    assert set(drawn) == set(DEFENCES)
    assert len(rows) == len(found.trials) + len(found.proofs)


@pytest.mark.parametrize("kind", ["gps", "regular", "check-ins"])
def test_every_step_of_the_ladders_can_be_made(kind: str) -> None:
    for name in ladder(kind, 100):
        catalogue.create(name, ("obfuscator", "gps-obfuscator", "synthesizer"))


def test_a_defence_that_fails_is_named(people: Traces) -> None:
    found = protect(people, target=0.3, defences=["GeoInd(100m)"], seed=1)
    assert found.trials[0].error is not None


@pytest.mark.slow
def test_protect_writes_the_release_under_pseudonyms_and_the_page(people: Traces, tmp_path: Path) -> None:
    table = people.to_frame().with_columns(pl.col("user_id").cast(pl.String).str.replace("^", "person-"))
    table.write_csv(tmp_path / "in.csv")
    words = ["--target-risk", "30%", "--defences", "RR(0.01)", "--seed", 1, "--draws", 2]
    done = tracearena(
        "protect", tmp_path / "in.csv", tmp_path / "safer.csv", "--out", tmp_path / "audit", *words,
        "--id-table", tmp_path / "secret.csv", "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.json["defence"] == "RR(0.01)"
    first, _, second = done.json["command"].partition(" && ")
    assert first.startswith("tracearena obfuscate 'RR(0.01)' ")
    assert second.startswith("tracearena pseudonymise obfuscated.csv ")
    assert "person-" not in (tmp_path / "safer.csv").read_text()
    assert len((tmp_path / "secret.csv").read_text().splitlines()) == 61
    page = (tmp_path / "audit" / "audit.html").read_text()
    assert "What protects it" in page
    assert "person-" not in page
    numbers = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert numbers["protection"]["chosen"] == "RR(0.01)"
    assert numbers["after"]["linkability"]["people"] == 60


@pytest.mark.slow
def test_gps_points_are_protected_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    home = rng.uniform([35.6, 139.6], [35.75, 139.85], (40, 2))
    rows = [
        {"user": f"u{user}", "time": 1_600_000_000 + 1800 * step, "lat": lat, "lng": lng}
        for user in range(40)
        for step in range(4 * 48)
        for lat, lng in [home[user] + rng.normal(0, 0.003, 2)]
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "in.csv")
    words = ["--target-risk", "60%", "--defences", "Snap(500m)", "--defences", "Snap(500km)", "--seed", 1]
    done = tracearena(
        "protect", tmp_path / "in.csv", tmp_path / "safer.csv", "--out", tmp_path / "audit", *words,
        "--draws", 2, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.json["defence"] == "Snap(500km)", done.err
    released = pl.read_csv(tmp_path / "safer.csv")
    assert released.height == len(rows)
    assert done.json["audit"]["verdict"] == "green"
