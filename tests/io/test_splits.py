"""Hours of the day, and the days before and after a date."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.io import read, write
from tracearena.io.alignment import keep_dates, keep_hours, parse_hours, split_after_days, split_at_date
from tracearena.io.report import Reading, Report
from tracearena.traces import Clock, GpsTraces, Places, Traces

DAYS = 4


def events(first_day: datetime.date | None = datetime.date(2012, 4, 3), per_hour: int = 2) -> Reading[Traces]:
    clock = Clock(instants_per_day=24 * per_hour, interval_s=3600 // per_hour, first_day=first_day)
    table = np.zeros((3, DAYS * clock.instants_per_day), np.int32)
    return Reading(Traces.from_dense(table, Places([40.7], [-74.0]), clock), Report("x.csv", "pwscup"))


def points() -> Reading[GpsTraces]:
    """One a quarter of an hour in Tokyo, from 2012-04-02 15:00 UTC, which is midnight there."""
    start = int(np.datetime64("2012-04-02T15:00", "ms").astype(np.int64))
    times = start + 900_000 * np.arange(DAYS * 96)
    traces = GpsTraces.from_points(
        ["a"] * len(times), times, np.full(len(times), 35.7), np.full(len(times), 139.7)
    )
    return Reading(traces, Report("x.csv", "points"))


def test_the_days_of_events_have_only_the_instants_of_these_hours() -> None:
    traces, report = keep_hours(events(), (8, 18))
    assert isinstance(traces, Traces)
    assert traces.clock.instants_per_day == 20
    assert (traces.clock.label(0), traces.clock.label(19)) == ("08:00", "17:30")
    assert (traces.is_complete, traces.span) == (True, (0, DAYS * 20))
    assert report.dropped == {"outside the hours 8-18": 3 * DAYS * 28}


def test_points_are_kept_by_the_clocks_where_they_lie() -> None:
    traces, report = keep_hours(points(), (8, 18))
    assert isinstance(traces, GpsTraces)
    hours = {str(np.datetime64(int(time), "ms"))[11:13] for time in traces.time_ms}
    assert (min(hours), max(hours), len(traces)) == ("00", "23", DAYS * 40)
    assert {"00", "08", "23"} <= hours
    assert "12" not in hours
    assert "Asia/Tokyo" in str(report.clock)


@pytest.mark.parametrize("text", ["18-8", "8-8", "8-25", "8", "8h-18h", "-8-18", ""])
def test_hours_run_from_one_to_a_later(text: str) -> None:
    with pytest.raises(ParameterError, match="hours"):
        parse_hours(text)


def test_hours_at_which_nothing_happens_are_refused() -> None:
    night = events()
    night = Reading(night.traces.keep(night.traces.instants % 48 < 4), night.report)
    with pytest.raises(DataError, match="no rows are within the hours 8-18"):
        keep_hours(night, (8, 18))


def test_times_that_are_numbers_have_no_hours() -> None:
    with pytest.raises(ParameterError, match="numbers as times"):
        keep_hours(Reading(events(None).traces, Report("x.csv", "table")), (8, 18))


@pytest.mark.parametrize("reading", [events(), points()], ids=["events", "points"])
def test_a_date_and_a_number_of_days_cut_alike(reading: Reading[Traces | GpsTraces]) -> None:
    at, after = split_at_date(reading, "2012-04-05"), split_after_days(reading, 2)
    assert [len(half.traces) for half in at] == [len(reading.traces) // 2] * 2
    assert [half.traces for half in at] == [half.traces for half in after]
    assert all(half.traces.n_users == reading.traces.n_users for half in at)


def test_numbered_days_have_no_dates() -> None:
    with pytest.raises(ParameterError, match="--reference-days"):
        split_at_date(events(None), "2012-04-05")
    assert [len(half.traces) for half in split_after_days(events(None), 1)] == [144, 432]


@pytest.mark.parametrize("date", ["2012-04-03", "2012-04-30", "2011-01-01"])
@pytest.mark.parametrize("reading", [events(), points()], ids=["events", "points"])
def test_a_date_outside_is_refused(reading: Reading[Traces | GpsTraces], date: str) -> None:
    with pytest.raises(DataError, match="there are no rows (before|after) " + date):
        split_at_date(reading, date)


@pytest.mark.parametrize("date", ["yesterday", "2012-13-01", "05.04.2012"])
def test_a_date_is_written_the_plain_way(date: str) -> None:
    with pytest.raises(ParameterError, match="split-at"):
        split_at_date(events(), date)


def test_numbers_are_no_hours_in_whatever_format_they_stand(tmp_path: Path) -> None:
    traces = events(None, per_hour=1).traces
    for name in ("t.csv", "t.geojson"):
        write(traces, tmp_path / name)
        with pytest.raises(ParameterError, match="numbers as times"):
            keep_hours(read(tmp_path / name), (8, 18))


def test_dates_are_cut_at_both_ends_and_both_are_kept() -> None:
    traces, report = keep_dates(events(), "2012-04-04", "2012-04-05")
    assert isinstance(traces, Traces)
    assert traces.n_events == 3 * 2 * 48
    assert traces.span == (48, 144)
    assert report.dropped == {"outside the dates 2012-04-04 to 2012-04-05": 3 * 2 * 48}
    later, _ = keep_dates(events(), "2012-04-06", None)
    assert len(later) == 3 * 48
    assert len(keep_dates(events(), None, "2099-01-01").traces) == 3 * DAYS * 48


def test_dates_of_points_are_local() -> None:
    traces, _ = keep_dates(points(), "2012-04-03", "2012-04-03")
    assert len(traces) == 96
    assert traces.time_ms.min() == int(np.datetime64("2012-04-02T15:00", "ms").astype(np.int64))


def test_dates_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="from-date"):
        keep_dates(events(), "April", None)
    with pytest.raises(ParameterError, match="before"):
        keep_dates(events(), "2012-04-05", "2012-04-04")
    with pytest.raises(ParameterError, match="no dates"):
        keep_dates(events(first_day=None), "2012-04-05", None)
    with pytest.raises(DataError, match="no rows are within"):
        keep_dates(events(), "2020-01-01", None)
