"""A very small builder of SVG: shapes and words that take their ink from the stylesheet around them.

What is drawn carries presentation attributes and classes, never a style or a script, so that it may
stand in a page that forbids both. `pictures.css` gives the classes their colours, light and dark:

``ink``, ``soft``, ``panel`` fill; ``line``, ``grid``, ``hatch`` draw lines.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any, TypeAlias

from tracearena.files import csv_text
from tracearena.i18n import translate
from tracearena.pages.html import render_part

WIDTH = 560
"""Width of a usual picture in its own units; it is drawn as wide as there is room."""
_WIDEST_THAT_FITS = 1_600
"""Width of the widest picture whose words are readable in the width of a page: 20 teams and some attacks."""
LARGE_LETTER = 10.0
"""Width of a letter where the words of a narrow page are largest."""


def element(tag: str, content: str = "", /, **attributes: Any) -> str:
    """Return an element; its content is markup, its attributes are escaped.

    An underscore at the end of a name falls away, any other is a hyphen; None leaves an attribute out.

    >>> element("rect", x=1.5, stroke_width=2, class_="grid")
    '<rect x="1.5" stroke-width="2" class="grid"/>'
    >>> element("title", escape("a < b"))
    '<title>a &lt; b</title>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_format_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _format_attribute(value: Any) -> str:
    return f"{round(value, 2):.10g}" if isinstance(value, float) else escape(str(value))


def make_hint(words: str) -> str:
    """Return what is shown while a shape is pointed at."""
    return element("title", escape(words))


class Canvas:
    """A picture that is being drawn.

    Parameters
    ----------
    width, height
        In the picture's own units; a unit is about a pixel on a wide screen.
    name
        Beginning of the ids in it; on one page every picture needs another.
    title, description
        For those who cannot see it: what it is, and what it shows.
    own_size
        Drawn in its own size instead of as wide as there is room. Where that is too wide, a picture that is
        readable in the width of a page shrinks on a wide screen; every other one scrolls.

    Examples
    --------
    >>> canvas = Canvas(100, 20, name="example", title="A line")
    >>> canvas.draw("line", x1=0, y1=10, x2=100, y2=10, class_="grid")
    >>> canvas.words(0, 8, "from <here>", class_="soft")
    >>> "from &lt;here&gt;" in canvas.markup()
    True
    """

    def __init__(
        self,
        width: float,
        height: float,
        *,
        name: str,
        title: str,
        description: str = "",
        own_size: bool = False,
    ) -> None:
        self.width, self.height = width, height
        self._name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "picture"
        self._title, self._description = title, description
        self._own_size = own_size
        self._parts: list[str] = []
        self._definitions: dict[str, str] = {}

    def add(self, *markup: str) -> None:
        """Add markup as it is."""
        self._parts.extend(markup)

    def draw(self, tag: str, content: str = "", /, **attributes: Any) -> None:
        """Add an element."""
        self._parts.append(element(tag, content, **attributes))

    def words(self, x: float, y: float, words: str, *, whole: str = "", **attributes: Any) -> None:
        """Add words; `whole` is shown while they are pointed at."""
        title = make_hint(whole) if whole else ""
        self._parts.append(element("text", title + escape(words), x=x, y=y, **attributes))

    def name(self, x: float, y: float, name: str, *, room: int = 16, **attributes: Any) -> None:
        """Add a name, shortened to this many letters; the whole name is shown while it is pointed at."""
        self.words(x, y, shorten_name(name, room), whole=replace_invisible(name), **attributes)

    @contextmanager
    def group(self, **attributes: Any) -> Iterator[None]:
        """Put what is drawn inside into one element."""
        opened = element("g", "\0", **attributes).partition("\0")[0]
        self._parts.append(opened)
        yield
        self._parts.append("</g>")

    def hatching(self) -> str:
        """Return a fill of slanting lines: something that is not there."""
        line = element("line", x1=0, y1=0, x2=0, y2=6, class_="hatch")
        return self._define(
            "hatching", "pattern", line, width=6, height=6, patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        )  # fmt: skip

    def _define(self, word: str, tag: str, content: str, **attributes: Any) -> str:
        anchor = f"{self._name}-{word}"
        self._definitions[word] = element(tag, content, id=anchor, **attributes)
        return f"url(#{anchor})"

    def markup(self) -> str:
        """Return the picture."""
        described = element("desc", escape(self._description), id=f"{self._name}-desc")
        head = element("title", escape(self._title), id=f"{self._name}-title")
        labels = f"{self._name}-title"
        if self._description:
            head, labels = head + described, f"{labels} {self._name}-desc"
        definitions = element("defs", "".join(self._definitions.values())) if self._definitions else ""
        size: dict[str, Any] = {}
        if self._own_size:
            look = "own-size fits" if self.width <= _WIDEST_THAT_FITS else "own-size"
            size = {"width": self.width, "height": self.height, "class_": look}
        return element(
            "svg",
            head + definitions + "".join(self._parts),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_format_attribute(float(self.width))} {_format_attribute(float(self.height))}",
            role="img",
            aria_labelledby=labels,
            direction="ltr",
            **size,
        )


