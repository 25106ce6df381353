"""The page of ``tracearena describe``: where, when, who, and what was wrong with the file."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.io.fields.coordinates import find_local_time
from tracearena.io.report import Report
from tracearena.pages.contest_days import place_map
from tracearena.pages.html import BLUE, GREY, ORANGE, SKY, Page, capitalise, format_value
from tracearena.traces import Box, Clock, GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.gridding import default_area, tessellation
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import EPOCH, LocalTime, local_seconds

_TOP_PLACES = 500
_WEEK = 7


def build_description_page(traces: Traces | GpsTraces, report: Report) -> Page:
    """Assemble the page for traces, events or points, and the report of their file."""
    summary = summarise(traces, report)
    days = "one day" if summary.days == 1 else f"{summary.days:,} days"
    dropped = summary.report.dropped_rows
    fate = (
        f"{dropped:,} of its {summary.report.rows:,} rows were dropped" if dropped else "no row was dropped"
    )
    recordings = "" if summary.trajectories is None else f" in {summary.trajectories:,} trajectories"
    page = Page(
        Path(report.path).name,
        lead=(
            f"{summary.users:,} users and {summary.events:,} {_name_rows(summary)}{recordings} "
            f"within {days}, read as {summary.report.format}; {fate}."
        )
        + ("" if summary.local is None else f" {capitalise(str(summary.local))}."),
    )
    noun = _name_rows(summary)
    zone = "" if summary.local is None or summary.local.zone is None else f" ({summary.local.zone})"
    own = {
        "trajectories": summary.trajectories,
        "places visited": summary.visited_places,
        "places in all": summary.places,
        "seconds to the next point, median": summary.interval_s,
        "gaps over four hours": summary.gaps_over_4h,
    }
    page.cards(
        {
            "users": summary.users,
            noun: summary.events,
            **{name: value for name, value in own.items() if value is not None},
            f"first {noun[:-1]}{' (UTC)' if summary.are_points else zone}": _format_moment(summary.first),
            f"last {noun[:-1]}{' (UTC)' if summary.are_points else zone}": _format_moment(summary.last),
            f"{noun} of the median user": summary.events_per_user["median"],
            f"hours to the next {noun[:-1]}, median": summary.gap_h["median"],
            "rows dropped": summary.report.dropped_rows,
        }
    )
    if isinstance(traces, GpsTraces):
        _add_point_map(page, traces)
        _add_times(page, compute_point_times(traces, (summary.local and summary.local.zone) or "UTC"))
    else:
        found = count_amounts(traces)
        half, visited = _count_half(found.counts)
        _add_map(page, found, f"Half of all events happen at {half:,} of {visited:,} visited places.")
        _add_times(page, compute_event_times(traces, None if summary.local is None else summary.local.axis))
    lengths = np.sort(np.diff(traces.offsets))
    what = _name_rows(summary)
    page.heading("How much of each person")
    tenth = lengths[-max(len(lengths) // 10, 1) :].sum() / max(int(lengths.sum()), 1)
    top = int(lengths.max(initial=1))
    borders = [0] if (lengths == 0).any() else []
    borders += [2**power for power in range(int(np.log2(max(top, 1))) + 2)]
    edges, counts = borders, np.histogram(lengths, np.asarray(borders, float) - 0.5)[0]
    labels = [(f"{low:,}" if high - low == 1 else f"{low:,}–{high - 1:,}") for low, high in pairwise(edges)]
    message = (
        f"The median user has {int(np.median(lengths)):,} {what}; the busiest tenth of the users "
        f"has {tenth:.0%} of all."
    )
    if lengths[0] == lengths[-1]:
        message = f"Every user has as many {what} as any other: {int(lengths[0]):,}."
    page.figure(
        _draw_bars(labels, counts, f"{what} of a user", "users"),
        message,
        table=(
            [f"{what} of a user", "users"],
            [[text, int(n)] for text, n in zip(labels, counts, strict=True)],
        ),
        name=f"{what}-per-user",
    )
    page.heading("What was dropped, and why")
    report = summary.report
    if report.dropped:
        page.table(["reason", "rows", "first examples"], _build_problem_rows(report, report.dropped))
    else:
        page.text(f"Nothing: all {report.rows:,} rows of the file are in use.")
    if report.noticed:
        page.heading("Noticed, and kept", level=3)
        page.table(["what", "how often", "first examples"], _build_problem_rows(report, report.noticed))
    gaps = (
        f"Between two {_name_rows(summary)} of a user lie {format_value(summary.gap_h['median'])} hours in "
        "the median "
        f"and {format_value(summary.gap_h['longest'])} at most"
    )
    if summary.missing is not None and summary.several_at_an_instant is not None:
        gaps += (
            f"; {summary.missing:.1%} of all users × instants have no event, and "
            f"{summary.several_at_an_instant:,} events share an instant with an earlier one"
        )
    page.text(f"{gaps}.")
    return page


def _name_rows(summary: Summary) -> str:
    return "points" if summary.are_points else "events"


def _format_moment(text: str) -> str:
    return text.rstrip("Z").replace("T", " ")


def _add_point_map(page: Page, traces: GpsTraces) -> None:
    found = count_amounts(traces)
    half, visited = _count_half(found.counts)
    share = f"The map holds {found.inside:.0%} of all points"
    _add_map(page, found, f"{share}; half of them lie in {half:,} of {visited:,} cells.")


def _count_half(counts: NDArray[Any]) -> tuple[int, int]:
    """Return how few places have half of everything, and how many have anything."""
    half = int(np.searchsorted(np.cumsum(np.sort(counts)[::-1]), counts.sum() / 2)) + 1
    return half, int((counts > 0).sum())


def _add_map(page: Page, found: PlaceAmounts, message: str) -> None:
    page.heading("Where people are")
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
    page.figure(
        place_map(places, counts, what=what),
        message,
        table=(["place", "latitude", "longitude", what], rows),
        name="places",
    )


def _add_times(page: Page, times: RowTimes) -> None:
    labels, what = times.labels, times.what
    whose = "" if times.whose is None else f" ({times.whose})"
    page.heading("When people are seen")
    counts = np.bincount(times.time, minlength=len(labels))
    share = counts / max(len(times.time), 1)
    busiest = int(np.argmax(counts))
    message = f"The busiest time of day is {labels[busiest]}{whose}, with {share[busiest]:.1%} of all {what}."
    if (counts == counts[0]).all():
        message = f"Every time of day has as many {what} as any other."
    page.figure(
        _draw_bars(labels, counts, times.axis, what),
        message,
        table=(
            [f"time{whose}", what],
            [[label, int(n)] for label, n in zip(labels, counts, strict=True)],
        ),
        name="time-of-day",
    )
    if times.first_day is not None:
        days = np.unique(times.day)
        if days[-1] - days[0] >= _WEEK:
            noun, table = times.what, times.by_weekday(times.first_day)
            totals = table.sum(axis=1)
            most, least = int(np.argmax(totals)), int(np.argmin(totals))
            message = (
                f"{WEEKDAYS[most]} has the most {noun}, {totals[most] / totals.sum():.1%} of all, "
                f"{WEEKDAYS[least]} the fewest, {totals[least] / totals.sum():.1%}."
            )
            if totals[most] == totals[least]:
                message = f"Every weekday has as many {noun} as any other."
            page.figure(
                draw_heat_map(list(WEEKDAYS), times, table),
                message,
                table=(
                    ["weekday", *times.labels],
                    [[day, *map(int, row)] for day, row in zip(WEEKDAYS, table, strict=True)],
                ),
                name="weekdays",
            )
        if len(days) > 1:
            days, what = times.day, times.what
            first = int(days.min())
            counts = np.bincount(days - first)
            dates = [str(times.first_day + datetime.timedelta(days=first + i)) for i in range(len(counts))]
            silent = int((counts == 0).sum())
            fate = f"every day has {what}" if silent == 0 else f"{silent:,} of {len(counts):,} days have none"
            line = {
                "type": "scatter", "mode": "lines" if len(dates) > 60 else "lines+markers", "x": dates,
                "y": counts, "line": {"color": BLUE, "width": 1},
                "hovertemplate": "%{x}: %{y:,} " + what + "<extra></extra>",
            }  # fmt: skip
            layout = {
                "height": 300,
                "xaxis": {"title": {"text": "date"}, "type": "date"},
                "yaxis": {"title": {"text": f"{what} a day"}, "rangemode": "tozero"},
            }
            page.figure(
                {"data": [line], "layout": layout},
                f"From {dates[0]} to {dates[-1]}: {fate}, and the busiest has {int(counts.max()):,}.",
                table=(["date", what], [[date, int(n)] for date, n in zip(dates, counts, strict=True)]),
                name="dates",
            )


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
_WORDS = {
    "released": "released at one place",
    "kept": "released where they happened",
    "moved": "moved to another place",
    "sets": "released as one of several places",
    "deleted": "deleted",
}


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
        Median and largest number of places of a set; None where there is none.
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
        known = {name: getattr(self, name) for name in _WORDS}
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
    counts = summary.counts
    said = ", ".join(f"{count:,} {_WORDS[name]}" for name, count in counts.items())
    lead = f"{summary.users:,} users and {summary.events:,} events, read as {report.format}: {said}."
    page = Page(Path(report.path).name, lead=lead)
    page.cards({"users": summary.users, "events": summary.events, "places": summary.places} | counts)
    page.heading("What is released when")
    gone = summary.deleted / max(summary.events, 1)
    several = summary.sets / max(summary.events, 1)
    labels = list(summary.by_time)
    bars = [
        {
            "type": "bar", "name": name, "x": labels, "y": [row[name] for row in summary.by_time.values()],
            "marker": {"color": _COLOURS[name]}, "hovertemplate": "%{x}: %{y:,} " + name + "<extra></extra>",
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
    page.figure(
        {"data": bars, "layout": layout},
        f"{gone:.1%} of all events are deleted, and {several:.1%} are released as one of several places.",
        table=_build_table(summary),
        name="release-by-time",
    )
    page.heading("Where")
    _, place, weight = released.pairs()
    amounts = np.bincount(place, weights=weight, minlength=len(released.places))
    page.figure(
        place_map(released.places, amounts, what="events"),
        "Events by the places released for them; one of a set counts in equal parts for each.",
    )
    return page


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


def _build_table(summary: ReleaseSummary) -> tuple[list[str], list[list[Any]]]:
    rows = [[label, *row.values()] for label, row in summary.by_time.items()]
    return ["time of day", *summary.counts], rows


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
            said |= {"format": "gps", "times": f"UTC (Z) here; on a page and on a grid {self.local}"}
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


def _summarise_points(traces: GpsTraces, report: Report) -> Summary:
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
