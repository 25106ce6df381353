"""The page of ``tracearena describe``: places, times, users, and problems of the file."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from tracearena.io.fields.coordinates import find_local_time
from tracearena.io.report import Report
from tracearena.pages.html import BLUE, GREY, ORANGE, SKY, Page, Table
from tracearena.pages.place_maps import place_map
from tracearena.traces import Box, Clock, GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.gridding import default_area, tessellation
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import EPOCH, LocalTime, local_seconds

_TOP_PLACES = 500
_WEEK = 7


def build_description_page(traces: Traces | GpsTraces, report: Report) -> Page:
    """Assemble the page for traces, events or points, and the report of their file."""
    summary, found = summarise(traces, report), count_amounts(traces)
    local = summary.local
    if isinstance(traces, GpsTraces):
        times = compute_point_times(traces, (local and local.zone) or "UTC")
    else:
        times = compute_event_times(traces, None if local is None else local.axis)
    return Page(
        "pages/templates/description.html",
        title=Path(report.path).name,
        summary=summary,
        noun="points" if summary.are_points else "events",
        report=report,
        problem_rows=lambda counts: _build_problem_rows(report, counts),
        map=place_map(found.places, found.counts, what=found.what),
        map_table=_build_place_table(found),
        inside=found.inside,
        half=_count_half(found.counts),
        visited=int((found.counts > 0).sum()),
        times=times,
        **_count_times(times),
        **_count_lengths(np.diff(traces.offsets), times.what),
    )


def _count_half(counts: NDArray[Any]) -> int:
    """Return how few places have half of everything."""
    return int(np.searchsorted(np.cumsum(np.sort(counts)[::-1]), counts.sum() / 2)) + 1


def _build_place_table(found: PlaceAmounts) -> Table:
    places, counts, what, _ = found
    rows = [
        [
            str(places.ids[i]),
            round(float(places.latitude[i]), 6),
            round(float(places.longitude[i]), 6),
            int(counts[i]),
        ]
        for i in np.argsort(-counts, kind="stable")[:_TOP_PLACES]
        if counts[i]
    ]
    return ["place", "latitude", "longitude", what], rows


def _count_times(times: RowTimes) -> dict[str, Any]:
    """Draw the times of day, the weekdays of at least a week, and the dates of several days."""
    labels, what = times.labels, times.what
    whose = "" if times.whose is None else f" ({times.whose})"
    counts = np.bincount(times.time, minlength=len(labels))
    busiest = int(np.argmax(counts))
    shown: dict[str, Any] = {
        "hours": _draw_bars(labels, counts, times.axis, what),
        "hours_table": (
            [f"time{whose}", what],
            [[label, int(n)] for label, n in zip(labels, counts, strict=True)],
        ),
        "busiest": labels[busiest],
        "busiest_share": counts[busiest] / max(len(times.time), 1),
        "are_times_equal": bool((counts == counts[0]).all()),
        "weekdays": None,
        "dates": None,
    }
    days = np.unique(times.day)
    if times.first_day is None:
        return shown
    if days[-1] - days[0] >= _WEEK:
        table = times.by_weekday(times.first_day)
        rows = [[day, *map(int, row)] for day, row in zip(WEEKDAYS, table, strict=True)]
        shown["weekdays"] = draw_heat_map(list(WEEKDAYS), times, table)
        shown["weekdays_table"] = (["weekday", *labels], rows)
        totals = table.sum(axis=1)
        ends = int(np.argmax(totals)), int(np.argmin(totals))
        shown["most"], shown["least"] = ((WEEKDAYS[at], totals[at] / totals.sum()) for at in ends)
    if len(days) > 1:
        counts = np.bincount(times.day - days[0])
        dates = [str(times.first_day + datetime.timedelta(days=int(days[0]) + i)) for i in range(len(counts))]
        shown["dates"] = _draw_dates(dates, counts, what)
        shown["dates_table"] = (
            ["date", what],
            [[date, int(n)] for date, n in zip(dates, counts, strict=True)],
        )
    return shown


def _draw_dates(dates: list[str], counts: NDArray[Any], what: str) -> dict[str, Any]:
    line = {
        "type": "scatter", "mode": "lines" if len(dates) > 60 else "lines+markers", "x": dates,
        "y": counts, "line": {"color": BLUE, "width": 1},
        "hovertemplate": "%{x}: %{y:,} " + what + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 300,
        "xaxis": {"title": {"text": "date"}, "type": "date"},
        "yaxis": {"title": {"text": f"{what} per day"}, "rangemode": "tozero"},
    }
    return {"data": [line], "layout": layout}


def _count_lengths(lengths: NDArray[np.int64], what: str) -> dict[str, Any]:
    """Draw how many users have how many rows, in classes that double."""
    borders = [0] if (lengths == 0).any() else []
    borders += [2**power for power in range(int(np.log2(max(int(lengths.max(initial=1)), 1))) + 2)]
    counts = np.histogram(lengths, np.asarray(borders, float) - 0.5)[0]
    labels = [(f"{low:,}" if high - low == 1 else f"{low:,}–{high - 1:,}") for low, high in pairwise(borders)]
    busiest = np.sort(lengths)[-max(len(lengths) // 10, 1) :]
    axis = f"{what} per user"
    return {
        "lengths": _draw_bars(labels, counts, axis, "users"),
        "lengths_table": ([axis, "users"], [[text, int(n)] for text, n in zip(labels, counts, strict=True)]),
        "median_length": int(np.median(lengths)),
        "busiest_tenth": busiest.sum() / max(int(lengths.sum()), 1),
        "are_lengths_equal": bool((lengths == lengths[0]).all()),
    }


def _build_problem_rows(report: Report, counts: dict[str, int]) -> list[list[Any]]:
    return [
        [reason, count, "; ".join(example.describe(report.path) for example in report.examples_of(reason))]
        for reason, count in counts.items()
    ]


def _draw_bars(labels: list[str], counts: Any, x: str, y: str) -> dict[str, Any]:
    bars = {
        "type": "bar", "x": labels, "y": counts, "marker": {"color": BLUE},
        "hovertemplate": "%{x}: %{y:,} " + y + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 320,
        "bargap": 0.15,
        "xaxis": {"title": {"text": x}, "type": "category", **thin_ticks(labels)},
        "yaxis": {"title": {"text": y}},
    }
    return {"data": [bars], "layout": layout}


# What obfuscated or anonymized traces release: how much of it, and at which time of day.


_COLOURS = {"released": BLUE, "kept": BLUE, "moved": SKY, "sets": ORANGE, "deleted": GREY}


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """How many events are released at one place, as a set of places, or not at all.

    Attributes
    ----------
    released
        Events with one place; None where the original tells which of them are kept and which moved.
    kept, moved
        Events at their original place, and at another; None without the original.
    sets, deleted
        Events with several places, and with none.
    places_of_a_set
        Median and largest number of places of a set; None if there is none.
    true_in_set
        Sets that hold the original place; None without the original.
    by_time
        The same counts for every time of day.
    """

    users: int
    events: int
    first: str
    last: str
    days: int
    places: int
    released: int | None
    kept: int | None
    moved: int | None
    sets: int
    deleted: int
    places_of_a_set: dict[str, float] | None
    true_in_set: int | None
    by_time: dict[str, dict[str, int]]
    report: Report

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {name: value for name, value in vars(self).items() if name != "report"}
        return {"file": self.report.path, "format": self.report.format, "rows": self.report.rows} | own

    @property
    def counts(self) -> dict[str, int]:
        """What became of the events, without what is not known."""
        known = {name: getattr(self, name) for name in _COLOURS}
        return {name: count for name, count in known.items() if count is not None}


def summarise_release(
    released: ObfuscatedTraces, report: Report, original: Traces | None = None
) -> ReleaseSummary:
    """Count what is released; with the original (the same events), what of it is true."""
    fates = _classify_events(released, original)
    first, last = (int(released.instants.min()), int(released.instants.max())) if len(released) else (0, 0)
    clock = released.clock
    sizes = released.sets.sizes[released.set_index[released.is_set]]
    counts = {name: int(mask.sum()) for name, mask in fates.items()}
    when = released.clock
    time = when.time_of_day(released.instants)
    counted = {name: np.bincount(time[mask], minlength=when.instants_per_day) for name, mask in fates.items()}
    return ReleaseSummary(
        users=released.n_users,
        events=released.n_events,
        first=format_instant(released.clock, first),
        last=format_instant(released.clock, last),
        days=int(clock.day_of(last) - clock.day_of(first)) + 1,
        places=len(np.unique(released.pairs().place)),
        released=counts.get("released"),
        kept=counts.get("kept"),
        moved=counts.get("moved"),
        sets=counts["sets"],
        deleted=counts["deleted"],
        places_of_a_set={"median": float(np.median(sizes)), "most": int(sizes.max())} if len(sizes) else None,
        true_in_set=None if original is None else _count_true_sets(released, original),
        by_time={
            when.label(at): {name: int(counts[at]) for name, counts in counted.items()}
            for at in range(when.instants_per_day)
        },
        report=report,
    )


def build_release_page(released: ObfuscatedTraces, report: Report, original: Traces | None = None) -> Page:
    """Assemble the page for a release."""
    summary = summarise_release(released, report, original)
    bars = [
        {
            "type": "bar", "name": name, "x": list(summary.by_time),
            "y": [row[name] for row in summary.by_time.values()], "marker": {"color": _COLOURS[name]},
            "hovertemplate": "%{x}: %{y:,} " + name + "<extra></extra>",
        }
        for name in summary.counts
    ]  # fmt: skip
    layout = {
        "height": 340,
        "barmode": "stack",
        "bargap": 0.15,
        "legend": {"orientation": "h"},
        "xaxis": {"title": {"text": "time of day"}, "type": "category"},
        "yaxis": {"title": {"text": "events"}},
    }
    rows = [[label, *row.values()] for label, row in summary.by_time.items()]
    return Page(
        "pages/templates/release.html",
        title=Path(report.path).name,
        summary=summary,
        report=report,
        by_time={"data": bars, "layout": layout},
        by_time_table=(["time of day", *summary.counts], rows),
        map=place_map(released.places, count_amounts(released).counts, what="events"),
    )


def _classify_events(released: ObfuscatedTraces, original: Traces | None) -> dict[str, NDArray[np.bool_]]:
    """Return which events were released how; every event has one fate."""
    one, rest = released.is_single, {"sets": released.is_set, "deleted": released.is_deleted}
    if original is None:
        return {"released": one} | rest
    true = one & (released.codes == original.place_index)
    return {"kept": true, "moved": one & ~true} | rest


def _count_true_sets(released: ObfuscatedTraces, original: Traces) -> int:
    event, place, _ = released.pairs()
    found = (place == original.place_index[event]) & released.is_set[event]
    return len(np.unique(event[found]))


# What is in a set of traces, in numbers.


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
            said |= {"format": "gps", "times": f"UTC (Z) here; on pages and grids {self.local}"}
        return said


def summarise(traces: Traces | GpsTraces, report: Report) -> Summary:
    """Count what describes traces that were read from a file."""
    return (
        _summarise_points(traces, report)
        if isinstance(traces, GpsTraces)
        else _summarise_events(traces, report)
    )


def _summarise_events(traces: Traces, report: Report) -> Summary:
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
        first=format_instant(clock, first),
        last=format_instant(clock, last),
        days=int(clock.day_of(last) - clock.day_of(first)) + 1,
        events_per_user=compute_quartiles(np.diff(traces.offsets)),
        gap_h=_describe_gaps(np.abs(np.diff(exact))[same_user] / 3600),
        missing=round(1 - distinct / cells, 6) if cells else 0.0,
        several_at_an_instant=int(again.sum()),
        report=report,
        local=report.clock,
    )


class PointSpan(TypedDict):
    """From when to when GPS points are, as a `Summary` says it."""

    first: str
    last: str
    days: int


def describe_point_span(first_ms: int, last_ms: int) -> PointSpan:
    """Return first and last second in UTC, and on how many dates they and all between them lie.

    >>> describe_point_span(0, 86_400_000)
    {'first': '1970-01-01T00:00:00Z', 'last': '1970-01-02T00:00:00Z', 'days': 2}
    """
    first, last = (np.datetime64(time, "ms").astype("datetime64[s]") for time in (first_ms, last_ms))
    days = int((last.astype("datetime64[D]") - first.astype("datetime64[D]")).astype(int)) + 1
    return {"first": f"{first}Z", "last": f"{last}Z", "days": days}


def _summarise_points(traces: GpsTraces, report: Report) -> Summary:
    order = traces.trajectory_order
    within = np.diff(traces.time_ms[order])[np.diff(traces.trajectory[order]) == 0]
    of_user = np.diff(traces.time_ms)[np.diff(traces.user_index) == 0]
    return Summary(
        users=traces.n_users,
        events=traces.n_points,
        **describe_point_span(int(traces.time_ms.min()), int(traces.time_ms.max())),
        events_per_user=compute_quartiles(np.diff(traces.offsets)),
        gap_h=_describe_gaps(of_user / 3_600_000),
        trajectories=traces.n_trajectories,
        bounds=asdict(Box.of(traces)),
        interval_s=float(np.median(within)) / 1000 if within.size else None,
        gaps_over_4h=int((of_user > LONG_GAP_MS).sum()),
        report=report,
        local=find_local_time(traces, report),
    )


def exact_seconds(traces: Traces) -> NDArray[np.int64]:
    """Return the second of each event, as exactly as it is known, from wherever they are counted."""
    clock = traces.clock
    if traces.timestamps is not None and clock.first_day is not None:
        return traces.timestamps
    # Days without dates are not those of the timestamps.
    return np.asarray(clock.day_of(traces.instants) * DAY_S + clock.second_of_day(traces.instants))


def format_instant(clock: Clock, instant: int) -> str:
    """Name an instant for people: ``2009-04-23 22:00``, or ``day 3, 08:30`` without dates."""
    day = int(clock.day_of(instant))
    if clock.first_day is None:
        return f"day {day + 1}, {clock.label(instant)}"
    return f"{clock.first_day + datetime.timedelta(days=day)} {clock.label(instant)}"


def compute_quartiles(lengths: NDArray[np.int64]) -> dict[str, float]:
    values = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1]) if len(lengths) else np.zeros(5)
    names = ("least", "quarter", "median", "three_quarters", "most")
    spread = {name: int(x) if x == int(x) else float(x) for name, x in zip(names, values, strict=True)}
    mean, deviation = (float(lengths.mean()), float(lengths.std())) if len(lengths) else (0.0, 0.0)
    return spread | {"mean": round(mean, 3), "standard_deviation": round(deviation, 3)}


def _describe_gaps(hours: NDArray[np.float64]) -> dict[str, float]:
    values = np.quantile(hours, [0.5, 0.9, 1]) if len(hours) else np.zeros(3)
    return {
        name: round(float(value), 3)
        for name, value in zip(("median", "ninety_percent", "longest"), values, strict=True)
    }


# When things happen: the day and the time of day of every row, and the pictures of them.


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class RowTimes:
    """When each row happens: its day, and which of the day's times.

    Attributes
    ----------
    first_day
        The date of day 0, if there is one.
    whose
        Whose clocks these are, if that is known.
    """

    what: str
    day: NDArray[np.int64]
    time: NDArray[np.int64]
    labels: list[str]
    first_day: datetime.date | None
    whose: str | None

    @property
    def axis(self) -> str:
        """The title of an axis of times."""
        return "time of day" if self.whose is None else f"time of day, {self.whose}"

    def by_weekday(self, first_day: datetime.date) -> NDArray[np.int64]:
        """Count the rows of each weekday (Monday first) at each time of day."""
        weekday = (self.day + first_day.weekday()) % 7
        cell = weekday * len(self.labels) + self.time
        return np.bincount(cell, minlength=7 * len(self.labels)).reshape(7, -1)

    def by_day(self) -> NDArray[np.int64]:
        """Count the rows of each day, from the first with any to the last, at each time of day."""
        first, last = int(self.day.min()), int(self.day.max())
        cell = (self.day - first) * len(self.labels) + self.time
        return np.bincount(cell, minlength=(last - first + 1) * len(self.labels)).reshape(
            last - first + 1, -1
        )


def compute_event_times(traces: EventTable, whose: str | None = None) -> RowTimes:
    """Return the days and times of events, by their clock."""
    clock = traces.clock
    return RowTimes(
        "events",
        np.asarray(clock.day_of(traces.instants)),
        np.asarray(clock.time_of_day(traces.instants)),
        [clock.label(instant) for instant in range(clock.instants_per_day)],
        clock.first_day,
        whose,
    )


def compute_point_times(traces: GpsTraces, zone: str) -> RowTimes:
    """Return the days and hours of points on the clocks of a zone."""
    local = local_seconds(traces.time_ms, zone)
    first = int(local.min()) // DAY_S
    return RowTimes(
        "points",
        local // DAY_S - first,
        local % DAY_S // 3600,
        [f"{hour:02d}:00" for hour in range(24)],
        EPOCH + datetime.timedelta(days=first),
        zone,
    )


def draw_heat_map(rows: list[str], times: RowTimes, table: NDArray[np.int64]) -> dict[str, Any]:
    """Return the Plotly figure of counts by row, such as weekdays, and time of day."""
    trace = {
        "type": "heatmap", "x": times.labels, "y": rows, "z": table, "colorscale": "Viridis",
        "colorbar": {"title": {"text": times.what, "side": "right"}, "thickness": 12},
        "hovertemplate": "%{y} %{x}: %{z:,} " + times.what + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 330,
        "yaxis": {"autorange": "reversed"},
        "xaxis": {"title": {"text": times.axis}, **thin_ticks(times.labels)},
    }
    return {"data": [trace], "layout": layout}


def thin_ticks(labels: list[str]) -> dict[str, Any]:
    """Leave labels out where they would not fit a phone."""
    step = -(-len(labels) // 8)
    return {"tickmode": "array", "tickvals": labels[::step]}


# How much happens where: the amounts that maps of traces show.


_MAP_CELLS = 120
_FINEST_M = 88.6


class PlaceAmounts(NamedTuple):
    """An amount for every place.

    Attributes
    ----------
    what
        What is counted, in the plural.
    inside
        The share of all rows that lie at the places.
    """

    places: Places
    counts: NDArray[Any]
    what: str
    inside: float


def count_amounts(traces: Traces | GpsTraces | ObfuscatedTraces) -> PlaceAmounts:
    """Count events at their places, points on a grid of about 120 cells over their area.

    A released event counts in parts at each place of its set, and nowhere if it was deleted.
    """
    if isinstance(traces, GpsTraces):
        area = default_area(traces, _FINEST_M)
        grid = tessellation(area, max(area.size_m()) / _MAP_CELLS)
        cell = grid.cell_of(traces.latitude, traces.longitude)
        points = np.bincount(cell[cell >= 0], minlength=len(grid))
        return PlaceAmounts(Places.of_grid(grid), points, "points", float(points.sum() / len(traces)))
    if isinstance(traces, ObfuscatedTraces):
        _, place, weight = traces.pairs()
        counts = np.bincount(place, weights=weight, minlength=len(traces.places))
        return PlaceAmounts(
            traces.places, counts, "events", float((~traces.is_deleted).mean() if len(traces) else 1)
        )
    counts = np.bincount(traces.place_index, minlength=len(traces.places))
    return PlaceAmounts(traces.places, counts, "events", 1.0)
