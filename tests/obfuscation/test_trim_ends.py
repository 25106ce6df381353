"""Trips lose their ends and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.obfuscation import TrimEnds
from tracearena.traces import GpsTraces

MINUTE = 60_000
METRE = 1 / 110_941


def walk(north: list[float], minutes: list[int] | None = None, trips: list[int] | None = None) -> GpsTraces:
    times = np.asarray(minutes or range(len(north))) * MINUTE
    latitude = 35 + np.array(north) * METRE
    return GpsTraces.from_points([1] * len(north), times, latitude, [135.0] * len(north), trajectories=trips)


def metres(traces: GpsTraces) -> list[float]:
    return ((traces.latitude - 35) / METRE).round().tolist()


def test_both_ends_of_a_trip_are_cut() -> None:
    trip = walk([0, 100, 290, 310, 600, 800, 900, 1000])
    assert metres(TrimEnds(distance=300).transform(trip)) == [310, 600]


def test_every_trajectory_is_a_trip() -> None:
    trips = walk([0, 400, 800, 1200, 1600, 2000], trips=[1, 1, 1, 2, 2, 2])
    assert metres(TrimEnds(distance=300).transform(trips)) == [400, 1600]


def test_a_silence_of_twenty_minutes_ends_a_trip() -> None:
    one = walk([0, 400, 800, 1200, 1600, 2000], minutes=[0, 1, 2, 12, 13, 14])
    two = walk([0, 400, 800, 1200, 1600, 2000], minutes=[0, 1, 2, 30, 31, 32])
    assert metres(TrimEnds(distance=300).transform(one)) == [400, 800, 1200, 1600]
    assert metres(TrimEnds(distance=300).transform(two)) == [400, 1600]


def test_a_stay_ends_a_trip_and_is_left_out_whole() -> None:
    north = [0, 400, 800, 1200, *[1500 + i % 3 for i in range(25)], 1900, 2300, 2700]
    assert metres(TrimEnds(distance=300).transform(walk(north))) == [400, 800, 1900, 2300]


def test_who_comes_back_to_the_begin_in_the_middle_is_released_there() -> None:
    loop = walk([0, 400, 100, 400, 800])
    assert metres(TrimEnds(distance=300).transform(loop)) == [400, 100, 400]


def test_a_short_trip_is_gone_and_its_user_is_not() -> None:
    released = TrimEnds(distance=300).transform(walk([0, 100, 200]))
    assert len(released) == 0
    assert released.user_ids.tolist() == [1]


@pytest.mark.parametrize("distance", [0, -1, 2e5, float("nan"), "far"])
def test_the_distance_is_checked(distance: float) -> None:
    with pytest.raises(ParameterError, match="distance"):
        TrimEnds(distance=distance)
