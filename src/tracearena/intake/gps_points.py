"""Rows of GPS points, as tables and data frames hold them, to GPS traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import Fault
from tracearena.intake.columns import POINTS
from tracearena.intake.ids import LONGEST_ID, identifiers, numbered
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.positions import odd_users, oddly_dated, unsorted
from tracearena.intake.report import Report
from tracearena.intake.rows import Rows, parsed_rows, sifted
from tracearena.intake.tables import by_role
from tracearena.traces import GpsTraces, zones
from tracearena.traces.time import require_zone


def points_of(raw: pl.DataFrame, report: Report, layout: Layout = AS_NAMED) -> GpsTraces:
    """Make GPS traces of rows; those that cannot be used are reported and left out.

    Times that name no zone are of the report's; numbers are seconds since 1970, or milliseconds or
    finer if they are as large as that.
    """
    if report.timezone is not None:
        require_zone(report.timezone)
    given, names = by_role(raw, report, POINTS, layout)
    report.rows = report.rows or given.height
    report.refuse_if_nothing_is_left(given.height, "holds no point", "no-points")
    rows = parsed_rows(given, report, unit="ms", layout=layout, names=names)
    rows = replace(rows, frame=rows.frame.with_columns(_at=utc_of(rows, report)))
    frame = sifted(rows, report, [*rows.who(), *rows.when(), *rows.where()])
    number, at = frame["row"].to_numpy(), frame["_at"].to_numpy()
    oddly_dated(report.path, at, number, report, report.header_lines)
    user, user_ids = numbered(frame["user"])
    trajectory, known = _trajectories(frame)
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
    _report_order(user, at, number, report)
    odd_users(report.path, traces, report)
    return traces


def _trajectories(frame: pl.DataFrame) -> tuple[NDArray[np.int64] | None, NDArray[Any] | None]:
    if "trajectory" not in frame.columns:
        return None, None
    ids = identifiers(frame["trajectory"])
    if ids.dtype == pl.String:
        return numbered(ids.fill_null("").str.slice(0, LONGEST_ID))
    return numbered(ids.fill_null(-1))


def utc_of(rows: Rows, report: Report) -> pl.Series:
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
    placed = _of_zone(at if bare.all() else at.set(~bare, None), zone, rows.names["time"], report)
    return placed.fill_null(at)


def _of_zone(bare: pl.Series, zone: str, column: str, report: Report) -> pl.Series:
    """Return milliseconds of UTC of those on a zone's clocks, and report what these skip or repeat."""
    second = bare // 1000
    skipped, repeated = zones.unclear(second, zone)
    for count, fate, code in (
        (skipped, "skip, and are read as if they had not been set yet", "skipped-hour"),
        (repeated, "show twice, and are read as the first", "repeated-hour"),
    ):
        if count:
            problem = f"some times are in an hour that the clocks of {zone} {fate}"
            report.notice_fault(Fault(None, column, None, problem, code), count)
    return zones.from_zone(second, zone) * 1000 + bare % 1000


def _report_order(
    users: NDArray[Any], moments: NDArray[np.int64], rows: NDArray[np.int64], report: Report
) -> None:
    """Report falling times within the consecutive rows of a user."""
    same_user = np.concatenate([[False], users[1:] == users[:-1]])
    falling = np.concatenate([[False], np.diff(moments) < 0]) & same_user
    if falling.any():
        at = np.flatnonzero(falling)
        pair = np.array([at[0] - 1, at[0]])
        unsorted(report.path, moments[pair], rows[pair], report, report.header_lines)
        report.notice("unsorted", len(at) - 1)
