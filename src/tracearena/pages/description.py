"""The page of ``tracearena describe``: where, when, who, and what was wrong with the file."""

from __future__ import annotations

import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.intake.report import Report
from tracearena.pages.maps import place_map
from tracearena.pages.page import Page, capital, shown
from tracearena.pages.style import BLUE
from tracearena.pages.summary import Summary, summarise
from tracearena.pages.when import WEEKDAYS, Times, few_ticks, heat, times_of_events, times_of_points
from tracearena.pages.where import Amounts, amounts_of
from tracearena.traces import GpsTraces, Traces

_TOP_PLACES = 500
_WEEK = 7


def description_page(traces: Traces | GpsTraces, report: Report) -> Page:
    """Assemble the page for traces, events or points, and the report of their file."""
    summary = summarise(traces, report)
    page = Page(Path(report.path).name, lead=_lead(summary))
    page.cards(_cards(summary))
    if isinstance(traces, GpsTraces):
        _where_points(page, traces)
        _when(page, times_of_points(traces, (summary.local and summary.local.zone) or "UTC"))
    else:
        _where_events(page, traces)
        _when(page, times_of_events(traces, None if summary.local is None else summary.local.axis))
    _who(page, np.sort(np.diff(traces.offsets)), _what(summary))
    _wrong(page, summary)
    return page


def _what(summary: Summary) -> str:
    return "points" if summary.are_points else "events"


def _lead(summary: Summary) -> str:
    days = "one day" if summary.days == 1 else f"{summary.days:,} days"
    dropped = summary.report.dropped_rows
    fate = (
        f"{dropped:,} of its {summary.report.rows:,} rows were dropped" if dropped else "no row was dropped"
    )
    recordings = "" if summary.trajectories is None else f" in {summary.trajectories:,} trajectories"
    return (
        f"{summary.users:,} users and {summary.events:,} {_what(summary)}{recordings} within {days}, "
        f"read as {summary.report.format}; {fate}."
    ) + ("" if summary.local is None else f" {capital(str(summary.local))}.")


def _cards(summary: Summary) -> dict[str, Any]:
    what = _what(summary)
    zone = "" if summary.local is None or summary.local.zone is None else f" ({summary.local.zone})"
    own = {
        "trajectories": summary.trajectories,
        "places visited": summary.visited_places,
        "places in all": summary.places,
        "seconds to the next point, median": summary.interval_s,
        "gaps over four hours": summary.gaps_over_4h,
    }
    return {
        "users": summary.users,
        what: summary.events,
        **{name: value for name, value in own.items() if value is not None},
        f"first {what[:-1]}{' (UTC)' if summary.are_points else zone}": _moment(summary.first),
        f"last {what[:-1]}{' (UTC)' if summary.are_points else zone}": _moment(summary.last),
        f"{what} of the median user": summary.events_per_user["median"],
        f"hours to the next {what[:-1]}, median": summary.gap_h["median"],
        "rows dropped": summary.report.dropped_rows,
    }


def _moment(text: str) -> str:
    return text.rstrip("Z").replace("T", " ")


def _where_events(page: Page, traces: Traces) -> None:
    found = amounts_of(traces)
    half, visited = _half(found.counts)
    _where(page, found, f"Half of all events happen at {half:,} of {visited:,} visited places.")


def _where_points(page: Page, traces: GpsTraces) -> None:
    found = amounts_of(traces)
    half, visited = _half(found.counts)
    share = f"The map holds {found.inside:.0%} of all points"
    _where(page, found, f"{share}; half of them lie in {half:,} of {visited:,} cells.")


def _half(counts: NDArray[Any]) -> tuple[int, int]:
    """Return how few places have half of everything, and how many have anything."""
    half = int(np.searchsorted(np.cumsum(np.sort(counts)[::-1]), counts.sum() / 2)) + 1
    return half, int((counts > 0).sum())


def _where(page: Page, found: Amounts, message: str) -> None:
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


def _when(page: Page, times: Times) -> None:
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
        _bars(labels, counts, times.axis, what),
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
            _by_weekday(page, times, times.first_day)
        if len(days) > 1:
            _by_date(page, times, times.first_day)


