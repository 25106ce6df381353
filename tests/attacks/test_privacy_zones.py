"""Homes behind zones: circles around homes give them away, shifted ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.arena import find_homes
from tracearena.attacks import homes_behind_zones
from tracearena.cities import simulate_gps
from tracearena.errors import ParameterError
from tracearena.obfuscation import Snapping, TrimEnds, Zones
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m

HOUR = 3_600_000
HOME = (34.7, 135.5)
NORTH, EAST = 1 / 110_930, 1 / 91_600


def evenings_out(home: tuple[float, float] = HOME, longitude: float = 0.0, days: int = 12) -> GpsTraces:
    """Somebody who rides 2 km out along a street and home again, every day, in another direction."""
    rows = []
    for day in range(days):
        turn = 2.4 * day
        out = np.arange(0, 2000, 25.0)
        way = np.concatenate([out, out[::-1]])
        time = day * 24 * HOUR + 8 * HOUR + np.arange(len(way)) * 5000
        rows.append((time, home[0] + way * np.sin(turn) * NORTH, home[1] + way * np.cos(turn) * EAST))
    time, latitude, east = (np.concatenate(column) for column in zip(*rows, strict=True))
    east = (east + longitude + 180) % 360 - 180
    return GpsTraces.from_points([1] * len(time), time.astype(np.int64), latitude, east)


def error_m(released: GpsTraces, longitude: float = HOME[1], **known: float) -> float:
    guess = homes_behind_zones(released, **known)
    return float(distance_m(guess.latitude[0], guess.longitude[0], HOME[0], longitude)[0])


def test_a_circle_around_the_home_gives_the_home() -> None:
    released = Zones(radius=500, shift=0).transform(evenings_out())
    assert error_m(released, radius_m=500) < 30


def test_trimmed_ends_of_many_trips_give_the_home() -> None:
    released = TrimEnds(distance=300).transform(evenings_out())
    assert error_m(released, radius_m=300) < 30


def test_the_date_line_helps_nobody() -> None:
    trips = evenings_out(longitude=180 - HOME[1])
    released = Zones(radius=500, shift=0).transform(trips)
    assert error_m(released, longitude=180.0, radius_m=500) < 30


def test_nobody_and_nothing_are_found_without_points() -> None:
    nothing = GpsTraces.from_points([1], [0], [34.7], [135.5], user_ids=[1, 2])
    guess = homes_behind_zones(nothing, radius_m=500)
    assert np.isnan(guess.latitude).all()
    assert np.isnan(guess.longitude).all()
    findings = find_homes(nothing, nothing, mechanism=Zones(radius=500))
    assert findings.points_hidden == 0


def test_the_attack_is_told_a_mechanism_with_circles() -> None:
    trips = evenings_out(days=2)
    with pytest.raises(ParameterError, match="leaves out no circles"):
        find_homes(trips, trips, mechanism=Snapping(side=100))  # type: ignore[arg-type]


@pytest.mark.slow
def test_naive_zones_fall_and_shifted_ones_hold_in_the_city() -> None:
    people = simulate_gps(users=16, days=20, interval_s=10, recorded=0.9, seed=4)
    found = {
        shift: find_homes(people, zones.transform(people, seed=1), mechanism=zones)
        for shift, zones in ((0, Zones(radius=500, shift=0)), (900, Zones(radius=1000)))
    }
    assert found[0].home_found is not None
    assert found[900].home_found is not None
    assert found[0].home_found >= 0.7
    assert found[900].home_found <= 0.25


def rides_to_work(days: int = 12) -> GpsTraces:
    """Days of `evenings_out`, with twice as many points at work, six kilometres to the north-east."""
    rides = evenings_out(days=days)
    spot = np.tile(np.arange(320), days)
    time = np.repeat(np.arange(days), 320) * 24 * HOUR + 12 * HOUR + spot * 5000
    latitude = HOME[0] + (6000 + spot % 7) * NORTH
    longitude = HOME[1] + (6000 + spot % 5) * EAST
    return GpsTraces.from_points(
        [1] * (len(rides) + len(time)),
        np.concatenate([rides.time_ms, time]),
        np.concatenate([rides.latitude, latitude]),
        np.concatenate([rides.longitude, longitude]),
    )


def test_a_home_is_found_far_from_where_most_points_are() -> None:
    released = Zones(radius=500, shift=0).transform(rides_to_work())
    assert error_m(released, radius_m=500) < 30


def test_streets_lead_to_a_home_that_is_not_in_the_middle() -> None:
    """All streets meet at the home, and the middle of the circle is 250 m away from it."""
    rides = rides_to_work(days=6)
    away = distance_m(rides.latitude, rides.longitude, HOME[0], HOME[1] + 250 * EAST)
    released = rides.keep(np.asarray(away) > 500)
    assert error_m(released, radius_m=500, shift_m=300) < 60
