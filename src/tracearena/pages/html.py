"""`Page`, one HTML file with everything in it, and how values, dates, colours and scale bars look."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from importlib import resources
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from tracearena import __version__
from tracearena.files import csv_text, replacing
from tracearena.i18n import mark_for_translation, translate, translate_count

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""Column names and rows."""

_SHOWN_ROWS = 200


class Page:
    """A report that is written as one file and needs nothing else.

    Figures take the reader's light or dark setting. In a figure the colours ``var(--ink)``,
    ``var(--soft)`` and ``var(--paper)`` stand for text, quieter text and background.

    Parameters
    ----------
    title
        Heading of the page and title of its window.
    lead
        One or two sentences below it.

    Examples
    --------
    >>> page = Page("Check-ins", lead="What is in the file.")
    >>> page.heading("When")
    >>> bars = {"data": [{"type": "bar", "x": [0, 1], "y": [3, 9]}], "layout": {"height": 300}}
    >>> page.figure(bars, "People are up late.", table=(["hour", "events"], [[0, 3], [1, 9]]))
    >>> "People are up late." in page.html()
    True
    """

    def __init__(self, title: str, *, lead: str = "") -> None:
        self.title = title
        self._lead = lead
        self._parts: list[str] = []
        self._headings: list[tuple[str, str]] = []
        self._figures = 0

    def heading(self, text: str, *, level: int = 2) -> None:
        """Begin a section; those of level 2 make the table of contents."""
        anchor = re.sub(r"\W+", "-", text.lower()).strip("-") or f"section-{len(self._parts)}"
        if level == 2:
            self._headings.append((anchor, text))
        self._parts.append(f'<h{level} id="{escape(anchor)}">{escape(text)}</h{level}>')

    def text(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def html_part(self, markup: str) -> None:
        """Add markup as it is; whatever comes from a file must be escaped before."""
        self._parts.append(markup)

    def cards(self, values: Mapping[str, Any]) -> None:
        """Show a few single numbers, each with its name."""
        items = (
            f"<div><dt>{escape(name)}</dt><dd>{escape(format_value(value))}</dd></div>"
            for name, value in values.items()
        )
        self._parts.append(f'<dl class="cards">{"".join(items)}</dl>')

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Show a table; one too wide for a phone scrolls by itself."""
        self._parts.append(html_table(columns, list(rows)))

    def figure(
        self,
        figure: Any,
        caption: str,
        *,
        table: Table | None = None,
        name: str = "",
        least_width_px: int = 0,
    ) -> None:
        """Add a Plotly figure (or the dictionary of one) with the sentence that says its message.

        Parameters
        ----------
        table
            The numbers behind it, shown on request and to save as a CSV file.
        name
            Stem of the names of that file.
        least_width_px
            A figure that would be unreadable below this width scrolls sideways on a narrow screen.
        """
        self._figures += 1
        anchor = f"figure-{self._figures}"
        content = figure if isinstance(figure, dict) else figure.to_plotly_json()
        height = int(content.get("layout", {}).get("height") or 420)
        numbers = "" if table is None else _format_numbers(table, name or anchor)
        self._parts.append(
            f'<figure><div class="scroll"><div class="plot" id="{anchor}" '
            f'style="min-height:{height}px;min-width:{least_width_px}px"></div></div>'
            f'<script type="application/json" id="{anchor}-figure">{_embed_json(content)}</script>'
            f"<figcaption>{escape(caption)}</figcaption>{numbers}</figure>"
        )

    def html(self) -> str:
        """Return the page."""
        contents = "".join(
            f'<li><a href="#{escape(anchor)}">{escape(text)}</a></li>' for anchor, text in self._headings
        )
        lead = f"<p>{escape(self._lead)}</p>" if self._lead else ""
        navigation = f"<nav><ul>{contents}</ul></nav>" if len(self._headings) > 1 else ""
        scripts = (
            f"<script>{_read_plotly()}</script>\n<script>{_read_resource('page.js')}</script>"
            if self._figures
            else ""
        )
        scripts = scripts.replace("COLOURS", json.dumps(COLOURS), 1)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{_read_resource('page.css')}</style>\n</head>\n<body>\n"
            f"<header><h1>{escape(self.title)}</h1>{lead}{navigation}</header>\n<main>\n"
            + "\n".join(self._parts)
            + f"\n</main>\n<footer>tracearena {__version__}</footer>\n{scripts}\n</body>\n</html>\n"
        )

    def write(self, path: str | PathLike[str]) -> None:
        """Write the page."""
        content = self.html().encode()
        with replacing(path) as out:
            out.write(content)


def capitalise(sentence: str) -> str:
    """Return a sentence with its first letter large."""
    return sentence[:1].upper() + sentence[1:]


def format_value(value: Any) -> str:
    """Write a value for people.

    >>> format_value(138957), format_value(0.25), format_value(None)
    ('138,957', '0.25', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):,.4g}"
    return str(value)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the markup of a table, numbers to the right."""
    numeric = [
        all(isinstance(row[i], (int, float, np.number)) or row[i] is None for row in rows)
        for i in range(len(columns))
    ]
    mark = [' class="number"' if number else "" for number in numeric]
    head = "".join(
        f'<th scope="col"{m}>{escape(column)}</th>' for m, column in zip(mark, columns, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{m}>{escape(format_value(value))}</td>" for m, value in zip(mark, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _format_numbers(table: Table, name: str) -> str:
    columns, rows = table
    packed = base64.b64encode(csv_text(columns, rows).encode()).decode()
    more = len(rows) - _SHOWN_ROWS
    hidden = f"<p><small>… and {more:,} more rows in the file.</small></p>" if more > 0 else ""
    return (
        "<details><summary>The numbers</summary>"
        f'<p class="save"><a download="{escape(name)}.csv" href="data:text/csv;base64,{packed}">'
        f"Save as CSV</a></p>{html_table(columns, rows[:_SHOWN_ROWS])}{hidden}</details>"
    )


def _embed_json(content: Any) -> str:
    # "<" never stands for itself inside a script element, so no text of a file can end it.
    return json.dumps(content, default=_to_plain, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return list(value)
    if isinstance(value, np.ndarray):
        return [None if isinstance(v, float) and not np.isfinite(v) else v for v in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "to_plotly_json"):
        return value.to_plotly_json()
    raise TypeError(f"a figure cannot hold {type(value).__name__}")


def _read_resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _read_plotly() -> str:
    import plotly.offline

    return str(plotly.offline.get_plotlyjs())


# How things look on pages and in printed pictures: one palette, one list of markers, one scale bar.


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


def choose_scale_length(width_km: float) -> tuple[float, str]:
    """Return the length (km) and the label of the scale bar of a map.

    The longest of 1, 2 and 5 times a power of ten that is at most a fifth of the map's width.

    >>> choose_scale_length(11.3), choose_scale_length(3)
    ((2.0, '2 km'), (0.5, '500 m'))
    """
    power = 10.0 ** math.floor(math.log10(width_km / 5))
    length = max(step * power for step in (1, 2, 5) if step * power <= width_km / 5)
    return length, f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"


# Days, times and stretches of time, in the order in which the reader's language writes them.


_MONTHS = (
    mark_for_translation("Jan"), mark_for_translation("Feb"), mark_for_translation("Mar"),
    mark_for_translation("Apr"), mark_for_translation("May"), mark_for_translation("Jun"),
    mark_for_translation("Jul"), mark_for_translation("Aug"), mark_for_translation("Sep"),
    mark_for_translation("Oct"), mark_for_translation("Nov"), mark_for_translation("Dec"),
)  # fmt: skip


def format_day(at: datetime) -> str:
    """Write the day of a moment.

    >>> format_day(datetime(2026, 5, 1, 9, 30))
    '1 May'
    """
    return translate("{day} {month}", day=at.day, month=translate(_MONTHS[at.month - 1]))


def format_day_and_hour(at: datetime) -> str:
    """Write the day and the time of a moment.

    >>> format_day_and_hour(datetime(2026, 5, 1, 9, 30))
    '1 May 09:30'
    """
    return translate("{day} {time}", day=format_day(at), time=f"{at:%H:%M}")


def format_moment(at: datetime) -> str:
    """Write a moment with its year.

    >>> format_moment(datetime(2026, 5, 1, 9, 30))
    '1 May 2026, 09:30'
    """
    month = translate(_MONTHS[at.month - 1])
    return translate(
        "{day} {month} {year}, {time}", day=at.day, month=month, year=at.year, time=f"{at:%H:%M}"
    )


def format_duration(time: timedelta) -> str:
    """Write a stretch of time in its two largest units.

    >>> [format_duration(timedelta(seconds=seconds)) for seconds in (262_800, 3_660, 5)]
    ['3 days 1 hour', '1 hour 1 minute', 'less than a minute']
    """
    minutes = int(time.total_seconds()) // 60
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    told = [
        (days, translate_count("{count} day", "{count} days", days)),
        (hours, translate_count("{count} hour", "{count} hours", hours)),
        (rest, translate_count("{count} minute", "{count} minutes", rest)),
    ]
    first = next((at for at, (count, _) in enumerate(told) if count), None)
    if first is None:
        return translate("less than a minute")
    return " ".join(words for count, words in told[first : first + 2] if count)
