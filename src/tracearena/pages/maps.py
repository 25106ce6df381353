"""Maps that keep the shape of the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Grid, Places

KM_PER_DEGREE = 111.19
_LARGEST_MAP = 20_000
_LARGEST_DRAWING = 5_000
"""More points than this need WebGL, which paper and some browsers lack."""


def place_map(places: Places, amounts: Any, *, what: str = "events", height: int = 560) -> dict[str, Any]:
    """Draw an amount for every place, with colours on a logarithmic scale.

    Cells of a grid become tiles, other places points. Longitudes shrink by the cosine of the
    latitude, north is up, a bar gives the scale, sensitive places carry a cross.

    Parameters
    ----------
    amounts
        One number at least 0 for every place; places with 0 are left out.
    what
        What is counted, for labels.

    Returns
    -------
    dict
        A Plotly figure.
    """
    amount = np.asarray(amounts, float)
    trace = _tiles(places.grid, amount) if places.grid is not None else _points(places, amount)
    scale = _colours(amount, what)
    trace["hovertemplate"] = "%{customdata:,} " + what + "<extra></extra>"
    trace.update(scale if trace["type"] == "heatmap" else {"marker": {**trace["marker"], **scale}})
    south, west, north, east = _frame(places)
    shrink = np.cos(np.radians((south + north) / 2))
    bar, label = _scale_bar(south, west, north, east, shrink)
    data = [trace, *_sensitive(places)]
    layout = {
        "height": height,
        "showlegend": len(data) > 1,
        "legend": {"orientation": "h", "y": -0.15, "yanchor": "top"},
        "xaxis": _axis("longitude, degrees", west, east),
        "yaxis": _axis("latitude, degrees", south, north)
        | {"scaleanchor": "x", "scaleratio": float(1 / shrink)},
        "shapes": [bar],
        "annotations": [label],
    }
    return {"data": data, "layout": layout}


def _axis(title: str, low: float, high: float) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "range": [low, high],
        "showgrid": False,
        "zeroline": False,
        "constrain": "domain",
    }


def _tiles(grid: Grid, amount: NDArray[np.float64]) -> dict[str, Any]:
    shape = (grid.rows, grid.columns)
    with np.errstate(divide="ignore"):
        colour = np.where(amount > 0, np.log10(amount), np.nan)
    return {
        "type": "heatmap",
        "x": grid.west + (np.arange(grid.columns) + 0.5) * grid.cell_width,
        "y": grid.south + (np.arange(grid.rows) + 0.5) * grid.cell_height,
        "z": colour.reshape(shape),
        "customdata": amount.reshape(shape),
    }


def _points(places: Places, amount: NDArray[np.float64]) -> dict[str, Any]:
    """The busiest places are drawn last, so that they are seen; beyond a limit the quietest are left out."""
    order = np.argsort(amount, kind="stable")[-_LARGEST_MAP:]
    order = order[amount[order] > 0]
    return {
        "type": "scattergl" if len(order) > _LARGEST_DRAWING else "scatter",
        "mode": "markers",
        "x": places.longitude[order],
        "y": places.latitude[order],
        "customdata": amount[order],
        "showlegend": False,
        "marker": {"color": np.log10(amount[order]), "size": 5, "opacity": 0.85},
    }


def _colours(amount: NDArray[np.float64], what: str) -> dict[str, Any]:
    top = max(float(amount.max(initial=1)), 1.0)
    decades = int(np.floor(np.log10(top)))
    ticks = [0.0, np.log10(3)] if decades == 0 else [float(power) for power in range(decades + 1)]
    bar = {
        "title": {"text": what, "side": "top"},
        "tickvals": ticks,
        "ticktext": [f"{round(10**tick):,}" for tick in ticks],
        "orientation": "h",
        "thickness": 10,
        "len": 0.6,
        "y": 1,
        "yanchor": "bottom",
    }
    return {"colorscale": "Viridis", "colorbar": bar}


def _sensitive(places: Places) -> list[dict[str, Any]]:
    if not places.sensitive.any():
        return []
    return [{
        "type": "scatter",
        "mode": "markers",
        "name": "sensitive places",
        "x": places.longitude[places.sensitive],
        "y": places.latitude[places.sensitive],
        "hoverinfo": "skip",
        "marker": {"symbol": "x-thin", "size": 7, "line": {"width": 1.5, "color": "#D55E00"}},
    }]  # fmt: skip


def _frame(places: Places) -> tuple[float, float, float, float]:
    if places.grid is not None:
        return places.grid.south, places.grid.west, places.grid.north, places.grid.east
    south, north = float(places.latitude.min()), float(places.latitude.max())
    west, east = float(places.longitude.min()), float(places.longitude.max())
    rim = max(north - south, east - west, 0.01) * 0.03
    return south - rim, west - rim, north + rim, east + rim


def _scale_bar(
    south: float, west: float, north: float, east: float, shrink: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A bar of a round length, about a fifth of the map, in its south-west corner."""
    width_km = (east - west) * KM_PER_DEGREE * shrink
    power = 10.0 ** np.floor(np.log10(width_km / 5))
    length_km = max(step * power for step in (1, 2, 5) if step * power <= width_km / 5)
    x, y = west + 0.04 * (east - west), south + 0.04 * (north - south)
    line = {"color": "var(--ink)", "width": 3}
    bar = {"type": "line", "x0": x, "x1": x + length_km / (KM_PER_DEGREE * shrink), "y0": y, "y1": y,
           "line": line}  # fmt: skip
    label = {"x": x, "y": y, "text": f"{length_km:g} km", "showarrow": False, "xanchor": "left",
             "yanchor": "bottom", "bgcolor": "var(--paper)", "opacity": 0.85}  # fmt: skip
    return bar, label