def _by_weekday(page: Page, times: Times, first_day: datetime.date) -> None:
    what, table = times.what, times.by_weekday(first_day)
    totals = table.sum(axis=1)
    most, least = int(np.argmax(totals)), int(np.argmin(totals))
    message = (
        f"{WEEKDAYS[most]} has the most {what}, {totals[most] / totals.sum():.1%} of all, "
        f"{WEEKDAYS[least]} the fewest, {totals[least] / totals.sum():.1%}."
    )
    if totals[most] == totals[least]:
        message = f"Every weekday has as many {what} as any other."
    page.figure(
        heat(list(WEEKDAYS), times, table),
        message,
        table=(
            ["weekday", *times.labels],
            [[day, *map(int, row)] for day, row in zip(WEEKDAYS, table, strict=True)],
        ),
        name="weekdays",
    )


def _by_date(page: Page, times: Times, first_day: datetime.date) -> None:
    days, what = times.day, times.what
    first = int(days.min())
    counts = np.bincount(days - first)
    dates = [str(first_day + datetime.timedelta(days=first + i)) for i in range(len(counts))]
    silent = int((counts == 0).sum())
    fate = f"every day has {what}" if silent == 0 else f"{silent:,} of {len(counts):,} days have none"
    page.figure(
        _line(dates, counts, what),
        f"From {dates[0]} to {dates[-1]}: {fate}, and the busiest has {int(counts.max()):,}.",
        table=(["date", what], [[date, int(n)] for date, n in zip(dates, counts, strict=True)]),
        name="dates",
    )


def _who(page: Page, lengths: NDArray[np.int64], what: str) -> None:
    page.heading("How much of each person")
    tenth = lengths[-max(len(lengths) // 10, 1) :].sum() / max(int(lengths.sum()), 1)
    edges, counts = _log_bins(lengths)
    labels = [_range(low, high) for low, high in pairwise(edges)]
    message = (
        f"The median user has {int(np.median(lengths)):,} {what}; the busiest tenth of the users "
        f"has {tenth:.0%} of all."
    )
    if lengths[0] == lengths[-1]:
        message = f"Every user has as many {what} as any other: {int(lengths[0]):,}."
    page.figure(
        _bars(labels, counts, f"{what} of a user", "users"),
        message,
        table=(
            [f"{what} of a user", "users"],
            [[text, int(n)] for text, n in zip(labels, counts, strict=True)],
        ),
        name=f"{what}-per-user",
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
        page.table(["reason", "rows", "first examples"], _counted(report, report.dropped))
    else:
        page.text(f"Nothing: all {report.rows:,} rows of the file are in use.")
    if report.noticed:
        page.heading("Noticed, and kept", level=3)
        page.table(["what", "how often", "first examples"], _counted(report, report.noticed))
    gaps = (
        f"Between two {_what(summary)} of a user lie {shown(summary.gap_h['median'])} hours in the median "
        f"and {shown(summary.gap_h['longest'])} at most"
    )
    if summary.missing is not None and summary.several_at_an_instant is not None:
        gaps += (
            f"; {summary.missing:.1%} of all users × instants have no event, and "
            f"{summary.several_at_an_instant:,} events share an instant with an earlier one"
        )
    page.text(f"{gaps}.")


def _counted(report: Report, counts: dict[str, int]) -> list[list[Any]]:
    return [
        [reason, count, "; ".join(example.said(report.path) for example in report.examples_of(reason))]
        for reason, count in counts.items()
    ]


def _bars(labels: list[str], counts: Any, x: str, y: str) -> dict[str, Any]:
    bars = {
        "type": "bar", "x": labels, "y": counts, "marker": {"color": BLUE},
        "hovertemplate": "%{x}: %{y:,} " + y + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 320,
        "bargap": 0.15,
        "xaxis": {"title": {"text": x}, "type": "category", **few_ticks(labels)},
        "yaxis": {"title": {"text": y}},
    }
    return {"data": [bars], "layout": layout}


def _line(dates: list[str], counts: Any, what: str) -> dict[str, Any]:
    line = {
        "type": "scatter", "mode": "lines" if len(dates) > 60 else "lines+markers", "x": dates, "y": counts,
        "line": {"color": BLUE, "width": 1},
        "hovertemplate": "%{x}: %{y:,} " + what + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 300,
        "xaxis": {"title": {"text": "date"}, "type": "date"},
        "yaxis": {"title": {"text": f"{what} a day"}, "rangemode": "tozero"},
    }
    return {"data": [line], "layout": layout}
