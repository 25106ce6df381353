"""What the sample attacks find in teams made of the city's people."""

from __future__ import annotations

import pytest

from tracearena import cities, metrics
from tracearena.algorithms import catalogue
from tracearena.arena import pseudonymise
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def team() -> tuple[Traces, Traces]:
    return cities.simulate(users=500, days=40, seed=5, clock=PWS_CLOCK).split_days(20)


def identified(team: tuple[Traces, Traces], defence: str) -> float:
    reference, original = team
    released = pseudonymise(catalogue.create(defence, "obfuscator").transform(original, seed=1), seed=2)
    guess = catalogue.create("VisitProb-R", "reidentification").fit(reference).identify(released.anonymized)
    return 1 - metrics.reidentification_score(released.id_table, guess).reidentification


def test_without_obfuscation_most_people_are_found(team: tuple[Traces, Traces]) -> None:
    assert identified(team, "No") > 0.95


def test_planar_laplace_noise_hides_most_people(team: tuple[Traces, Traces]) -> None:
    assert 0.005 < identified(team, "PL(1,1)") < 0.3


def test_randomized_response_leaves_only_chance(team: tuple[Traces, Traces]) -> None:
    assert identified(team, "RR(1)") < 0.02
