"""A picture as a page shows it: drawing, sentence, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from tracearena.files import csv_text
from tracearena.language import counted, said
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

    def csv(self) -> str:
        r"""Return the numbers as CSV; no spreadsheet takes a name in it for a formula.

        >>> Picture("<svg/>", "One.", ("team", "score"), (("=1+1", -0.5),)).csv()
        "team,score\n'=1+1,-0.5\n"
        """
        return csv_text(self.table_header, self.table_rows)

    def markup(self, csv_address: str = "") -> str:
        """Return the picture as a figure of a page, its numbers as a table to open.

        Parameters
        ----------
        csv_address
            Where the page's server has what `csv` returns; then there is a link to save it.
        """
        named = escape(said("picture to scroll"))
        reach = f' tabindex="0" role="group" aria-label="{named}"' if self.wide else ""
        return (
            f'<figure class="picture">{self.legend}<div class="scroll"{reach}>{self.svg}</div>'
            f"<figcaption>{escape(self.caption)}</figcaption>{self._numbers(csv_address)}</figure>"
        )

    def _numbers(self, csv_address: str) -> str:
        more = len(self.table_rows) - _SHOWN_ROWS
        rest = counted("… and {count} more row.", "… and {count} more rows.", more)
        left = f"<p><small>{escape(rest)}</small></p>" if more > 0 else ""
        table = html_table(self.table_header, self.table_rows[:_SHOWN_ROWS])
        words = escape(said("Save as CSV"))
        link = f'<p class="save"><a download="" href="{escape(csv_address)}">{words}</a></p>'
        save = link if csv_address else ""
        return f"<details><summary>{escape(said('The numbers'))}</summary>{save}{table}{left}</details>"


def legend(badges: Sequence[str]) -> str:
    """Return the markup that names markers."""
    return f'<p class="legend">{" ".join(badges)}</p>'


def stylesheet() -> str:
    """Return the rules that pictures need of the page they stand in.

    >>> ".picture" in stylesheet()
    True
    """
    return resources.files(__package__).joinpath("pictures.css").read_text(encoding="utf-8")
