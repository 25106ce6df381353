"""Pictures of traces: one person's days on a map and by hour, hours of the week, and a map of all rows."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.pages.describe import WEEKDAYS, PlaceAmounts, RowTimes, count_amounts, draw_heat_map
from tracearena.pages.html import COLOURS, GREY, VERMILION, YELLOW
from tracearena.pages.place_maps import compute_map_box, map_layout, place_map, sensitive_marks
from tracearena.papers.style import draw_ground, open_canvas
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.box import Box
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.gridding import tessellation
from tracearena.traces.time import local_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_OWN_COLOURS = 6
_LEAST_M = 500.0
_SPOT_M = 200.0
_MOST_SPOTS = 1000
"""Along the longer side of what is shown: who flies has larger spots."""
_LONGEST_STAY_H, _SHORTEST_STAY_H = 0.25, 0.03
_TICKS = 12
_LONGEST_LABEL = 28
_DELETED, _SET = -1, -2


@dataclass(frozen=True)
class ColourGroup:
    """What has one colour: a place, all other places, sets of places, what was deleted."""

    label: str
    colour: str
    rows: NDArray[np.bool_]
    is_hollow: bool = False


@dataclass(frozen=True)
class PersonView:
    """What is drawn of a person.

    Attributes
    ----------
    latitude, longitude
        Of each row; NaN where none or several places are released.
    start_h, end_h
        Hours of the day from which and to which a row is drawn.
    places
        The places whose sensitive ones are marked on the map; None of points.
    members
        The places, by index, that are released in sets.
    """

    title: str
    groups: list[ColourGroup]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    start_h: NDArray[np.float64]
    end_h: NDArray[np.float64]
    places: Places | None
    times: RowTimes
    members: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def box(self) -> Box:
        """The box of the map."""
        if self.places is not None and not (len(self.members) or np.isfinite(self.latitude).any()):
            return compute_map_box(self.places)
        sets = self.in_sets
        latitude = np.concatenate([self.latitude, sets[0]])
        longitude = np.concatenate([self.longitude, sets[1]])
        south, west = float(np.nanmin(latitude)), float(np.nanmin(longitude))
        tight = Box(south, west, float(np.nanmax(latitude)), float(np.nanmax(longitude)))
        north_m, east_m = (float(metres) for metres in metres_per_degree(tight.middle[0]))
        half_m = max(0.56 * max(tight.size_m()), _LEAST_M / 2)
        return Box(*tight.middle, *tight.middle).with_margin(half_m / north_m, half_m / max(east_m, 1.0))

    @property
    def in_sets(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitude and longitude of the places that are released in sets."""
        if self.places is None:
            return np.zeros(0), np.zeros(0)
        return self.places.latitude[self.members], self.places.longitude[self.members]


def draw_person(
    traces: Traces | GpsTraces | ObfuscatedTraces, times: RowTimes, *, interactive: bool = False
) -> Any:
    """Draw the rows of the one user of these traces."""
    shown = _build_person_view(traces, times)
    return _draw_plotly_person(shown) if interactive else _draw_static_person(shown)


def _build_person_view(traces: Traces | GpsTraces | ObfuscatedTraces, times: RowTimes) -> PersonView:
    title = f"User {traces.user_ids[0]}: {len(traces):,} {times.what} on {len(np.unique(times.day)):,} days"
    if isinstance(traces, GpsTraces):
        area = Box.of(traces).with_margin(0.002)
        grid = tessellation(area, max(_SPOT_M, max(area.size_m()) / _MOST_SPOTS))
        spot = grid.cell_of(traces.latitude, traces.longitude)
        start = local_seconds(traces.time_ms, times.whose or "UTC") % DAY_S / 3600
        stay = np.append(np.diff(traces.time_ms) / 3_600_000, _SHORTEST_STAY_H)
        end = start + stay.clip(_SHORTEST_STAY_H, _LONGEST_STAY_H)
        names = [f"spot {letter}" for letter in "ABCDEFGHIJ"]
        groups = _group_rows(spot, lambda rank, _: names[rank], "elsewhere")
        return PersonView(title, groups, traces.latitude, traces.longitude, start, end, None, times)
    place = traces.place_index if isinstance(traces, Traces) else traces.codes.clip(_SET)
    at = np.maximum(place, 0)
    is_known = place >= 0
    start = traces.clock.second_of_day(traces.instants) / 3600
    return PersonView(
        title,
        _group_rows(place, lambda _, index: _format_place_label(traces.places, index), "other places"),
        np.where(is_known, traces.places.latitude[at], np.nan),
        np.where(is_known, traces.places.longitude[at], np.nan),
        start,
        start + traces.clock.interval_s / 3600,
        traces.places,
        times,
        _find_set_members(traces),
    )


def _find_set_members(traces: Traces | ObfuscatedTraces) -> NDArray[np.int32]:
    if isinstance(traces, Traces):
        return np.zeros(0, np.int32)
    event, place, _ = traces.pairs()
    return np.unique(place[traces.is_set[event]])


