"""How much happens at which time of which day."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.pages.describe import WEEKDAYS, PlaceAmounts, RowTimes, count_amounts, draw_heat_map
from tracearena.pages.html import COLOURS, VERMILION
from tracearena.pages.maps import compute_map_box, place_map
from tracearena.papers.style import draw_ground, open_canvas
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.box import Box

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WEEK = 7
_MOST_ROWS = 62
_TICKS = 9


def draw_hours(times: RowTimes, *, interactive: bool = False) -> Any:
    """Draw the times of day by weekday; by day where there is less than a week, or no date."""
    rows, table = _count_hours(times)
    by = "weekday" if rows[0] in WEEKDAYS else "day"
    title = f"{len(times.day):,} {times.what} by {by} and time of day"
    if table.min() == table.max():
        title = f"{title}: as many at any time as at any other"
    if interactive:
        figure = to_plotly_figure(draw_heat_map(rows, times, table)).update_traces(zmin=0)
        height = 180 + 24 * len(rows)
        return figure.update_layout(title={"text": title, "font": {"size": 14}}, height=height)
    with open_canvas(7.6, 1.5 + 0.28 * min(len(rows), 24)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = axes.imshow(table, aspect="auto", cmap="viridis", interpolation="nearest", vmin=0)
        axes.grid(False)
        every, step = -(-len(rows) // 24), -(-len(times.labels) // _TICKS)
        axes.set_yticks(range(0, len(rows), every), rows[::every])
        axes.set_xticks(np.arange(0, len(times.labels), step), times.labels[::step])
        axes.set_xlabel(times.axis)
        axes.set_title(title, fontsize=9.5, loc="left")
        drawn.colorbar(image, ax=axes, label=times.what)
        return drawn


def _count_hours(times: RowTimes) -> tuple[list[str], NDArray[np.int64]]:
    first, last = int(times.day.min()), int(times.day.max())
    days = last - first + 1
    if times.first_day is not None and days >= _WEEK:
        return list(WEEKDAYS), times.by_weekday(times.first_day)
    if days > _MOST_ROWS:
        return ["all days"], times.by_day().sum(axis=0, keepdims=True)
    return [format_day_label(first + at, times.first_day) for at in range(days)], times.by_day()


def format_day_label(day: int, first_day: datetime.date | None) -> str:
    """Name a day for people.

    >>> format_day_label(2, None), format_day_label(2, datetime.date(2019, 4, 1))
    ('day 3', 'Wed 2019-04-03')
    """
    if first_day is None:
        return f"day {day + 1}"
    date = first_day + datetime.timedelta(days=day)
    return f"{WEEKDAYS[date.weekday()][:3]} {date}"


# A map of how much happens where.


_WIDTH, _LEAST, _MOST = 6.4, 3.0, 8.5
"""Inches: of a map with its colour bar, and the limits of its height."""
_LARGEST_DOT, _SMALLEST_DOT = 30.0, 3.0


def draw_place_map(traces: Traces | GpsTraces | ObfuscatedTraces, *, interactive: bool = False) -> Any:
    """Draw the map of all rows."""
    found = count_amounts(traces)
    title = _format_title(traces, found)
    if interactive:
        figure = to_plotly_figure(place_map(found.places, found.counts, what=found.what))
        return figure.update_layout(title={"text": title, "font": {"size": 14}}, margin={"t": 120})
    box = compute_map_box(found.places)
    with open_canvas(_WIDTH, _compute_height(box, _WIDTH - 1.6)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = draw_amounts(axes, found)
        draw_ground(axes, box)
        axes.set(xlabel="longitude, degrees", ylabel="latitude, degrees")
        axes.set_title(title, fontsize=9.5, loc="left", parse_math=False)
        drawn.colorbar(image, ax=axes, label=found.what, shrink=0.7, format="{x:,g}")
        return drawn


def _compute_height(box: Box, width: float) -> float:
    """Return the height in inches of a map of the box that is so wide."""
    north_m, east_m = box.size_m()
    return float(np.clip(width * north_m / max(east_m, 1.0) + 1.2, _LEAST, _MOST))


def draw_amounts(axes: Axes, found: PlaceAmounts) -> Any:
    """Draw the amounts on a logarithmic scale, as `place_map` does, and return what a colour bar needs."""
    from matplotlib.colors import LogNorm

    places, counts = found.places, np.asarray(found.counts, float)
    seen = counts > 0
    low, high = (float(counts[seen].min()), float(counts.max())) if seen.any() else (1.0, 1.0)
    norm = LogNorm(min(low, 1.0), max(high, 2.0))
    if places.grid is not None:
        grid = places.grid
        table = np.ma.masked_less_equal(counts.reshape(grid.rows, grid.columns), 0)
        extent = (grid.west, grid.east, grid.south, grid.north)
        image: Any = axes.imshow(
            table, origin="lower", extent=extent, norm=norm, cmap="viridis", interpolation="nearest"
        )
    else:
        order = np.flatnonzero(seen)[np.argsort(counts[seen], kind="stable")]
        size = np.clip(20_000 / max(len(order), 1), _SMALLEST_DOT, _LARGEST_DOT)
        image = axes.scatter(
            places.longitude[order], places.latitude[order], c=counts[order], s=size, norm=norm,
            cmap="viridis", linewidths=0, rasterized=True,
        )  # fmt: skip
    draw_sensitive(axes, places)
    return image


def draw_sensitive(axes: Axes, places: Places) -> None:
    """Mark sensitive places with a cross, and say so."""
    marked = places.sensitive
    if marked.any():
        axes.scatter(
            places.longitude[marked], places.latitude[marked], s=14, marker="x", color=VERMILION,
            linewidths=0.9, label="sensitive places", zorder=3,
        )  # fmt: skip
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.13), borderpad=0)


def _format_title(traces: Traces | GpsTraces | ObfuscatedTraces, found: PlaceAmounts) -> str:
    rows = f"{len(traces):,} {found.what if len(traces) != 1 else found.what[:-1]}"
    users = f"{traces.n_users:,} users" if traces.n_users != 1 else f"user {traces.user_ids[0]}"
    seen, of = int((found.counts > 0).sum()), len(found.places)
    if isinstance(traces, GpsTraces):
        inside = "" if found.inside == 1 else f"; the map holds {found.inside:.1%} of them"
        return f"{rows} of {users} in {seen:,} cells{inside}"
    where = f"at {seen:,} of {of:,} places"
    if isinstance(traces, ObfuscatedTraces):
        sets, gone = int(traces.is_set.sum()), int(traces.is_deleted.sum())
        return f"{rows} of {users}, released {where}: {sets:,} as sets, {gone:,} deleted"
    return f"{rows} of {users} {where}"


# Figures of our pages as figures of Plotly, which notebooks show and people move about in.


_COLOURS = {"var(--ink)": "#1c1e21", "var(--paper)": "#ffffff", "var(--soft)": "#5b6169"}
"""What stands for the colours of a page that follows its reader's setting; those of paper."""


def to_plotly_figure(figure: dict[str, Any]) -> Any:
    """Return a figure of Plotly made of the dictionary that a page would show."""
    import plotly.graph_objects as go

    made = go.Figure(_replace_colours(figure))
    made.update_layout(
        template="plotly_white",
        colorway=COLOURS,
        font={"family": "system-ui, sans-serif"},
        margin={"l": 10, "r": 10, "b": 10},
    )
    return made.update_xaxes(automargin=True).update_yaxes(automargin=True)


def _replace_colours(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _replace_colours(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_replace_colours(value) for value in part]
    return _COLOURS.get(part, part) if isinstance(part, str) else part
