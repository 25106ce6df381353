"""Views of traces and results in notebooks: facts, the first rows, and a small SVG map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.sweep import Sweep
from tracearena.dataframes import Result, flatten
from tracearena.pages.describe import format_instant
from tracearena.pages.html import choose_scale_length, load_templates
from tracearena.pages.place_maps import compute_map_box
from tracearena.pages.svg.canvas import viridis
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Places, Traces
from tracearena.traces.box import Box
from tracearena.traces.gridding import default_area
from tracearena.traces.places import Grid

_CELLS = 40
_CELL_PX = 6
_SIZE_PX = _CELLS * _CELL_PX
_LEVELS = 8


@dataclass(frozen=True)
class SmallMap:
    """A map in a few colours, ready to be drawn.

    Attributes
    ----------
    width, height
        In pixels.
    rows, columns
        Of its cells.
    paths
        The cells of each colour, in units of cells.
    bar, scale
        Length of the scale bar in pixels, and what it stands for.
    """

    width: float
    height: float
    rows: int
    columns: int
    paths: dict[str, str]
    bar: float
    scale: str


def make_small_map(
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    amounts: NDArray[np.float64],
    box: Box,
    grid: Grid | None = None,
) -> SmallMap:
    """Return the amounts of the cells of a box, in eight colours on a logarithmic scale.

    North is up, and the map has the shape of the ground. Cells are those of the grid if there is one, or
    several of them together if there are many.
    """
    height_m, width_m = (max(metres, 1.0) for metres in box.size_m())
    longer = max(height_m, width_m)
    height, width = height_m / longer * _SIZE_PX, width_m / longer * _SIZE_PX
    rows, columns = max(1, round(height / _CELL_PX)), max(1, round(width / _CELL_PX))
    if grid is not None:
        together = -(-max(grid.rows, grid.columns) // _CELLS)
        rows, columns = -(-grid.rows // together), -(-grid.columns // together)
    inside = box.contains(latitude, longitude) & (amounts > 0)
    spans = max(box.north - box.south, 1e-9), max(box.east - box.west, 1e-9)
    row = ((box.north - latitude[inside]) / spans[0] * rows).astype(np.int64).clip(0, rows - 1)
    column = ((longitude[inside] - box.west) / spans[1] * columns).astype(np.int64).clip(0, columns - 1)
    totals = np.bincount(row * columns + column, weights=amounts[inside], minlength=rows * columns)
    seen = totals > 0
    levels = np.zeros(len(totals), np.int64)
    if seen.any():
        logs = np.log(totals[seen])
        levels[seen] = 1 + np.rint((logs - logs.min()) / max(np.ptp(logs), 1e-9) * (_LEVELS - 1)).astype(int)
    bar_km, scale = choose_scale_length(width_m / 1000)
    bar = bar_km * 1000 / width_m * width
    return SmallMap(width, height, rows, columns, _draw_cells(levels.reshape(rows, columns)), bar, scale)


def _draw_cells(table: NDArray[np.int64]) -> dict[str, str]:
    """Return one path for each colour; cells of a row that follow each other are one rectangle."""
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(table.tolist()):
        x = 0
        for level, same in groupby(row):
            run = len(list(same))
            if level:
                paths.setdefault(level, []).append(f"M{x} {y}h{run}v1h-{run}z")
            x += run
    return {viridis((level - 1) / (_LEVELS - 1)): "".join(paths[level]) for level in sorted(paths)}


# What stands for traces and results in a notebook: a few facts, the first rows, a small map.


_FIRST_ROWS = 5
_MOST_ROWS = 60
_MOST_POINTS = 200_000
"""More points than this are thinned for the map: every second, every third, …"""
_FINEST_M = 88.6
_LONGEST = 40
_BRIGHT = 100.0
_MOST_LISTED = 6


def traces_html(traces: Traces | GpsTraces | ObfuscatedTraces) -> str:
    """Show traces: numbers of users and rows, time span, the first rows, and a map."""
    first = traces.keep(np.arange(len(traces)) < _FIRST_ROWS).to_frame()
    rows = [[_format_cell(value) for value in row] for row in first.rows()]
    spots = _collect_spots(traces)
    facts = _collect_facts(traces, spots)
    return _render(type(traces).__name__, facts, first.columns, rows, len(traces), spots.map())


def places_html(places: Places) -> str:
    """Show places: their number, the first ones, and a map."""
    facts = {
        "places": len(places),
        "grid": None if places.grid is None else f"{places.grid.rows} × {places.grid.columns}",
        "sensitive (bright)": int(places.sensitive.sum()),
        "categories": None if places.categories is None else len(np.unique(places.categories)),
    }
    known = {name: value for name, value in facts.items() if value is not None}
    head = [places.ids[:_FIRST_ROWS], places.latitude[:_FIRST_ROWS], places.longitude[:_FIRST_ROWS]]
    rows = [
        [_format_cell(value) for value in row] for row in zip(*(part.tolist() for part in head), strict=True)
    ]
    drawn = _spots_of_places(places, np.where(places.sensitive, _BRIGHT, 1.0)).map()
    return _render("Places", known, ["place", "lat", "lng"], rows, len(places), drawn)


def id_table_html(table: IdTable) -> str:
    """Show the number of pseudonyms of an ID table, but none of them, because they are secret."""
    facts = {"pseudonyms": len(table), "one to one": "yes" if table.is_one_to_one else "no"}
    return _render("IdTable", facts)


def result_html(result: Result) -> str:
    """Show a result, with one row per number."""
    rows = list(flatten(result.to_dict()).items())
    return _render(type(result).__name__, {}, ["name", "value"], rows[:_MOST_ROWS], len(rows))


def sweep_html(sweep: Sweep) -> str:
    """Show a sweep: its defences with their utility and their privacy against the strongest attacks."""
    columns = ["defence", "utility", "valid", "s_R_min", "s_T_min"]
    rows = [[row.to_dict()[name] for name in columns] for row in sweep[:_MOST_ROWS]]
    facts = {
        "defences": len(sweep),
        f"valid (utility of {sweep.threshold:g} or more)": sum(row.valid for row in sweep),
        "failed": sum(row.error is not None for row in sweep),
    }
    return _render("Sweep", facts, columns, rows, len(sweep))


class _MapSpots(NamedTuple):
    """Positions and amounts of a map; no box where there is nothing to see."""

    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    amounts: NDArray[np.float64]
    box: Box | None
    grid: Grid | None = None

    def map(self) -> SmallMap | None:
        """Return the map."""
        return None if self.box is None else make_small_map(*self[:3], self.box, self.grid)


def _collect_spots(traces: Traces | GpsTraces | ObfuscatedTraces) -> _MapSpots:
    if isinstance(traces, GpsTraces):
        few = (
            traces.keep(np.arange(len(traces)) % -(-len(traces) // _MOST_POINTS) == 0)
            if len(traces)
            else traces
        )
        box = default_area(few, _FINEST_M) if len(few) else None
        return _MapSpots(few.latitude, few.longitude, np.ones(len(few)), box)
    place = traces.place_index if isinstance(traces, Traces) else traces.pairs().place
    amounts = np.bincount(place, minlength=len(traces.places)).astype(float)
    return _spots_of_places(traces.places, amounts)


def _spots_of_places(places: Places, amounts: NDArray[np.float64]) -> _MapSpots:
    box = compute_map_box(places) if len(places) else None
    return _MapSpots(places.latitude, places.longitude, amounts, box, places.grid)


def _collect_facts(traces: Traces | GpsTraces | ObfuscatedTraces, spots: _MapSpots) -> dict[str, Any]:
    facts: dict[str, Any] = {"users": traces.n_users}
    if isinstance(traces, GpsTraces):
        facts |= {"points": len(traces), "trajectories": traces.n_trajectories}
        if len(traces):
            ends = (np.datetime64(int(time), "ms") for time in (traces.time_ms.min(), traces.time_ms.max()))
            facts |= dict(zip(("first (UTC)", "last (UTC)"), map(_format_second, ends), strict=True))
        return facts
    visited = int((spots.amounts > 0).sum())
    facts |= {"events": len(traces), "places": f"{visited:,} of {len(traces.places):,} seen"}
    if isinstance(traces, ObfuscatedTraces):
        facts |= {"sets": int(traces.is_set.sum()), "deleted": int(traces.is_deleted.sum())}
    if len(traces):
        first, last = int(traces.instants.min()), int(traces.instants.max())
        facts |= {"first": format_instant(traces.clock, first), "last": format_instant(traces.clock, last)}
    clock = traces.clock
    return facts | {"an instant": f"{clock.interval_words}, {clock.instants_per_day} per day"}


def _format_second(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[s]")).replace("T", " ")


def _format_cell(value: Any) -> Any:
    """Write ids without commas, and degrees to the metre."""
    if isinstance(value, float):
        return f"{value:.5f}"
    return str(value) if isinstance(value, int) else value


def _shorten(value: Any) -> Any:
    """Leave numbers as they are; write everything else in a few letters."""
    if value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, bool)):
        return value
    if isinstance(value, (list, tuple)):
        listed = ", ".join(str(_shorten(one)) for one in value[:_MOST_LISTED])
        value = f"[{listed}{', …' if len(value) > _MOST_LISTED else ''}]"
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _render(
    name: str,
    facts: Mapping[str, Any],
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[Any]] = (),
    of: int = 0,
    drawn: SmallMap | None = None,
) -> str:
    """Return the markup: a few facts, the first rows of a table of this many, and a map if there is one."""
    return (
        load_templates()
        .get_template("plots/templates/notebook.html")
        .render(
            name=name,
            facts=facts,
            columns=columns,
            rows=[[_shorten(value) for value in row] for row in rows],
            more=of - len(rows),
            map=drawn,
        )
    )
