"""The page of ``tracearena describe``: where, when, who, and what was wrong with the file."""

from __future__ import annotations

import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tracearena.intake.local_time import LocalTime
from tracearena.intake.report import Report
from tracearena.pages.maps import place_map
from tracearena.pages.page import Page, capital, shown
from tracearena.pages.style import BLUE
from tracearena.pages.summary import Summary, summarise
from tracearena.traces import Traces

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOP_PLACES = 500
_WEEK = 7


def description_page(traces: Traces, report: Report) -> Page:
    """Assemble the page for traces and the report of their file."""
    summary = summarise(traces, report)
    name = Path(report.path).name
    zone = "" if report.clock is None or report.clock.zone is None else f" ({report.clock.zone})"
    page = Page(name, lead=_lead(summary))
    page.cards(
        {
            "users": summary.users,
            "events": summary.events,
            "places visited": summary.visited_places,
            "places in all": summary.places,
            f"first event{zone}": summary.first,
            f"last event{zone}": summary.last,
            "events of the median user": summary.events_per_user["median"],
            "hours to the next event, median": summary.gap_h["median"],
            "rows dropped": report.dropped_rows,
        }
    )
    _where(page, traces)
    _when(page, traces, report.clock)
    _who(page, traces)
    _wrong(page, summary)
    return page


def _lead(summary: Summary) -> str:
    days = "one day" if summary.days == 1 else f"{summary.days:,} days"
    dropped = summary.report.dropped_rows
    fate = (
        f"{dropped:,} of its {summary.report.rows:,} rows were dropped" if dropped else "no row was dropped"
    )
    return (
        f"{summary.users:,} users and {summary.events:,} events within {days}, "
        f"read as {summary.report.format}; {fate}."
    ) + ("" if summary.report.clock is None else f" {capital(str(summary.report.clock))}.")


def _where(page: Page, traces: Traces) -> None:
    places = traces.places
    counts = np.bincount(traces.place_index, minlength=len(places))
    order = np.argsort(-counts, kind="stable")
    half = int(np.searchsorted(np.cumsum(counts[order]), traces.n_events / 2)) + 1
    page.heading("Where people are")
    rows = [
        [places.ids[i], places.latitude[i], places.longitude[i], int(counts[i])]
        for i in order[:_TOP_PLACES]
        if counts[i]
    ]
    rows = [
        [str(place), round(float(lat), 6), round(float(lon), 6), count] for place, lat, lon, count in rows
    ]
    page.figure(
        place_map(places, counts),
        f"Half of all events happen at {half:,} of {int((counts > 0).sum()):,} visited places.",
        table=(["place", "latitude", "longitude", "events"], rows),
        name="places",
    )


def _when(page: Page, traces: Traces, local: LocalTime | None) -> None:
    clock = traces.clock
    axis = "time of day" if local is None else f"time of day, {local.axis}"
    whose = "" if local is None else f" ({local.axis})"
    page.heading("When people are seen")
    labels = [clock.label(instant) for instant in range(clock.instants_per_day)]
    counts = np.bincount(clock.time_of_day(traces.instants), minlength=clock.instants_per_day)
    share = counts / max(traces.n_events, 1)
    busiest = int(np.argmax(counts))
    message = f"The busiest time of day is {labels[busiest]}{whose}, with {share[busiest]:.1%} of all events."
    if (counts == counts[0]).all():
        message = "Every time of day has as many events as any other."
    page.figure(
        _bars(labels, counts, axis, "events"),
        message,
        table=(
            [f"time{whose}", "events"],
            [[label, int(n)] for label, n in zip(labels, counts, strict=True)],
        ),
        name="time-of-day",
    )
    if clock.first_day is not None:
        days = np.unique(clock.day_of(traces.instants))
        if days[-1] - days[0] >= _WEEK:
            _by_weekday(page, traces, clock.first_day, labels, axis)
        if len(days) > 1:
            _by_date(page, traces, clock.first_day)


def _by_weekday(page: Page, traces: Traces, first_day: datetime.date, labels: list[str], axis: str) -> None:
    clock = traces.clock
    weekday = (clock.day_of(traces.instants) + first_day.weekday()) % 7
    cell = weekday * clock.instants_per_day + clock.time_of_day(traces.instants)
    table = np.bincount(cell, minlength=7 * clock.instants_per_day).reshape(7, -1)
    heat = {
        "type": "heatmap", "x": labels, "y": list(_WEEKDAYS), "z": table, "colorscale": "Viridis",
        "colorbar": {"title": {"text": "events", "side": "right"}, "thickness": 12},
        "hovertemplate": "%{y} %{x}: %{z:,} events<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 330,
        "yaxis": {"autorange": "reversed"},
        "xaxis": {"title": {"text": axis}, **_few_ticks(labels)},
    }
    totals = table.sum(axis=1)
    most, least = int(np.argmax(totals)), int(np.argmin(totals))
    message = (
        f"{_WEEKDAYS[most]} has the most events, {totals[most] / totals.sum():.1%} of all, "
        f"{_WEEKDAYS[least]} the fewest, {totals[least] / totals.sum():.1%}."
    )
    if totals[most] == totals[least]:
        message = "Every weekday has as many events as any other."
    page.figure(
        {"data": [heat], "layout": layout},
        message,
        table=(
            ["weekday", *labels],
            [[day, *map(int, row)] for day, row in zip(_WEEKDAYS, table, strict=True)],
        ),
        name="weekdays",
    )