def _format_place_label(places: Places, index: int) -> str:
    kind = (
        "" if places.categories is None or not places.categories[index] else f", {places.categories[index]}"
    )
    label = f"place {places.ids[index]}{kind}"
    return label if len(label) <= _LONGEST_LABEL else f"{label[:_LONGEST_LABEL]}…"


def _group_rows(place: NDArray[Any], label: Any, others: str) -> list[ColourGroup]:
    """Give the places with the most rows a colour each, and all others one."""
    known, counts = np.unique(place[place >= 0], return_counts=True)
    top = known[np.argsort(-counts, kind="stable")[:_OWN_COLOURS]]
    groups = [
        ColourGroup(label(rank, int(one)), COLOURS[rank], np.asarray(place == one))
        for rank, one in enumerate(top)
    ]
    rest = [
        ColourGroup(others, GREY, (place >= 0) & ~np.isin(place, top)),
        ColourGroup("a set of places", YELLOW, np.asarray(place == _SET)),
        ColourGroup("deleted", GREY, np.asarray(place == _DELETED), is_hollow=True),
    ]
    shares = [*groups, *(group for group in rest if group.rows.any())]
    return [
        ColourGroup(f"{one.label} ({_format_share(one.rows)})", one.colour, one.rows, one.is_hollow)
        for one in shares
    ]


def _format_share(rows: NDArray[np.bool_]) -> str:
    share = float(rows.mean())
    return f"{share:.0%}" if share >= 0.005 else "<1%"


