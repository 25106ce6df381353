"""Stay points, against the definition spelled out."""

from __future__ import annotations

import numpy as np
import pytest

import tracearena as ta
from tracearena.errors import DataError, ParameterError
from tracearena.mobility import stay_points
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m


def slow_stays(traces: GpsTraces, radius_m: float, min_duration_s: float) -> list[tuple[int, int, int]]:
    found = []
    for user in range(traces.n_users):
        i, end = int(traces.offsets[user]), int(traces.offsets[user + 1])
        while i < end:
            j = i + 1
            while (
                j < end
                and distance_m(
                    traces.latitude[i], traces.longitude[i], traces.latitude[j], traces.longitude[j]
                )[0]
                <= radius_m
            ):
                j += 1
            if j - i > 1 and traces.time_ms[j - 1] - traces.time_ms[i] >= min_duration_s * 1000:
                found.append((user, i, j))
                i = j
            else:
                i += 1
    return found


def test_stays_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    steps = rng.normal(0, 0.001, (2, 3, 100)) * (rng.random((1, 3, 100)) < 0.3)
    latitude, longitude = 40 + steps[0].cumsum(axis=1), 116 + steps[1].cumsum(axis=1)
    traces = GpsTraces.from_points(
        np.repeat([1, 2, 3], 100), np.tile(np.arange(100) * 120_000, 3), latitude.ravel(), longitude.ravel()
    )
    stays = stay_points(traces, radius_m=150, min_duration_s=900)
    expected = slow_stays(traces, 150, 900)
    assert len(expected) > 5
    assert stays.user.tolist() == [user for user, _, _ in expected]
    assert stays.arrival_ms.tolist() == [int(traces.time_ms[i]) for _, i, _ in expected]
    assert stays.departure_ms.tolist() == [int(traces.time_ms[j - 1]) for _, _, j in expected]
    assert stays.latitude == pytest.approx([traces.latitude[i:j].mean() for _, i, j in expected])
    assert stays.as_gps().n_points == len(stays)


def test_a_stay_on_the_date_line_lies_on_the_date_line() -> None:
    traces = GpsTraces.from_points([1, 1], [0, 3_600_000], [0.0, 0.0], [179.9999, -179.9999])
    assert abs(stay_points(traces).longitude[0]) == pytest.approx(180)


def test_nobody_stays_when_nobody_is_there() -> None:
    assert len(stay_points(GpsTraces.from_points([], [], [], [], user_ids=[1]))) == 0
    with pytest.raises(ParameterError, match="radius_m"):
        stay_points(GpsTraces.from_points([1], [0], [0], [0]), radius_m=0)


def test_a_table_of_points_is_answered_with_a_table_of_stays() -> None:
    pytest.importorskip("geopandas")
    traces = GpsTraces.from_points(
        ["ann"] * 4, np.arange(4) * 900_000, [40.0, 40.0001, 40.0002, 41.0], [116.0, 116.0, 116.0, 117.0]
    )
    stays = ta.stay_points(traces.to_frame("pandas"))
    assert stays.to_dict("records") == ta.stay_points(traces).to_frame("pandas").to_dict("records")
    assert list(stays.columns) == ["user_id", "started_at", "finished_at", "lat", "lng", "points"]
    assert stays.points.tolist() == [3]
    on_map = ta.stay_points(traces.to_frame("geopandas"))
    assert on_map.geometry.y.tolist() == pytest.approx([40.0001])


def test_stays_are_those_of_points_alone() -> None:
    with pytest.raises(DataError, match="stay_points works on GpsTraces; it got Traces"):
        ta.stay_points(ta.simulate(users=1, days=1, seed=1))
