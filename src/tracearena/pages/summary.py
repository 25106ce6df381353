"""What is in a set of traces, in numbers."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.intake.report import Report
from tracearena.traces import Traces
from tracearena.traces.time import DAY_S


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Users, events, places, span, gaps, duplicates, and what was dropped from the file.

    Attributes
    ----------
    places, visited_places
        How many places there are, and at how many of them something happened.
    first, last
        Local time of the first and the last event: a date and time, or a day counted from 1.
    days
        Days from the first to the last.
    events_per_user
        Smallest, quartiles and largest number of events of a user.
    gap_h
        Hours between two events of a user that follow each other: median, 90 %, longest.
    missing
        Share of users × instants of the span without an event.
    several_at_an_instant
        Events at an instant at which the user has an earlier one.
    """

    users: int
    events: int
    places: int
    visited_places: int
    first: str
    last: str
    days: int
    events_per_user: dict[str, float]
    gap_h: dict[str, float]
    missing: float
    several_at_an_instant: int
    report: Report

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, those of the report among them."""
        own = {name: value for name, value in vars(self).items() if name != "report"}
        return own | self.report.to_dict()


def summarise(traces: Traces, report: Report) -> Summary:
    """Count what describes traces that were read from a file."""
    lengths = np.diff(traces.offsets)
    again = same_user(traces) & (np.diff(traces.instants) == 0)
    cells = traces.n_users * traces.n_instants
    distinct = traces.n_events - int(again.sum())
    first, last = (int(traces.instants.min()), int(traces.instants.max())) if traces.n_events else (0, 0)
    return Summary(
        users=traces.n_users,
        events=traces.n_events,
        places=len(traces.places),
        visited_places=len(np.unique(traces.place_index)),
        first=moment(traces, first),
        last=moment(traces, last),
        days=int(traces.clock.day_of(last) - traces.clock.day_of(first)) + 1,
        events_per_user=_quartiles(lengths),
        gap_h=_gaps(traces),
        missing=round(1 - distinct / cells, 6) if cells else 0.0,
        several_at_an_instant=int(again.sum()),
        report=report,
    )


def moment(traces: Traces, instant: int) -> str:
    """Name an instant for people: ``2009-04-23 22:00``, or ``day 3, 08:30`` without dates."""
    clock = traces.clock
    day = int(clock.day_of(instant))
    if clock.first_day is None:
        return f"day {day + 1}, {clock.label(instant)}"
    return f"{clock.first_day + datetime.timedelta(days=day)} {clock.label(instant)}"


def same_user(traces: Traces) -> NDArray[np.bool_]:
    """Whether each event but the first belongs to the user of the event before it."""
    return np.asarray(np.diff(traces.user_index) == 0)


def _quartiles(lengths: NDArray[np.int64]) -> dict[str, float]:
    values = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1]) if len(lengths) else np.zeros(5)
    names = ("least", "quarter", "median", "three_quarters", "most")
    return {name: int(x) if x == int(x) else float(x) for name, x in zip(names, values, strict=True)}


def _gaps(traces: Traces) -> dict[str, float]:
    clock = traces.clock
    exact = traces.timestamps
    if exact is None:
        exact = clock.day_of(traces.instants) * DAY_S + clock.second_of_day(traces.instants)
    gaps = np.abs(np.diff(exact))[same_user(traces)] / 3600
    values = np.quantile(gaps, [0.5, 0.9, 1]) if len(gaps) else np.zeros(3)
    return {
        name: round(float(value), 3)
        for name, value in zip(("median", "ninety_percent", "longest"), values, strict=True)
    }
