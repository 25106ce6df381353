"""Times of events as files hold them: seconds, text, offsets from UTC."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.traces.clock import DAY_S
from tracearena.traces.event_table import EventTable
from tracearena.traces.time import EPOCH
from tracearena.traces.traces import Traces

DAY_ZERO = datetime.date(2018, 1, 1)
"""A Monday: day 0 of traces whose instants have no date, in formats that cannot do without one."""

_STEPS_MIN = (60, 30, 15, 1)


def local_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the local second, since 1970-01-01, at which the instant of each event begins."""
    first = (traces.clock.first_day or DAY_ZERO) - EPOCH
    days = first.days + traces.clock.day_of(traces.instants)
    return np.asarray(days * DAY_S + traces.clock.second_of_day(traces.instants), np.int64)


def utc_seconds(traces: Traces) -> NDArray[np.int64]:
    """Return the timestamp of each event; where there is none, local time is taken as UTC."""
    return local_seconds(traces) if traces.timestamps is None else traces.timestamps


def utc_text(traces: Traces, style: str) -> pl.Series:
    """Return the time of each event as text."""
    return pl.Series(utc_seconds(traces) * 1_000_000).cast(pl.Datetime("us")).dt.strftime(style)


def offset_minutes(traces: Traces) -> NDArray[np.int64]:
    """Return the minutes from UTC to local time, as far as instants tell.

    Any offset that puts the timestamp into its instant gives the same traces back; of those the
    roundest is taken: whole hours before halves, quarters and minutes.
    """
    least = local_seconds(traces) - utc_seconds(traces)
    interval = traces.clock.interval_s
    offset = -(-least // 60)
    for step in reversed(_STEPS_MIN):
        rounded = -(-least // (step * 60)) * step
        offset = np.where(rounded * 60 < least + interval, rounded, offset)
    return np.asarray(offset, np.int64)
