"""GPS points to events and back."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces
from tracearena.traces.gridding import as_gps, grid_points, resample_points

HOUR = 3_600_000
PLACES = Places.of_grid(Grid(rows=2, columns=2, south=0, west=0, north=2, east=2))
CLOCK = Clock(instants_per_day=24)


def walk(*points: tuple[float, float, float]) -> GpsTraces:
    """Points of one user: hours, latitude, longitude."""
    hours, latitude, longitude = zip(*points, strict=True)
    return GpsTraces.from_points([1] * len(points), np.rint(np.array(hours) * HOUR), latitude, longitude)


def test_every_point_inside_becomes_an_event_of_its_cell_and_hour() -> None:
    events = grid_points(walk((0.5, 0.5, 0.5), (1.2, 1.5, 0.5), (1.4, 1.5, 1.5), (2, 9, 9)), PLACES, CLOCK)
    assert events.place_index.tolist() == [0, 2, 3]
    assert events.instants.tolist() == [0, 1, 1]
    assert events.timestamps is not None
    assert events.timestamps.tolist() == [1800, 4320, 5040]


def test_hours_are_those_of_the_zone() -> None:
    events = grid_points(walk((0, 0.5, 0.5)), PLACES, CLOCK, timezone="Asia/Shanghai")
    assert events.instants.tolist() == [8]
    assert events.clock.first_day == date(1970, 1, 1)


def test_points_outside_the_hours_of_the_clock_have_no_event() -> None:
    office = Clock(instants_per_day=9, start_s=9 * 3600)
    events = grid_points(
        walk((8.9, 0.5, 0.5), (9, 0.5, 0.5), (17.9, 0.5, 0.5), (18, 0.5, 0.5)), PLACES, office
    )
    assert events.instants.tolist() == [0, 8]


@pytest.mark.parametrize(
    ("method", "expected"),
    [("last", {1: 0, 2: 0, 3: 2}), ("nearest", {0: 0, 1: 0, 2: 2, 3: 2}), ("interpolate", {1: 0, 2: 2})],
)
def test_resampling(method: str, expected: dict[int, int]) -> None:
    traces = walk((0.9, 0.5, 0.5), (2.3, 1.5, 0.5))
    events = resample_points(traces, PLACES, CLOCK, method=method, max_gap_s=5400)  # type: ignore[arg-type]
    assert dict(zip(events.instants.tolist(), events.place_index.tolist(), strict=True)) == expected


def test_a_point_exactly_at_the_instant_counts_for_every_method() -> None:
    for method in ("last", "nearest", "interpolate"):
        events = resample_points(walk((3, 0.5, 0.5)), PLACES, CLOCK, method=method, max_gap_s=60)  # type: ignore[arg-type]
        assert events.instants.tolist() == [3]


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ParameterError, match="last, nearest or interpolate"):
        resample_points(walk((0, 0, 0)), PLACES, CLOCK, method="mean")  # type: ignore[arg-type]


def test_events_become_points_at_the_centres_and_come_back() -> None:
    clock = Clock(instants_per_day=24, first_day=date(2019, 4, 1))
    events = Traces.from_dense([[0, 1, -1], [3, 3, 2]], PLACES, clock)
    points = as_gps(events, timezone="Asia/Tokyo")
    back = grid_points(points, PLACES, clock, timezone="Asia/Tokyo")
    assert back.place_index.tolist() == events.place_index.tolist()
    assert back.instants.tolist() == events.instants.tolist()
    with pytest.raises(DataError, match="first_day"):
        as_gps(Traces.from_dense([[0]], PLACES, CLOCK))
