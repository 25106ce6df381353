"""One person's days before and after a defence, distances of released places, and maps for Plotly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.report_data import DataSetView, ReportData
from tracearena.pages import Page
from tracearena.pages.contest_data import (
    BIN_KM,
    TeamStyle,
    compute_box,
    compute_day_box,
    escape_plotly,
    find_liveliest_day,
    measure_displacements,
)
from tracearena.pages.html import GREY, VERMILION, choose_scale_length
from tracearena.traces import Box, Grid, ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE


def show_days(
    page: Page, held: ReportData, entrants: list[DataSetView], styles: dict[str, TeamStyle]
) -> None:
    """Show one day of one person, before and after, for each of the chosen teams."""
    page.heading("One person's day, before and after")
    page.text(
        "Move the slider through the day. The dark line is where the person really went; the colour is what "
        "was published. A large square is a set of places of which one is true, a cross an event that was "
        "hidden."
    )
    for entrant in entrants:
        defence = held.method(entrant.team, "defence")
        with_ = "" if defence is None else f" with {defence}"
        user, day = find_liveliest_day(entrant.original)
        original = entrant.original.take_users([user]).take_days(day, day + 1)
        obfuscated = entrant.obfuscated.take_users([user]).take_days(day, day + 1)
        hidden, sets = int(obfuscated.is_deleted.sum()), int(obfuscated.is_set.sum())
        moved = int((obfuscated.is_single & (obfuscated.codes != original.place_index)).sum())
        style = styles[entrant.team]
        labels = [original.clock.label(int(instant)) for instant in original.instants]
        frames = [
            {"name": label, "data": _draw_until(original, obfuscated, style, now)}
            for now, label in enumerate(labels)
        ]
        start = 3 * len(labels) // 4
        steps = [
            {"label": label, "method": "animate",
             "args": [[label], {"mode": "immediate", "frame": {"duration": 0, "redraw": True},
                                "transition": {"duration": 0}}]}
            for label in labels
        ]  # fmt: skip
        layout = map_layout(original.places, height=620, box=compute_day_box(original, obfuscated)) | {
            "showlegend": True
        }
        _draw_cells(layout, original.places)
        layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
        layout["sliders"] = [
            {
                "active": start,
                "steps": steps,
                "currentvalue": {"prefix": "time "},
                "pad": {"t": 30},
                "len": 1.0,
            }
        ]
        marks = [mark | {"name": "hospitals"} for mark in sensitive_marks(original.places)]
        page.figure(
            {"data": [*frames[start]["data"], *marks], "layout": layout, "frames": frames},
            f"{entrant.team}{with_}: of {original.n_events} times of this person's day, "
            f"{moved} were moved, {sets} became a set of places and {hidden} were hidden.",
            table=_build_day_table(original, obfuscated),
            name=f"day-{entrant.team.lower().replace(' ', '-')}",
        )
    limit = held.rules.utility_limit_km
    found = {one.team: measure_displacements(one.original, one.obfuscated, limit) for one in entrants}
    any_team = next(iter(found.values()))
    labels = [*any_team.labels, "hidden"]
    shares = {name: [*one.total_shares, one.hidden] for name, one in found.items()}
    bars = [
        {"type": "bar", "name": escape_plotly(name), "x": labels, "y": share,
         "marker": {"color": styles[name].colour},
         "hovertemplate": f"{escape_plotly(name)}, %{{x}}: %{{y:.1%}}<extra></extra>"}
        for name, share in shares.items()
    ]  # fmt: skip
    at = 0.5 + limit / BIN_KM
    layout = {
        "height": 380,
        "xaxis": {"title": {"text": "published place from the true one"}, "type": "category",
                  "tickangle": -50},
        "yaxis": {"title": {"text": "share of all events"}, "tickformat": ".0%"},
        "shapes": [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper",
                    "line": {"color": VERMILION, "width": 2, "dash": "dot"}}],
        "annotations": [{"x": at, "y": 1, "yref": "paper", "text": f"worthless from {limit:g} km on",
                         "showarrow": False, "xanchor": "left", "yanchor": "top", "xshift": 6}],
        "showlegend": True,
    }  # fmt: skip
    rows = [[label, *(float(share[i]) for share in shares.values())] for i, label in enumerate(labels)]
    page.figure(
        {"data": bars, "layout": layout},
        "How the usefulness was spent: "
        + "; ".join(
            f"{name} left {share[0]:.0%} of all events where they were" for name, share in shares.items()
        )
        + ". A set of places counts with its mean distance.",
        table=(["distance", *shares], rows),
        name="displacement",
    )


def _draw_cells(layout: dict[str, Any], places: Places) -> None:
    """Let the lines of the axes be the borders of the regions."""
    grid = places.grid
    if grid is None:
        return
    for axis, start, step in (("xaxis", grid.west, grid.cell_width), ("yaxis", grid.south, grid.cell_height)):
        layout[axis] |= {"title": {"text": ""}, "showgrid": True, "tick0": start, "dtick": step,
                         "showticklabels": False, "ticks": ""}  # fmt: skip


def _draw_until(
    original: Traces, obfuscated: ObfuscatedTraces, style: TeamStyle, now: int
) -> list[dict[str, Any]]:
    """Draw the day up to now: what was published, the true way, what was hidden, and the present."""
    places, cells = original.places, [obfuscated.cell(event) for event in range(now + 1)]
    way = original.place_index[: now + 1]
    singles = [cell[0] for cell in cells if len(cell) == 1]
    hidden = [way[event] for event, cell in enumerate(cells) if not cell]
    sets = [cell for cell in cells if len(cell) > 1]
    has_singles, has_sets, has_hidden = (
        bool(mask.any()) for mask in (obfuscated.is_single, obfuscated.is_set, obfuscated.is_deleted)
    )
    published = {"color": style.colour, "size": 12, "symbol": "square", "opacity": 0.6}
    gone = {"size": 11, "symbol": "x-thin", "line": {"width": 2.5, "color": "var(--soft)"}}
    present = {"size": 14, "color": "var(--paper)", "line": {"width": 3, "color": "var(--ink)"}}
    line = {"mode": "lines+markers", "line": {"color": "var(--ink)", "width": 1.5}}
    return [
        _draw_points(places, singles, "published", published, showlegend=has_singles),
        _draw_areas(places, sets, "published as a set", style, 0.10, showlegend=has_sets),
        _draw_points(places, way, "true way", {"size": 5, "color": "var(--ink)"}, **line),
        _draw_points(places, hidden, "hidden", gone, showlegend=has_hidden),
        _draw_areas(places, [cells[now]] if cells[now] else [], "published now", style, 0.45),
        _draw_points(places, way[-1:], "truly now", present),
    ]


def _draw_points(
    places: Places, index: Any, name: str, marker: dict[str, Any], **more: Any
) -> dict[str, Any]:
    chosen = np.asarray(index, np.int64)
    return {"type": "scatter", "mode": "markers", "name": name, "x": places.longitude[chosen],
            "y": places.latitude[chosen], "marker": marker, "hoverinfo": "name"} | more  # fmt: skip


def _draw_areas(
    places: Places, sets: list[list[int]], name: str, style: TeamStyle, strength: float, **more: Any
) -> dict[str, Any]:
    """Draw the box around each set of cells; None parts one polygon from the next."""
    x: list[float | None] = []
    y: list[float | None] = []
    for cells in sets:
        south, west, north, east = compute_box(places, cells)
        x += [west, east, east, west, west, None]
        y += [south, south, north, north, south, None]
    red, green, blue = (int(style.colour[i : i + 2], 16) for i in (1, 3, 5))
    return {"type": "scatter", "mode": "lines", "name": name, "x": x or [None], "y": y or [None],
            "fill": "toself", "fillcolor": f"rgba({red},{green},{blue},{strength})", "hoverinfo": "name",
            "line": {"color": style.colour, "width": 1.5}} | more  # fmt: skip


def _build_day_table(original: Traces, obfuscated: ObfuscatedTraces) -> tuple[list[str], list[list[Any]]]:
    ids = original.places.ids
    rows: list[list[Any]] = [
        [original.clock.label(int(original.instants[event])), str(ids[original.place_index[event]]),
         " ".join(str(ids[place]) for place in obfuscated.cell(event)) or "*"]
        for event in range(original.n_events)
    ]  # fmt: skip
    return ["time", "true region", "published regions (* hidden)"], rows


# Maps that keep the shape of the ground.


_LARGEST_MAP = 20_000
_LARGEST_DRAWING = 5_000
"""More points than this need WebGL, which paper and some browsers lack."""


def place_map(
    places: Places,
    amounts: Any,
    *,
    what: str = "events",
    height: int = 560,
    share: bool = False,
    largest: float | None = None,
) -> dict[str, Any]:
    """Draw an amount for every place, with colours on a logarithmic scale, or a share on a plain one.

    Cells of a grid become tiles, other places points. Longitudes shrink by the cosine of the
    latitude, north is up, a bar gives the scale, sensitive places carry a cross.

    Parameters
    ----------
    amounts
        One number at least 0 for every place; places with 0 are left out.
    what
        What is counted, for labels.
    share
        The amounts are shares, from 0 to 1; places with NaN are left out instead.
    largest
        The amount of the brightest colour, so that two maps can be compared; by default the
        largest one drawn.

    Returns
    -------
    dict
        A Plotly figure.
    """
    amount = np.asarray(amounts, float)
    with np.errstate(divide="ignore"):
        colour = amount if share else np.where(amount > 0, np.log10(amount), np.nan)
    trace = (
        _draw_tiles(places.grid, amount, colour)
        if places.grid is not None
        else _draw_map_points(places, amount, colour)
    )
    scale, heat = _build_colours(amount, what, share, largest), trace["type"] == "heatmap"
    number = "%{customdata:.0%} " if share else "%{customdata:,} "
    trace["hovertemplate"] = number + what + "<extra></extra>"
    trace.update(
        _scale_limits("z", scale) if heat else {"marker": {**trace["marker"], **_scale_limits("c", scale)}}
    )
    return {"data": [trace, *sensitive_marks(places)], "layout": map_layout(places, height=height)}


def map_layout(places: Places, *, height: int = 560, box: Box | None = None) -> dict[str, Any]:
    """Return the layout of a map: its shape, its axes and a scale bar.

    Parameters
    ----------
    box
        What is shown; by default all places.
    """
    shown = box or compute_map_box(places)
    south, west, north, east = shown
    shrink = np.cos(np.radians(shown.middle[0]))
    bar, label = _draw_scale_bar(shown, shrink)
    return {
        "height": height,
        "showlegend": bool(places.sensitive.any()),
        "legend": {"orientation": "h", "y": -0.15, "yanchor": "top"},
        "xaxis": _build_axis("longitude, degrees", west, east),
        "yaxis": _build_axis("latitude, degrees", south, north)
        | {"scaleanchor": "x", "scaleratio": float(1 / shrink)},
        "shapes": [bar],
        "annotations": [label],
    }


def _build_axis(title: str, low: float, high: float) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "range": [low, high],
        "showgrid": False,
        "zeroline": False,
        "constrain": "domain",
    }


def _draw_tiles(grid: Grid, amount: NDArray[np.float64], colour: NDArray[np.float64]) -> dict[str, Any]:
    shape = (grid.rows, grid.columns)
    return {
        "type": "heatmap",
        "x": grid.west + (np.arange(grid.columns) + 0.5) * grid.cell_width,
        "y": grid.south + (np.arange(grid.rows) + 0.5) * grid.cell_height,
        "z": colour.reshape(shape),
        "customdata": amount.reshape(shape),
    }


def _draw_map_points(
    places: Places, amount: NDArray[np.float64], colour: NDArray[np.float64]
) -> dict[str, Any]:
    """The busiest places are drawn last, so that they are seen; beyond a limit the quietest are left out."""
    drawn = np.flatnonzero(~np.isnan(colour))
    order = drawn[np.argsort(amount[drawn], kind="stable")][-_LARGEST_MAP:]
    return {
        "type": "scattergl" if len(order) > _LARGEST_DRAWING else "scatter",
        "mode": "markers",
        "x": places.longitude[order],
        "y": places.latitude[order],
        "customdata": amount[order],
        "showlegend": False,
        "marker": {
            "color": colour[order],
            "size": 6,
            "opacity": 0.85,
            "line": {"width": 0.5, "color": GREY},
        },
    }


def _build_colours(
    amount: NDArray[np.float64], what: str, share: bool, largest: float | None
) -> dict[str, Any]:
    top = max(float(amount.max(initial=1)), 1.0) if largest is None else largest
    bar = {
        "title": {"text": what, "side": "top"},
        "orientation": "h",
        "thickness": 10,
        "len": 0.6,
        "y": 1,
        "yanchor": "bottom",
    }
    if share:
        return {"colorscale": "Viridis", "colorbar": bar | {"tickformat": ".0%"}, "limits": (0.0, 1.0)}
    decades = int(np.floor(np.log10(top)))
    ticks = [0.0, np.log10(3)] if decades == 0 else [float(power) for power in range(decades + 1)]
    bar |= {"tickvals": ticks, "ticktext": [f"{round(10**tick):,}" for tick in ticks]}
    limits = None if largest is None else (0.0, float(np.log10(largest)))
    return {"colorscale": "Viridis", "colorbar": bar, "limits": limits}


def _scale_limits(letter: str, scale: dict[str, Any]) -> dict[str, Any]:
    """Write the ends of the scale as a heat map (z) or markers (c) call them."""
    limits = scale.pop("limits")
    return (
        scale if limits is None else scale | dict(zip((f"{letter}min", f"{letter}max"), limits, strict=True))
    )


def sensitive_marks(places: Places) -> list[dict[str, Any]]:
    """Return a cross for every sensitive place."""
    if not places.sensitive.any():
        return []
    return [{
        "type": "scatter",
        "mode": "markers",
        "name": "sensitive places",
        "x": places.longitude[places.sensitive],
        "y": places.latitude[places.sensitive],
        "hoverinfo": "skip",
        "marker": {"symbol": "x-thin", "size": 7, "line": {"width": 1.5, "color": VERMILION}},
    }]  # fmt: skip


def compute_map_box(places: Places) -> Box:
    """Return what a map of places shows: all of them, with a rim where they are no grid."""
    box = Box.of(places)
    rim = 0.03 * max(box.north - box.south, box.east - box.west, 0.01)
    return box if places.grid is not None else box.with_margin(rim)


def _draw_scale_bar(box: Box, shrink: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the bar and its label, in the south-west corner."""
    south, west, north, east = box
    length_km, words = choose_scale_length((east - west) * KM_PER_DEGREE * shrink)
    x, y = west + 0.04 * (east - west), south + 0.04 * (north - south)
    line = {"color": "var(--ink)", "width": 3}
    bar = {"type": "line", "x0": x, "x1": x + length_km / (KM_PER_DEGREE * shrink), "y0": y, "y1": y,
           "line": line}  # fmt: skip
    label = {"x": x, "y": y, "text": words, "showarrow": False, "xanchor": "left",
             "yanchor": "bottom", "bgcolor": "var(--paper)", "opacity": 0.85}  # fmt: skip
    return bar, label
