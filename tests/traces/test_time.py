"""From UTC to the time on the wall and back."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import ParameterError
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.time import (
    are_local,
    event_local_seconds,
    guess_local_time,
    guess_zone,
    local_seconds,
    offset_minutes,
    solar_seconds,
    utc_ms,
)


def test_local_time_knows_summer() -> None:
    winter, summer = (int(np.datetime64(day, "ms").astype(np.int64)) for day in ("2019-01-01", "2019-07-01"))
    times = np.array([winter, summer])
    assert (local_seconds(times, "Europe/Paris") - times // 1000).tolist() == [3600, 7200]
    assert utc_ms(local_seconds(times, "Europe/Paris"), "Europe/Paris").tolist() == times.tolist()
    assert solar_seconds(np.array([0]), np.array([116.3])).tolist() == [8 * 3600]
    with pytest.raises(ParameterError, match="Asia/Shanghai"):
        local_seconds(times, "Mars/Olympus")


NEW_YORK, TOKYO, AT_SEA = (40.7, -74.0), (35.7, 139.7), (0.0, -150.0)


def test_the_zone_is_that_of_most_points_and_its_share_is_of_those_on_earth() -> None:
    latitude, longitude = np.transpose([NEW_YORK, TOKYO, TOKYO, AT_SEA, (95.0, 0.0), (np.nan, 0.0)])
    guess = guess_zone(latitude, longitude)
    assert guess is not None
    assert (guess.name, guess.share) == ("Asia/Tokyo", 0.5)
    assert guess_zone(*np.transpose([AT_SEA])) is None


def test_a_share_is_said_of_nothing_but_all() -> None:
    assert " % of the points" not in str(guess_local_time(*np.transpose([TOKYO, TOKYO])))
    assert "where 66.6 % of the points are" in str(guess_local_time(*np.transpose([TOKYO, TOKYO, NEW_YORK])))


@given(
    interval_s=st.sampled_from([7, 30, 60, 600, 1800, 3600]),
    instants=st.lists(st.integers(0, 47), min_size=1, max_size=5),
    apart_s=st.integers(-14 * 3600, 14 * 3600),
)
@examples(60)
def test_an_offset_is_the_roundest_that_puts_a_timestamp_into_its_instant(
    interval_s: int, instants: list[int], apart_s: int
) -> None:
    clock = Clock(instants_per_day=24, interval_s=interval_s, first_day=date(2012, 4, 3))
    rows = (np.zeros(len(instants), int), sorted(instants), np.zeros(len(instants), int))
    traces = Traces.from_events(*rows, Places([0.0], [0.0]), clock)
    utc = event_local_seconds(traces) - apart_s
    traces = Traces.from_events(*rows, Places([0.0], [0.0]), clock, timestamps=utc)
    fits = [minutes for minutes in range(-900, 901) if 0 <= minutes * 60 - apart_s < interval_s]
    # No whole minute may fit; then the first one after is taken.
    fits = fits or [-(-apart_s // 60)]
    roundest = min(
        fits, key=lambda minutes: (minutes % 60 > 0, minutes % 30 > 0, minutes % 15 > 0, abs(minutes))
    )
    assert offset_minutes(traces).tolist() == [roundest] * len(instants)


def test_the_first_whole_minute_after_is_taken_where_none_fits() -> None:
    clock = Clock(instants_per_day=24, interval_s=7, first_day=date(2012, 4, 3))
    traces = Traces.from_events([0], [0], [0], Places([0.0], [0.0]), clock)
    utc = event_local_seconds(traces) - 3541
    traces = Traces.from_events([0], [0], [0], Places([0.0], [0.0]), clock, timestamps=utc)
    assert offset_minutes(traces).tolist() == [60]


def test_zones_north_and_south_of_each_other_are_told_apart() -> None:
    """Zurich is as far to the east as a place in Italy, three degrees to the south."""
    zurich, italy = (47.38, 8.55), (44.5, 8.55)
    for points, name in (([zurich, italy, italy], "Europe/Rome"), ([zurich, zurich, italy], "Europe/Zurich")):
        guess = guess_zone(*np.transpose(points))
        assert guess is not None
        assert (guess.name, guess.share) == (name, pytest.approx(2 / 3))


def test_seconds_of_another_zone_are_not_local() -> None:
    utc = pl.Series([1_333_476_006, 1_333_476_066])
    assert are_local(utc - 4 * 3600, utc, "America/New_York")
    assert not are_local(utc - 5 * 3600, utc, "America/New_York")
    assert not are_local(utc, utc, "America/New_York")
