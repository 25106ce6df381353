"""Rows of GPS points, as tables and data frames hold them, to GPS traces."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tracearena.errors import DataError, Fault, ParameterError
from tracearena.files.io import replacing
from tracearena.io.discretisation import compute_robust_box
from tracearena.io.fields.columns import LONGEST_ID, POINTS, convert_ids, number_ids
from tracearena.io.fields.coordinates import (
    find_local_time,
    report_odd_users,
    report_old_times,
    report_unsorted_times,
)
from tracearena.io.options import AS_NAMED, Choices, Layout
from tracearena.io.report import Reading, Report
from tracearena.io.rows import Rows, drop_bad_rows, parse_rows
from tracearena.io.tables import select_by_role
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces, time
from tracearena.traces.clock import DAY_S
from tracearena.traces.gridding import grid_points, resample_points
from tracearena.traces.time import require_zone

if TYPE_CHECKING:
    from tracearena.io.suggestions import Sample


def build_gps_traces(raw: pl.DataFrame, report: Report, layout: Layout = AS_NAMED) -> GpsTraces:
    """Make GPS traces of rows; those that cannot be used are reported and left out.

    Times that name no zone are of the report's; numbers are seconds since 1970, or milliseconds or
    finer if they are as large as that.
    """
    if report.timezone is not None:
        require_zone(report.timezone)
    given, names = select_by_role(raw, report, POINTS, layout)
    report.rows = report.rows or given.height
    report.refuse_if_nothing_is_left(given.height, "holds no point", "no-points")
    rows = parse_rows(given, report, unit="ms", layout=layout, names=names)
    rows = replace(rows, frame=rows.frame.with_columns(_at=convert_to_utc(rows, report)))
    frame = drop_bad_rows(rows, report, [*rows.who(), *rows.when(), *rows.where()])
    number, at = frame["row"].to_numpy(), frame["_at"].to_numpy()
    report_old_times(report.path, at, number, report, report.header_lines)
    user, user_ids = number_ids(frame["user"])
    trajectory, known = None, None
    if "trajectory" in frame.columns:
        ids = convert_ids(frame["trajectory"])
        is_text = ids.dtype == pl.String
        ids = ids.fill_null("").str.slice(0, LONGEST_ID) if is_text else ids.fill_null(-1)
        trajectory, known = number_ids(ids)
    traces = GpsTraces.from_points(
        user,
        at,
        frame["_lat"].to_numpy(),
        frame["_lon"].to_numpy(),
        trajectories=trajectory,
        user_ids=np.arange(len(user_ids)),
    ).with_user_ids(user_ids)
    if known is not None:
        traces = traces.with_trajectory_ids(known[traces.trajectory_ids])
    # Times may fall from one user to the next, not within the consecutive rows of a user.
    falls = np.flatnonzero((np.diff(at) < 0) & (user[1:] == user[:-1])) + 1
    if len(falls):
        pair = np.array([falls[0] - 1, falls[0]])
        report_unsorted_times(report.path, at[pair], number[pair], report, report.header_lines)
        report.notice("unsorted", len(falls) - 1)
    report_odd_users(report.path, traces, report)
    return traces


def convert_to_utc(rows: Rows, report: Report) -> pl.Series:
    """Return milliseconds of UTC; times that name no zone are of the report's, or of UTC."""
    at, offset, zone = rows.frame["_at"], rows.frame["_offset"], report.timezone
    bare = at.is_not_null() & offset.is_null()
    report.unzoned = int(bare.sum())
    report.all_unzoned = 0 < report.unzoned == at.count()
    if not report.unzoned:
        return at
    if zone is None and not report.all_unzoned:
        problem = "some times name no zone; these are taken as UTC"
        fault = Fault(None, rows.names["time"], None, problem, "no-zone")
        report.notice_fault(fault, report.unzoned)
    if zone in (None, "UTC"):
        return at
    local = at if bare.all() else at.set(~bare, None)
    second = local // 1000
    skipped, repeated = time.count_unclear_times(second, zone)
    for count, fate, code in (
        (skipped, "skip, and are read as if they had not been set yet", "skipped-hour"),
        (repeated, "show twice, and are read as the first", "repeated-hour"),
    ):
        if count:
            problem = f"some times are in an hour that the clocks of {zone} {fate}"
            report.notice_fault(Fault(None, rows.names["time"], None, problem, code), count)
    return (time.zone_to_utc(second, zone) * 1000 + local % 1000).fill_null(at)


