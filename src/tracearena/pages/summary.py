"""What is in a set of traces, in numbers."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.intake.local_time import LocalTime
from tracearena.intake.positions import local_time
from tracearena.intake.report import Report
from tracearena.traces import Box, Clock, GpsTraces, Traces
from tracearena.traces.clock import DAY_S

LONG_GAP_MS = 4 * 3_600_000


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Users, events or points, span, gaps, duplicates, and what was dropped from the file.

    Attributes
    ----------
    events
        Events at places, or GPS points.
    first, last
        Time of the first and the last event: local, a date and time or a day counted from 1; of
        points UTC.
    days
        Days from the first to the last.
    events_per_user
        Smallest, quartiles and largest number of events of a user, mean and standard deviation.
    gap_h
        Hours between two events of a user that follow each other: median, 90 %, longest.
    local
        Whose local time the hours of the day are, and how that is known.
    places, visited_places
        How many places there are, and at how many of them something happened; None for points.
    missing
        Share of users × instants of the span without an event; None for points.
    several_at_an_instant
        Events at an instant at which the user has an earlier one; None for points.
    trajectories, bounds
        GPS points: recordings, and south, west, north, east in degrees.
    interval_s
        GPS points: median seconds between consecutive ones of a trajectory.
    gaps_over_4h
        GPS points: pairs of consecutive ones of a user that lie more than four hours apart.
    """

    users: int
    events: int
    first: str
    last: str
    days: int
    events_per_user: dict[str, float]
    gap_h: dict[str, float]
    report: Report
    local: LocalTime | None
    places: int | None = None
    visited_places: int | None = None
    missing: float | None = None
    several_at_an_instant: int | None = None
    trajectories: int | None = None
    bounds: dict[str, float] | None = None
    interval_s: float | None = None
    gaps_over_4h: int | None = None

    @property
    def are_points(self) -> bool:
        """Whether this is about GPS points."""
        return self.trajectories is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, those of the report among them."""
        own = {name: value for name, value in vars(self).items() if name not in ("report", "local")}
        said = self.report.to_dict() | own
        if self.are_points:
            said |= {"format": "gps", "times": f"UTC (Z) here; on a page and on a grid {self.local}"}
        return said


def summarise(traces: Traces | GpsTraces, report: Report) -> Summary:
    """Count what describes traces that were read from a file."""
    return _of_points(traces, report) if isinstance(traces, GpsTraces) else _of_events(traces, report)


def _of_events(traces: Traces, report: Report) -> Summary:
    same_user = np.diff(traces.user_index) == 0
    again = same_user & (np.diff(traces.instants) == 0)
    cells = traces.n_users * traces.n_instants
    distinct = traces.n_events - int(again.sum())
    first, last = (int(traces.instants.min()), int(traces.instants.max())) if traces.n_events else (0, 0)
    clock, exact = traces.clock, exact_seconds(traces)
    return Summary(
        users=traces.n_users,
        events=traces.n_events,
        places=len(traces.places),
        visited_places=len(np.unique(traces.place_index)),
        first=moment(clock, first),
        last=moment(clock, last),
        days=int(clock.day_of(last) - clock.day_of(first)) + 1,
        events_per_user=quartiles(np.diff(traces.offsets)),
        gap_h=_gaps(np.abs(np.diff(exact))[same_user] / 3600),
        missing=round(1 - distinct / cells, 6) if cells else 0.0,
        several_at_an_instant=int(again.sum()),
        report=report,
        local=report.clock,
    )


def _of_points(traces: GpsTraces, report: Report) -> Summary:
    first, last = (
        np.datetime64(int(time), "ms").astype("datetime64[s]")
        for time in (traces.time_ms.min(), traces.time_ms.max())
    )
    order = traces.trajectory_order
    within = np.diff(traces.time_ms[order])[np.diff(traces.trajectory[order]) == 0]
    of_user = np.diff(traces.time_ms)[np.diff(traces.user_index) == 0]
    return Summary(
        users=traces.n_users,
        events=traces.n_points,
        first=f"{first}Z",
        last=f"{last}Z",
        days=int((last.astype("datetime64[D]") - first.astype("datetime64[D]")).astype(int)) + 1,
        events_per_user=quartiles(np.diff(traces.offsets)),
        gap_h=_gaps(of_user / 3_600_000),
        trajectories=traces.n_trajectories,
        bounds=asdict(Box.of(traces)),
        interval_s=float(np.median(within)) / 1000 if within.size else None,
        gaps_over_4h=int((of_user > LONG_GAP_MS).sum()),
        report=report,
        local=local_time(traces, report),
    )


def exact_seconds(traces: Traces) -> NDArray[np.int64]:
    """Return the second of each event, as exactly as it is known, from wherever they are counted."""
    clock = traces.clock
    if traces.timestamps is not None and clock.first_day is not None:
        return traces.timestamps
    # Days without dates are not those of the timestamps.
    return np.asarray(clock.day_of(traces.instants) * DAY_S + clock.second_of_day(traces.instants))


def moment(clock: Clock, instant: int) -> str:
    """Name an instant for people: ``2009-04-23 22:00``, or ``day 3, 08:30`` without dates."""
    day = int(clock.day_of(instant))
    if clock.first_day is None:
        return f"day {day + 1}, {clock.label(instant)}"
    return f"{clock.first_day + datetime.timedelta(days=day)} {clock.label(instant)}"


def quartiles(lengths: NDArray[np.int64]) -> dict[str, float]:
    values = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1]) if len(lengths) else np.zeros(5)
    names = ("least", "quarter", "median", "three_quarters", "most")
    spread = {name: int(x) if x == int(x) else float(x) for name, x in zip(names, values, strict=True)}
    mean, deviation = (float(lengths.mean()), float(lengths.std())) if len(lengths) else (0.0, 0.0)
    return spread | {"mean": round(mean, 3), "standard_deviation": round(deviation, 3)}


def _gaps(hours: NDArray[np.float64]) -> dict[str, float]:
    values = np.quantile(hours, [0.5, 0.9, 1]) if len(hours) else np.zeros(3)
    return {
        name: round(float(value), 3)
        for name, value in zip(("median", "ninety_percent", "longest"), values, strict=True)
    }
