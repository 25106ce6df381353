"""SGLT as the program behind the published files does it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.engine import seed_sequence, use
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.similarity import semantic_similarity
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis import SGLT
from tracearena.synthesis.sglt import DaySeeds, LegacyFakeMaker, LocationClasses, bisect_graph, legacy_graph
from tracearena.synthesis.sglt._kernels import list_allowed
from tracearena.traces import Clock, Places, Traces


def in_order_of_visits(day):
    """Return the places of a day, the most visited first, of equals the first visited."""
    seen = list(dict.fromkeys(day))
    return sorted(seen, key=lambda place: (-day.count(place), seen.index(place)))


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_the_graph_counts_the_smaller_probability_and_everybody_with_herself(seed, users):
    days = np.random.default_rng(seed).integers(0, 9, (users, 12)).tolist()
    traces = Traces.from_dense(days, Places(np.zeros(9), np.arange(9)), Clock(instants_per_day=12))
    profiles = MobilityProfiles.of(traces)
    by_hand = np.zeros((9, 9))
    for u in range(users):
        for v in range(users):
            similarity = semantic_similarity(profiles, profiles, [[u, v]])[0]
            for r, s in zip(in_order_of_visits(days[u]), in_order_of_visits(days[v]), strict=False):
                by_hand[r, s] += similarity * min(days[u].count(r), days[v].count(s)) / 12
    assert np.allclose(legacy_graph(profiles, DaySeeds.of(traces)), by_hand)


def test_bisection_finds_the_pairs_of_a_graph_of_pairs():
    rng = np.random.default_rng(1)
    order = rng.permutation(40)
    graph = np.full((40, 40), 0.01)
    for a, b in order.reshape(20, 2):
        graph[a, b] = graph[b, a] = graph[a, a] = graph[b, b] = 1
    found = bisect_graph(graph, 20, seed=1)
    assert found.sizes.tolist() == [2] * 20
    assert all(found.class_of[a] == found.class_of[b] for a, b in order.reshape(20, 2))


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 30))
def test_bisection_makes_as_many_classes_as_asked_for(seed, places, classes):
    half = np.random.default_rng(seed).random((places, places)) * (np.arange(places) % 3 > 0)
    found = bisect_graph(half + half.T, classes, seed=seed)
    assert len(found) == min(classes, places)
    assert found.sizes.min() >= 1


def test_bisection_finds_a_number_and_refuses_what_is_none():
    assert 1 <= len(bisect_graph(np.ones((30, 30)), seed=1)) <= 30
    with pytest.raises(ParameterError, match="classes"):
        bisect_graph(np.ones((3, 3)), 0)
    with pytest.raises(DataError):
        bisect_graph(np.zeros((0, 0)))


def allowed(seed, labels, t, *, par_m, par_l=1.0):
    classes, out = LocationClasses.of(np.array(labels)), np.empty(len(labels), np.int32)
    count = list_allowed(
        np.array(seed, np.int32),
        t,
        classes.class_of,
        classes.offsets,
        classes.members,
        np.ones(len(labels), bool),
        par_m,
        par_l,
        np.zeros(1, np.uint64),
        np.random.default_rng(1),
        False,
        np.zeros(len(labels), bool),
        out,
    )
    return sorted(out[:count].tolist())


def test_of_the_class_k_instants_away_the_first_share_to_the_power_of_k_squared_joins():
    labels = [0, 0, *[1] * 8]
    seed = [0, 0, 0, 5]
    assert allowed(seed, labels, 2, par_m=0.75) == [1, 2, 3, 4, 5, 6, 7]  # 0.75 · 8 = 6
    assert allowed(seed, labels, 1, par_m=0.75) == [1, 2, 3]  # 0.75⁴ · 8 = 2.5
    assert allowed(seed, labels, 0, par_m=0.75) == [1]  # 0.75⁹ · 8 = 0.6


def test_the_class_just_left_stays_open_for_two_instants():
    seed, labels = [2, 0, 0, 0, 0], [0, 0] + [1] * 8
    assert allowed(seed, labels, 1, par_m=0.75) == [1, 2, 3, 4, 5, 6, 7]
    assert allowed(seed, labels, 2, par_m=0.75) == [1, 2, 3, 4, 5, 6, 7]
    assert allowed(seed, labels, 3, par_m=0.75) == [1, 2, 3]  # 0.75⁴ · 8 = 2.5
    assert allowed(seed, labels, 4, par_m=0.75) == [1]


@pytest.fixture
def town():
    rng = np.random.default_rng(5)
    places = Places(rng.random(9) / 10, rng.random(9) / 10)
    traces = Traces.from_dense(rng.integers(0, 9, (6, 5)), places, Clock(instants_per_day=5))
    return traces, AggregateMobility.of(MobilityProfiles.of(traces), places)


def test_a_class_is_thinned_once_a_fake_and_keeps_three_places(town):
    traces, mobility = town
    maker = LegacyFakeMaker(
        classes=LocationClasses.of(np.zeros(9, int)), mobility=mobility, par_c=1, par_l=0, par_v=1
    )
    made = maker.make(traces.dense(), np.repeat(np.arange(6), 200), seed_sequence(1))
    assert max(len(set(fake)) for fake in made.places.tolist()) <= 3
    assert len(np.unique(made.places)) > 3


def test_where_nothing_is_left_the_rest_of_the_fake_is_the_first_place(town):
    _, mobility = town
    seeds = np.array([[1, 1, 2, 1, 3]], np.int32)
    classes = LocationClasses.of(np.array([0, 1, 2, 1, 1, 1, 3, 3, 3]))  # place 2 is alone
    settings = {"classes": classes, "mobility": mobility, "par_m": 0, "par_l": 1.0}
    rows = np.zeros(50, np.int64)
    failed = LegacyFakeMaker(**settings).make(seeds, rows, seed_sequence(1)).places
    assert (failed[:, 2:] == 0).all()
    assert (failed[:, :2] != 0).all()
    mended = LegacyFakeMaker(**settings, decoder_failure=False).make(seeds, rows, seed_sequence(1)).places
    assert (mended[:, 3:] != 0).all()
    assert (mended[:, 2] != 2).all()
    kept = LegacyFakeMaker(**{**settings, "par_l": 0.0}).make(seeds, rows, seed_sequence(1)).places
    assert (kept[:, 2] == 2).all()


def test_the_seed_fixes_the_fakes_whatever_the_threads(make_walks):
    made = []
    for threads in (1, 2):
        with use(threads=threads):
            model = SGLT(classes=12, privacy_tests=False, legacy_sglt=True).fit(make_walks(users=30), seed=1)
            made.append(model.synthesize(20, seed=2))
    assert made[0] == made[1]
    assert isinstance(model.maker_, LegacyFakeMaker)


def test_periods_have_their_own_mobility(make_walks):
    model = SGLT(classes=4, periods=2, privacy_tests=False, legacy_sglt=True).fit(
        make_walks(users=10), seed=1
    )
    assert model.mobility_.moves.shape == (3, 64, 64)
    assert np.allclose(model.mobility_.moves.sum(axis=2), 1)
    assert model.synthesize(seed=1).is_complete