# The area that a picture is drawn in, and its axes.


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
        """Return the horizontal position of a value."""
        low, high = self.across
        return self.left + (value - low) / (high - low) * self.width

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        low, high = self.up
        return self.bottom - (value - low) / (high - low) * self.height


def draw_axis_below(
    canvas: Canvas, area: Area, ticks: Ticks, words: str, symbol: str = "", good: str = ""
) -> None:
    """Draw the axis at the bottom: lines, numbers, what it shows and which end is good."""
    for value, label in ticks:
        x = area.x(value)
        canvas.draw("line", x1=x, y1=area.top, x2=x, y2=area.bottom, class_="grid")
        canvas.words(x, area.bottom + 19, label, text_anchor="middle", class_="soft number")
    x, anchor = area.left + area.width / 2, "middle"
    if x + LARGE_LETTER * measure_width(f"{words} {symbol} {good}") / 2 > canvas.width:
        x, anchor = canvas.width - 4, "end"
    canvas.add(_format_axis_title(x, area.bottom + 43, words, symbol, good, anchor=anchor))


def draw_axis_left(
    canvas: Canvas, area: Area, ticks: Ticks, words: str, symbol: str = "", good: str = ""
) -> None:
    """Draw the axis at the left, its words from bottom to top."""
    for value, label in ticks:
        y = area.y(value)
        canvas.draw("line", x1=area.left, y1=y, x2=area.right, y2=y, class_="grid")
        canvas.words(area.left - 8, y + 5, label, text_anchor="end", class_="soft number")
    middle, x = area.top + area.height / 2, 16
    canvas.add(_format_axis_title(x, middle, words, symbol, good, f"rotate(-90 {x} {middle:.1f})"))


def _format_axis_title(
    x: float, y: float, words: str, symbol: str, good: str, turned: str | None = None, anchor: str = "middle"
) -> str:
    """Return the words of an axis, the symbol of the papers in small type behind them."""
    content = escape(words)
    if symbol:
        content += element("tspan", escape(f" {symbol}"), class_="small soft")
    if good:
        content += escape(translate(", ") + good)
    return element("text", content, x=x, y=y, text_anchor=anchor, transform=turned)


# The markers of teams as shapes, the same as in every other picture.


SIZE = 6.5
"""Radius of a circle; other shapes are drawn to look as large."""

_INKS = {"var(--ink)": "ink", "var(--soft)": "soft"}
"""Colours that the stylesheet decides on, and their classes."""


