"""A picture as a page shows it: drawing, sentence, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from tracearena.pages.page import html_table

_SHOWN_ROWS = 200


@dataclass(frozen=True)
class Picture:
    """A drawing with its message and its numbers.

    Attributes
    ----------
    svg
        The drawing.
    caption
        The message, a sentence or a few, in plain text.
    table_header, table_rows
        The numbers behind it.
    legend
        Markup that names the markers; unlike a drawing it fits any width.
    wide
        Drawn in its own size, so that it scrolls where there is less room; then the keyboard reaches it.

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

    def markup(self) -> str:
        """Return the picture as a figure of a page, its numbers as a table to open."""
        reach = ' tabindex="0" role="group" aria-label="picture to scroll"' if self.wide else ""
        return (
            f'<figure class="picture">{self.legend}<div class="scroll"{reach}>{self.svg}</div>'
            f"<figcaption>{escape(self.caption)}</figcaption>{self._numbers()}</figure>"
        )

    def _numbers(self) -> str:
        more = len(self.table_rows) - _SHOWN_ROWS
        left = f"<p><small>… and {more:,} more rows.</small></p>" if more > 0 else ""
        table = html_table(self.table_header, self.table_rows[:_SHOWN_ROWS])
        return f"<details><summary>The numbers</summary>{table}{left}</details>"


def legend(badges: Sequence[str]) -> str:
    """Return the markup that names markers."""
    return f'<p class="legend">{" ".join(badges)}</p>'


def stylesheet() -> str:
    """Return the rules that pictures need of the page they stand in.

    >>> ".picture" in stylesheet()
    True
    """
    return resources.files(__package__).joinpath("pictures.css").read_text(encoding="utf-8")
