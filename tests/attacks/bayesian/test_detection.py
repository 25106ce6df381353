"""Who made a release is suspected by what its traces look like, whoever is who."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.bayesian.releases import in_another_order, released

from tracearena.attacks.bayesian.channel_estimation import estimate_mechanism
from tracearena.attacks.bayesian.detection import (
    SETTINGS,
    compute_signature,
    detect_mechanism,
    measure_difference,
)
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.cities import simulate
from tracearena.traces import ObfuscatedTraces, Traces


@pytest.fixture(scope="module")
def people() -> tuple[Traces, Traces]:
    """People of a city, six days before and six after."""
    before, after = simulate(120, 12, seed=3).split_days(6)
    return before, after


def suspect(people: tuple[Traces, Traces], release: ObfuscatedTraces) -> str:
    reference, _ = people
    neighbourhoods = Neighbourhoods.of(reference.places, 2.0)
    anonymized, _ = in_another_order(release)
    made = estimate_mechanism(
        reference,
        anonymized,
        neighbourhoods,
        TimeProfiles.of(reference, neighbourhoods),
        np.random.SeedSequence(1),
    )
    return str(detect_mechanism(reference, anonymized, made, 1))


@pytest.mark.slow
def test_a_defence_of_whole_traces_is_found_out(people: tuple[Traces, Traces]) -> None:
    assert suspect(people, released(people[1], "ClusterAveraging(0.7,blur_km=0.5)")).startswith(
        "ClusterAveraging"
    )


@pytest.mark.slow
@pytest.mark.parametrize("defence", ["No", "PL(4,1)", "MRLH(1,1,0.3)"])
def test_where_events_are_treated_singly_nobody_is_suspected(
    people: tuple[Traces, Traces], defence: str
) -> None:
    assert suspect(people, released(people[1], defence)) == "None"


@pytest.mark.slow
def test_few_people_look_like_anybody(people: tuple[Traces, Traces]) -> None:
    few = (
        people[0].take_users(np.arange(SETTINGS.min_users - 1)),
        people[1].take_users(np.arange(SETTINGS.min_users - 1)),
    )
    assert suspect(few, released(few[1], "ClusterAveraging(0.7,blur_km=0.5)")) == "None"


def test_looks_do_not_depend_on_who_is_who(people: tuple[Traces, Traces]) -> None:
    release = released(people[1], "PL(4,1)")
    other, _ = in_another_order(release)
    assert measure_difference(compute_signature(release), compute_signature(other)) == pytest.approx(
        0, abs=1e-12
    )
    assert measure_difference(compute_signature(release), compute_signature(released(people[1], "No"))) > 0.1
