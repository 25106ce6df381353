"""Maps to move about in, of folium: how many people were in each cell or, if asked for, who was where."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.errors import DataError, ParameterError
from tracearena.pages.describe import format_instant
from tracearena.pages.html import COLOURS, VERMILION
from tracearena.pages.svg.canvas import viridis
from tracearena.traces import Box, GpsTraces, ObfuscatedTraces, Traces, tessellation

_MOST_CELLS = 1000
"""Along the longer side of the map: cells of traces that span a continent are larger."""
_MOST_POINTS = 20_000
_MARGIN_DEGREES = 1e-4
_BACKGROUND = "<style>.leaflet-container {background: #f4f4f4}</style>"

AnyTraces = Traces | GpsTraces | ObfuscatedTraces


def explore_traces(
    traces: AnyTraces,
    *,
    user: Any = None,
    show_people: bool = False,
    cell_m: float = 500.0,
    smallest_group: int = 10,
    tiles: str | None = None,
) -> Any:
    """Return a map to move about in, as described in `RowTable.explore`."""
    require_number("cell_m", cell_m, at_least=10, at_most=1e6)
    require_whole("smallest_group", smallest_group, at_least=1)
    if user is not None and not show_people:
        raise ParameterError("a map of one user shows where that person was; it needs show_people=True")
    try:
        folium = importlib.import_module("folium")
    except ImportError:
        raise ParameterError("explore needs more: pip install 'tracearena[maps]'") from None
    shown = traces if user is None else traces[user]
    row, latitude, longitude = _list_positions(shown)
    if not len(row):
        raise DataError("there is nothing to draw: the traces have no rows")
    area = Box(latitude.min(), longitude.min(), latitude.max(), longitude.max()).with_margin(_MARGIN_DEGREES)
    if show_people:
        features = list(_draw_points(shown, row, latitude, longitude))
    else:
        features = list(_draw_cells(shown.user_index[row], latitude, longitude, area, cell_m, smallest_group))
    drawn = folium.Map(tiles=tiles, control_scale=True)
    drawn.get_root().header.add_child(folium.Element(_BACKGROUND))
    folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        marker=folium.CircleMarker(radius=4),
        style_function=lambda feature: feature["properties"]["style"],
        tooltip=folium.GeoJsonTooltip(["label"], labels=False),
    ).add_to(drawn)
    if not isinstance(shown, GpsTraces):
        for place in np.flatnonzero(shown.places.sensitive).tolist():
            where = shown.places.latitude[place].item(), shown.places.longitude[place].item()
            name = escape(f"sensitive place {shown.places.ids[place]}")
            folium.CircleMarker(where, radius=6, color=VERMILION, fill=False, tooltip=name).add_to(drawn)
    drawn.fit_bounds([(area.south, area.west), (area.north, area.east)])
    return drawn


def _list_positions(
    traces: AnyTraces,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the row, latitude and longitude of every position; rows may have none or several."""
    if isinstance(traces, GpsTraces):
        return np.arange(len(traces)), traces.latitude, traces.longitude
    if isinstance(traces, Traces):
        traces = ObfuscatedTraces.from_traces(traces)
    event, place, _ = traces.pairs()
    return event, traces.places.latitude[place], traces.places.longitude[place]


def _draw_cells(
    person: NDArray[np.int32],
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    area: Box,
    cell_m: float,
    smallest_group: int,
) -> Iterator[dict[str, Any]]:
    """Yield a rectangle for each cell in which enough people were."""
    grid = tessellation(area, max(cell_m, max(area.size_m()) / _MOST_CELLS))
    cell = grid.cell_of(latitude, longitude)
    visited, positions = np.unique(cell, return_counts=True)
    people = np.bincount(
        np.searchsorted(visited, np.unique(np.column_stack([cell, person]), axis=0)[:, 0]),
        minlength=len(visited),
    )
    is_shown = people >= smallest_group
    if not is_shown.any():
        raise DataError(
            f"no cell of {cell_m:g} m has {smallest_group:,} people, at most {people.max():,}: use larger "
            "cells (cell_m) or, if nobody can be harmed, a smaller smallest_group"
        )
    most = float(np.log(people.max() + 1))
    for number, count, total in zip(
        visited[is_shown].tolist(), people[is_shown].tolist(), positions[is_shown].tolist(), strict=True
    ):
        row, column = divmod(number, grid.columns)
        south, west = grid.south + row * grid.cell_height, grid.west + column * grid.cell_width
        north, east = south + grid.cell_height, west + grid.cell_width
        corners = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        colour = viridis(float(np.log(count + 1)) / most)
        yield {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [corners]},
            "properties": {
                "label": f"{count:,} people, {total:,} positions",
                "style": {"color": colour, "weight": 0.5, "fillColor": colour, "fillOpacity": 0.7},
            },
        }


def _draw_points(
    traces: AnyTraces,
    row: NDArray[np.int64],
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
) -> Iterator[dict[str, Any]]:
    """Yield a point for each position, in a colour of its person."""
    if len(row) > _MOST_POINTS:
        raise DataError(
            f"{len(row):,} positions are too many for a browser, which shows {_MOST_POINTS:,}: name one "
            "user, or take some with take_users"
        )
    person = traces.user_index[row].tolist()
    names = [escape(str(name)) for name in traces.user_ids.tolist()]
    for at, (one, south, west) in enumerate(zip(person, latitude.tolist(), longitude.tolist(), strict=True)):
        colour = COLOURS[one % len(COLOURS)]
        yield {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [west, south]},
            "properties": {
                "label": f"{names[one]}, {_format_time(traces, int(row[at]))}",
                "style": {"color": colour, "fillColor": colour, "weight": 1, "fillOpacity": 0.7},
            },
        }


def _format_time(traces: AnyTraces, row: int) -> str:
    if isinstance(traces, GpsTraces):
        moment = np.datetime64(int(traces.time_ms[row]), "ms").astype("datetime64[s]")
        return f"{str(moment).replace('T', ' ')} UTC"
    return format_instant(traces.clock, int(traces.instants[row]))