def _find_stays(
    person: PersonView, group: ColourGroup
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return day, begin and end of the stretches of a group: rows that follow each other are one."""
    rows = np.flatnonzero(group.rows)
    day, start, end = person.times.day[rows], person.start_h[rows], person.end_h[rows]
    new = np.ones(len(rows), bool)
    new[1:] = (np.diff(rows) > 1) | (np.diff(day) != 0) | (start[1:] > end[:-1] + 1e-6)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(rows)) - 1
    return day[first], start[first], np.minimum(end[last], 24.0)


def _draw_static_person(person: PersonView) -> Any:
    box = person.box
    days = int(person.times.day.max() - person.times.day.min()) + 1
    height = max(4.6, 1.8 + 0.2 * min(days, 20))
    with open_canvas(10.5, height, ncols=2, width_ratios=(1, 1.25)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        _draw_map(axes[0], person, box)
        panel = axes[1]
        from matplotlib.collections import PolyCollection

        for group in person.groups:
            day, start, end = _find_stays(person, group)
            ends = ((start, day - 0.4), (end, day - 0.4), (end, day + 0.4), (start, day + 0.4))
            corners = np.stack([np.column_stack(pair) for pair in ends], axis=1)
            face = "none" if group.is_hollow else group.colour
            panel.add_collection(
                PolyCollection(
                    list(corners), facecolors=face, edgecolors=group.colour, linewidths=0.3, label=group.label
                )
            )
        first, last = int(person.times.day.min()), int(person.times.day.max())
        panel.set(xlim=(0, 24), ylim=(last + 0.6, first - 0.6), xlabel=person.times.axis)
        panel.set_xticks(range(0, 25, 4), [f"{hour:02d}:00" for hour in range(0, 25, 4)])
        step = -(-(last - first + 1) // _TICKS)
        ticks = range(first, last + 1, step)
        panel.set_yticks(ticks, [format_day_label(day, person.times.first_day) for day in ticks], fontsize=8)
        panel.grid(False)
        handles, labels = axes[1].get_legend_handles_labels()
        legend = drawn.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
        for text in legend.get_texts():
            text.set_parse_math(False)
        drawn.suptitle(person.title, fontsize=10.5, x=0.01, ha="left", parse_math=False)
        return drawn


def _draw_map(axes: Axes, person: PersonView, box: Box) -> None:
    there = np.isfinite(person.latitude)
    latitude, longitude = person.in_sets
    axes.scatter(longitude, latitude, s=22, marker="s", color=YELLOW, linewidths=0, alpha=0.5, zorder=0)
    axes.plot(person.longitude[there], person.latitude[there], color=GREY, linewidth=0.5, alpha=0.6, zorder=1)
    for group in reversed(person.groups):
        rows = group.rows & there
        spots, counts = np.unique(
            np.column_stack([person.longitude[rows], person.latitude[rows]]), axis=0, return_counts=True
        )
        sizes = 160 * counts / max(len(there), 1) + (6 if person.places is None else 20)
        axes.scatter(
            spots[:, 0],
            spots[:, 1],
            s=sizes,
            color=group.colour,
            linewidths=0.4,
            edgecolors="white",
            zorder=2,
        )
    if person.places is not None:
        inside = box.contains(person.places.latitude, person.places.longitude)
        draw_sensitive(
            axes,
            Places(
                person.places.latitude[inside],
                person.places.longitude[inside],
                sensitive=person.places.sensitive[inside],
            ),
        )
    draw_ground(axes, box)
    axes.set(xlabel="longitude, degrees", ylabel="latitude, degrees")


def _draw_plotly_person(person: PersonView) -> Any:
    box = person.box
    there = np.isfinite(person.latitude)
    empty = Places([box.south, box.north], [box.west, box.east])
    layout = map_layout(person.places if person.places is not None else empty, height=520, box=box)
    layout["xaxis"] |= {"domain": [0, 0.42]}
    days = person.times.day
    layout |= {
        "title": {"text": person.title, "font": {"size": 14}},
        "showlegend": True,
        "barmode": "overlay",
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
        "xaxis2": {"domain": [0.55, 1], "anchor": "y2", "range": [0, 24], "dtick": 4,
                   "title": {"text": person.times.axis + ", hours"}},
        "yaxis2": {"anchor": "x2", "autorange": "reversed", "type": "category", "categoryorder": "array",
                   "categoryarray": [
        format_day_label(day, person.times.first_day) for day in range(int(days.min()), int(days.max()) + 1)
    ]},
    }  # fmt: skip
    path = {"type": "scatter", "mode": "lines", "x": person.longitude[there], "y": person.latitude[there],
            "line": {"color": GREY, "width": 0.8}, "opacity": 0.6, "hoverinfo": "skip",
            "showlegend": False}  # fmt: skip
    latitude, longitude = person.in_sets
    sets = {"type": "scatter", "mode": "markers", "x": longitude, "y": latitude, "opacity": 0.5,
            "marker": {"symbol": "square", "color": YELLOW, "size": 7}, "hoverinfo": "skip",
            "showlegend": False}  # fmt: skip
    data = [sets, path, *(_draw_spots(person, group) for group in reversed(person.groups))]
    data += [_draw_bars(person, group) for group in person.groups]
    marks = [] if person.places is None else sensitive_marks(person.places)
    return to_plotly_figure({"data": [*data, *marks], "layout": layout})


def _draw_spots(person: PersonView, group: ColourGroup) -> dict[str, Any]:
    rows = group.rows & np.isfinite(person.latitude)
    spots = np.unique(np.column_stack([person.longitude[rows], person.latitude[rows]]), axis=0)
    return {"type": "scatter", "mode": "markers", "name": group.label, "x": spots[:, 0], "y": spots[:, 1],
            "marker": {"color": group.colour, "size": 7}, "hoverinfo": "name", "legendgroup": group.label,
            "showlegend": False}  # fmt: skip


def _draw_bars(person: PersonView, group: ColourGroup) -> dict[str, Any]:
    day, start, end = _find_stays(person, group)
    names = [format_day_label(int(one), person.times.first_day) for one in day]
    return {"type": "bar", "orientation": "h", "name": group.label, "y": names, "x": end - start,
            "base": start, "xaxis": "x2", "yaxis": "y2", "legendgroup": group.label,
            "marker": {"color": "rgba(0,0,0,0)" if group.is_hollow else group.colour,
                       "line": {"color": group.colour, "width": 0.5 if group.is_hollow else 0}},
            "hovertemplate": "%{y}, from %{base:.2f} h for %{x:.2f} h"}  # fmt: skip


# How much happens at which time of which day.


_WEEK = 7
_MOST_ROWS = 62
_PANEL_TICKS = 9


def draw_hours(times: RowTimes, *, interactive: bool = False) -> Any:
    """Draw the times of day by weekday; by day where there is less than a week, or no date."""
    rows, table = _count_hours(times)
    by = "weekday" if rows[0] in WEEKDAYS else "day"
    title = f"{len(times.day):,} {times.what} by {by} and time of day"
    if table.min() == table.max():
        title = f"{title}: the same number at all times"
    if interactive:
        figure = to_plotly_figure(draw_heat_map(rows, times, table)).update_traces(zmin=0)
        height = 180 + 24 * len(rows)
        return figure.update_layout(title={"text": title, "font": {"size": 14}}, height=height)
    with open_canvas(7.6, 1.5 + 0.28 * min(len(rows), 24)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = axes.imshow(table, aspect="auto", cmap="viridis", interpolation="nearest", vmin=0)
        axes.grid(False)
        every, step = -(-len(rows) // 24), -(-len(times.labels) // _PANEL_TICKS)
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
    north_m, east_m = box.size_m()
    with open_canvas(
        _WIDTH, float(np.clip((_WIDTH - 1.6) * north_m / max(east_m, 1.0) + 1.2, _LEAST, _MOST))
    ) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = draw_amounts(axes, found)
        draw_ground(axes, box)
        axes.set(xlabel="longitude, degrees", ylabel="latitude, degrees")
        axes.set_title(title, fontsize=9.5, loc="left", parse_math=False)
        drawn.colorbar(image, ax=axes, label=found.what, shrink=0.7, format="{x:,g}")
        return drawn


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
        inside = "" if found.inside == 1 else f"; the map shows {found.inside:.1%} of them"
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
