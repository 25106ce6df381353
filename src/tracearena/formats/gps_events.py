"""GPS points as events: at the cells of a grid, at the instants of a clock."""

from __future__ import annotations

from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import DataError, ParameterError
from tracearena.formats import points
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import robust_box
from tracearena.intake.gps_reading import GpsReading
from tracearena.intake.report import Dropped, Report
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces
from tracearena.traces.gridding import gridded, resampled
from tracearena.traces.time import DAY_S

_HOUR_S = 3600
METHODS = ("last", "nearest", "interpolate")
"""Ways to make one event an instant of the points around it."""


def read(
    path: str | PathLike[str], *, choices: Choices, places: Places | None = None
) -> tuple[Traces, Report]:
    """Read a table of points as events at the cells of a grid, which must be chosen."""
    if choices.grid is None and (places is None or places.grid is None):
        raise ParameterError(
            f"{path}: holds GPS points, which lie at no places: name a grid for them, such as --grid 32x32 "
            "(grid='32x32'), or read them as they are (formats.gps.read)"
        )
    return events_of(points.read(path, timezone=choices.timezone), path, choices, places=places)


def events_of(
    reading: GpsReading,
    path: str | PathLike[str],
    choices: Choices,
    *,
    resample: str | None = None,
    places: Places | None = None,
) -> tuple[Traces, Report]:
    """Make events of points, and report what became of the others.

    Every point is an event; with `resample` there is one an instant by one of `METHODS`. Users
    who are never inside the grid stay, without events.

    Parameters
    ----------
    choices
        A grid, over its bounds or else over the middle 99 % of the points and a tenth more on each
        side, as for events; interval and slot; the time zone.
    places
        The cells of a grid, if `choices` has none.
    """
    _refuse_what_does_not_apply(choices, resample, places)
    traces = reading.traces
    rows = traces.n_points + sum(reading.dropped.values())
    report = Report(str(path), "points", rows, clock=reading.local_time)
    report.dropped = [Dropped(code.replace("-", " "), count) for code, count in reading.dropped.items()]
    for code, count in reading.noticed.items():
        report.notice(code.replace("-", " "), count)
    if places is None:
        places = _cells(traces, choices)
    interval = choices.interval_s or _HOUR_S
    clock = Clock(
        instants_per_day=DAY_S // interval,
        interval_s=interval,
        instants_per_slot=choices.instants_per_slot(interval),
    )
    zone = reading.local_time.zone or "UTC"
    inside = traces if choices.bounds is None else traces.take_box(choices.bounds)
    if not len(inside):
        raise DataError(f"{path}: no point lies within the bounds {choices.bounds}")
    if resample is None:
        events = gridded(inside, places, clock, timezone=zone)
    else:
        method: Any = resample
        events = resampled(inside, places, clock, method=method, timezone=zone)
    if not events.n_events:
        raise DataError(f"{path}: no point lies on the grid")
    grid = places.grid
    if grid is not None:
        covered = traces.take_box(grid.box).n_points
        if covered < traces.n_points:
            report.dropped.append(Dropped("outside the bounds", traces.n_points - covered))
    return events, report


def _refuse_what_does_not_apply(choices: Choices, resample: str | None, places: Places | None) -> None:
    if resample is not None and resample not in METHODS:
        raise ParameterError.of("resample", resample, f"one of {', '.join(METHODS)}")
    if choices.top is not None:
        raise ParameterError("top needs a column of places, and GPS points lie at none")
    if choices.utc_hours:
        raise ParameterError("GPS points have no offsets to ignore: --timezone UTC gives hours of UTC")
    if places is not None and choices.grid is not None:
        raise ParameterError("places and grid exclude each other")


def _cells(traces: GpsTraces, choices: Choices) -> Places:
    around = pl.Series(traces.latitude), pl.Series(traces.longitude)
    box = choices.bounds or robust_box(*around)
    return Places.of_grid(Grid.over(box, *(choices.grid or (1, 1))))
