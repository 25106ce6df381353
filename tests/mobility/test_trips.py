"""Trips are cut from each recording alone: by gaps, by the box, and by their length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.mobility.trips import FEWEST_POINTS, MOST_POINTS, cut_trips
from tracearena.traces import Box, GpsTraces

BOX = Box(10, 20, 12, 24)


def record(seconds: list[float], latitude: list[float], user: int = 1, longitude: float = 21.0) -> GpsTraces:
    times = (np.array(seconds) * 1000).astype(np.int64)
    return GpsTraces.from_points([user] * len(times), times, latitude, [longitude] * len(times))


def test_positions_are_interpolated_at_whole_minutes() -> None:
    trips = cut_trips(record([0, 300, 660], [10.0, 10.5, 11.1]), BOX)
    assert trips.offsets.tolist() == [0, 12]
    assert trips.y == pytest.approx(np.linspace(0, 1.1, 12) / 2)
    assert trips.x == pytest.approx(np.full(12, 0.25))


def test_a_gap_of_more_than_ten_minutes_cuts() -> None:
    seconds = [*range(0, 1201, 60), *range(1801, 3002, 60)]
    assert np.diff(cut_trips(record(seconds, [11.0] * len(seconds)), BOX).offsets).tolist() == [21, 21]
    seconds = [*range(0, 1201, 60), *range(1800, 3001, 60)]
    assert np.diff(cut_trips(record(seconds, [11.0] * len(seconds)), BOX).offsets).tolist() == [51]


def test_leaving_the_box_cuts() -> None:
    latitude = [11.0] * 15 + [12.001] + [12.0] * 15
    trips = cut_trips(record([60.0 * i for i in range(31)], latitude), BOX)
    assert np.diff(trips.offsets).tolist() == [15, 15]
    assert trips.y[-1] == 1.0


@pytest.mark.parametrize(
    ("minutes", "sizes"),
    [(9, []), (10, [10]), (120, [120]), (129, [120]), (130, [120, 10]), (250, [120, 120, 10])],
)
def test_pieces_are_cut_to_two_hours_and_short_ones_are_left_out(minutes: int, sizes: list[int]) -> None:
    trips = cut_trips(record([60.0 * i for i in range(minutes)], [11.0] * minutes), BOX)
    assert np.diff(trips.offsets).tolist() == sizes


def test_recordings_of_a_user_are_not_joined() -> None:
    times = np.arange(40) * 30_000
    traces = GpsTraces.from_points(
        [1] * 80, np.tile(times, 2), [11.0] * 80, [21.0] * 80, trajectories=[0, 1] * 40
    )
    assert np.diff(cut_trips(traces, BOX).offsets).tolist() == [20, 20]


points = st.lists(st.tuples(st.integers(0, 900), st.floats(9.9, 12.1)), max_size=40)


@given(lives=st.lists(points, min_size=2, max_size=4))
@examples(100)
def test_trips_of_a_user_do_not_depend_on_others(lives: list[list[tuple[int, float]]]) -> None:
    def make(chosen: list[int]) -> GpsTraces:
        rows = [
            (user, moment, latitude)
            for user in chosen
            for moment, (_, latitude) in zip(
                np.cumsum([gap for gap, _ in lives[user]]), lives[user], strict=True
            )
        ]
        who, when, where = np.array(rows, float).reshape(-1, 3).T
        return GpsTraces.from_points(
            who.astype(int),
            (when * 1000).astype(int),
            where,
            np.full(len(who), 21.0),
            user_ids=np.array(chosen),
        )

    together = cut_trips(make(list(range(len(lives)))), BOX)
    for user in range(len(lives)):
        alone = cut_trips(make([user]), BOX)
        own = together.user == user
        assert np.array_equal(np.diff(together.offsets)[own], np.diff(alone.offsets))
        assert np.array_equal(together.y[own[together.of_point]], alone.y)
        sizes = np.diff(alone.offsets)
        assert ((sizes >= FEWEST_POINTS) & (sizes <= MOST_POINTS)).all()
        assert ((alone.y >= 0) & (alone.y <= 1)).all()
