"""When things happen: the day and the time of day of every row, and the pictures of them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import GpsTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import EPOCH, local_seconds_time

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Times:
    """When each row happens: its day, and which of the day's times.

    Attributes
    ----------
    first_day
        The date of day 0, if there is one.
    whose
        Whose clocks these are, if that is known.
    """

    what: str
    day: NDArray[np.int64]
    time: NDArray[np.int64]
    labels: list[str]
    first_day: datetime.date | None
    whose: str | None

    @property
    def axis(self) -> str:
        """The title of an axis of times."""
        return "time of day" if self.whose is None else f"time of day, {self.whose}"

    def by_weekday(self, first_day: datetime.date) -> NDArray[np.int64]:
        """Count the rows of each weekday (Monday first) at each time of day."""
        weekday = (self.day + first_day.weekday()) % 7
        cell = weekday * len(self.labels) + self.time
        return np.bincount(cell, minlength=7 * len(self.labels)).reshape(7, -1)

    def by_day(self) -> NDArray[np.int64]:
        """Count the rows of each day, from the first with any to the last, at each time of day."""
        first, last = int(self.day.min()), int(self.day.max())
        cell = (self.day - first) * len(self.labels) + self.time
        return np.bincount(cell, minlength=(last - first + 1) * len(self.labels)).reshape(
            last - first + 1, -1
        )


def times_of_events(traces: EventTable, whose: str | None = None) -> Times:
    """Return the days and times of events, by their clock."""
    clock = traces.clock
    return Times(
        "events",
        np.asarray(clock.day_of(traces.instants)),
        np.asarray(clock.time_of_day(traces.instants)),
        [clock.label(instant) for instant in range(clock.instants_per_day)],
        clock.first_day,
        whose,
    )


def times_of_points(traces: GpsTraces, zone: str) -> Times:
    """Return the days and hours of points on the clocks of a zone."""
    local = local_seconds_time(traces.time_ms, zone)
    first = int(local.min()) // DAY_S
    return Times(
        "points",
        local // DAY_S - first,
        local % DAY_S // 3600,
        [f"{hour:02d}:00" for hour in range(24)],
        EPOCH + datetime.timedelta(days=first),
        zone,
    )


def heat(rows: list[str], times: Times, table: NDArray[np.int64]) -> dict[str, Any]:
    """Return the Plotly figure of counts by row, such as weekdays, and time of day."""
    trace = {
        "type": "heatmap", "x": times.labels, "y": rows, "z": table, "colorscale": "Viridis",
        "colorbar": {"title": {"text": times.what, "side": "right"}, "thickness": 12},
        "hovertemplate": "%{y} %{x}: %{z:,} " + times.what + "<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": 330,
        "yaxis": {"autorange": "reversed"},
        "xaxis": {"title": {"text": times.axis}, **few_ticks(times.labels)},
    }
    return {"data": [trace], "layout": layout}


def few_ticks(labels: list[str]) -> dict[str, Any]:
    """Leave labels out where they would not fit a phone."""
    step = -(-len(labels) // 8)
    return {"tickmode": "array", "tickvals": labels[::step]}