def _regular_polygon(corners: int, radius: float, turn: float = 0.0, inner: float | None = None) -> str:
    """Return corners around (0, 0), the first at the top, turned by some degrees; a star has inner ones."""
    radii = [radius] if inner is None else [radius, inner]
    steps = corners * len(radii)
    angles = (math.radians(turn - 90 + 360 * step / steps) for step in range(steps))
    return _format_points(
        (radii[step % len(radii)] * math.cos(angle), radii[step % len(radii)] * math.sin(angle))
        for step, angle in enumerate(angles)
    )


def _format_points(corners: Iterable[tuple[float, float]]) -> str:
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
    "square": _regular_polygon(4, 8.2, 45),
    "triangle-up": _regular_polygon(3, 8.6),
    "diamond": _regular_polygon(4, 8.2),
    "triangle-down": _regular_polygon(3, 8.6, 180),
    "star": _regular_polygon(5, 8.8, inner=4.0),
    "pentagon": _regular_polygon(5, 7.6),
    "hexagon": _regular_polygon(6, 7.4, 30),
    "x": _format_points((3.2 * x, 3.2 * y) for x, y in _CROSS),
}
"""Corners of every marker but the circle, by Plotly's name."""


def draw_marker(x: float, y: float, shape: str, colour: str, *, hollow: bool = False, title: str = "") -> str:
    """Return one marker in its colour with a thin rim; a hollow one stands for what does not count."""
    inside = make_hint(title) if title else ""
    ink = _INKS.get(colour)
    classes = "hollow" if hollow else f"mark {ink}" if ink else "mark"
    fill = None if hollow or ink else colour
    rim = {"stroke": colour, "stroke_width": 2.2} if hollow and not ink else {}
    if shape == "circle":
        return element("circle", inside, cx=x, cy=y, r=SIZE, fill=fill, class_=classes, **rim)
    place = f"translate({x:.1f} {y:.1f})" if (x, y) != (0, 0) else None
    return element("polygon", inside, points=SHAPES[shape], transform=place, fill=fill, class_=classes, **rim)


# Colours of amounts: viridis, as in Plotly's maps.


_STOPS = (
    "440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725",
)  # fmt: skip
DECIMALS = 3
"""With how many decimals a score is written; a live board has fewer."""
_BRIGHT = 0.45
"""From here on black is easier to read on the colour than white is."""


def viridis(share: float) -> str:
    """Return the colour of a share from 0 (dark) to 1 (bright).

    >>> viridis(0), viridis(1)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    part = place - low
    mixed = (
        round((1 - part) * int(_STOPS[low][i : i + 2], 16) + part * int(_STOPS[low + 1][i : i + 2], 16))
        for i in (0, 2, 4)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def choose_ink(share: float) -> str:
    """Return the class of text on the colour of a share."""
    return "on-bright" if share >= _BRIGHT else "on-dark"


# Names that others have given, in a form that cannot harm what is around them.


_NO_SHAPE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"
_UNKNOWN = "\ufffd"
_WIDE = {"F", "W"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_ISOLATE, _END = "\u2068", "\u2069"
_MOST_MARKS = 2


def replace_invisible(name: str) -> str:
    """Return a name of which every character can be seen.

    Characters without a shape of their own (zero-width ones, those that turn the direction of writing,
    control characters, what is no character) become a replacement character, spaces of any kind one
    space, and no letter carries more than two marks. What is left still has to be escaped.

    >>> replace_invisible("a\u202eb\u200b\tc") == "a\ufffdb\ufffd c"
    True
    """
    seen: list[str] = []
    marks = 0
    for character in name:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS:
            seen.append(_make_visible(character))
    return " ".join("".join(seen).split()) or _UNKNOWN


def _make_visible(character: str) -> str:
    if character.isspace():
        return " "
    hidden = unicodedata.category(character) in _NO_SHAPE and character not in _JOINERS
    return _UNKNOWN if hidden else character


def shorten_name(name: str, room: int = 16) -> str:
    """Return a neutral name that is at most this many letters wide; a wide letter counts as two.

    >>> shorten_name("Heavy Weather", 8), shorten_name("東京都庁舎", 8), shorten_name("Fog", 8)
    ('Heavy W…', '東京都…', 'Fog')
    """
    whole = replace_invisible(name)
    return whole if measure_width(whole) <= room else _cut(whole, room - 1).rstrip() + "…"


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text that is at most this many letters wide."""
    used = 0
    for end, character in enumerate(text):
        used += measure_width(character)
        if used > room:
            return text[:end]
    return text


