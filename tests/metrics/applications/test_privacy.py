"""What still leaks: homes, and the error of released points."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.metrics.applications import compare_homes, distance_error, homes_and_workplaces
from tracearena.obfuscation import GeoInd, Thinning
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m

HOUR = 3_600_000


def commuter(seed: int = 0, days: int = 5) -> GpsTraces:
    """Nights at 40.000, office hours at 40.030, on Monday to Friday of April 2019, near 116.4 (UTC+8)."""
    rng = np.random.default_rng(seed)
    first = int(np.datetime64("2019-04-01", "ms").astype(np.int64)) - 8 * HOUR
    minutes = np.arange(0, days * 1440, 10)
    hour = minutes / 60 % 24
    latitude = np.where((hour >= 9) & (hour < 18), 40.030, 40.000) + rng.normal(0, 2e-5, len(minutes))
    return GpsTraces.from_points(
        [1] * len(minutes), first + minutes * 60_000, latitude, [116.4] * len(minutes)
    )


def test_home_is_where_the_nights_are_and_work_where_the_days_are() -> None:
    for timezone in (None, "Asia/Shanghai"):
        places = homes_and_workplaces(commuter(), timezone=timezone)
        assert distance_m(places.home_latitude, places.home_longitude, 40.0, 116.4)[0] < 10
        assert distance_m(places.work_latitude, places.work_longitude, 40.03, 116.4)[0] < 10


def test_independent_noise_does_not_hide_a_home() -> None:
    original = commuter()
    found = compare_homes(original, GeoInd(expected_noise=100).transform(original, seed=1))
    assert found.home_found == found.work_found == 1
    assert found.home_error_m is not None
    assert found.home_error_m < 60
    hidden = compare_homes(original, GeoInd(expected_noise=20_000).transform(original, seed=1))
    assert hidden.home_found == 0


@pytest.mark.parametrize(
    ("clock", "at_home", "at_work"),
    [("07:59", 1, 0), ("08:00", 0, 0), ("09:59", 0, 0), ("10:00", 0, 1), ("16:59", 0, 1), ("17:00", 0, 0),
     ("19:59", 0, 0), ("20:00", 1, 0)],
)  # fmt: skip
def test_nights_last_from_eight_to_eight_and_office_hours_from_ten_to_five(
    clock: str, at_home: int, at_work: int
) -> None:
    monday = int(np.datetime64(f"2019-04-01T{clock}", "ms").astype(np.int64))
    traces = GpsTraces.from_points([1], [monday], [40.0], [0.0])
    found = compare_homes(traces, traces, timezone="UTC")
    assert (found.users_with_home, found.users_with_work) == (at_home, at_work)


@pytest.mark.parametrize(("apart", "chance"), [(0.001, 1.0), (0.01, 0.0)])
def test_the_home_of_a_neighbour_is_found_by_chance(apart: float, chance: float) -> None:
    """Of two people, who live 111 m or 1.1 km apart."""
    traces = GpsTraces.from_points([1, 2], [0, 0], [40.0, 40.0 + apart], [0.0, 0.0])
    assert compare_homes(traces, traces, timezone="UTC").home_chance == chance


def test_without_points_at_night_there_is_no_home() -> None:
    original = GpsTraces.from_points([1], [12 * HOUR], [0.0], [0.0])
    found = compare_homes(original, original)
    assert (found.users_with_home, found.home_found, found.home_error_m) == (0, None, None)
    assert found.users_with_work == 1


def test_the_error_is_the_geodesic_distance() -> None:
    original = GpsTraces.from_points([1] * 3, [0, 1, 2], [0.0] * 3, [0.0, 1.0, 2.0])
    error = distance_error(original, original.with_positions([0.0] * 3, [0.0, 1.001, 2.002]))
    assert error.mean_m == pytest.approx(111.3195, abs=1e-3)
    assert (error.points, error.unmatched) == (3, 0)


def test_points_that_were_not_released_are_compared_with_the_nearest_in_time() -> None:
    original = GpsTraces.from_points(
        [1] * 4, np.array([0, 10, 20, 50]) * 1000, [0.0] * 4, [0.0, 0.1, 0.2, 0.5]
    )
    thinned = Thinning(interval=20).transform(original)
    assert thinned.longitude.tolist() == [0.0, 0.2, 0.5]
    assert distance_error(original, thinned).max_m == pytest.approx(11_131.9, abs=0.1)


def test_users_nobody_released_are_counted() -> None:
    original = GpsTraces.from_points([1, 2], [0, 0], [0.0, 0.0], [0.0, 0.0])
    error = distance_error(original, original.take_users([1]))
    assert (error.points, error.unmatched) == (1, 1)
    with pytest.raises(DataError, match="none of the 2 released users"):
        distance_error(original, original.with_user_ids([8, 9]))


def test_homes_are_a_table_with_a_row_per_user() -> None:
    pytest.importorskip("pandas")
    traces = GpsTraces.concat([commuter(), GpsTraces.from_points(["night owl"], [72_000_000], [40.0], [0.0])])
    traces = traces.with_user_ids(["ann", "owl"])
    table = homes_and_workplaces(traces.to_frame("pandas"), timezone="UTC")
    assert list(table.columns) == ["user_id", "home_lat", "home_lng", "work_lat", "work_lng"]
    assert table.user_id.tolist() == ["ann", "owl"]
    assert table.work_lat.isna().tolist() == [False, True]
    assert table.home_lat[1] == pytest.approx(40.0)


def at_night(stays: list[tuple[float, float]]) -> GpsTraces:
    """Somebody who is at each longitude for so many seconds, from nine in the evening on."""
    longitude, seconds = np.transpose(stays)
    time = 21 * HOUR + 1000 * np.concatenate([[0], np.cumsum(seconds)[:-1]])
    return GpsTraces.from_points([1] * len(stays), time.astype(np.int64), [0.0] * len(stays), longitude)


@pytest.mark.parametrize(("elsewhere_s", "home"), [(899.5, 0.0), (900.5, 1.0)])
def test_a_point_stands_for_at_most_fifteen_minutes(elsewhere_s: float, home: float) -> None:
    trace = at_night([(0.0, 7200), (1.0, elsewhere_s / 2), (1.0, elsewhere_s / 2), (2.0, 1)])
    assert homes_and_workplaces(trace, timezone="UTC").home_longitude.tolist() == pytest.approx([home])


def test_a_home_is_found_wherever_the_night_begins_and_ends() -> None:
    trace = at_night([(0.0, 60), (0.5, 600), (0.5, 600), (0.8, 60)])
    assert homes_and_workplaces(trace, timezone="UTC").home_longitude.tolist() == pytest.approx([0.5])


def test_who_has_one_released_point_is_released() -> None:
    original = GpsTraces.from_points([1, 1, 2, 2, 3], [0, 1, 0, 1, 0], [40.0] * 5, [0.0] * 5)
    released = original.keep(np.array([True, True, True, False, False]))
    assert compare_homes(original, released, timezone="UTC").users_released == 2
