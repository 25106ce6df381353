"""The semantic graph and the classes of places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.threads import on_threads

from tracearena.errors import DataError, ParameterError
from tracearena.metrics.similarity import RankedPlaces, semantic_similarity
from tracearena.mobility import MobilityProfiles
from tracearena.synthesis.sglt import LocationClasses, find_classes, semantic_graph, separation
from tracearena.synthesis.sglt.semantics import candidate_class_counts
from tracearena.traces import Clock, Places, Traces


def graph_by_hand(profiles, seed):
    """Add up every ordered pair of users."""
    ranked, t = RankedPlaces.of(profiles, seed=seed), len(profiles.periods)
    graph = np.zeros((profiles.n_places,) * 2)
    for u in range(profiles.n_users):
        for v in range(profiles.n_users):
            if u != v:
                similarity = semantic_similarity(profiles, profiles, [[u, v]])[0]
                for tau in range(t):
                    for r, s in zip(ranked.row(u * t + tau), ranked.row(v * t + tau), strict=False):
                        graph[r, s] += profiles.periods.shares[tau] * similarity
    return graph


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 7))
def test_the_graph_adds_up_all_pairs_of_users(seed, periods, users):
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 9, (users, 12))
    traces = Traces.from_dense(table, Places(np.zeros(9), np.arange(9)), Clock(instants_per_day=12))
    profiles = MobilityProfiles.of(traces, periods)
    assert np.allclose(semantic_graph(profiles, seed=seed), graph_by_hand(profiles, seed))


def test_the_graph_does_not_depend_on_threads(make_walks):
    profiles = MobilityProfiles.of(make_walks(users=1_100))  # three blocks of users
    one, two = (on_threads(threads, lambda: semantic_graph(profiles, seed=1)) for threads in (1, 2))
    assert np.array_equal(one, two)


def homes_and_works(users=12):
    """Everybody is nine instants at a home of her own and three at a work of her own."""
    table = [[2 * u] * 9 + [2 * u + 1] * 3 for u in range(users)]
    places = Places(np.zeros(2 * users), np.arange(2 * users))
    return Traces.from_dense(table, places, Clock(instants_per_day=12))


def test_homes_and_works_are_told_apart_without_being_named():
    graph = semantic_graph(MobilityProfiles.of(homes_and_works()), seed=1)
    classes = find_classes(graph, 2, seed=1)
    assert classes.class_of.tolist() == [0, 1] * 12
    assert classes.sizes.tolist() == [12, 12]
    assert separation(graph, classes) == float("inf")


def test_the_number_of_classes_is_found():
    assert len(find_classes(semantic_graph(MobilityProfiles.of(homes_and_works(40)), seed=1), seed=1)) <= 8


def test_there_are_no_more_classes_than_different_rows():
    assert len(find_classes(np.zeros((5, 5)), 3)) == 1
    assert len(find_classes(np.ones((1, 1)))) == 1


def test_classes_are_a_partition():
    classes = LocationClasses.of(np.array([4, 4, 1, 0, 1]))
    assert classes.class_of.tolist() == [0, 0, 1, 2, 1]
    assert sorted(classes.members.tolist()) == [0, 1, 2, 3, 4]


@given(st.integers(1, 10_000))
def test_the_numbers_tried_are_possible(different):
    tried = candidate_class_counts(different)
    assert tried
    assert all(1 <= count <= different for count in tried)


def test_impossible_classes_are_refused():
    with pytest.raises(ParameterError, match="classes"):
        find_classes(np.ones((3, 3)), 0)
    with pytest.raises(DataError):
        find_classes(np.zeros((0, 0)))
