"""GPS points as events: at the cells of a grid, at the instants of a clock."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracearena.errors import DataError, ParameterError
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import robust_box
from tracearena.intake.positions import local_time
from tracearena.intake.report import Reading, Report
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.gridding import gridded, resampled

_HOUR_S = 3600
METHODS = ("last", "nearest", "interpolate")
"""Ways to make one event an instant of the points around it."""


def events_of(
    reading: Reading[GpsTraces],
    choices: Choices,
    *,
    resample: str | None = None,
    places: Places | None = None,
) -> Reading[Traces]:
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
    traces, read = reading
    local = local_time(traces, read)
    report = Report(read.path, read.format, traces.n_points + read.dropped_rows, clock=local)
    report.add(read)
    if places is None:
        places = _cells(traces, choices)
    interval = choices.interval_s or _HOUR_S
    clock = Clock(
        instants_per_day=DAY_S // interval,
        interval_s=interval,
        instants_per_slot=choices.instants_per_slot(interval),
    )
    zone = local.zone or "UTC"
    inside = traces if choices.bounds is None else traces.take_box(choices.bounds)
    if not len(inside):
        raise DataError(f"{report.path}: no point lies within the bounds {choices.bounds}")
    if resample is None:
        events = gridded(inside, places, clock, timezone=zone)
    else:
        method: Any = resample
        events = resampled(inside, places, clock, method=method, timezone=zone)
    if not events.n_events:
        raise DataError(f"{report.path}: no point lies on the grid")
    if places.grid is not None:
        covered = traces.take_box(places.grid.box).n_points
        if covered < traces.n_points:
            report.drop("outside the bounds", traces.n_points - covered)
    return Reading(events, report)


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