def _by_date(page: Page, traces: Traces, first_day: datetime.date) -> None:
    days = traces.clock.day_of(traces.instants)
    first = int(days.min())
    counts = np.bincount(days - first)
    dates = [str(first_day + datetime.timedelta(days=first + i)) for i in range(len(counts))]
    silent = int((counts == 0).sum())
    fate = "every day has events" if silent == 0 else f"{silent:,} of {len(counts):,} days have none"
    page.figure(
        _line(dates, counts),
        f"From {dates[0]} to {dates[-1]}: {fate}, and the busiest has {int(counts.max()):,}.",
        table=(["date", "events"], [[date, int(n)] for date, n in zip(dates, counts, strict=True)]),
        name="dates",
    )


def _who(page: Page, traces: Traces) -> None:
    lengths = np.sort(np.diff(traces.offsets))
    page.heading("How much of each person")
    tenth = lengths[-max(len(lengths) // 10, 1) :].sum() / max(traces.n_events, 1)
    edges, counts = _log_bins(lengths)
    labels = [_range(low, high) for low, high in pairwise(edges)]
    message = (
        f"The median user has {int(np.median(lengths)):,} events; the busiest tenth of the users "
        f"has {tenth:.0%} of all."
    )
    if lengths[0] == lengths[-1]:
        message = f"Every user has as many events as any other: {int(lengths[0]):,}."
    page.figure(
        _bars(labels, counts, "events of a user", "users"),
        message,
        table=(
            ["events of a user", "users"],
            [[text, int(n)] for text, n in zip(labels, counts, strict=True)],
        ),
        name="events-per-user",
    )


def _log_bins(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[list[int], np.ndarray[Any, Any]]:
    """Bins that double, so that users with one event have one of their own."""
    top = int(lengths.max(initial=1))
    edges = [0] if (lengths == 0).any() else []
    edges += [2**power for power in range(int(np.log2(max(top, 1))) + 2)]
    return edges, np.histogram(lengths, np.asarray(edges, float) - 0.5)[0]


def _range(low: int, high: int) -> str:
    return f"{low:,}" if high - low == 1 else f"{low:,}–{high - 1:,}"


def _wrong(page: Page, summary: Summary) -> None:
    page.heading("What was dropped, and why")
    report = summary.report
    if report.dropped:
        rows = [
            [one.reason, one.count, "; ".join(f"row {row}: {value}" for row, _, value in one.examples)]
            for one in report.dropped
        ]
        page.table(["reason", "rows", "first examples"], rows)
    else:
        page.text(f"Nothing: all {report.rows:,} rows of the file are in use.")
    if report.noticed:
        page.heading("Noticed, and kept", level=3)
        page.table(["what", "how often"], [[what, count] for what, count in report.noticed.items()])
    page.text(
        f"Between two events of a user lie {shown(summary.gap_h['median'])} hours in the median and "
        f"{shown(summary.gap_h['longest'])} at most; {summary.missing:.1%} of all users × instants have no "
        f"event, and {summary.several_at_an_instant:,} events share an instant with an earlier one."
    )


def _bars(labels: list[str], counts: Any, x: str, y: str) -> dict[str, Any]:
    bars = {
        "type": "bar", "x": labels, "y": counts, "marker": {"color": BLUE},
        "hovertemplate": "%{x}: %{y:,} " + y + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 320,
        "bargap": 0.15,
        "xaxis": {"title": {"text": x}, "type": "category", **_few_ticks(labels)},
        "yaxis": {"title": {"text": y}},
    }
    return {"data": [bars], "layout": layout}


def _few_ticks(labels: list[str]) -> dict[str, Any]:
    """Leave labels out where they would not fit a phone."""
    step = -(-len(labels) // 8)
    return {"tickmode": "array", "tickvals": labels[::step]}


def _line(dates: list[str], counts: Any) -> dict[str, Any]:
    line = {
        "type": "scatter", "mode": "lines" if len(dates) > 60 else "lines+markers", "x": dates, "y": counts,
        "line": {"color": BLUE, "width": 1}, "hovertemplate": "%{x}: %{y:,} events<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 300,
        "xaxis": {"title": {"text": "date"}, "type": "date"},
        "yaxis": {"title": {"text": "events a day"}, "rangemode": "tozero"},
    }
    return {"data": [line], "layout": layout}