def measure_width(text: str) -> int:
    """Return how many letters wide a text is; a wide letter counts as two."""
    return sum(1 + (unicodedata.east_asian_width(character) in _WIDE) for character in text)


def wrap_name(name: str, room: int, *, most: int) -> list[str]:
    """Return a neutral name in at most `most` lines, each at most `room` letters wide.

    >>> wrap_name("Fog Bank", 18, most=2), wrap_name("The Lighthouse Keepers of Kyoto", 18, most=2)
    (['Fog Bank'], ['The Lighthouse', 'Keepers of Kyoto'])
    """
    rest = replace_invisible(name)
    lines: list[str] = []
    while measure_width(rest) > room and len(lines) < most - 1:
        # At a space, or wherever the line is full if a name has none or a wide letter follows, as in
        # Japanese.
        full = _cut(rest, room)
        ends = rest[len(full)] == " " or measure_width(rest[len(full)]) > 1
        first = full if ends else full.rpartition(" ")[0] or full
        lines.append(first)
        rest = rest[len(first) :].strip()
    return [*lines, shorten_name(rest, room)]


def isolate_name(name: str, room: int = 40) -> str:
    """Return a short neutral name for the middle of a sentence, which keeps its own direction of writing.

    >>> isolate_name("Fog Bank")
    'Fog Bank'
    """
    short = shorten_name(name, room)
    turns = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in short)
    return f"{_ISOLATE}{short}{_END}" if turns else short


# A picture as a page shows it: drawing, sentence, and the numbers behind it.


@dataclass(frozen=True)
class Picture:
    """A drawing with its caption and its numbers.

    Attributes
    ----------
    svg
        The drawing.
    caption
        The message of the picture, in a few sentences of plain text.
    table_header, table_rows
        The numbers behind it.
    legend
        Markup that explains the markers; unlike a drawing, it fits any width.
    wide
        Whether the drawing has a fixed size. It then scrolls on narrow pages, and can be reached with the
        keyboard.

    Examples
    --------
    >>> picture = Picture("<svg/>", "Two & two.", ("a",), ((1,),))
    >>> "Two &amp; two." in picture.markup()
    True
    """

    svg: str
    caption: str
    table_header: tuple[str, ...]
    table_rows: tuple[tuple[Any, ...], ...]
    legend: str = ""
    wide: bool = False

    def csv(self) -> str:
        r"""Return the numbers as CSV; names that look like formulas are made harmless.

        >>> Picture("<svg/>", "One.", ("team", "score"), (("=1+1", -0.5),)).csv()
        "team,score\n'=1+1,-0.5\n"
        """
        return csv_text(self.table_header, self.table_rows)

    def markup(self, csv_address: str = "") -> str:
        """Return the picture as a figure of a page, with its numbers in a table that can be opened.

        Parameters
        ----------
        csv_address
            Address at which the server offers the result of `csv`, for a link to save it.
        """
        return render_part("picture", self, csv_address)

    def _repr_html_(self) -> str:
        """Show the picture in a notebook."""
        return f"<style>{read_stylesheet()}</style>{self.markup()}"


def format_legend(badges: Sequence[str]) -> str:
    """Return the markup that names markers."""
    return f'<p class="legend">{" ".join(badges)}</p>'


def read_stylesheet() -> str:
    """Return the style rules that pictures need on a page.

    >>> ".picture" in read_stylesheet()
    True
    """
    return resources.files(__package__).joinpath("pictures.css").read_text(encoding="utf-8")
