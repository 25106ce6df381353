"""Bring files of one data set to the same places, with the same indices, and to the same instants.

A table names the places that its own events have, and counts days from its own first one. Two tables,
such as reference and original traces, therefore differ in both, though they are of the same city and year.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, ParameterError
from tracearena.io.fields.coordinates import find_local_time
from tracearena.io.report import Reading, Report
from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import EPOCH, local_seconds

_First = TypeVar("_First", bound=EventTable)
_Second = TypeVar("_Second", bound=EventTable)
_SAME_PLACE_DEGREES = 0.01


def align_tables(first: _First, second: _Second) -> tuple[_First, _Second]:
    """Return both with the places of either and days counted from the earlier first day.

    Places are known by their ids; where one lies is taken from `first`. The instants of a day must be
    the same.

    Examples
    --------
    >>> one = Traces.from_dense([[0]], Places([40.0], [-74.0], ids=["a"]), Clock(instants_per_day=24))
    >>> other = Traces.from_dense([[0]], Places([40.1], [-74.0], ids=["b"]), Clock(instants_per_day=24))
    >>> align_tables(one, other)[1].places.ids.tolist()
    ['a', 'b']
    """
    places = _join_two_places(first.places, second.places)
    days = [clock.first_day for clock in (first.clock, second.clock)]
    if replace(first.clock, first_day=None) != replace(second.clock, first_day=None) or (
        None in days and any(days)
    ):
        raise DataError(
            f"one file has {_describe_instants(first.clock)}, the other "
            f"{_describe_instants(second.clock)}: they need the same clock; set it with --times for "
            "numbered times, or with --interval"
        )
    clock = first.clock if days[0] is None or days[1] is None or days[0] <= days[1] else second.clock
    return cast(_First, _move_table(first, places, clock)), cast(_Second, _move_table(second, places, clock))


def move_to_common_places(parts: Sequence[Traces]) -> list[Traces]:
    """Return all with the places of any, by their ids; each keeps its own clock."""
    places = build_common_places([part.places for part in parts])
    return [cast(Traces, _move_table(part, places, part.clock)) for part in parts]


def build_common_places(several: Sequence[Places]) -> Places:
    """Return the places of any, by their ids; where one lies is taken from the first that has it."""
    return functools.reduce(_join_two_places, several)


def _join_two_places(first: Places, second: Places) -> Places:
    if first == second:
        return first
    at = find_place_indices(first, second)
    known = at >= 0
    here, there = (
        np.column_stack([places.latitude[index], places.longitude[index]])
        for places, index in ((first, at[known]), (second, np.flatnonzero(known)))
    )
    apart = np.flatnonzero(np.abs(here - there).max(axis=1, initial=0) > _SAME_PLACE_DEGREES)
    if len(apart):
        name = first.ids[at[known][apart[0]]].item()
        raise DataError(
            f"place {name!r} is at {_format_degrees(here[apart[0]])} in one file, but at "
            f"{_format_degrees(there[apart[0]])} in the other: they need the same places; use "
            "--places, or --grid with --bounds"
        )
    if known.all():
        return first
    if (find_place_indices(second, first) >= 0).all():
        return second
    if first.grid is not None or second.grid is not None:
        raise DataError(
            "the files have different grids: they need the same; use --places, or --grid with --bounds"
        )
    return _append_places(first, second, ~known)


def find_place_indices(known: Places, wanted: Places) -> NDArray[np.int64]:
    """Return the index of each wanted place among the known ones, by id; -1 if it is not among them."""
    position = {str(name): at for at, name in enumerate(known.ids.tolist())}
    return np.array([position.get(str(name), -1) for name in wanted.ids.tolist()], np.int64)


def _format_degrees(degrees: NDArray[np.float64]) -> str:
    return f"{degrees[0]:.5f}, {degrees[1]:.5f}"


def _append_places(first: Places, second: Places, new: NDArray[np.bool_]) -> Places:
    """Return the places of the first, and the new ones of the second after them."""

    def join(one: Any, other: Any) -> NDArray[Any]:
        return np.concatenate([one, np.asarray(other)[new]])

    both_numbers = first.ids.dtype.kind == second.ids.dtype.kind == "i"
    ids = (first.ids, second.ids) if both_numbers else (first.ids.astype(str), second.ids.astype(str))
    named = first.categories is not None or second.categories is not None
    kinds = [
        np.full(len(places), "") if places.categories is None else places.categories
        for places in (first, second)
    ]
    return Places(
        join(first.latitude, second.latitude),
        join(first.longitude, second.longitude),
        ids=join(*ids),
        sensitive=join(first.sensitive, second.sensitive),
        categories=join(*kinds) if named else None,
        km_per_degree=first.km_per_degree,
    )


def _describe_instants(clock: Clock) -> str:
    dated = "numbered days" if clock.first_day is None else "dates"
    return f"{clock.instants_per_day} instants per day from {clock.label(0)} and {dated}"


def _move_table(table: EventTable, places: Places, clock: Clock) -> EventTable:
    shift = 0
    if table.clock.first_day is not None and clock.first_day is not None:
        shift = (table.clock.first_day - clock.first_day).days * clock.instants_per_day
    if places is table.places and not shift:
        return table
    new = find_place_indices(places, table.places).astype(np.int32)
    where: dict[str, Any]
    if isinstance(table, ObfuscatedTraces):
        codes = np.where(table.is_single, new[table.codes.clip(0)], table.codes) if len(new) else table.codes
        where = {"codes": codes, "sets": PlaceSets(table.sets.offsets, new[table.sets.members])}
    else:
        where = {"place_index": new[cast(Traces, table).place_index]}
    instants, span = table.instants + np.int32(shift), (table.span[0] + shift, table.span[1] + shift)
    return table.replace(places=places, clock=clock, instants=instants, span=span, **where)


# Parts of traces by local time: some hours of every day, some dates, the days before and after a date.

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
        raise ParameterError.of("hours", text, "two ascending hours from 0 to 24, such as 8-18")
    return first, stop


def keep_hours(reading: AnyReading, hours: tuple[int, int]) -> AnyReading:
    """Keep what lies within some local hours of the day, and count the rest as dropped.

    Of events the days then have only the instants of these hours: at every half hour from 8 to 18 there
    are 20 instants per day, as in the contest.

    Parameters
    ----------
    hours
        The first hour, and the one before which it ends.
    """
    traces, report = reading
    first, stop = hours[0] * _HOUR_S, hours[1] * _HOUR_S
    if isinstance(traces, GpsTraces):
        second = _compute_local_seconds(traces, report) % DAY_S
        inside = (second >= first) & (second < stop)
        kept: Traces | GpsTraces = traces.keep(inside)
    else:
        if traces.clock.first_day is None and report.clock is None and report.format not in _OF_HOURS:
            raise ParameterError(f"{report.path}: has numbers as times, which have no hours")
        second = traces.clock.second_of_day(traces.instants)
        inside = (second >= first) & (second < stop)
        kept = _shorten_days(traces.keep(inside), first, stop) if inside.any() else traces
    if not inside.any():
        raise DataError(f"{report.path}: no rows are within the hours {hours[0]}-{hours[1]}")
    if not inside.all():
        report.drop(f"outside the hours {hours[0]}-{hours[1]}", int((~inside).sum()))
    return _drop_absent_users(kept, report)


def _shorten_days(traces: Traces, first: int, stop: int) -> Traces:
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
    return traces.replace(clock=shorter, instants=instants.astype(np.int32), span=tuple(ends))


def keep_dates(reading: AnyReading, first: str | None, last: str | None) -> AnyReading:
    """Keep what lies on some dates, and count the rest as dropped.

    Parameters
    ----------
    first, last
        Local dates such as ``2008-11-01``, both included; None for no limit.
    """
    since = None if first is None else parse_date("from-date", first)
    until = None if last is None else parse_date("to-date", last)
    if since is not None and until is not None and until < since:
        raise ParameterError(f"--to-date {last} is before --from-date {first}")
    traces, report = reading
    if isinstance(traces, GpsTraces):
        zero, day = EPOCH, _compute_local_seconds(traces, report) // DAY_S
    elif traces.clock.first_day is None:
        raise ParameterError(f"{report.path}: has numbered days and no dates")
    else:
        zero, day = traces.clock.first_day, traces.clock.day_of(traces.instants)
    inside = np.ones(len(day), bool)
    if since is not None:
        inside &= day >= (since - zero).days
    if until is not None:
        inside &= day <= (until - zero).days
    said = f"the dates {first or '…'} to {last or '…'}"
    if not inside.any():
        raise DataError(f"{report.path}: no rows are within {said}")
    if not inside.all():
        report.drop(f"outside {said}", int((~inside).sum()))
    kept = traces.keep(inside)
    if isinstance(kept, Traces):
        length = kept.clock.instants_per_day
        kept = kept.take_instants(int(day[inside].min()) * length, (int(day[inside].max()) + 1) * length)
    return _drop_absent_users(kept, report)


def _drop_absent_users(traces: Traces | GpsTraces, report: Report) -> AnyReading:
    """Return what is left without the users of whom nothing is, and count again what is odd about it."""
    present = np.diff(traces.offsets) > 0
    kept = traces if present.all() else traces.take_users(present)
    if isinstance(kept, Traces):
        # Loads Polars, which aligning traces does not need.
        from tracearena.io.discretisation import ODDITIES, report_oddities

        for reason in ODDITIES:
            report.noticed.pop(reason, None)
        report_oddities(kept, report)
    return Reading(kept, report)


def parse_date(name: str, text: str) -> datetime.date:
    """Read a date such as ``2012-06-01``, the value of the option named."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ParameterError.of(name, text, "a date such as 2012-06-01") from None


