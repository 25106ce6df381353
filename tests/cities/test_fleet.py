"""Vehicles in shifts that report at intervals of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from tracearena.cities import gps as receivers
from tracearena.cities import simulate_fleet
from tracearena.cities.gps import LONGEST_INTERVAL_S, SHORTEST_INTERVAL_S
from tracearena.cities.simulation import UTC_OFFSET_S
from tracearena.engine import use
from tracearena.errors import ParameterError
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m

DAY_S = 86_400


@pytest.fixture(scope="module")
def fleet() -> GpsTraces:
    return simulate_fleet(vehicles=60, days=14, seed=1)


def gaps(fleet: GpsTraces, vehicle: int) -> np.ndarray:
    """Return the seconds between reports of one vehicle within its shifts."""
    rows = slice(*fleet.offsets[vehicle : vehicle + 2])
    same = np.diff(fleet.trajectory[rows]) == 0
    return np.diff(fleet.time_ms[rows])[same] / 1000


@pytest.mark.slow
def test_the_seed_decides_everything_for_any_number_of_threads(fleet: GpsTraces) -> None:
    with use(threads=1):
        assert simulate_fleet(vehicles=60, days=14, seed=1) == fleet
    with use(threads=3):
        assert simulate_fleet(vehicles=60, days=14, seed=1) == fleet
    assert simulate_fleet(vehicles=60, days=14, seed=2) != fleet


def test_the_first_vehicles_of_a_larger_fleet_are_the_same(fleet: GpsTraces) -> None:
    few = simulate_fleet(vehicles=20, days=14, seed=1)
    assert np.array_equal(few.time_ms, fleet.time_ms[: few.n_points])
    assert np.array_equal(few.latitude, fleet.latitude[: few.n_points])


def test_every_vehicle_reports_at_an_interval_of_its_own(fleet: GpsTraces) -> None:
    typical = np.array([np.median(gaps(fleet, vehicle)) for vehicle in range(60)])
    assert typical.min() >= SHORTEST_INTERVAL_S - 1
    assert typical.max() <= LONGEST_INTERVAL_S + 1
    # Every whole number of seconds is as likely.
    assert kstest(typical, "uniform", (SHORTEST_INTERVAL_S - 0.5, 101)).pvalue > 0.01
    for vehicle in range(60):
        single = gaps(fleet, vehicle)[gaps(fleet, vehicle) < 1.5 * typical[vehicle]]
        assert np.abs(single - typical[vehicle]).max() <= 6
        assert single.std() < 1.2


def test_some_reports_are_lost(fleet: GpsTraces) -> None:
    lost = [(gaps(fleet, vehicle) > 1.5 * np.median(gaps(fleet, vehicle))).mean() for vehicle in range(60)]
    assert np.mean(lost) == pytest.approx(receivers.LOST, abs=0.003)


def test_reports_come_at_whole_seconds_and_in_order(fleet: GpsTraces) -> None:
    assert (fleet.time_ms % 1000 == 0).all()
    assert min(gaps(fleet, vehicle).min() for vehicle in range(60)) > SHORTEST_INTERVAL_S - 5


@pytest.mark.slow
def test_some_vehicles_have_a_fixed_day_off() -> None:
    fleet = simulate_fleet(vehicles=40, days=70, seed=4)
    begins = np.flatnonzero(np.diff(fleet.trajectory, prepend=-1))
    weekday = (fleet.time_ms[begins] // 1000 + UTC_OFFSET_S) // DAY_S % 7
    # Day shifts alone: a late one may begin after midnight.
    hour = (fleet.time_ms[begins] // 1000 + UTC_OFFSET_S) % DAY_S // 3600
    by_day = np.stack([np.bincount(weekday[fleet.user_index[begins] == u], minlength=7) for u in range(40)])
    by_day = by_day[[np.ptp(hour[fleet.user_index[begins] == u]) < 8 for u in range(40)]]
    assert 0.3 < (by_day.min(axis=1) == 0).mean() < 0.7


def test_shifts_take_hours_and_vehicles_have_days_off(fleet: GpsTraces) -> None:
    begins = np.flatnonzero(np.diff(fleet.trajectory, prepend=-1))
    ends = np.append(begins[1:], fleet.n_points) - 1
    hours = (fleet.time_ms[ends] - fleet.time_ms[begins]) / 3_600_000
    assert 7.5 < np.median(hours) < 8.5
    assert hours.max() < 14
    of_vehicle = np.bincount(fleet.user_index[begins], minlength=60)
    assert 10 < of_vehicle.mean() < 12.5
    assert of_vehicle.min() < 9


def test_every_vehicle_starts_at_its_own_time_of_day(fleet: GpsTraces) -> None:
    begins = np.flatnonzero(np.diff(fleet.trajectory, prepend=-1))
    angle = 2 * np.pi * ((fleet.time_ms[begins] / 1000 + UTC_OFFSET_S) % DAY_S) / DAY_S
    vehicle = fleet.user_index[begins]
    mean = np.bincount(vehicle, np.cos(angle)) + 1j * np.bincount(vehicle, np.sin(angle))
    # The mean resultant length is 1 where all shifts begin at the same time.
    assert np.median(np.abs(mean) / np.bincount(vehicle)) > 0.95
    assert np.abs(np.exp(1j * angle).mean()) < 0.7


def test_vehicles_keep_to_the_streets_and_drive_and_wait(fleet: GpsTraces) -> None:
    north, east = receivers.degree_m()
    x, y = (fleet.longitude - 150.0) * east, (fleet.latitude - 34.9) * north
    street = receivers.STREET_M
    away = np.minimum(np.abs(x - np.rint(x / street) * street), np.abs(y - np.rint(y / street) * street))
    assert np.quantile(away, 0.99) < 15
    same = np.diff(fleet.trajectory) == 0
    metres = distance_m(fleet.latitude[:-1], fleet.longitude[:-1], fleet.latitude[1:], fleet.longitude[1:])
    speed = metres[same] / (np.diff(fleet.time_ms)[same] / 1000)
    assert np.quantile(speed, 0.99) < 20
    assert 0.25 < (speed > 2).mean() < 0.75


@pytest.mark.parametrize("days", [1, 2])
def test_every_vehicle_has_a_shift_even_on_few_days(days: int) -> None:
    short = simulate_fleet(vehicles=40, days=days, seed=3)
    assert (np.diff(short.offsets) > 0).all()
    local = short.time_ms // 1000 + UTC_OFFSET_S
    assert np.ptp(local // DAY_S) < days


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vehicles": 0}, "vehicles = 0"),
        ({"days": 0}, "days = 0"),
        ({"days": 1.5}, "days = 1.5"),
        ({"vehicles": 100_000, "days": 365}, "vehicles × days"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        simulate_fleet(**wrong)
