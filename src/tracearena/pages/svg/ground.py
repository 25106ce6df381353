"""The ground of a map: longitudes shrunk by the cosine of the latitude, north up, a bar for the scale."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tracearena.language import said
from tracearena.pages.maps import map_box
from tracearena.pages.style import VERMILION, scale_length
from tracearena.pages.svg.amounts import viridis
from tracearena.pages.svg.axes import Ticks
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.traces import Box, Places
from tracearena.traces.geodesy import KM_PER_DEGREE

_RIM = 4.0
_TALLEST = 600.0
_LEVELS = 24
_MOST_POINTS = 5_000
_KEY = 66.0


class Ground:
    """Where places stand on the canvas.

    Attributes
    ----------
    box
        What is shown.
    left, top, width, height
        Of the map on the canvas: as wide as there is room, and in the shape of the ground.
    """

    def __init__(self, places: Places, box: Box | None = None) -> None:
        self.places, self.box = places, box or map_box(places)
        self.shrink = math.cos(math.radians(self.box.middle[0]))
        shape = (self.box.north - self.box.south) / ((self.box.east - self.box.west) * self.shrink)
        self.width = min(WIDTH - 2 * _RIM, _TALLEST / shape)
        self.height = self.width * shape
        self.left, self.top = (WIDTH - self.width) / 2, _RIM

    @property
    def bottom(self) -> float:
        """The lower border."""
        return self.top + self.height

    @property
    def canvas_height(self) -> float:
        """Height of a canvas with the map and a key below it."""
        return self.bottom + _KEY

    def x(self, longitude: float) -> float:
        """Return where a longitude stands."""
        return self.left + (longitude - self.box.west) / (self.box.east - self.box.west) * self.width

    def y(self, latitude: float) -> float:
        """Return where a latitude stands."""
        return self.top + (self.box.north - latitude) / (self.box.north - self.box.south) * self.height

    def at(self, place: int) -> tuple[float, float]:
        """Return where a place stands."""
        return self.x(float(self.places.longitude[place])), self.y(float(self.places.latitude[place]))

    def tile(self) -> tuple[float, float]:
        """Return width and height of a cell, or of the dot that stands for a place without one."""
        grid = self.places.grid
        if grid is None:
            return 6.0, 6.0
        return self.x(grid.west + grid.cell_width) - self.x(grid.west), self.y(grid.south) - self.y(
            grid.south + grid.cell_height
        )

    def tiles(self, chosen: Iterable[int]) -> str:
        """Return the path of the cells of some places."""
        wide, high = self.tile()
        corners = ((x - wide / 2, y - high / 2) for x, y in map(self.at, chosen))
        return "".join(f"M{x:.1f} {y:.1f}h{wide:.2f}v{high:.2f}h-{wide:.2f}z" for x, y in corners)

    def shows(self, place: int) -> bool:
        """Whether a place lies inside of the box."""
        return bool(self.box.contains(self.places.latitude[place], self.places.longitude[place]))


def draw_amounts(canvas: Canvas, ground: Ground, shares: NDArray[np.float64]) -> None:
    """Colour every place by a share from 0 (dark) to 1; where it is NaN nothing is drawn.

    Of more than five thousand places without a grid the quietest are left out.
    """
    canvas.draw("rect", x=ground.left, y=ground.top, width=ground.width, height=ground.height,
                class_="ground")  # fmt: skip
    known = np.flatnonzero(~np.isnan(shares))
    if ground.places.grid is None:
        known = known[np.argsort(shares[known], kind="stable")][-_MOST_POINTS:]
    levels = np.rint(np.clip(shares[known], 0, 1) * (_LEVELS - 1)).astype(int)
    for level in np.unique(levels):
        cells = (int(place) for place in known[levels == level])
        fill = viridis(float(level) / (_LEVELS - 1))
        canvas.draw("path", d=ground.tiles(cells), fill=fill, class_="tiles", shape_rendering="crispEdges")


def draw_cells(canvas: Canvas, ground: Ground) -> None:
    """Draw the borders of the cells of a grid."""
    grid, box = ground.places.grid, ground.box
    if grid is None:
        return
    across = (grid.west + column * grid.cell_width for column in range(grid.columns + 1))
    upward = (grid.south + row * grid.cell_height for row in range(grid.rows + 1))
    lines = [
        f"M{ground.x(x):.1f} {ground.top}v{ground.height:.1f}" for x in across if box.west < x < box.east
    ]
    lines += [
        f"M{ground.left} {ground.y(y):.1f}h{ground.width:.1f}" for y in upward if box.south < y < box.north
    ]
    canvas.draw("path", d="".join(lines) or "M0 0", class_="grid")


def draw_frame(canvas: Canvas, ground: Ground) -> None:
    """Draw the border, crosses at sensitive places and the bar for the scale."""
    canvas.draw("rect", x=ground.left, y=ground.top, width=ground.width, height=ground.height, fill="none",
                class_="grid")  # fmt: skip
    sensitive = [int(place) for place in np.flatnonzero(ground.places.sensitive) if ground.shows(int(place))]
    if sensitive:
        crosses = "".join(_cross(*ground.at(place)) for place in sensitive)
        canvas.draw("path", d=crosses, class_="under")
        canvas.draw("path", d=crosses, fill="none", stroke=VERMILION, stroke_width=2, class_="sensitive")
        canvas.draw("path", d=_cross(ground.left + 10, ground.bottom + 15), fill="none", stroke=VERMILION,
                    stroke_width=2)  # fmt: skip
        canvas.words(ground.left + 20, ground.bottom + 20, said("sensitive"), class_="soft")
    _scale(canvas, ground)


def _cross(x: float, y: float) -> str:
    return f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"


def _scale(canvas: Canvas, ground: Ground) -> None:
    """Draw the bar below the right corner."""
    km = (ground.box.east - ground.box.west) * KM_PER_DEGREE * ground.shrink
    length_km, words = scale_length(km)
    length, right, y = length_km / km * ground.width, ground.left + ground.width, ground.bottom + 15
    canvas.draw(
        "line", x1=right - length, y1=y, x2=right, y2=y, class_="line scale", data_km=f"{length_km:g}"
    )
    canvas.words(right - length - 8, y + 5, words, text_anchor="end", class_="soft")


def draw_key(canvas: Canvas, ground: Ground, ticks: Ticks, words: str) -> None:
    """Say which colour is how much; ticks are shares with their labels."""
    y, left, width = ground.bottom + 34, min(ground.left, 90.0) + 14, 170.0
    for step in range(_LEVELS):
        colour = viridis(step / (_LEVELS - 1))
        canvas.draw(
            "rect", x=left + width * step / _LEVELS, y=y, width=width / _LEVELS + 0.4, height=8, fill=colour
        )
    for share, label in ticks:
        canvas.words(left + width * share, y + 25, label, text_anchor="middle", class_="soft small number")
    canvas.words(left + width + 16, y + 10, words, class_="soft")
