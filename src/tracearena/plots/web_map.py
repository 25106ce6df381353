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
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, metres_per_degree

_MOST_DRAWN = 20_000
_LARGEST_ZOOM = 17
_STYLE = """<style>
div.leaflet-container {background: #f4f4f4}
.key {position: absolute; z-index: 1000; top: 0; right: 0; max-width: 60%; padding: .3em .6em;
  background: #fff; font: 12px sans-serif}
.key i {display: inline-block; width: 5em; height: .7em}
</style>"""

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
    if show_people:
        features, key = list(_draw_points(shown, row, latitude, longitude)), "colours by person"
    else:
        features, key = _draw_cells(shown.user_index[row], latitude, longitude, cell_m, smallest_group)
    drawn = folium.Map(tiles=tiles, control_scale=True)
    drawn.get_root().header.add_child(folium.Element(_STYLE))
    layer = folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        marker=folium.CircleMarker(radius=4),
        style_function=lambda feature: feature["properties"]["style"],
        tooltip=folium.GeoJsonTooltip(["label"], labels=False),
    ).add_to(drawn)
    # Only what is shown decides which area the map shows: the box of all points would give its corners away.
    drawn.fit_bounds(layer.get_bounds(), max_zoom=_LARGEST_ZOOM)
    if not isinstance(shown, GpsTraces) and shown.places.sensitive.any():
        key += f' · <span style="color:{VERMILION}">○</span> sensitive place'
        for place in np.flatnonzero(shown.places.sensitive).tolist():
            where = shown.places.latitude[place].item(), shown.places.longitude[place].item()
            name = escape(f"sensitive place {shown.places.ids[place]}")
            folium.CircleMarker(where, radius=6, color=VERMILION, fill=False, tooltip=name).add_to(drawn)
    drawn.get_root().html.add_child(folium.Element(f'<div class="key">{key}</div>'))
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
    cell_m: float,
    smallest_group: int,
) -> tuple[list[dict[str, Any]], str]:
    """Return a rectangle for each cell in which enough people were, and the key of the colours.

    Cells begin at the equator and at Greenwich, so that their borders do not depend on anybody's positions.
    """
    middle = np.clip(np.round(np.median(latitude)), -85, 85)
    height, width = cell_m / MIDDLE_DEGREE_M, cell_m / metres_per_degree(middle)[1].item()
    cells = np.column_stack([np.floor(latitude / height), np.floor(longitude / width)]).astype(np.int64)
    visited, cell, positions = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    pairs = np.unique(np.column_stack([cell.ravel(), person]), axis=0)
    people = np.bincount(pairs[:, 0], minlength=len(visited))
    is_shown = people >= smallest_group
    if not is_shown.any():
        raise DataError(
            f"no cell of {cell_m:g} m has {smallest_group:,} people, at most {people.max():,}: use larger "
            "cells (cell_m) or, if nobody can be harmed, a smaller smallest_group"
        )
    _refuse_many(int(is_shown.sum()), "cells", "use larger ones (cell_m)")
    fewest, most = int(people[is_shown].min()), int(people.max())
    shades = np.log1p(people) / np.log1p(most)
    features = []
    for at in np.flatnonzero(is_shown).tolist():
        row, column = visited[at].tolist()
        south, west = row * height, column * width
        north, east = south + height, west + width
        colour = viridis(float(shades[at]))
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        features.append(
            {
                "type": "Feature",
                "geometry": {"type": "Polygon", "coordinates": [ring]},
                "properties": {
                    "label": f"{people[at]:,} people, {positions[at]:,} positions",
                    "style": {"color": colour, "weight": 0.5, "fillColor": colour, "fillOpacity": 0.7},
                },
            }
        )
    first = float(shades[is_shown].min())
    bar = ",".join(viridis(share) for share in np.linspace(first, 1, 5).tolist())
    rest = "" if is_shown.all() else f"; cells with fewer than {smallest_group:,} are left out"
    key = (
        f"people in a cell of {cell_m:g} m: {fewest:,} <i style='background:linear-gradient(to right,{bar})'>"
    )
    return features, f"{key}</i> {most:,}{rest}"


def _draw_points(
    traces: AnyTraces,
    row: NDArray[np.int64],
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
) -> Iterator[dict[str, Any]]:
    """Yield a point for each position, in a colour of its person."""
    _refuse_many(len(row), "positions", "name one user, or take some with take_users")
    person = traces.user_index[row].tolist()
    names = [escape(str(name)) for name in traces.user_ids.tolist()]
    for at, (one, south, west) in enumerate(zip(person, latitude.tolist(), longitude.tolist(), strict=True)):
        colour = COLOURS[one % len(COLOURS)]
        yield {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [west, south]},
            "properties": {
                "label": f"{names[one]}, {_format_time(traces, int(row[at]))}",
                "style": {
                    "color": colour,
                    "fill": True,
                    "fillColor": colour,
                    "weight": 1,
                    "fillOpacity": 0.4,
                },
            },
        }


def _refuse_many(count: int, what: str, cure: str) -> None:
    if count > _MOST_DRAWN:
        raise DataError(f"{count:,} {what} are too many for a browser, which shows {_MOST_DRAWN:,}: {cure}")


def _format_time(traces: AnyTraces, row: int) -> str:
    if isinstance(traces, GpsTraces):
        moment = np.datetime64(int(traces.time_ms[row]), "ms").astype("datetime64[s]")
        return f"{str(moment).replace('T', ' ')} UTC"
    return format_instant(traces.clock, int(traces.instants[row]))
