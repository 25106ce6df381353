"""A map of how much happens where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.figures.style import canvas, draw_ground
from tracearena.pages.describe import Amounts, amounts_of
from tracearena.pages.html import VERMILION
from tracearena.pages.maps import map_box, place_map
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces.box import Box
from tracearena.views.moving import moving

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _LEAST, _MOST = 6.4, 3.0, 8.5
"""Inches: of a map with its colour bar, and the limits of its height."""
_LARGEST_DOT, _SMALLEST_DOT = 30.0, 3.0


def picture(traces: Traces | GpsTraces | ObfuscatedTraces, *, interactive: bool = False) -> Any:
    """Draw the map of all rows."""
    found = amounts_of(traces)
    title = _title(traces, found)
    if interactive:
        figure = moving(place_map(found.places, found.counts, what=found.what))
        return figure.update_layout(title={"text": title, "font": {"size": 14}}, margin={"t": 120})
    box = map_box(found.places)
    with canvas(_WIDTH, _height_of(box, _WIDTH - 1.6)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = draw_amounts(axes, found)
        draw_ground(axes, box)
        axes.set(xlabel="longitude, degrees", ylabel="latitude, degrees")
        axes.set_title(title, fontsize=9.5, loc="left", parse_math=False)
        drawn.colorbar(image, ax=axes, label=found.what, shrink=0.7, format="{x:,g}")
        return drawn


def _height_of(box: Box, width: float) -> float:
    """Return the height in inches of a map of the box that is so wide."""
    north_m, east_m = box.size_m()
    return float(np.clip(width * north_m / max(east_m, 1.0) + 1.2, _LEAST, _MOST))


def draw_amounts(axes: Axes, found: Amounts) -> Any:
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


def _title(traces: Traces | GpsTraces | ObfuscatedTraces, found: Amounts) -> str:
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
