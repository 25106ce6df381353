"""People at regular instants."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

from tracearena import cities
from tracearena.cities.people import ARCHETYPES
from tracearena.engine import use
from tracearena.errors import ParameterError
from tracearena.io.pwscup import PWS_CLOCK
from tracearena.mobility import statistics
from tracearena.traces import Clock, Traces


@pytest.fixture(scope="module")
def city() -> Traces:
    return cities.simulate(users=600, days=28, seed=1)


@pytest.fixture(scope="module")
def ways() -> np.ndarray[Any, Any]:
    return cities.archetypes(600, seed=1)


def test_everybody_is_somewhere_at_every_instant(city: Traces) -> None:
    assert city.is_complete
    assert (city.n_users, city.n_instants) == (600, 28 * 48)
    assert city.user_ids[0] == 1
    assert city.clock.first_day == date(2019, 4, 1)


def test_the_same_seed_gives_the_same_city_for_any_number_of_threads() -> None:
    with use(threads=1):
        one = cities.simulate(users=600, days=2, seed=7)
    with use(threads=3):
        assert one == cities.simulate(users=600, days=2, seed=7)
    assert one != cities.simulate(users=600, days=2, seed=8)


def test_the_first_people_of_a_larger_city_are_the_same(city: Traces) -> None:
    few = cities.simulate(users=300, days=28, seed=1)
    assert np.array_equal(few.place_index, city.take_users(np.arange(300)).place_index)


def test_another_clock_watches_the_same_lives(city: Traces) -> None:
    contest = cities.simulate(users=600, days=28, seed=1, clock=PWS_CLOCK)
    second = city.clock.second_of_day(city.instants)
    inside = (second >= 8 * 3600) & (second <= 17.5 * 3600)
    assert np.array_equal(contest.place_index, city.place_index[inside])


def test_one_user_and_one_day_are_enough() -> None:
    alone = cities.simulate(users=1, days=1, clock=Clock(instants_per_day=1), seed=1)
    assert (alone.n_users, alone.n_events) == (1, 1)


def test_most_people_are_at_home_at_night_and_away_at_noon(city: Traces) -> None:
    home = statistics.share_at_home(city, np.flatnonzero(np.arange(28) % 7 < 5))
    assert home[4:12].min() > 0.9
    assert 0.15 < home[24:32].max() < 0.45


def test_weekends_differ_from_weekdays(city: Traces) -> None:
    weekend = np.arange(28) % 7 >= 5
    noon = [statistics.share_at_home(city, np.flatnonzero(days))[24] for days in (weekend, ~weekend)]
    assert noon[0] > noon[1] + 0.15


def test_the_weekday_follows_from_the_date() -> None:
    monday = cities.simulate(users=200, days=2, seed=1)
    saturday = Clock(instants_per_day=48, interval_s=1800, first_day=date(2019, 4, 6))
    free = cities.simulate(users=200, days=2, seed=1, clock=saturday)
    assert statistics.share_at_home(free)[24] > statistics.share_at_home(monday)[24] + 0.1


def test_no_two_days_of_a_person_are_alike(city: Traces) -> None:
    days = city.dense().reshape(600, 28, 48)
    weekdays = days[:, np.arange(28) % 7 < 5]
    alike = (weekdays[:, 1:] == weekdays[:, :-1]).all(axis=2).mean()
    assert alike < 0.1


def test_people_are_seen_on_their_way(city: Traces) -> None:
    dense = city.dense()
    middle = (dense[:, 1:-1] != dense[:, :-2]) & (dense[:, 1:-1] != dense[:, 2:])
    assert 0.01 < middle.mean() < 0.2


def test_ways_of_life_have_their_shares(ways: np.ndarray[Any, Any]) -> None:
    for way in ARCHETYPES:
        assert (ways == way.name).mean() == pytest.approx(way.share, abs=0.05)
    assert sum(way.share for way in ARCHETYPES) == pytest.approx(1)


def test_ways_of_life_show_in_the_traces(city: Traces, ways: np.ndarray[Any, Any]) -> None:
    dense = city.dense()
    home = np.array([np.bincount(row).argmax() for row in dense])
    away = (dense != home[:, None]).reshape(600, 28, 48)[:, np.arange(28) % 7 < 5].mean(axis=1)
    office, night, based = (
        away[ways == name].mean(axis=0) for name in ("office commuter", "night worker", "home-based")
    )
    assert office[22] > 0.75
    assert night[4] > 0.5 > 0.1 > office[4]
    assert based.mean() < 0.25 < office.mean()


def test_hospital_regions_see_a_few_percent_of_contest_hours() -> None:
    contest = cities.simulate(users=2000, days=10, seed=2, clock=PWS_CLOCK)
    assert 0.02 < contest.places.sensitive[contest.place_index].mean() < 0.04


def test_most_people_can_be_told_apart_by_where_they_go() -> None:
    team = cities.simulate(users=400, days=40, seed=3, clock=PWS_CLOCK)
    counts = [
        np.array([np.bincount(row, minlength=1024) for row in part.dense()]) for part in team.split_days(20)
    ]
    score = counts[1] @ np.log(np.maximum(counts[0] / 400, 1e-8)).T
    assert (score.argmax(axis=1) == np.arange(400)).mean() > 0.9


@pytest.mark.slow
def test_one_day_does_not_give_everybody_away() -> None:
    team = cities.simulate(users=2000, days=2, seed=3, clock=PWS_CLOCK)
    counts = [
        np.array([np.bincount(row, minlength=1024) for row in part.dense()]) for part in team.split_days(1)
    ]
    score = counts[1] @ np.log(np.maximum(counts[0] / 20, 1e-8)).T
    assert (score.argmax(axis=1) == np.arange(2000)).mean() < 0.8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"users": 0}, "users = 0"),
        ({"users": 2.5}, "users = 2.5"),
        ({"users": True}, "users = True"),
        ({"days": -1}, "days = -1"),
        ({"mode": "taxi"}, "regular or checkins"),
        ({"seed": -1}, "seed = -1"),
        ({"mode": "checkins", "top": 0}, "top = 0"),
        ({"mode": "checkins", "checkins_per_user": 0.5}, "checkins_per_user = 0.5"),
        ({"mode": "checkins", "checkins_per_user": float("nan")}, "checkins_per_user = nan"),
        ({"mode": "checkins", "clock": PWS_CLOCK}, "whole days"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        cities.simulate(**{"users": 300, "days": 1, **wrong})
