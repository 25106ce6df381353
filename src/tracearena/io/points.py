"""Convert rows of GPS points from tables and data frames to GPS traces."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, ParameterError
from tracearena.io.discretisation import compute_robust_box
from tracearena.io.fields.columns import (
    LONGEST_ID,
    POINTS,
    convert_ids,
    convert_ids_to_array,
    number_ids,
)
from tracearena.io.fields.coordinates import (
    find_local_time,
    report_odd_users,
    report_old_times,
    report_unsorted_times,
)
from tracearena.io.options import AS_NAMED, Choices, Layout
from tracearena.io.report import Reading, Report
from tracearena.io.rows import Rows, drop_bad_rows, parse_table_rows, sort_rows
from tracearena.io.tables import read_role_rows, write_frame
from tracearena.traces import Box, Clock, GpsTraces, Grid, Places, Traces, time
from tracearena.traces.clock import DAY_S
from tracearena.traces.gps import number_trajectories
from tracearena.traces.gridding import grid_points, resample_points
from tracearena.traces.time import require_zone

if TYPE_CHECKING:
    from tracearena.io.suggestions import Sample


POINT_ORDER = ("user", "at")
"""What points are sorted by."""


def build_gps_traces(raw: pl.DataFrame, report: Report, layout: Layout = AS_NAMED) -> GpsTraces:
    """Make GPS traces of rows; those that cannot be used are reported and left out.

    Times that name no zone are of the report's; numbers are seconds since 1970, or milliseconds or
    finer if they are as large as that.
    """
    if report.timezone is not None:
        require_zone(report.timezone)
    points, _ = select_points(parse_table_rows(raw, report, POINTS, layout), report)
    report_falls(points, points.select(pl.col("user").rle()).unnest("user"), report)
    traces = assemble_points(sort_rows(points.drop("row"), POINT_ORDER))
    report_odd_users(report.path, traces, report)
    return traces


def select_points(rows: Rows, report: Report, box: Box | None = None) -> tuple[pl.DataFrame, pl.Series]:
    """Return the points that can be used, and who has points outside the box; the report says why.

    Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
    ``trajectory``, and ``row``.

    Parameters
    ----------
    box
        Points outside of it are left out.
    """
    rows = convert_to_utc(rows, report)
    frame = drop_bad_rows(rows, report, [*rows.who(), *rows.when(), *rows.where()])
    at, row = frame["_at"].to_numpy(), frame["row"].to_numpy()
    report_old_times(report.path, at, row, report, report.header_lines)
    points = name_point_columns(frame)
    if box is None:
        return points, points["user"].clear()
    south, west, north, east = box
    inside = pl.col("lat").is_between(south, north) & pl.col("lon").is_between(west, east)
    outside = points.filter(~inside)["user"]
    if len(outside):
        report.drop("outside the bounds", len(outside))
    return points.filter(inside), outside.unique()


def name_point_columns(frame: pl.DataFrame, trajectories_are_text: bool = False) -> pl.DataFrame:
    """Return what was read of rows under the names of points; other rows may tell that names are text."""
    columns = {"user": frame["user"], "at": frame["_at"], "lat": frame["_lat"], "lon": frame["_lon"]}
    if "trajectory" in frame.columns:
        ids = frame["trajectory"]
        ids = ids.cast(pl.String) if trajectories_are_text else convert_ids(ids)
        is_text = ids.dtype == pl.String
        columns["trajectory"] = ids.fill_null("").str.slice(0, LONGEST_ID) if is_text else ids.fill_null(-1)
    return pl.DataFrame({**columns, "row": frame["row"]})


def convert_to_utc(rows: Rows, report: Report) -> Rows:
    """Return rows with milliseconds of UTC; times that name no zone are of the report's, or of UTC."""
    at, offset, zone = rows.frame["_at"], rows.frame["_offset"], report.timezone
    bare = at.is_not_null() & offset.is_null()
    report.unzoned = int(bare.sum())
    column = rows.names.get("time", "time")
    if rows.is_whole:
        report_bare_times(report, column, at.count())
    if not report.unzoned or zone in (None, "UTC"):
        return rows
    local = at if bare.all() else at.set(~bare, None)
    second = local // 1000
    skipped, repeated = time.count_unclear_times(second, zone)
    for count, fate, code in (
        (skipped, "skip, and are read as if they had not been set yet", "skipped-hour"),
        (repeated, "show twice, and are read as the first", "repeated-hour"),
    ):
        if count:
            problem = f"some times are in an hour that the clocks of {zone} {fate}"
            report.notice_fault(Fault(None, column, None, problem, code), count)
    moved = time.zone_to_utc(second, zone) * 1000 + local % 1000
    return replace(rows, frame=rows.frame.with_columns(_at=moved.fill_null(at)))


