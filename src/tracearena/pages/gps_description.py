"""The page of ``tracearena describe`` for GPS traces: a map, the hours, the people, the faults."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracearena.intake.gps_reading import GpsReading
from tracearena.pages.gps_summary import summarise_gps
from tracearena.pages.maps import place_map
from tracearena.pages.page import Page, capital
from tracearena.pages.style import BLUE
from tracearena.traces import Places
from tracearena.traces.area import default_area, tessellation
from tracearena.traces.time import DAY_S, local_seconds

_MAP_CELLS = 120


def gps_description_page(reading: GpsReading, name: str) -> Page:
    """Assemble the page for GPS traces and the report of their files."""
    summary = summarise_gps(reading)
    lead = (
        f"{summary.events:,} points of {summary.users:,} users in {summary.trajectories:,} trajectories; "
        f"{sum(summary.dropped.values()):,} points were left out. {capital(str(reading.local_time))}."
    )
    page = Page(name, lead=lead)
    page.cards(
        {
            "users": summary.users,
            "points": summary.events,
            "trajectories": summary.trajectories,
            "first point (UTC)": _moment(summary.first),
            "last point (UTC)": _moment(summary.last),
            "points of the median user": round(summary.points_per_user["median"]),
            "seconds to the next point, median": summary.interval_s,
            "gaps over four hours": summary.gaps_over_4h,
        }
    )
    _where(page, reading)
    _when(page, reading)
    _who(page, reading)
    _wrong(page, reading)
    return page


def _moment(text: str) -> str:
    return text.rstrip("Z").replace("T", " ")


def _where(page: Page, reading: GpsReading) -> None:
    traces = reading.traces
    area = default_area(traces, 88.6)
    grid = tessellation(area, max(area.size_m()) / _MAP_CELLS)
    cell = grid.cell_of(traces.latitude, traces.longitude)
    counts = np.bincount(cell[cell >= 0], minlength=len(grid))
    places = Places.of_grid(grid)
    inside, visited = counts.sum() / len(traces), int((counts > 0).sum())
    half = int(np.searchsorted(np.cumsum(np.sort(counts)[::-1]), counts.sum() / 2)) + 1
    page.heading("Where people are")
    top = np.argsort(-counts, kind="stable")[:500]
    rows = [
        [round(float(places.latitude[i]), 6), round(float(places.longitude[i]), 6), int(counts[i])]
        for i in top
        if counts[i]
    ]
    page.figure(
        place_map(places, counts, what="points"),
        f"The map holds {inside:.0%} of all points; half of them lie in {half:,} of {visited:,} cells.",
        table=(["latitude", "longitude", "points"], rows),
        name="map",
    )


def _when(page: Page, reading: GpsReading) -> None:
    traces = reading.traces
    zone = reading.local_time.zone or "UTC"
    local = local_seconds(traces.time_ms, zone)
    counts = np.bincount(local % DAY_S // 3600, minlength=24)
    labels = [f"{hour:02d}:00" for hour in range(24)]
    page.heading("When people are recorded")
    busiest = int(np.argmax(counts))
    page.figure(
        _bars(labels, counts, f"hour of the day, {zone}", "points"),
        f"The busiest hour begins at {labels[busiest]} ({zone}): {counts[busiest] / counts.sum():.1%} of all "
        "points.",
        table=(
            [f"hour ({zone})", "points"],
            [[label, int(n)] for label, n in zip(labels, counts, strict=True)],
        ),
        name="hours",
    )


def _who(page: Page, reading: GpsReading) -> None:
    traces = reading.traces
    lengths = np.diff(traces.offsets)
    order = np.argsort(-lengths, kind="stable")
    share = lengths[order[:5]].sum() / max(len(traces), 1)
    shown = [[str(traces.user_ids[user]), int(lengths[user])] for user in order]
    page.heading("How much of each person")
    ranks = [str(rank) for rank in range(1, len(order) + 1)]
    page.figure(
        _bars(ranks, lengths[order], "users by number of points", "points"),
        f"The {min(5, len(order))} most active of {len(order):,} users have {share:.0%} of all points.",
        table=(["user", "points"], shown),
        name="users",
    )


def _wrong(page: Page, reading: GpsReading) -> None:
    page.heading("What was left out, and why")
    if reading.dropped:
        page.table(["reason", "points"], [[code, count] for code, count in reading.dropped.items()])
    else:
        page.text(f"Nothing: all {reading.traces.n_points:,} points are in use.")
    if reading.noticed:
        page.heading("Noticed, and kept", level=3)
        page.table(["what", "how often"], [[code, count] for code, count in reading.noticed.items()])
    if reading.findings:
        page.heading("The first of them", level=3)
        page.table(["finding"], [[str(finding)] for finding in reading.findings])


def _bars(labels: list[str], counts: Any, x: str, y: str) -> dict[str, Any]:
    bars = {"type": "bar", "x": labels, "y": counts, "marker": {"color": BLUE},
            "hovertemplate": "%{x}: %{y:,} " + y + "<extra></extra>"}  # fmt: skip
    step = -(-len(labels) // 8)
    axis = {"title": {"text": x}, "type": "category", "tickmode": "array", "tickvals": labels[::step]}
    return {
        "data": [bars],
        "layout": {"height": 320, "bargap": 0.15, "xaxis": axis, "yaxis": {"title": {"text": y}}},
    }
