"""How much happens at which time of which day."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.figures.style import canvas
from tracearena.pages.describe import WEEKDAYS, Times, heat
from tracearena.views.moving import moving

_WEEK = 7
_MOST_ROWS = 62
_TICKS = 9


def picture(times: Times, *, interactive: bool = False) -> Any:
    """Draw the times of day by weekday; by day where there is less than a week, or no date."""
    rows, table = _table(times)
    by = "weekday" if rows[0] in WEEKDAYS else "day"
    title = f"{len(times.day):,} {times.what} by {by} and time of day"
    if table.min() == table.max():
        title = f"{title}: as many at any time as at any other"
    if interactive:
        figure = moving(heat(rows, times, table)).update_traces(zmin=0)
        height = 180 + 24 * len(rows)
        return figure.update_layout(title={"text": title, "font": {"size": 14}}, height=height)
    with canvas(7.6, 1.5 + 0.28 * min(len(rows), 24)) as (drawn, axes):
        drawn.set_layout_engine("constrained")
        image = axes.imshow(table, aspect="auto", cmap="viridis", interpolation="nearest", vmin=0)
        axes.grid(False)
        every, step = -(-len(rows) // 24), -(-len(times.labels) // _TICKS)
        axes.set_yticks(range(0, len(rows), every), rows[::every])
        axes.set_xticks(np.arange(0, len(times.labels), step), times.labels[::step])
        axes.set_xlabel(times.axis)
        axes.set_title(title, fontsize=9.5, loc="left")
        drawn.colorbar(image, ax=axes, label=times.what)
        return drawn


def _table(times: Times) -> tuple[list[str], NDArray[np.int64]]:
    first, last = int(times.day.min()), int(times.day.max())
    days = last - first + 1
    if times.first_day is not None and days >= _WEEK:
        return list(WEEKDAYS), times.by_weekday(times.first_day)
    if days > _MOST_ROWS:
        return ["all days"], times.by_day().sum(axis=0, keepdims=True)
    return [day_label(first + at, times.first_day) for at in range(days)], times.by_day()


def day_label(day: int, first_day: datetime.date | None) -> str:
    """Name a day for people.

    >>> day_label(2, None), day_label(2, datetime.date(2019, 4, 1))
    ('day 3', 'Wed 2019-04-03')
    """
    if first_day is None:
        return f"day {day + 1}"
    date = first_day + datetime.timedelta(days=day)
    return f"{WEEKDAYS[date.weekday()][:3]} {date}"
