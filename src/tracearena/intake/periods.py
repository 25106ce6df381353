"""Parts of traces by local time: some hours of every day, some dates, the days before and after a date."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, ParameterError
from tracearena.intake.discretise import ODDITIES, notice_oddities
from tracearena.intake.positions import local_time
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH, local_seconds

AnyReading = Reading[Traces | GpsTraces]
_HOUR_S = 3600
_OF_HOURS = ("pwscup", "ppmtf", "peopleflow")
"""Formats whose instants are times of the day, though they have no dates."""


def parse_hours(text: str) -> tuple[int, int]:
    """Read hours of the day, such as ``8-18``: from 8:00 until before 18:00.

    >>> parse_hours("8-18")
    (8, 18)
    """
    match = re.fullmatch(r"\s*(\d{1,2})\s*-\s*(\d{1,2})\s*", text)
    first, stop = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not 0 <= first < stop <= 24:
        raise ParameterError.of("hours", text, "an hour and a later one, from 0 to 24, such as 8-18")
    return first, stop


def within_hours(reading: AnyReading, hours: tuple[int, int]) -> AnyReading:
    """Keep what lies within some local hours of the day, and count the rest as dropped.

    Of events the days then have only the instants of these hours: at every half hour from 8 to 18 there
    are 20 instants a day, as in the contest.

    Parameters
    ----------
    hours
        The first hour, and the one before which it ends.
    """
    traces, report = reading
    first, stop = hours[0] * _HOUR_S, hours[1] * _HOUR_S
    if isinstance(traces, GpsTraces):
        second = _local(traces, report) % DAY_S
        inside = (second >= first) & (second < stop)
        kept: Traces | GpsTraces = traces.keep(inside)
    else:
        if traces.clock.first_day is None and report.clock is None and report.format not in _OF_HOURS:
            raise ParameterError(f"{report.path}: has numbers for times, which are no hours of a day")
        second = traces.clock.second_of_day(traces.instants)
        inside = (second >= first) & (second < stop)
        kept = _with_shorter_days(traces.keep(inside), first, stop) if inside.any() else traces
    if not inside.any():
        raise DataError(f"{report.path}: nothing lies within the hours {hours[0]}-{hours[1]}")
    if not inside.all():
        report.drop(f"outside the hours {hours[0]}-{hours[1]}", int((~inside).sum()))
    return _without_absent(kept, report)


def _with_shorter_days(traces: Traces, first: int, stop: int) -> Traces:
    clock = traces.clock
    seconds = clock.second_of_day(np.arange(clock.instants_per_day))
    of_day = np.flatnonzero((seconds >= first) & (seconds < stop))
    skipped, count = int(of_day[0]), len(of_day)
    if count == clock.instants_per_day:
        return traces
    shorter = replace(clock, instants_per_day=count, start_s=int(seconds[skipped]))
    instants = clock.day_of(traces.instants) * count + clock.time_of_day(traces.instants) - skipped
    begin, end = traces.span
    ends = (
        int(clock.day_of(at)) * count + min(max(int(clock.time_of_day(at)) - skipped, 0), count)
        for at in (begin, end)
    )
    return Traces(
        traces.places,
        shorter,
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        instants=instants.astype(np.int32),
        place_index=traces.place_index,
        timestamps=traces.timestamps,
        span=(next(ends), next(ends)),
    )


def within_dates(reading: AnyReading, first: str | None, last: str | None) -> AnyReading:
    """Keep what lies on some dates, and count the rest as dropped.

    Parameters
    ----------
    first, last
        Local dates such as ``2008-11-01``, both included; None for no limit.
    """
    since = None if first is None else parse_date("from-date", first)
    until = None if last is None else parse_date("to-date", last)
    if since is not None and until is not None and until < since:
        raise ParameterError(f"--to-date {last} lies before --from-date {first}")
    traces, report = reading
    if isinstance(traces, GpsTraces):
        zero, day = EPOCH, _local(traces, report) // DAY_S
    elif traces.clock.first_day is None:
        raise ParameterError(f"{report.path}: numbers its days and has no dates")
    else:
        zero, day = traces.clock.first_day, traces.clock.day_of(traces.instants)
    inside = np.ones(len(day), bool)
    if since is not None:
        inside &= day >= (since - zero).days
    if until is not None:
        inside &= day <= (until - zero).days
    said = f"the dates {first or '…'} to {last or '…'}"
    if not inside.any():
        raise DataError(f"{report.path}: nothing lies within {said}")
    if not inside.all():
        report.drop(f"outside {said}", int((~inside).sum()))
    kept = traces.keep(inside)
    if isinstance(kept, Traces):
        length = kept.clock.instants_per_day
        kept = kept.take_instants(int(day[inside].min()) * length, (int(day[inside].max()) + 1) * length)
    return _without_absent(kept, report)


def _without_absent(traces: Traces | GpsTraces, report: Report) -> AnyReading:
    """Return what is left without the users of whom nothing is, and count anew what is odd about it."""
    present = np.diff(traces.offsets) > 0
    kept = traces if present.all() else traces.take_users(present)
    if isinstance(kept, Traces):
        for reason in ODDITIES:
            report.noticed.pop(reason, None)
        notice_oddities(kept, report)
    return Reading(kept, report)


def parse_date(name: str, text: str) -> datetime.date:
    """Read a date such as ``2012-06-01``, the value of the option named."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ParameterError.of(name, text, "a date such as 2012-06-01") from None


def split_at(reading: AnyReading, date: str) -> tuple[AnyReading, AnyReading]:
    """Cut before a date, such as ``2012-06-01``: into reference traces and original ones."""
    day = parse_date("split-at", date)
    traces, report = reading
    if isinstance(traces, Traces):
        if traces.clock.first_day is None:
            raise ParameterError(
                f"{report.path}: numbers its days and has no dates: --reference-days says how many come first"
            )
        return _cut(reading, (day - traces.clock.first_day).days, str(day))
    return _cut(reading, (day - EPOCH).days, str(day))


def split_after(reading: AnyReading, days: int) -> tuple[AnyReading, AnyReading]:
    """Cut after the first so many days: into reference traces and original ones."""
    if days < 1:
        raise ParameterError.of("reference-days", days, "a whole number from 1 on")
    traces, report = reading
    if isinstance(traces, Traces):
        first = int(traces.clock.day_of(traces.span[0]))
    else:
        first = int(_local(traces, report).min()) // DAY_S
    return _cut(reading, first + days, f"the first {days:,} days")


def _cut(reading: AnyReading, day: int, where: str) -> tuple[AnyReading, AnyReading]:
    """Cut before a day, counted from the clock's first one; of points from 1970."""
    traces, report = reading
    halves: tuple[Traces | GpsTraces, Traces | GpsTraces]
    if isinstance(traces, GpsTraces):
        before = _local(traces, report) // DAY_S < day
        halves = traces.keep(before), traces.keep(~before)
    else:
        first, stop = traces.span
        cut = min(max(day * traces.clock.instants_per_day, first), stop)
        halves = traces.take_instants(first, cut), traces.take_instants(cut, stop)
    if not all(map(len, halves)):
        raise DataError(f"{report.path}: nothing lies {'after' if len(halves[0]) else 'before'} {where}")
    return Reading(halves[0], report), Reading(halves[1], report)


def _local(traces: GpsTraces, report: Report) -> NDArray[np.int64]:
    """Return seconds since 1970 on the clocks by which the hours of the points go; say which these are."""
    report.clock = local_time(traces, report)
    return local_seconds(traces.time_ms, report.clock.zone or "UTC")
