"""Maps for Plotly with a true aspect ratio: longitudes are scaled by the cosine of the latitude."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.pages.html import GREY, VERMILION, choose_scale_length
from tracearena.traces import Box, Grid, Places
from tracearena.traces.geodesy import KM_PER_DEGREE

_LARGEST_MAP = 20_000
_LARGEST_DRAWING = 5_000
"""More points than this need WebGL, which paper and some browsers lack."""


def place_map(places: Places, amounts: Any, *, what: str = "events", height: int = 560) -> dict[str, Any]:
    """Draw an amount for every place, with colours on a logarithmic scale.

    Cells of a grid are drawn as tiles, other places as points. North is up, a bar shows the scale, and
    crosses mark sensitive places.

    Parameters
    ----------
    amounts
        One number of at least 0 for every place; places with 0 are left out.
    what
        Name of the amount, for labels.

    Returns
    -------
    dict
        A Plotly figure.
    """
    amount = np.asarray(amounts, float)
    with np.errstate(divide="ignore"):
        colour = np.where(amount > 0, np.log10(amount), np.nan)
    scale = _build_colours(amount, what)
    if places.grid is not None:
        trace = _draw_tiles(places.grid, amount, colour) | scale
    else:
        trace = _draw_map_points(places, amount, colour)
        trace["marker"] |= scale
    trace["hovertemplate"] = "%{customdata:,} " + what + "<extra></extra>"
    return {"data": [trace, *sensitive_marks(places)], "layout": map_layout(places, height=height)}


def map_layout(places: Places, *, height: int = 560, box: Box | None = None) -> dict[str, Any]:
    """Return the layout of a map: its shape, its axes and a scale bar.

    Parameters
    ----------
    box
        The area to show; by default all places.
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


def _build_colours(amount: NDArray[np.float64], what: str) -> dict[str, Any]:
    decades = int(np.floor(np.log10(max(float(amount.max(initial=1)), 1.0))))
    ticks = [0.0, np.log10(3)] if decades == 0 else [float(power) for power in range(decades + 1)]
    bar = {
        "title": {"text": what, "side": "top"},
        "orientation": "h",
        "thickness": 10,
        "len": 0.6,
        "y": 1,
        "yanchor": "bottom",
        "tickvals": ticks,
        "ticktext": [f"{round(10**tick):,}" for tick in ticks],
    }
    return {"colorscale": "Viridis", "colorbar": bar}


def sensitive_marks(places: Places) -> list[dict[str, Any]]:
    """Return the crosses that mark sensitive places."""
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
    """Return the box of a map of places: all of them, with a margin unless they form a grid."""
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