# GPS points as events: at the cells of a grid, at the instants of a clock.

_HOUR_S = 3600
METHODS = ("last", "nearest", "interpolate")
"""Ways to make one event an instant of the points around it."""


def convert_points_to_events(
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
    if resample is not None and resample not in METHODS:
        raise ParameterError.of("resample", resample, f"one of {', '.join(METHODS)}")
    if choices.top is not None:
        raise ParameterError("top needs a column of places, and GPS points lie at none")
    if choices.utc_hours:
        raise ParameterError("GPS points have no offsets to ignore: --timezone UTC gives hours of UTC")
    if places is not None and choices.grid is not None:
        raise ParameterError("places and grid exclude each other")
    traces, read = reading
    local = find_local_time(traces, read)
    report = Report(read.path, read.format, traces.n_points + read.dropped_rows, clock=local)
    report.add(read)
    if places is None:
        box = choices.bounds or compute_robust_box(pl.Series(traces.latitude), pl.Series(traces.longitude))
        places = Places.of_grid(Grid.over(box, *(choices.grid or (1, 1))))
    interval = choices.interval_s or _HOUR_S
    clock = Clock(
        instants_per_day=DAY_S // interval,
        interval_s=interval,
        instants_per_slot=choices.instants_per_slot(interval),
    )
    zone = local.zone or "UTC"
    inside = traces if choices.bounds is None else traces.take_box(choices.bounds)
    if not len(inside):
        raise DataError.about(report.path, f"no point lies within the bounds {choices.bounds}")
    if resample is None:
        events = grid_points(inside, places, clock, timezone=zone)
    else:
        method: Any = resample
        events = resample_points(inside, places, clock, method=method, timezone=zone)
    if not events.n_events:
        raise DataError.about(report.path, "no point lies on the grid")
    if places.grid is not None:
        covered = traces.take_box(places.grid.box).n_points
        if covered < traces.n_points:
            report.drop("outside the bounds", traces.n_points - covered)
    return Reading(events, report)


# Tables of GPS points: CSV or Parquet, one row a point.


def read(
    path: str | PathLike[str],
    *,
    timezone: str | None = None,
    strict: bool = False,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[GpsTraces]:
    """Read a CSV file (comma, semicolon or tab; packed or not), a Parquet file, or a folder of them.

    Columns are known by the names in `fields.columns`, whatever their case and order; others are ignored.

    Parameters
    ----------
    timezone
        Zone of times that name none, UTC if omitted. Numbers are seconds since 1970, or
        milliseconds or finer if they are as large as that.
    strict
        Refuse a file with a row that cannot be used, instead of leaving it out and reporting it.
    layout
        What its header does not say.
    sample
        Read some people alone, drawn at random.
    """
    from tracearena.io.tables import read_role_rows

    report = Report(str(path), "points", strict=strict, timezone=timezone)
    return Reading(
        build_gps_traces(read_role_rows(path, report, POINTS, layout, sample), report, layout), report
    )


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write the points as CSV (``.csv``, ``.csv.gz``) or Parquet (``.parquet``)."""
    import polars as pl

    frame = traces.to_frame()
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
            return
        whole = bool((traces.time_ms % 1000 == 0).all())
        layout = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.3fZ"
        frame.with_columns(pl.col("time").dt.to_string(layout)).write_csv(out)