def report_falls(points: pl.DataFrame, runs: pl.DataFrame, report: Report) -> bool:
    """Report times that fall within the consecutive rows of a user; return whether there are some.

    Parameters
    ----------
    runs
        Consecutive rows of one user: ``value``, and how many there are, ``len``.
    """
    at, row = points["at"].to_numpy(), points["row"].to_numpy()
    falls = at[1:] < at[:-1]
    if falls.any():  # from one user to the next they may
        falls[np.cumsum(runs["len"].to_numpy())[:-1].astype(np.int64) - 1] = False
    where = np.flatnonzero(falls)
    if not len(where):
        return False
    pair = slice(where[0], where[0] + 2)
    report_unsorted_times(report.path, at[pair], row[pair], report, report.header_lines)
    report.notice("unsorted", len(where) - 1)
    return True


def assemble_points(frame: pl.DataFrame, first_user: int = 0, outside: pl.Series | None = None) -> GpsTraces:
    """Make traces of points that are sorted by user and time.

    Parameters
    ----------
    first_user
        How many users of the table come before those of the points.
    outside
        Further users of the table, who have no points.
    """
    users = frame.select(pl.col("user").rle()).unnest("user")
    lengths = users["len"].to_numpy().astype(np.int64)
    trajectory, ids = None, None
    if "trajectory" in frame.columns:
        trajectory, ids = _number_trajectories(frame["trajectory"], lengths)
    traces = GpsTraces.of_checked(
        user_ids=convert_ids_to_array(users["value"]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        time_ms=frame["at"].to_numpy(),
        latitude=frame["lat"].to_numpy(),
        longitude=frame["lon"].to_numpy(),
        trajectory=trajectory,
        trajectory_ids=ids,
    )
    if ids is None:
        # Without names a user's points are one trajectory, numbered among those of all users.
        ids = traces.trajectory_ids + first_user
        if outside is not None and len(outside) and outside.dtype == users.schema["value"]:
            ids = ids + outside.search_sorted(users["value"]).to_numpy()
    return traces.with_trajectory_ids(ids)


def _number_trajectories(
    name: pl.Series, lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the trajectories by user and first point; recordings mostly follow each other."""
    fresh = name.ne_missing(name.shift()).to_numpy().copy()
    begins = np.cumsum(lengths)[:-1]
    fresh[begins] = True
    starts = np.flatnonzero(fresh)
    names = name.gather(starts)
    owner = np.searchsorted(begins, starts, side="right")
    if pl.DataFrame({"user": owner, "name": names}).is_unique().all():
        return np.cumsum(fresh, dtype=np.int32) - np.int32(1), convert_ids_to_array(names)
    number, known = number_ids(name)
    index, ids = number_trajectories(np.repeat(np.arange(len(lengths)), lengths), number)
    return index, known[ids]


def report_bare_times(report: Report, column: str, timed: int) -> None:
    """Report times of a file that name no zone, of all that can be read, unless none names one."""
    report.all_unzoned = 0 < report.unzoned == timed
    if report.unzoned and report.timezone is None and not report.all_unzoned:
        problem = "some times name no zone; these are taken as UTC"
        report.notice_fault(Fault(None, column, None, problem, "no-zone"), report.unzoned)


# GPS points as events: at the cells of a grid, at the instants of a clock.

_HOUR_S = 3600
METHODS = ("last", "nearest", "interpolate")
"""Ways to make one event per instant of the points around it."""


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
        raise ParameterError("top needs a column of places, and GPS points have none")
    if choices.utc_hours:
        raise ParameterError("GPS points have no offsets to ignore: use --timezone UTC for hours of UTC")
    if places is not None and choices.grid is not None:
        raise ParameterError("use either places or grid, not both")
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
        raise DataError.about(report.path, f"no point is within the bounds {choices.bounds}")
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


# Tables of GPS points: CSV or Parquet, one row per point.


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
    report = Report(str(path), "points", strict=strict, timezone=timezone)
    return Reading(
        build_gps_traces(read_role_rows(path, report, POINTS, layout, sample), report, layout), report
    )


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write the points as CSV (``.csv``, ``.csv.gz``) or Parquet (``.parquet``)."""
    whole_seconds = bool((traces.time_ms % 1000 == 0).all())
    write_frame(traces.to_frame(), path, lambda: format_points(traces, whole_seconds=whole_seconds))


def format_points(traces: GpsTraces, *, whole_seconds: bool) -> pl.DataFrame:
    """Return the rows of CSV, whose times have no fractions of a second if all are whole ones."""
    style = "%Y-%m-%dT%H:%M:%SZ" if whole_seconds else "%Y-%m-%dT%H:%M:%S%.3fZ"
    rows: pl.DataFrame = traces.to_frame().with_columns(pl.col("time").dt.to_string(style))
    return rows
