"""A very small builder of SVG: shapes and words that take their ink from the stylesheet around them.

What is drawn carries presentation attributes and classes, never a style or a script, so that it may
stand in a page that forbids both. `pictures.css` gives the classes their colours, light and dark:

``ink``, ``soft``, ``panel`` fill; ``line``, ``grid``, ``hatch`` draw lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from tracearena.pages.svg.names import neutral, shortened

WIDTH = 560
"""Width of a usual picture in its own units; it is drawn as wide as there is room."""


def element(tag: str, content: str = "", /, **attributes: Any) -> str:
    """Return an element; its content is markup, its attributes are escaped.

    An underscore at the end of a name falls away, any other is a hyphen; None leaves an attribute out.

    >>> element("rect", x=1.5, stroke_width=2, class_="grid")
    '<rect x="1.5" stroke-width="2" class="grid"/>'
    >>> element("title", escape("a < b"))
    '<title>a &lt; b</title>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _value(value: Any) -> str:
    return f"{round(value, 2):.10g}" if isinstance(value, float) else escape(str(value))


def hint(words: str) -> str:
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
        Drawn in its own size, to be scrolled where that is too wide, instead of as wide as there is room.

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
        title = hint(whole) if whole else ""
        self._parts.append(element("text", title + escape(words), x=x, y=y, **attributes))

    def name(self, x: float, y: float, name: str, *, room: int = 16, **attributes: Any) -> None:
        """Add a name, shortened to so many letters; the whole name is shown while it is pointed at."""
        self.words(x, y, shortened(name, room), whole=neutral(name), **attributes)

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
        return self._defined(
            "hatching", "pattern", line, width=6, height=6, patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        )  # fmt: skip

    def _defined(self, word: str, tag: str, content: str, **attributes: Any) -> str:
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
        size = {"width": self.width, "height": self.height, "class_": "own-size"} if self._own_size else {}
        return element(
            "svg",
            head + definitions + "".join(self._parts),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_value(float(self.width))} {_value(float(self.height))}",
            role="img",
            aria_labelledby=labels,
            direction="ltr",
            **size,
        )
