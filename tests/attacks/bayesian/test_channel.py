"""What an attacker believes that a mechanism says, beside what it does say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.attacks.bayesian.releases import spelled_out

from tracearena.attacks.bayesian import channel as channels
from tracearena.attacks.bayesian.channel import NOTHING, ObservationAlphabet
from tracearena.obfuscation import GeoInd, NoObfuscation, PlanarLaplace, RandomizedResponse
from tracearena.traces import Clock, Grid, ObfuscatedTraces, Places, PlaceSets, Traces


def on_grid(rows: int = 6, columns: int = 7) -> Places:
    grid = Grid(
        rows=rows,
        columns=columns,
        south=34.6,
        west=135.4,
        north=34.6 + rows / 200,
        east=135.4 + columns / 200,
    )
    return Places.of_grid(grid, km_per_degree=(111, 91))


def off_grid(count: int = 40) -> Places:
    rng = np.random.default_rng(4)
    return Places(rng.uniform(40.70, 40.73, count), rng.uniform(-74.02, -73.98, count))


def single(places: Places) -> ObservationAlphabet:
    """The observations of a release without sets."""
    release = ObfuscatedTraces.from_traces(Traces.from_dense([[0]], places, Clock(instants_per_day=1)))
    return ObservationAlphabet.of([release])[0]


MECHANISMS = [
    RandomizedResponse(epsilon=8),
    RandomizedResponse(epsilon=0.5),
    PlanarLaplace(l=4, r=1),
    PlanarLaplace(l=1, r=1),
    PlanarLaplace(l=0.2, r=1),
    PlanarLaplace(l=20, r=1),
    GeoInd(expected_noise=400),
    NoObfuscation(),
]


@pytest.mark.parametrize(
    "places", [on_grid(), on_grid(1, 9), on_grid(9, 1), on_grid(1, 1), off_grid(), off_grid(1)]
)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_something_is_said_of_every_place(places: Places, mechanism: object) -> None:
    found = channels.derive_channel(mechanism, single(places), places)  # type: ignore[arg-type]
    assert found is not None
    assert (found.values >= 0).all()
    assert spelled_out(found, len(places)).sum(axis=0) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("epsilon", [0.5, 3, 8])
def test_a_randomized_response_is_known_exactly(epsilon: float) -> None:
    places = on_grid(3, 3)
    found = channels.derive_channel(RandomizedResponse(epsilon=epsilon), single(places), places)
    assert found is not None
    expected = np.full((9, 9), 1.0)
    np.fill_diagonal(expected, math.exp(epsilon))
    expected /= math.exp(epsilon) + 8
    assert spelled_out(found, 9) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("places", [on_grid(), off_grid()], ids=["grid", "no grid"])
@pytest.mark.parametrize("l", [1.0, 4.0, 12.0])
def test_noise_ends_where_it_is_believed_to(places: Places, l: float) -> None:  # noqa: E741
    draws, mechanism = 20_000, PlanarLaplace(l=l, r=1)
    start = np.arange(0, len(places), 5)
    stay = Traces.from_dense(np.repeat(start[:, None], draws, axis=1), places, Clock(instants_per_day=24))
    ended = mechanism.transform(stay, seed=1).codes.reshape(len(start), draws)
    drawn = np.stack([np.bincount(row, minlength=len(places)) for row in ended]) / draws
    found = channels.derive_channel(mechanism, single(places), places)
    assert found is not None
    believed = spelled_out(found, len(places))[:, start].T
    spread = np.sqrt(believed * (1 - believed) / draws)
    bias = 0.0 if places.grid is not None else 0.01
    assert (np.abs(drawn - believed) < 5 * spread + 1e-3 + bias).all()
    assert np.abs(drawn - believed).sum(axis=1).mean() < 0.05


def test_sets_are_taken_at_their_word() -> None:
    places = on_grid(2, 2)
    original = Traces.from_dense([[0, 1, 2]], places, Clock(instants_per_day=3))
    release = ObfuscatedTraces.like(original, [-2, -3, -1], PlaceSets.of([[1, 0], [2]]))
    alphabet, (observed,) = ObservationAlphabet.of([release])
    assert observed.tolist() == [4, 2, NOTHING]
    for mechanism in (NoObfuscation(), PlanarLaplace(l=4, r=1)):
        found = channels.derive_channel(mechanism, alphabet, places)
        assert found is not None
        table = spelled_out(found, 4)
        assert table[4] == pytest.approx([1, 1, 0, 0], abs=1e-6)


def test_what_a_mechanism_did_is_counted() -> None:
    places = on_grid(2, 2)
    original = Traces.from_dense([[0, 0, 0, 1, 1, 2]], places, Clock(instants_per_day=6))
    release = ObfuscatedTraces.like(original, [1, 1, -1, -2, 1, 2], PlaceSets.of([[1, 3]]))
    alphabet, (observed,) = ObservationAlphabet.of([release])
    found = channels.count_channel(alphabet, 4, original.place_index, observed)
    expected = np.full((5, 4), channels.SETTINGS.unseen_share / 5)
    # One answer of its own place beside those seen: of place 0 twice place 1, of 1 the set and itself.
    expected[:4] += (1 - channels.SETTINGS.unseen_share) * np.array(
        [[1 / 3, 0, 0, 0], [2 / 3, 2 / 3, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    )
    expected[4, 1] += (1 - channels.SETTINGS.unseen_share) / 3
    assert spelled_out(found, 4) == pytest.approx(expected, abs=1e-8)


def test_a_law_of_distance_is_spelled_out() -> None:
    places = on_grid(4, 5)
    edges, density = np.array([1e-6, 0.6, 0.9]), np.array([0.5, 0.1, 0.05, 0.001])
    found = spelled_out(channels.build_distance_channel(single(places), places, edges, density), 20)
    assert found.sum(axis=0) == pytest.approx(1)
    for x in range(20):
        distance = places.distance_km(np.full(20, x), np.arange(20))
        law = density[(distance[:, None] > edges).sum(axis=1)]
        # As much as possible is near; what is far stays as unlikely as it is.
        near = (law - density[-1]) / (law - density[-1]).sum() * (1 - 20 * density[-1])
        assert found[:, x] == pytest.approx(near + density[-1], abs=1e-8)


def test_noise_is_sharpened_and_the_truth_is_not() -> None:
    places = on_grid()
    mechanisms = PlanarLaplace(l=4, r=1), RandomizedResponse(epsilon=4)
    noisy, plain = (channels.derive_channel(one, single(places), places) for one in mechanisms)
    assert noisy is not None
    assert plain is not None
    sharp = noisy.sharpen(len(places))
    before, after = (np.bincount(one.places, one.values, len(places)) for one in (noisy, sharp))
    assert after == pytest.approx(before)
    own = np.repeat(np.arange(len(places)), np.diff(noisy.offsets)) == noisy.places
    assert (sharp.values[own] > noisy.values[own]).all()
    assert plain.sharpen(len(places)).values == pytest.approx(plain.values)
