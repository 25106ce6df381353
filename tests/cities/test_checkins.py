"""Check-ins: sparse, bursty, at POIs."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena import cities
from tracearena.cities.simulation import UTC_OFFSET_S
from tracearena.engine import use
from tracearena.traces import Clock, Traces


@pytest.fixture(scope="module")
def checkins() -> Traces:
    return cities.simulate(users=2000, days=730, mode="checkins", seed=1)


def test_everybody_checks_in_and_the_mean_is_the_one_asked_for(checkins: Traces) -> None:
    counts = np.diff(checkins.offsets)
    assert counts.min() >= 1
    assert counts.mean() == pytest.approx(30, rel=0.1)
    assert counts.max() > 10 * np.median(counts)


def test_check_ins_happen_at_the_most_attractive_pois(checkins: Traces) -> None:
    assert checkins.places == cities.pois(top=1000)
    assert len(np.unique(checkins.place_index)) > 900


def test_instants_are_the_local_hours_of_the_timestamps(checkins: Traces) -> None:
    assert checkins.timestamps is not None
    assert checkins.clock.first_day is not None
    midnight = np.datetime64(checkins.clock.first_day, "s").astype(np.int64)
    local = checkins.timestamps + UTC_OFFSET_S - midnight
    assert np.array_equal(local // 3600, checkins.instants)
    assert checkins.span == (0, 730 * 24)


def test_check_ins_are_bursty_with_gaps_of_weeks(checkins: Traces) -> None:
    assert checkins.timestamps is not None
    same = np.diff(checkins.user_index) == 0
    gaps = np.diff(checkins.timestamps)[same]
    assert (gaps >= 0).all()
    assert (gaps < 3600).mean() > 0.2
    assert (gaps > 14 * 86_400).mean() > 0.1
    assert gaps.std() > 1.5 * gaps.mean()
    assert not checkins.is_regular


def test_check_ins_cover_the_whole_time(checkins: Traces) -> None:
    share = np.histogram(checkins.instants, bins=4, range=checkins.span)[0] / checkins.n_events
    assert share == pytest.approx([0.25] * 4, abs=0.03)


def test_people_check_in_by_day(checkins: Traces) -> None:
    hour = checkins.clock.time_of_day(checkins.instants)
    assert ((hour >= 2) & (hour < 6)).mean() < 0.03
    assert ((hour >= 11) & (hour < 14)).mean() > 0.15


def test_the_first_people_of_a_larger_simulation_check_in_alike() -> None:
    many = cities.simulate(users=600, days=60, mode="checkins", seed=7)
    few = cities.simulate(users=300, days=60, mode="checkins", seed=7)
    assert few == many.take_users(np.arange(300))


def test_nights_are_for_bars_and_mornings_for_trains(checkins: Traces) -> None:
    assert checkins.places.categories is not None
    category = checkins.places.categories[checkins.place_index]
    hour = checkins.clock.time_of_day(checkins.instants)
    bars = np.char.startswith(category, "nightlife/")
    trains = np.char.startswith(category, "travel/")
    assert bars[hour == 22].mean() > 10 * bars[hour == 8].mean()
    assert trains[hour == 8].mean() > 3 * trains[hour == 21].mean()


def test_the_same_seed_gives_the_same_check_ins_for_any_number_of_threads() -> None:
    with use(threads=1):
        one = cities.simulate(users=600, days=30, mode="checkins", seed=7)
    with use(threads=3):
        assert one == cities.simulate(users=600, days=30, mode="checkins", seed=7)
    assert one != cities.simulate(users=600, days=30, mode="checkins", seed=8)


@pytest.mark.slow
def test_all_pois_or_a_single_one_will_do() -> None:
    every = cities.simulate(users=50, days=10, mode="checkins", top=None, seed=1)
    single = cities.simulate(users=50, days=10, mode="checkins", top=1, seed=1)
    assert len(every.places) == 6000
    assert set(single.place_index.tolist()) == {0}


def test_one_user_one_day_and_finer_instants() -> None:
    clock = Clock(instants_per_day=144, interval_s=600)
    alone = cities.simulate(users=1, days=1, mode="checkins", clock=clock, seed=1)
    assert alone.n_users == 1
    assert alone.span == (0, 144)


def test_more_check_ins_than_anybody_remembers_places() -> None:
    busy = cities.simulate(users=2, days=730, mode="checkins", checkins_per_user=10_000, top=None, seed=1)
    assert busy.n_events > 2_000
