"""`Page`, a self-contained HTML file, and the format of values, dates, colours and scale bars."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracearena import __version__
from tracearena.files import csv_text, replacing
from tracearena.i18n import (
    format_length,
    format_number,
    mark_for_translation,
    translate,
    translate_count,
)

if TYPE_CHECKING:
    from jinja2 import Environment

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""Column names and rows."""

_PARTS = "pages/templates/parts.html"


class Page:
    """A report that is written as one self-contained file.

    Its sentences are in a template that extends ``pages/templates/page.html`` and uses the tables and figures
    of ``parts.html``. Figures follow the light or dark setting of the reader: in a Plotly figure, use the
    colours ``var(--ink)``, ``var(--soft)`` and ``var(--paper)`` for text, secondary text and background.

    Parameters
    ----------
    template
        Path of the template in the package ``tracearena``.
    title
        Heading of the page and title of its window.
    values
        Other values that the template uses.

    Examples
    --------
    >>> "<h1>Check-ins</h1>" in Page("pages/templates/page.html", title="Check-ins").html()
    True
    """

    def __init__(self, template: str, *, title: str, **values: Any) -> None:
        self.title = title
        self._template, self._values = template, values

    def html(self) -> str:
        """Return the page."""
        return load_templates().get_template(self._template).render(title=self.title, **self._values)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the page."""
        content = self.html().encode()
        with replacing(path) as out:
            out.write(content)


@cache
def load_templates() -> Environment:
    """Return the templates of the package, each by its path in it; whatever they show is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def read_plotly() -> Markup:
        import plotly.offline

        return Markup(plotly.offline.get_plotlyjs())

    found = Environment(
        loader=PackageLoader("tracearena", ""),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    found.policies["json.dumps_kwargs"] = {
        "default": _to_plain,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    found.filters |= {
        "format_value": format_value,
        "number": format,
        "capitalize_first": lambda words: words[:1].upper() + words[1:],
        "headings": lambda markup: re.findall(r'<h2 id="(.*?)">(.*?)</h2>', markup, re.S),
        "one_line": lambda markup: Markup(" ").join(markup.split()),
    }
    found.globals |= {
        "colours": COLOURS,
        "encode_csv": encode_csv,
        "find_number_columns": _find_number_columns,
        "read_plotly": read_plotly,
        "translate": translate,
        "translate_count": translate_count,
        "version": __version__,
    }
    return found


def render_part(part: str, *values: Any) -> str:
    """Return the markup of a macro of ``parts.html``.

    >>> render_part("card", "users", 1200)
    '<div><dt>users</dt><dd>1,200</dd></div>'
    """
    return str(getattr(load_templates().get_template(_PARTS).module, part)(*values))


def encode_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as an address from which a page without a server saves it."""
    return f"data:text/csv;base64,{base64.b64encode(csv_text(columns, rows).encode()).decode()}"


def _find_number_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    return [
        all(isinstance(row[i], (int, float, np.number)) or row[i] is None for row in rows)
        for i in range(len(columns))
    ]


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
        return format_number(float(value))
    return str(value)


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return list(value)
    if isinstance(value, np.ndarray):
        return [None if isinstance(v, float) and not np.isfinite(v) else v for v in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a figure cannot hold {type(value).__name__}")


# How things look on pages and in printed pictures: one palette, one list of markers, one scale bar.


BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
GREY = "#8C8C8C"

COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, GREY)
"""Okabe-Ito, with a grey that shows on white and on black instead of its black."""


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
    return length, format_length(1000 * length)


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


def format_utc(at: datetime) -> str:
    """Write a moment in UTC in the one form that scripts of pages find in a text and rewrite.

    >>> from datetime import UTC
    >>> format_utc(datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
    '2026-05-01 09:30 UTC'
    """
    utc = at.astimezone(UTC)
    return f"{utc:%Y-%m-%d %H:%M:%S} UTC" if utc.second else f"{utc:%Y-%m-%d %H:%M} UTC"


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
