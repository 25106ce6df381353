"""Similarities of people: what they mean, and slow ways to the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.examples import examples

from tracearena.errors import DataError, ParameterError
from tracearena.metrics.similarity import (
    all_pairs,
    first_order_mapping,
    geographic_similarity,
    semantic_similarity,
    zeroth_order_mapping,
)
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.traces import Clock, Places, Traces

PLACES = Places(np.zeros(8), np.arange(8) / 10)
CLOCK = Clock(instants_per_day=12)


def profiles_of(table, periods=1):
    return MobilityProfiles.of(Traces.from_dense(table, PLACES, CLOCK), periods)


def days(users=2, places=8, instants=24, missing=False):
    lowest = -1 if missing else 0
    row = st.lists(st.integers(lowest, places - 1), min_size=instants, max_size=instants)
    return st.lists(row, min_size=users, max_size=users)


def first_order_by_hand(profiles, u, v, sigmas):
    """Sum the definition over all places, with a table of transitions counted here."""
    t = len(profiles.periods)
    total = 0.0
    pi, (p, q) = profiles.visit_table()[u], (transition_table(profiles, user) for user in (u, v))
    for tau, then in itertools.product(range(t), range(t)):
        for r, s in itertools.product(range(8), range(8)):
            mine, theirs = p[tau, then, r, s], q[tau, then, sigmas[tau][r], sigmas[then][s]]
            total += profiles.periods.pair_shares[tau, then] * pi[tau, r] * min(mine, theirs)
    return total


def transition_table(profiles, user):
    t = len(profiles.periods)
    table = np.zeros((t, t, 8, 8))
    for tau, then in itertools.product(range(t), range(t)):
        row = user * t + tau
        for e in range(profiles.visit_offsets[row], profiles.visit_offsets[row + 1]):
            own = slice(profiles.move_offsets[e * t + then], profiles.move_offsets[e * t + then + 1])
            table[tau, then, profiles.visit_places[e], profiles.move_places[own]] = (
                profiles.move_probabilities[own]
            )
    return table


@examples(25)
@given(days(missing=True), st.integers(1, 4))
def test_visits_and_moves_are_distributions(table, periods):
    profiles = profiles_of(table, periods)
    sums = profiles.visit_table().sum(axis=2)
    assert np.all(np.isclose(sums, 1) | (sums == 0))
    rows = np.add.reduceat(profiles.move_probabilities, profiles.move_offsets[:-1]) if len(sums[0]) else 1
    assert profiles.move_probabilities.size == 0 or np.allclose(rows, 1)


def test_a_profile_counts_visits_and_steps_within_a_day():
    profiles = profiles_of([[0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, -1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]])
    assert profiles.visit_places.tolist() == [0, 1, 2, 3]
    assert profiles.visit_probabilities.tolist() == [3 / 23, 9 / 23, 1 / 23, 10 / 23]
    table = transition_table(profiles, 0)[0, 0]
    assert table[0].tolist() == [0.5, 0.5, 0, 0, 0, 0, 0, 0]
    # Place 2 ends a day: nobody is seen to leave it, so she stays.
    assert table[2, 2] == 1


@examples(25)
@given(days(), st.integers(1, 3), st.sampled_from([0, 1]))
def test_everybody_is_wholly_similar_to_herself(table, periods, order):
    profiles = profiles_of(table, periods)
    assert np.allclose(geographic_similarity(profiles, profiles, order=order), 1)


@examples(25)
@given(days(), st.integers(1, 3))
def test_zeroth_geographic_similarity_is_the_overlap_of_visits(table, periods):
    profiles = profiles_of(table, periods)
    pi = profiles.visit_table()
    overlap = np.minimum(pi[0], pi[1]).sum(axis=1) @ profiles.periods.shares
    assert geographic_similarity(profiles, profiles, [[0, 1]])[0] == pytest.approx(overlap)


@examples(25)
@given(days(), st.integers(1, 2))
def test_first_geographic_similarity_is_its_definition(table, periods):
    profiles = profiles_of(table, periods)
    same = [np.arange(8)] * periods
    wanted = first_order_by_hand(profiles, 0, 1, same)
    assert geographic_similarity(profiles, profiles, [[0, 1]], order=1)[0] == pytest.approx(wanted)


@examples(25)
@given(days(missing=True), st.integers(1, 4))
def test_zeroth_semantic_similarity_is_the_hungarian_optimum(table, periods):
    profiles = profiles_of(table, periods)
    pi = profiles.visit_table()
    best = 0.0
    for tau in range(periods):
        gain = np.minimum(pi[0, tau][:, None], pi[1, tau][None, :])
        best += profiles.periods.shares[tau] * gain[linear_sum_assignment(-gain)].sum()
    assert semantic_similarity(profiles, profiles, [[0, 1]])[0] == pytest.approx(best)


@examples(25)
@given(days(), st.permutations(range(8)))
def test_renaming_places_changes_nothing_in_kind(table, names):
    renamed = np.asarray(names)[np.asarray(table)]
    a, b = profiles_of(table), profiles_of(renamed)
    assert np.allclose(semantic_similarity(a, b), 1)
    assert (geographic_similarity(a, b) <= semantic_similarity(a, b) + 1e-12).all()


@examples(25)
@given(days(), st.integers(1, 2))
def test_the_zeroth_mapping_pairs_visited_places_once(table, periods):
    profiles = profiles_of(table, periods)
    mapping = zeroth_order_mapping(profiles, profiles, 0, 1, seed=1)
    for tau, pairs in enumerate(mapping.pairs):
        assert len(pairs) == profiles.place_counts[:, tau].min()
        assert all(len(set(column)) == len(column) for column in pairs.T.tolist())


@examples(5)
@given(days(places=5), st.integers(0, 10))
def test_the_first_order_search_finds_the_best_of_all_permutations(table, seed):
    profiles = profiles_of(table)
    best = max(
        first_order_by_hand(profiles, 0, 1, [np.append(sigma, [5, 6, 7])])
        for sigma in itertools.permutations(range(5))
    )
    found = first_order_mapping(profiles, profiles, 0, 1, seed=seed)
    assert found.similarity == pytest.approx(best)


def test_the_first_order_search_finds_partners_for_fewer_places():
    """One user has been at two of five places: many exchanges are of places that she never visits."""
    rng = np.random.default_rng(5)
    sigmas = [[np.append(sigma, [5, 6, 7])] for sigma in itertools.permutations(range(5))]
    gains = []
    for seed in range(4):
        profiles = profiles_of([rng.integers(0, 2, 48), rng.integers(0, 5, 48)])
        start, found = (
            first_order_mapping(profiles, profiles, 0, 1, steps=steps, seed=seed).similarity
            for steps in (0, 500)
        )
        assert found == pytest.approx(max(first_order_by_hand(profiles, 0, 1, sigma) for sigma in sigmas))
        gains.append(found - start)
    assert max(gains) > 0.01


def test_the_first_order_search_finds_the_best_of_seven_places():
    rng = np.random.default_rng(3)
    sigmas = np.array(list(itertools.permutations(range(7))))
    for seed in range(3):
        profiles = profiles_of(rng.integers(0, 7, (2, 48)))
        pi = profiles.visit_table()[0, 0, :7]
        p, q = (transition_table(profiles, user)[0, 0, :7, :7] for user in (0, 1))
        values = (pi[:, None] * np.minimum(p, q[sigmas[:, :, None], sigmas[:, None, :]])).sum(axis=(1, 2))
        found = first_order_mapping(profiles, profiles, 0, 1, seed=seed)
        assert found.similarity == pytest.approx(values.max())


def test_the_first_order_search_finds_the_best_where_every_step_leads_to_another_period():
    clock = Clock(instants_per_day=2)
    sigmas = [[*sigma, 3, 4, 5, 6, 7] for sigma in itertools.permutations(range(3))]
    for seed in range(3):
        table = np.random.default_rng(seed).integers(0, 3, (2, 40))
        profiles = MobilityProfiles.of(Traces.from_dense(table, PLACES, clock), 2)
        assert not np.diag(profiles.periods.pair_shares).any()
        best = max(first_order_by_hand(profiles, 0, 1, pair) for pair in itertools.product(sigmas, sigmas))
        found = first_order_mapping(profiles, profiles, 0, 1, steps=200, seed=seed)
        assert found.similarity == pytest.approx(best)


@examples(25)
@given(days(), st.integers(1, 3), st.integers(0, 100))
def test_the_first_order_search_is_never_below_its_start(table, periods, seed):
    profiles = profiles_of(table, periods)
    start = first_order_mapping(profiles, profiles, 0, 1, steps=0, seed=seed)
    found = first_order_mapping(profiles, profiles, 0, 1, steps=300, seed=seed)
    assert start.similarity - 1e-12 <= found.similarity <= 1 + 1e-12


@examples(25)
@given(days(), st.integers(1, 2), st.sampled_from([0, 1]))
def test_the_closed_form_is_the_earth_movers_distance(table, periods, order):
    pytest.importorskip("ot")
    profiles = profiles_of(table, periods)
    hamming = 1.0 - np.eye(8)
    pairs = [[0, 1], [1, 0]]
    closed = geographic_similarity(profiles, profiles, pairs, order=order)
    solved = geographic_similarity(profiles, profiles, pairs, order=order, distance=hamming)
    assert np.allclose(closed, solved)


def test_near_places_are_more_similar_on_the_ground():
    pytest.importorskip("ot")
    ground = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) / 7
    profiles = profiles_of([[0] * 12, [1] * 12, [7] * 12])
    near, far = geographic_similarity(profiles, profiles, [[0, 1], [0, 2]], distance=ground)
    assert near == pytest.approx(6 / 7)
    assert far == pytest.approx(0)


def test_profiles_that_do_not_fit_are_refused():
    one, other = profiles_of([[0] * 12]), profiles_of([[0] * 12, [1] * 12])
    with pytest.raises(DataError, match="one to one"):
        geographic_similarity(one, other)
    with pytest.raises(DataError, match="periods"):
        semantic_similarity(one, profiles_of([[0] * 12], 2))
    with pytest.raises(ParameterError, match="order"):
        geographic_similarity(one, one, order=2)
    with pytest.raises(ParameterError, match="pairs"):
        geographic_similarity(one, one, [[0, 5]])
    with pytest.raises(ParameterError, match="periods"):
        profiles_of([[0] * 12], 13)
    with pytest.raises(ParameterError, match="8 × 8"):
        geographic_similarity(one, one, distance=np.eye(3))


def test_the_aggregate_is_the_mean_of_the_profiles_and_knows_every_move():
    profiles = profiles_of([[0] * 12, [1] * 12])
    mobility = AggregateMobility.of(profiles, PLACES, epsilon=1e-9)
    assert mobility.visits[0, :3].tolist() == [0.5, 0.5, 0]
    assert np.allclose(mobility.moves.sum(axis=2), 1)
    assert (mobility.moves > 0).all()
    assert mobility.moves[0, 0, 0] == pytest.approx(1)
    # From a place where nobody was, the nearer the more probable.
    assert mobility.moves[0, 5, 6] > mobility.moves[0, 5, 7]
    assert mobility.visit_similarity(mobility) == pytest.approx(1)
    assert mobility.move_similarity(mobility) == pytest.approx(1)


def test_all_pairs_names_everybody_once():
    assert all_pairs(2, 3).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
