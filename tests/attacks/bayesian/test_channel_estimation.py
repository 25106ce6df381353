"""An attacker who is told nothing finds out what the mechanism does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import in_another_order, released, spelled_out

from tracearena.attacks.bayesian.channel import SimulatedRelease
from tracearena.attacks.bayesian.channel_estimation import estimate_mechanism
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.cities import simulate
from tracearena.traces import DELETED, ObfuscatedTraces, Traces


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
