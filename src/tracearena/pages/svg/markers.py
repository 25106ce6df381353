"""The markers of teams as shapes, the same as in every other picture."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tracearena.pages.svg.canvas import element, hint

SIZE = 6.5
"""Radius of a circle; other shapes are drawn to look as large."""

_INKS = {"var(--ink)": "ink", "var(--soft)": "soft"}
"""Colours that the stylesheet decides on, and their classes."""


def _regular(corners: int, radius: float, turn: float = 0.0, inner: float | None = None) -> str:
    """Return corners around (0, 0), the first at the top, turned by some degrees; a star has inner ones."""
    radii = [radius] if inner is None else [radius, inner]
    steps = corners * len(radii)
    angles = (math.radians(turn - 90 + 360 * step / steps) for step in range(steps))
    return _points(
        (radii[step % len(radii)] * math.cos(angle), radii[step % len(radii)] * math.sin(angle))
        for step, angle in enumerate(angles)
    )


def _points(corners: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)


_CROSS = [
    (-1, -2),
    (0, -1),
    (1, -2),
    (2, -1),
    (1, 0),
    (2, 1),
    (1, 2),
    (0, 1),
    (-1, 2),
    (-2, 1),
    (-1, 0),
    (-2, -1),
]

SHAPES = {
    "square": _regular(4, 8.2, 45),
    "triangle-up": _regular(3, 8.6),
    "diamond": _regular(4, 8.2),
    "triangle-down": _regular(3, 8.6, 180),
    "star": _regular(5, 8.8, inner=4.0),
    "pentagon": _regular(5, 7.6),
    "hexagon": _regular(6, 7.4, 30),
    "x": _points((3.2 * x, 3.2 * y) for x, y in _CROSS),
}
"""Corners of every marker but the circle, by Plotly's name."""


def marker(x: float, y: float, shape: str, colour: str, *, hollow: bool = False, title: str = "") -> str:
    """Return one marker in its colour with a thin rim; a hollow one stands for what does not count."""
    inside = hint(title) if title else ""
    ink = _INKS.get(colour)
    classes = "hollow" if hollow else f"mark {ink}" if ink else "mark"
    fill = None if hollow or ink else colour
    rim = {"stroke": colour, "stroke_width": 2.2} if hollow and not ink else {}
    if shape == "circle":
        return element("circle", inside, cx=x, cy=y, r=SIZE, fill=fill, class_=classes, **rim)
    place = f"translate({x:.1f} {y:.1f})" if (x, y) != (0, 0) else None
    return element("polygon", inside, points=SHAPES[shape], transform=place, fill=fill, class_=classes, **rim)
