"""Habits beside the formula as it is written, and the answer beside trying every place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import released

from tracearena.attacks.bayesian import HabitsInference
from tracearena.attacks.bayesian.profiles import (
    SETTINGS,
    Neighbourhoods,
    TimeProfiles,
    build_temporal_kernel,
    fit_temporal_kernel,
)
from tracearena.metrics.contest_scores import trace_inference_score
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces

Floats = NDArray[np.float64]
LIMIT_KM = 2.0


def slow_profiles(visits: Floats, places: Places, clock: Clock) -> Floats:
    """Return users × places × times of day from visits of the same shape."""
    hours = np.arange(clock.instants_per_day) * clock.interval_s / 3600
    tau, any_time = SETTINGS.temporal_kernels[0]
    near_in_time = np.exp(-np.abs(hours[:, None] - hours) / tau)
    in_time = any_time / len(hours) + (1 - any_time) * near_in_time / near_in_time.sum(axis=0)
    m = len(places)
    distance = np.array([places.distance_km(np.full(m, x), np.arange(m)) for x in range(m)])
    around = np.where((distance > 0) & (distance < LIMIT_KM), np.exp(-distance / SETTINGS.nearby_km), 0)
    in_space = np.eye(m)
    for x in range(m):
        if around[x].sum() > 0:
            in_space[x] = (
                SETTINGS.nearby_share * around[x] / around[x].sum()
                + (1 - SETTINGS.nearby_share) * np.eye(m)[x]
            )
    smooth = np.einsum("uxs,st,xy->uyt", visits, in_time, in_space)
    everybody = smooth.sum(axis=0)
    total = everybody.sum(axis=0)
    population = np.where(total > 0, everybody / np.where(total > 0, total, 1), 1 / m)
    population = 0.999 * population + 0.001 / m
    profiles = []
    for own in smooth:
        known = own.sum() > 0
        profiles.append(
            (own / own.sum(axis=0) + SETTINGS.population_weight * population)
            / (1 + SETTINGS.population_weight)
            if known
            else population
        )
    return np.array(profiles)


def counted(traces: Traces) -> Floats:
    visits = np.zeros((traces.n_users, len(traces.places), traces.clock.instants_per_day))
    time = traces.clock.time_of_day(traces.instants)
    np.add.at(visits, (traces.user_index, traces.place_index, time), 1)
    return visits


def test_a_profile_is_what_the_formula_says(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=5, days=3, missing=0.3)
    walks = walks.keep(walks.user_index != 2)
    profiles = TimeProfiles.of(walks, Neighbourhoods.of(walks.places, LIMIT_KM))
    expected = slow_profiles(counted(walks), walks.places, walks.clock)
    for user in range(5):
        found = profiles.user_profile(user)
        assert found == pytest.approx(expected[user], abs=1e-12)
        assert found.sum(axis=0) == pytest.approx(1)
    assert expected[2] == pytest.approx(profiles.population)


def test_check_ins_at_venues_have_habits_too(make_check_ins: Callable[..., Traces]) -> None:
    people = make_check_ins(users=4, events=60)
    profiles = TimeProfiles.of(people, Neighbourhoods.of(people.places, LIMIT_KM))
    expected = slow_profiles(counted(people), people.places, people.clock)
    for user in range(4):
        assert profiles.user_profile(user) == pytest.approx(expected[user], abs=1e-9)


def test_each_place_of_a_set_is_a_part_of_a_visit(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=1, days=1, side=3)
    codes = np.full(20, -1)
    codes[[3, 7]] = -2, 5
    release = ObfuscatedTraces.like(walks, codes, PlaceSets.of([[0, 1, 2, 3]]))
    visits = np.zeros((1, 9, 20))
    visits[0, :4, 3], visits[0, 5, 7] = 0.25, 1
    profiles = TimeProfiles.of(release, Neighbourhoods.of(walks.places, LIMIT_KM))
    expected = slow_profiles(visits, walks.places, walks.clock)
    assert profiles.user_profile(0) == pytest.approx(expected[0], abs=1e-12)


@pytest.mark.parametrize("sensitive_weight", [1.0, 10.0])
@pytest.mark.parametrize("limit_km", [1.0, 2.0])
def test_the_answer_costs_least(
    make_walks: Callable[..., Traces], sensitive_weight: float, limit_km: float
) -> None:
    reference, original = make_walks(users=6, days=4, side=6).split_days(2)
    attack = HabitsInference(sensitive_weight=sensitive_weight, limit_km=limit_km).fit(reference)
    places, m = reference.places, len(reference.places)
    profiles = TimeProfiles.with_fitted_kernel(reference, Neighbourhoods.of(places, limit_km))
    weight = np.where(places.sensitive, sensitive_weight, 1.0)
    distance = np.array([places.distance_km(np.full(m, x), np.arange(m)) for x in range(m)])
    lost = np.minimum(distance / limit_km, 1)
    for user in range(6):
        cost = np.einsum("xt,x,xc->ct", profiles.user_profile(user), weight, lost)
        taken = cost[attack.answers_[user], np.arange(20)]
        assert taken == pytest.approx(cost.min(axis=0), abs=1e-12)
    answer = attack.infer(released(original, "No"))
    assert np.array_equal(answer.dense(), np.tile(attack.answers_, 2))


def test_the_release_is_not_read(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=6, days=4).split_days(2)
    attack = HabitsInference().fit(reference)
    answers = [attack.infer(released(original, defence)) for defence in ("No", "RR(0.1)", "MRLH(0,0,1)")]
    assert answers[0] == answers[1] == answers[2]
    assert trace_inference_score(original, answers[0]).trace_inference < 0.9


def test_the_day_may_begin_anywhere(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3, days=3)
    later = ObfuscatedTraces.from_traces(walks.take_instants(27, 51))
    attack = HabitsInference().fit(walks)
    expected = attack.answers_[:, np.arange(27, 51) % 20]
    assert np.array_equal(attack.infer(later).dense(), expected)


def people_who_move(days: int, *, regular: bool, n_places: int = 8) -> Traces:
    """Return twenty people who are at another place every hour: every day the same ones, or as it comes."""
    rng = np.random.default_rng(1)
    places = Places(np.zeros(n_places), np.arange(n_places) * 0.1, km_per_degree=(100, 100))
    table = rng.integers(0, n_places, (20, days, 12))
    if regular:
        table[:, 1:] = table[:, :1]
    return Traces.from_dense(table.reshape(20, -1), places, Clock(instants_per_day=12))


def found_rhythm(people: Traces) -> Floats:
    population = TimeProfiles.of(people, Neighbourhoods.of(people.places, LIMIT_KM)).population
    return fit_temporal_kernel(people, population, SETTINGS.population_weight)


def test_visits_of_people_who_keep_to_their_times_count_for_those_times() -> None:
    people = people_who_move(4, regular=True)
    assert np.array_equal(found_rhythm(people), build_temporal_kernel(people.clock, 0.5, 0.2))


@pytest.mark.parametrize("days", [4, 1])
def test_visits_of_people_who_do_not_or_may_not_count_as_usual(days: int) -> None:
    people = people_who_move(days, regular=days == 1)
    usual = build_temporal_kernel(people.clock, *SETTINGS.temporal_kernels[0])
    rhythm = found_rhythm(people)
    assert np.array_equal(rhythm, usual) or rhythm[0, 0] < usual[0, 0]


def test_a_rhythm_is_that_of_every_visit_foretold_by_other_days(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=4, days=3, missing=0.3)
    population = TimeProfiles.of(walks, Neighbourhoods.of(walks.places, LIMIT_KM)).population
    time, day = walks.clock.time_of_day(walks.instants), walks.clock.day_of(walks.instants)
    likely = np.zeros(len(SETTINGS.temporal_kernels))
    for number, one in enumerate(SETTINGS.temporal_kernels):
        counts = build_temporal_kernel(walks.clock, *one)
        logs = []
        for e in range(walks.n_events):
            other = (walks.user_index == walks.user_index[e]) & (day != day[e])
            weights = counts[time[other], time[e]]
            own = weights[walks.place_index[other] == walks.place_index[e]].sum()
            everybody = population[walks.place_index[e], time[e]]
            if len(weights):
                logs.append(
                    np.log(
                        (own / weights.sum() + SETTINGS.population_weight * everybody)
                        / (1 + SETTINGS.population_weight)
                    )
                )
        likely[number] = np.mean(logs)
    best = (
        SETTINGS.temporal_kernels[int(likely.argmax())]
        if likely.max() - likely[0] > SETTINGS.kernel_gain
        else SETTINGS.temporal_kernels[0]
    )
    assert np.array_equal(found_rhythm(walks), build_temporal_kernel(walks.clock, *best))


def test_a_visit_counts_for_the_places_around_it_by_their_distance() -> None:
    """Three tenths go to the places around, by e^(-d / 0.5 km), and the population counts four tenths."""
    places = Places(np.zeros(4), np.array([0, 0.005, 0.010, 0.050]), km_per_degree=(100, 100))
    once = Traces.from_dense([[0, -1]], places, Clock(instants_per_day=2))
    profile = TimeProfiles.of(once, Neighbourhoods.of(places, LIMIT_KM)).user_profile(0)
    around = np.array([0, math.exp(-1), math.exp(-2), 0])
    own = np.array([0.7, 0, 0, 0]) + 0.3 * around / around.sum()
    population = 0.999 * own + 0.001 / 4
    expected = (own + 0.4 * population) / 1.4
    assert profile == pytest.approx(np.stack([expected, expected], axis=1))


def test_a_rhythm_is_that_of_all_people_in_any_order() -> None:
    """Two of twenty keep to their times; whoever they are, the others count as much."""
    regular, others = (people_who_move(20, regular=one).dense() for one in (True, False))
    rhythms = []
    for first in (0, 1):
        table = others.copy()
        table[[first, first + 14]] = regular[:2]
        people = people_who_move(20, regular=False)
        rhythms.append(found_rhythm(Traces.from_dense(table, people.places, people.clock)))
    assert np.array_equal(*rhythms)
