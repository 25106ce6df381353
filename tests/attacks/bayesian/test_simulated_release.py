"""What the reference would have been released as."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.attacks.bayesian.releases import released

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian import channel as channels
from tracearena.attacks.bayesian.channel import (
    NOTHING,
    SETTINGS,
    ObservationAlphabet,
    build_release,
    draw_observations,
    simulate_mechanism,
)
from tracearena.traces import ObfuscatedTraces, PlaceSets, Traces


@pytest.mark.parametrize("defence", ["No", "PL(4,1)", "RR(2)", "RR(0.1)"])
def test_what_is_drawn_is_like_what_the_mechanism_makes(
    make_walks: Callable[..., Traces], defence: str
) -> None:
    walks = make_walks(users=1000, days=4, side=5)
    release = released(walks, defence)
    alphabet, (observed,) = ObservationAlphabet.of([release])
    channel = channels.derive_channel(catalogue.create(defence), alphabet, walks.places)
    assert channel is not None
    found = draw_observations(walks, channel, observed, 1)
    for x in (0, 12, 24):
        real, made = (
            np.bincount(one[walks.place_index == x], minlength=25) / (walks.place_index == x).sum()
            for one in (observed, found)
        )
        assert np.abs(real - made).sum() < 0.2
        assert real[x] == pytest.approx(made[x], abs=0.08)


def test_sets_are_drawn_as_often_as_they_are_said(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=50, days=4, side=3)
    chance = np.random.default_rng(0).random(walks.n_events)
    codes = np.where(chance < 0.3, -2, np.where(chance < 0.5, -1, walks.place_index))
    release = ObfuscatedTraces.like(walks, codes, PlaceSets.of([range(9), [0, 1]]))
    alphabet, (observed,) = ObservationAlphabet.of([release])
    found = draw_observations(walks, channels.build_truthful_channel(alphabet), observed, 1)
    assert (found == NOTHING).mean() == pytest.approx(0.2, abs=0.02)
    assert (found == 9).mean() == pytest.approx(0.3, abs=0.02)
    single = (found != NOTHING) & (found < 9)
    assert np.array_equal(found[single], walks.place_index[single])
    again = build_release(walks, found, alphabet)
    assert np.array_equal(ObservationAlphabet.of([again])[1][0], found)


def test_what_treats_whole_traces_is_run_several_times(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=20, days=4, side=5).split_days(2)
    for defence, runs in (("Decoy(0.7)", SETTINGS.runs), ("PL(4,1)", 1)):
        made = simulate_mechanism(catalogue.create(defence), reference, released(original, defence), 1)
        assert len(made.runs) == runs
        assert made.by_event == (runs == 1)
        assert len({one.tobytes() for one in made.runs}) == runs
