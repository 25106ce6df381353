"""How things look on pages and in printed pictures: one palette, one list of markers, one scale bar."""

from __future__ import annotations

import math
from typing import NamedTuple

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
GREY = "#8C8C8C"

COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, GREY)
"""Okabe-Ito, with a grey that shows on white and on black in the place of its black."""


class Marker(NamedTuple):
    """The name of a marker for Plotly and for Matplotlib."""

    plotly: str
    matplotlib: str


MARKERS = (
    Marker("circle", "o"),
    Marker("square", "s"),
    Marker("triangle-up", "^"),
    Marker("diamond", "D"),
    Marker("triangle-down", "v"),
    Marker("star", "*"),
    Marker("pentagon", "p"),
    Marker("hexagon", "h"),
)


def scale_length(width_km: float) -> tuple[float, str]:
    """Return the length (km) and the label of the scale bar of a map.

    The longest of 1, 2 and 5 times a power of ten that is at most a fifth of the map's width.

    >>> scale_length(11.3), scale_length(3)
    ((2.0, '2 km'), (0.5, '500 m'))
    """
    power = 10.0 ** math.floor(math.log10(width_km / 5))
    length = max(step * power for step in (1, 2, 5) if step * power <= width_km / 5)
    return length, f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
