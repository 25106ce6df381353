"""An attacker who is told nothing finds out what the mechanism does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import in_another_order, released, spelled_out

from tracearena.attacks.bayesian.channel import (
    ObservationAlphabet,
    SimulatedRelease,
    build_truthful_channel,
)
from tracearena.attacks.bayesian.channel_estimation import DistanceRings, estimate_mechanism
from tracearena.attacks.bayesian.likelihoods import Evidence
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.cities import simulate
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, PlaceSets, Traces


@pytest.fixture(scope="module")
def people() -> tuple[Traces, Traces]:
    """People of a city, five days before and five after."""
    before, after = simulate(80, 10, seed=4).split_days(5)
    return before, after


def found(people: tuple[Traces, Traces], release: ObfuscatedTraces) -> SimulatedRelease:
    reference, _ = people
    neighbourhoods = Neighbourhoods.of(reference.places, 2.0)
    anonymized, _ = in_another_order(release)
    return estimate_mechanism(
        reference,
        anonymized,
        neighbourhoods,
        TimeProfiles.of(reference, neighbourhoods),
        np.random.SeedSequence(1),
    )


def believed(people: tuple[Traces, Traces], defence: str) -> NDArray[np.float64]:
    """Return what is believed to be said of each place, places × observations, for one in ten places."""
    made = found(people, released(people[1], defence))
    table = spelled_out(made.channel, len(people[0].places)).T
    inner = np.arange(0, len(table), 10)
    return table[inner] / table[inner].sum(axis=1, keepdims=True)


def displacement_km(people: tuple[Traces, Traces], table: NDArray[np.float64]) -> float:
    places = people[0].places
    every = np.arange(len(places))
    return float(
        np.mean(
            [row @ places.distance_km(np.full(len(places), 10 * k), every) for k, row in enumerate(table)]
        )
    )


def stays(table: NDArray[np.float64]) -> float:
    return float(np.mean([row[10 * k] for k, row in enumerate(table)]))


@pytest.mark.slow
def test_what_is_released_as_it_is_stays(people: tuple[Traces, Traces]) -> None:
    assert stays(believed(people, "No")) > 0.9


@pytest.mark.slow
def test_noise_is_as_wide_as_it_is(people: tuple[Traces, Traces]) -> None:
    _, original = people
    moved = released(original, "PL(4,1)")
    truth = original.places.distance_km(original.place_index, moved.codes).mean()
    assert displacement_km(people, believed(people, "PL(4,1)")) == pytest.approx(truth, rel=0.25)


@pytest.mark.slow
def test_what_is_answered_at_random_is_noticed(people: tuple[Traces, Traces]) -> None:
    _, original = people
    kept = (released(original, "RR(8)").codes == original.place_index).mean()
    assert stays(believed(people, "RR(8)")) == pytest.approx(kept, abs=0.1)


@pytest.mark.slow
def test_the_rehearsal_deletes_as_much_as_the_release(people: tuple[Traces, Traces]) -> None:
    made = found(people, released(people[1], "MRLH(0,0,0.4)"))
    assert (made.runs[0] == DELETED).mean() == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("code", [DELETED, 0])
def test_a_release_that_says_nothing_teaches_nothing(people: tuple[Traces, Traces], code: int) -> None:
    made = found(people, ObfuscatedTraces.like(people[1], np.full(people[1].n_events, code)))
    assert np.isfinite(made.channel.values).all()
    assert (made.channel.values >= 0).all()


def test_rings_hold_as_many_places_as_there_are_at_their_distance() -> None:
    """The first ring is the place itself; the others are as wide as the distance to the nearest place."""
    columns = np.arange(30)
    places = Places(np.repeat([0.0, 0.003], 30), np.tile(columns * 0.003, 2), km_per_degree=(100, 100))
    rings = DistanceRings.of(places)
    assert rings.edges_km == pytest.approx([1e-6, *(0.3 * (np.arange(12) + 1.25))])
    distance = places.distance_table_km
    inside = [(distance <= edge).sum(axis=1).mean() for edge in rings.edges_km]
    assert rings.numbers == pytest.approx(np.diff([0, *inside, 60]))
    law = rings.initial_shares()
    assert law.sum() == pytest.approx(1)
    assert law[0] > 0.4


def test_a_law_is_estimated_as_by_the_formulas() -> None:
    """Expectation maximisation event by event; neither sets nor deleted events tell of distances."""
    rng = np.random.default_rng(3)
    places = Places(rng.uniform(0, 0.03, 12), rng.uniform(0, 0.03, 12), km_per_degree=(100, 100))
    walks = Traces.from_dense(rng.integers(0, 12, (3, 16)), places, Clock(instants_per_day=8))
    codes = rng.integers(0, 12, walks.n_events)
    codes[3], codes[20] = DELETED, -2
    release = ObfuscatedTraces.like(walks, codes, PlaceSets.of([[1, 4]]))
    alphabet, (observed,) = ObservationAlphabet.of([release])
    neighbourhoods = Neighbourhoods.of(places, 2.0)
    profiles = TimeProfiles.of(walks, neighbourhoods)
    simulated = SimulatedRelease(alphabet, observed, (), build_truthful_channel(alphabet))
    evidence = Evidence(walks, release, simulated, neighbourhoods, profiles, quick=True)
    rings = DistanceRings.of(places)
    before, matched = rings.initial_shares(), [(0, 2), (1, 1)]
    ring = np.searchsorted(rings.edges_km, places.distance_table_km - 1e-9)
    table = []
    for trace, user in matched:
        profile = profiles.user_profile(user)
        for event in np.flatnonzero((release.user_index == trace) & (codes >= 0)):
            at = profile[:, release.instants[event] % 8]
            table.append([at[ring[codes[event]] == r].sum() for r in range(len(before))])
    law = before
    for _ in range(8):
        joint = np.array(table) / rings.numbers * law
        law = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    law = 0.999 * law + 0.001 * rings.numbers / rings.numbers.sum()
    assert rings.maximise_likelihood(before, evidence, matched) == pytest.approx(law / law.sum())
