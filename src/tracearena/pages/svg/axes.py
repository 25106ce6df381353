"""The area that a picture is drawn in, and its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from tracearena.language import said
from tracearena.pages.svg.canvas import Canvas, element

Ticks: TypeAlias = Sequence[tuple[float, str]]
"""Values and how they are written."""

SCORE_TICKS: Ticks = tuple((tick / 5, f"{tick / 5:g}") for tick in range(6))
"""An axis of scores runs from 0 to 1."""

ROOM_FOR_MARKERS = (-0.04, 1.04)
"""The values at the ends of an axis of scores, so that no marker is cut off."""


@dataclass(frozen=True)
class Area:
    """Where values are drawn.

    Attributes
    ----------
    left, top, width, height
        In units of the canvas.
    across, up
        The values at the left and at the right end, and at the bottom and at the top.
    """

    left: float
    top: float
    width: float
    height: float
    across: tuple[float, float] = (0.0, 1.0)
    up: tuple[float, float] = (0.0, 1.0)

    @property
    def right(self) -> float:
        """The right border."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower border."""
        return self.top + self.height

    def x(self, value: float) -> float:
        """Return where a value stands from left to right."""
        low, high = self.across
        return self.left + (value - low) / (high - low) * self.width

    def y(self, value: float) -> float:
        """Return where a value stands from bottom to top."""
        low, high = self.up
        return self.bottom - (value - low) / (high - low) * self.height


def axis_below(
    canvas: Canvas, area: Area, ticks: Ticks, words: str, symbol: str = "", good: str = ""
) -> None:
    """Draw the axis at the bottom: lines, numbers, what it shows and which end is good."""
    for value, label in ticks:
        x = area.x(value)
        canvas.draw("line", x1=x, y1=area.top, x2=x, y2=area.bottom, class_="grid")
        canvas.words(x, area.bottom + 19, label, text_anchor="middle", class_="soft number")
    middle = area.left + area.width / 2
    canvas.add(_named(middle, area.bottom + 43, words, symbol, good))


def axis_left(canvas: Canvas, area: Area, ticks: Ticks, words: str, symbol: str = "", good: str = "") -> None:
    """Draw the axis at the left, its words from bottom to top."""
    for value, label in ticks:
        y = area.y(value)
        canvas.draw("line", x1=area.left, y1=y, x2=area.right, y2=y, class_="grid")
        canvas.words(area.left - 8, y + 5, label, text_anchor="end", class_="soft number")
    middle, x = area.top + area.height / 2, 16
    canvas.add(_named(x, middle, words, symbol, good, f"rotate(-90 {x} {middle:.1f})"))


def _named(x: float, y: float, words: str, symbol: str, good: str, turned: str | None = None) -> str:
    """Return the words of an axis, the symbol of the papers in small type behind them."""
    content = escape(words)
    if symbol:
        content += element("tspan", escape(f" {symbol}"), class_="small soft")
    if good:
        content += escape(said(", ") + good)
    return element("text", content, x=x, y=y, text_anchor="middle", transform=turned)
