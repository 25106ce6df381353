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
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces


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


def test_a_signature_is_four_histograms() -> None:
    """Two traces have half in common: one is at places 0 and 1, the other at 1 and 2, a kilometre apart."""
    places = Places(np.zeros(3), np.array([0, 0.0125, 0.025]), km_per_degree=(100, 100))
    walks = Traces.from_dense([[0, 1, 0, 1], [1, 2, 2, 1]], places, Clock(instants_per_day=4))
    visits, often, steps, overlaps = compute_signature(ObfuscatedTraces.from_traces(walks))
    assert visits == pytest.approx([1 / 4, 1 / 2, 1 / 4])
    assert often == pytest.approx([0, 1, 0, 0, 0, 0, 0, 0, 0])
    assert steps == pytest.approx([1 / 6, 0, 0, 5 / 6, 0, 0, 0, 0, 0, 0, 0])
    assert overlaps == pytest.approx([0, 0, 0, 0, 0, 1, 0, 0, 0, 0])


def test_a_single_event_is_all_of_its_signature() -> None:
    places = Places(np.zeros(2), np.array([0, 0.01]), km_per_degree=(100, 100))
    walks = Traces.from_dense([[1]], places, Clock(instants_per_day=1))
    visits, often, steps, _ = compute_signature(ObfuscatedTraces.from_traces(walks))
    assert visits.tolist() == [0, 1]
    assert often.tolist() == [1] + 8 * [0]
    assert not steps.any()
