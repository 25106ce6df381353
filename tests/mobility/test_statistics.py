"""The laws of mobility, against slow and obvious ways to measure them, and what the city shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from tracearena import cities
from tracearena.errors import DataError, ParameterError
from tracearena.mobility import statistics
from tracearena.traces import Clock, Places, Traces


@pytest.fixture(scope="module")
def city() -> Traces:
    return cities.simulate(users=1000, days=40, seed=1)


@pytest.fixture(scope="module")
def walks(make_walks: Callable[..., Traces]) -> Traces:
    return make_walks(users=8, days=3, missing=0.1, seed=4)


def of(traces: Traces, user: int) -> list[int]:
    return traces.place_index[traces.offsets[user] : traces.offsets[user + 1]].tolist()


def test_radius_of_gyration_is_the_spread_around_the_mean(walks: Traces) -> None:
    slow = []
    for user in range(walks.n_users):
        points = walks.places.points_km[of(walks, user)]
        slow.append(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))
    assert statistics.radius_of_gyration_km(walks) == pytest.approx(slow, abs=1e-9)


def test_a_person_without_events_has_no_radius() -> None:
    places = Places([35.0, 35.1], [139.0, 139.1])
    traces = Traces.from_dense([[0, 1], [-1, -1]], places, Clock(instants_per_day=2))
    radius = statistics.radius_of_gyration_km(traces)
    assert radius[0] == pytest.approx(places.distance_km([0], [1])[0] / 2, rel=1e-4)
    assert np.isnan(radius[1])


def test_visit_frequencies_count_a_stay_once(walks: Traces) -> None:
    slow = np.zeros(5)
    for user in range(walks.n_users):
        places = of(walks, user)
        stays = [places[0]] + [b for a, b in pairwise(places) if a != b]
        for rank, (_, count) in enumerate(Counter(stays).most_common(5)):
            slow[rank] += count / len(stays) / walks.n_users
    assert statistics.visit_frequencies(walks, 5) == pytest.approx(slow)


def test_distinct_places_grow_day_by_day(walks: Traces) -> None:
    day = walks.clock.day_of(walks.instants)
    slow = [
        np.mean(
            [len(set(walks.place_index[(walks.user_index == u) & (day <= d)].tolist())) for u in range(8)]
        )
        for d in range(3)
    ]
    assert statistics.distinct_places(walks) == pytest.approx(slow)


def test_return_times_run_from_arrival_to_arrival() -> None:
    places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2])
    traces = Traces.from_dense([[0, 0, 1, 0, 2, 1, 0]], places, Clock(instants_per_day=7))
    assert sorted(statistics.return_times_h(traces)) == [3, 3, 3]


def test_real_entropy_is_the_lempel_ziv_estimate(walks: Traces) -> None:
    def slow(sequence: list[int]) -> float:
        total = 0
        for i in range(len(sequence)):
            longest = 0
            for j in range(i):
                k = 0
                while i + k < len(sequence) and j + k < i and sequence[i + k] == sequence[j + k]:
                    k += 1
                longest = max(longest, k)
            total += longest + 1
        return float(np.log2(len(sequence)) * len(sequence) / total)

    assert statistics.entropies(walks).real == pytest.approx([slow(of(walks, user)) for user in range(8)])


@pytest.mark.slow
def test_entropies_are_ordered_and_predictability_is_a_share(city: Traces) -> None:
    bits = statistics.entropies(city.take_users(np.arange(100)))
    assert (bits.real < bits.uncorrelated).all()
    assert (bits.uncorrelated < bits.random).all()
    assert ((bits.predictability > 0) & (bits.predictability < 1)).all()


def test_somebody_who_never_moves_is_wholly_predictable() -> None:
    places = Places([35.0], [139.0])
    bits = statistics.entropies(Traces.from_dense([[0, 0, 0, 0]], places, Clock(instants_per_day=4)))
    assert (bits.random[0], bits.uncorrelated[0], bits.real[0]) == (0, 0, 0)
    assert bits.predictability[0] == pytest.approx(1)


def test_a_known_trip_length_law_is_found_again() -> None:
    rng = np.random.default_rng(0)
    km = np.linspace(0.01, 40, 100_000)
    weight = (km + 1.5) ** -1.75 * np.exp(-km / 10)
    law = statistics.trip_length_law(rng.choice(km, 200_000, p=weight / weight.sum()))
    assert law.exponent == pytest.approx(1.75, abs=0.15)
    assert law.cutoff_km == pytest.approx(10, rel=0.2)


def test_laws_need_something_to_measure() -> None:
    with pytest.raises(DataError, match="two trips"):
        statistics.trip_length_law([1.0, 1.0])
    with pytest.raises(ParameterError, match="ranks"):
        statistics.visit_frequencies(cities.simulate(users=1, days=1, seed=1), 0)
    places = Places([35.0], [139.0])
    with pytest.raises(DataError, match="two events"):
        statistics.entropies(Traces.from_dense([[0]], places, Clock(instants_per_day=1)))


@pytest.mark.slow
def test_the_city_obeys_the_published_laws(city: Traces) -> None:
    hourly = city.keep(city.instants % 2 == 0)
    found = statistics.measure(hourly)
    assert found.zipf == pytest.approx(1.2, abs=0.15)
    assert found.exploration == pytest.approx(0.6, abs=0.1)
    assert found.entropy_real == pytest.approx(0.8, abs=0.2)
    assert found.predictability == pytest.approx(0.93, abs=0.03)
    assert 0.5 < found.gyration_km < 3
    assert set(found.to_dict()) >= {"zipf", "trip_exponent"}


def test_trip_lengths_of_the_city_are_a_truncated_power_law(city: Traces) -> None:
    law = statistics.trip_length_law(statistics.trip_lengths_km(city))
    assert 1.2 < law.exponent < 1.9
    assert 2 < law.cutoff_km < 8


def test_people_return_after_a_day_and_after_a_week(city: Traces) -> None:
    hours = np.bincount(np.rint(statistics.return_times_h(city)).astype(int))
    for period in (24, 48, 168):
        assert hours[period] > 3 * hours[period - 12]
        assert hours[period] > 3 * hours[period + 12]


def test_check_ins_obey_exploration_and_preferential_return() -> None:
    found = statistics.measure(cities.simulate(users=2000, days=730, mode="checkins", seed=1))
    assert found.zipf == pytest.approx(1.0, abs=0.25)
    assert found.exploration == pytest.approx(1 / (1 + 0.21), abs=0.06)
