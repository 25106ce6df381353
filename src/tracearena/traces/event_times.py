"""Times of events as files hold them: seconds, text, offsets from UTC."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.clock import DAY_S
from tracearena.traces.event_table import EventTable
from tracearena.traces.time import EPOCH

if TYPE_CHECKING:
    import polars as pl

DAY_ZERO = datetime.date(2018, 1, 1)
"""A Monday: day 0 of traces whose instants have no date, in formats that cannot do without one."""

_STEPS_MIN = (60, 30, 15, 1)


def local_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the local second, since 1970-01-01, at which the instant of each event begins."""
    first = (traces.clock.first_day or DAY_ZERO) - EPOCH
    days = first.days + traces.clock.day_of(traces.instants)
    return np.asarray(days * DAY_S + traces.clock.second_of_day(traces.instants), np.int64)


def utc_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the timestamp of each event; where there is none, local time is taken as UTC."""
    return local_seconds(traces) if traces.timestamps is None else traces.timestamps


def utc_text(traces: EventTable, style: str) -> pl.Series:
    """Return the time of each event as text."""
    import polars as pl

    return pl.Series(utc_seconds(traces) * 1_000_000).cast(pl.Datetime("us")).dt.strftime(style)


def offset_minutes(traces: EventTable) -> NDArray[np.int64]:
    """Return the minutes from UTC to local time, as far as instants tell.

    Any offset that puts the timestamp into its instant gives the same traces back; of those the
    zone's is taken where it is known and does, and otherwise the roundest: whole hours before halves,
    quarters and minutes, and of equally round ones that nearest to 0.
    """
    least = local_seconds(traces) - utc_seconds(traces)
    beyond = least + traces.clock.interval_s
    offset = -(-least // 60)
    for step in reversed(_STEPS_MIN):
        lowest, highest = (-(-least // (step * 60)) * step, (-(-beyond // (step * 60)) - 1) * step)
        offset = np.where(lowest <= highest, np.clip(0, lowest, highest), offset)
    if traces.clock.timezone is not None and traces.timestamps is not None:
        import polars as pl

        from tracearena.traces.zones import in_zone

        known = in_zone(pl.Series(traces.timestamps), traces.clock.timezone).to_numpy() - traces.timestamps
        offset = np.where((least <= known) & (known < beyond), known // 60, offset)
    return np.asarray(offset, np.int64)


def exact_local_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the local second of each event: of its timestamp, or the one at which its instant begins."""
    begin = local_seconds(traces)
    if traces.timestamps is None:
        return begin
    exact = traces.timestamps + offset_minutes(traces) * 60
    # Offsets are whole minutes: where instants are shorter than that, none may reach the right one.
    return np.asarray(np.clip(exact, begin, begin + traces.clock.interval_s - 1))
