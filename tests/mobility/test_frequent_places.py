"""Where people stop, and how often."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.mobility.stays import find_frequent_places
from tracearena.traces import GpsTraces

MINUTE = 60_000
METRE = 1 / 111_195


def trip(begin_min: int, metres: list[float], user: int = 1, east: float = 0.0) -> list[tuple[float, ...]]:
    """Points a minute apart, so many metres north of the equator's origin."""
    return [(user, (begin_min + i) * MINUTE, north * METRE, east) for i, north in enumerate(metres)]


def traces(*rows: list[tuple[float, ...]]) -> GpsTraces:
    users, times, latitude, longitude = zip(*chain(*rows), strict=True)
    return GpsTraces.from_points(np.array(users, int), np.array(times, int), latitude, longitude)


WAY = [0.0, 1000.0, 2000.0, 3000.0]


def test_a_night_without_points_is_a_stop_at_home() -> None:
    out_and_home = traces(trip(0, WAY), trip(60, WAY[::-1]), trip(700, WAY))
    places = find_frequent_places(out_and_home)
    found = {round(lat / METRE): stops for lat, stops in zip(places.latitude, places.stops, strict=True)}
    assert found == {0: 2, 3000: 2}  # before and after the night it is one stay; the begin is an end


def test_a_pause_shorter_than_twenty_minutes_is_none() -> None:
    places = find_frequent_places(traces(trip(0, WAY), trip(10, [3000.0, 6000.0])))
    assert sorted((places.latitude / METRE).round().tolist()) == [0, 6000]


def test_stops_within_200_m_are_at_one_place_in_their_middle() -> None:
    rows = [trip(day * 1440, [at, 5000.0 + 1000 * day]) for day, at in enumerate((0.0, 30.0, 80.0))]
    places = find_frequent_places(traces(*rows))
    assert places.stops.max() == 3
    assert places.latitude[places.stops.argmax()] / METRE == pytest.approx(30, abs=0.1)


def test_the_most_frequent_places_come_first() -> None:
    rows = [trip(day * 1440, [0.0, 5000.0 + 1000 * (day // 2)]) for day in range(5)]
    rows += [trip(0, [0.0, 5000.0], user=2)]
    places = find_frequent_places(traces(*rows))
    assert places.most_frequent(1).stops.tolist() == [5, 1]
    assert places.most_frequent(2).stops.tolist() == [5, 2, 1, 1]


def test_places_on_the_date_line_are_one() -> None:
    rows = [(1, day * 1440 * MINUTE, 0.0, east) for day, east in enumerate((179.9999, -179.9999, 179.9999))]
    places = find_frequent_places(traces(rows))
    assert places.stops.sum() == 1  # one long stay
    assert abs(places.longitude[0]) == pytest.approx(179.9999, abs=3e-4)


def test_no_points_no_places() -> None:
    nothing = GpsTraces.from_points([], [], [], [], user_ids=[1, 2])
    assert len(find_frequent_places(nothing).most_frequent(3)) == 0
    with pytest.raises(ParameterError, match="reach_m"):
        find_frequent_places(nothing, reach_m=0)