def split_at_date(reading: AnyReading, date: str) -> tuple[AnyReading, AnyReading]:
    """Cut before a date, such as ``2012-06-01``: into reference traces and original ones."""
    day = parse_date("split-at", date)
    traces, report = reading
    first = traces.clock.first_day if isinstance(traces, Traces) else EPOCH
    if first is None:
        raise ParameterError(
            f"{report.path}: has numbered days and no dates: use "
            "--reference-days, the number of reference days"
        )
    return _split_before_day(reading, (day - first).days, str(day))


def split_after_days(reading: AnyReading, days: int) -> tuple[AnyReading, AnyReading]:
    """Cut after the first `days` days: into reference traces and original ones."""
    if days < 1:
        raise ParameterError.of("reference-days", days, "a whole number of at least 1")
    traces, report = reading
    if isinstance(traces, Traces):
        first = int(traces.clock.day_of(traces.span[0]))
    else:
        first = int(_compute_local_seconds(traces, report).min()) // DAY_S
    return _split_before_day(reading, first + days, f"the first {days:,} days")


def _split_before_day(reading: AnyReading, day: int, where: str) -> tuple[AnyReading, AnyReading]:
    """Cut before a day, counted from the clock's first one; of points from 1970."""
    traces, report = reading
    halves: tuple[Traces | GpsTraces, Traces | GpsTraces]
    if isinstance(traces, GpsTraces):
        before = _compute_local_seconds(traces, report) // DAY_S < day
        halves = traces.keep(before), traces.keep(~before)
    else:
        first, stop = traces.span
        cut = min(max(day * traces.clock.instants_per_day, first), stop)
        halves = traces.split_at(cut)
    if not all(map(len, halves)):
        raise DataError(f"{report.path}: there are no rows {'after' if len(halves[0]) else 'before'} {where}")
    return Reading(halves[0], report), Reading(halves[1], report)


def _compute_local_seconds(traces: GpsTraces, report: Report) -> NDArray[np.int64]:
    """Return seconds since 1970 on the clocks by which the hours of the points go; say which these are."""
    report.clock = find_local_time(traces, report)
    return local_seconds(traces.time_ms, report.clock.zone or "UTC")
