"""Choices that [sglt] leaves open or names in passing: starts, steady state, thresholds, pools, thinning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tracearena.engine import seed_sequence
from tracearena.errors import ParameterError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis import SGLT
from tracearena.synthesis.sglt import FakeMaker, LocationClasses, find_classes, semantic_graph
from tracearena.traces import Clock, Places, Traces


@pytest.fixture
def walks(make_walks):
    return make_walks(users=24, days=2, side=4)


def test_more_starts_never_end_with_more_inertia(walks):
    graph = semantic_graph(MobilityProfiles.of(walks), seed=1)
    rows = graph / np.sqrt((graph**2).sum(axis=1, keepdims=True))

    def inertia(starts):
        of = find_classes(graph, 5, starts=starts, seed=3).class_of
        return sum(((rows[of == k] - rows[of == k].mean(axis=0)) ** 2).sum() for k in range(5))

    assert inertia(20) <= inertia(1) + 1e-9
    with pytest.raises(ParameterError, match="starts"):
        find_classes(graph, 5, starts=0)


@pytest.mark.parametrize("periods", [1, "8-16"])
def test_the_steady_state_comes_back_after_a_day(walks, periods):
    mobility = AggregateMobility.of(MobilityProfiles.of(walks, periods), walks.places)
    settled = mobility.at_steady_state()
    assert settled.visits.sum(axis=1) == pytest.approx(1)
    if periods == 1:
        assert settled.visits[0] @ mobility.moves[0] == pytest.approx(settled.visits[0])
        assert settled.visits[0] != pytest.approx(mobility.visits[0])
    assert (settled.moves == mobility.moves).all()


def test_a_simulated_population_settles_there(walks):
    mobility = AggregateMobility.of(MobilityProfiles.of(walks), walks.places).at_steady_state()
    rng, cumulative = np.random.default_rng(1), np.cumsum(mobility.moves[0], axis=1)
    at = np.zeros(20_000, np.int64)
    for _ in range(200):
        at = np.minimum((rng.random(len(at))[:, None] > cumulative[at]).sum(axis=1), len(cumulative) - 1)
    found = np.bincount(at, minlength=len(cumulative)) / len(at)
    assert np.abs(found - mobility.visits[0]).max() < 0.015


def test_thresholds_of_the_privacy_tests_are_parameters(walks):
    strict, lenient = (
        SGLT(classes=4, geographic=limit, intersection=1.0, difference=1.0).fit(walks, seed=1)
        for limit in (0.0, 1.0)
    )
    assert (strict.tests_.geographic, lenient.tests_.geographic) == (0.0, 1.0)
    rates = []
    for model in (strict, lenient):
        model.synthesize(2, seed=2)
        rates.append(model.pass_rates_.geographic)
    assert rates[0] < rates[1] == 1.0
    with pytest.raises(ParameterError, match="geographic"):
        SGLT(geographic=1.5)


def test_traces_drawn_from_a_pool_are_likelier_than_the_first_ones(walks):
    made = {"classes": 3, "privacy_tests": False, "par_v": 50.0}
    first, drawn = (SGLT(**made, pool_size=size).fit(walks, seed=1) for size in (None, 200))
    mobility = first.mobility_

    def log_likelihood(traces):
        days = traces.dense().reshape(-1, walks.clock.instants_per_day)
        start, moves = np.log(mobility.starts()), np.log(mobility.moves[0])
        return np.mean([start[day[0]] + sum(moves[a, b] for a, b in itertools.pairwise(day)) for day in days])

    assert log_likelihood(drawn.synthesize(2, seed=2)) > log_likelihood(first.synthesize(2, seed=2))
    again = drawn.synthesize(2, seed=2)
    assert (again.dense() == drawn.synthesize(2, seed=2).dense()).all()
    with pytest.raises(ParameterError, match="pool_size=200: 201 traces"):
        drawn.synthesize(201)


def test_a_pool_without_fakes_that_pass_leaves_users_without_traces(walks):
    model = SGLT(classes=1, par_l=0, par_c=0, par_v=1, geographic=0.0, pool_size=3).fit(walks, seed=1)
    assert model.synthesize(1, seed=2).n_events <= walks.n_users * walks.clock.instants_per_day
    assert model.pass_rates_.fakes == 3 * (walks.n_users - len(model.alternatives_))


def test_a_place_dropped_once_is_missing_all_day():
    """In one class of many places where everybody moves at random, thinned once a fake has few places."""
    rng = np.random.default_rng(1)
    places = Places(rng.random(40) / 10, rng.random(40) / 10)
    traces = Traces.from_dense(
        rng.integers(0, 40, (30, 60)), places, Clock(instants_per_day=60, interval_s=600)
    )
    mobility = AggregateMobility.of(MobilityProfiles.of(traces), places)
    rules = {
        "classes": LocationClasses.of(np.zeros(40, int)),
        "mobility": mobility,
        "par_c": 0.8,
        "par_v": 50.0,
    }
    visited = [
        np.mean(
            [len(set(fake)) for fake in maker.make(traces.dense(), np.arange(30), seed_sequence(1)).places]
        )
        for maker in (FakeMaker(**rules), FakeMaker(**rules, thin_once=True))
    ]
    # Of 39 other places a fifth is kept.
    assert visited[1] < 0.2 * 39 + 3 < visited[0]


def test_the_program_has_rules_of_its_own():
    with pytest.raises(ParameterError, match="its own rules for thin_once and starts"):
        SGLT(legacy_sglt=True, thin_once=True, starts=3)
