"""Rows of GPS points, as tables and data frames hold them, to GPS traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import Fault
from tracearena.intake import times as timestamps
from tracearena.intake.checkins import LONGEST_ID, identifiers
from tracearena.intake.columns import POINTS
from tracearena.intake.numbering import numbered
from tracearena.intake.positions import misplaced, odd_users, oddly_dated, unsorted
from tracearena.intake.report import SHOWN_EXAMPLES, Report
from tracearena.intake.tables import by_role, row_numbers
from tracearena.traces import GpsTraces
from tracearena.traces.time import EARLIEST_S, LATEST_S, require_zone

_LARGEST_SECOND = 10**11  # the year 5138 in seconds, 1973 in milliseconds


def points_of(raw: pl.DataFrame, report: Report) -> GpsTraces:
    """Make GPS traces of rows; those that cannot be used are reported and left out.

    Times that name no zone are of the report's; numbers are seconds since 1970, or milliseconds or
    finer if they are as large as that.
    """
    if report.timezone is not None:
        require_zone(report.timezone)
    given = by_role(raw, report, POINTS)
    rows = row_numbers(raw).to_numpy()
    sieve = _Sieve(rows, report)
    latitude = _numbers(given["lat"], sieve)
    longitude = _numbers(given["lon"], sieve)
    times = _times(given["time"], sieve)
    users = _ids(given["user"], sieve)
    good = np.flatnonzero(sieve.left)
    lines = report.header_lines
    good = good[~misplaced(report.path, latitude[good], longitude[good], rows[good], report, lines)]
    report.refuse_if_nothing_is_left(good.size, "holds no point", "no-points")
    oddly_dated(report.path, times[good], rows[good], report, lines)
    user, user_ids = _numbered(users.gather(good))
    trajectory, names = _numbered(given["trajectory"].gather(good)) if "trajectory" in given else (None, None)
    traces = GpsTraces.from_points(
        user,
        times[good],
        latitude[good],
        longitude[good],
        trajectories=trajectory,
        user_ids=np.arange(len(user_ids)),
    ).with_user_ids(user_ids)
    if names is not None:
        traces = traces.with_trajectory_ids(names[traces.trajectory_ids])
    _report_order(user, times[good], rows[good], report)
    odd_users(report.path, traces, report)
    report.rows = report.rows or traces.n_points + report.dropped_rows
    return traces


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


class _Sieve:
    """Rows in use; each that is dropped is counted once, for the first thing that is wrong with it."""

    def __init__(self, rows: NDArray[np.int64], report: Report) -> None:
        self.rows, self.report = rows, report
        self.left = np.ones(len(rows), bool)

    def drop(self, column: pl.Series, bad: NDArray[np.bool_], problem: str, code: str) -> None:
        """Drop rows for what stands in one column."""
        lost = np.flatnonzero(bad & self.left)
        faults = [
            Fault(
                int(self.rows[at]), column.name, _shown(column[at]), problem, code, self.report.header_lines
            )
            for at in lost[:SHOWN_EXAMPLES].tolist()
        ]
        self.report.drop(code.replace("-", " "), len(lost), *faults)
        self.left[lost] = False


def _numbers(column: pl.Series, sieve: _Sieve) -> NDArray[np.float64]:
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    values = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    sieve.drop(column, ~np.isfinite(values), "must be a number", "bad-number")
    return values


def _ids(column: pl.Series, sieve: _Sieve) -> pl.Series:
    ids = identifiers(column) if column.dtype.is_float() else column
    sieve.drop(column, ids.is_null().to_numpy(), "must name a user", "bad-user")
    if ids.dtype == pl.String:
        long = (ids.str.len_chars() > LONGEST_ID).fill_null(False).to_numpy()
        sieve.drop(column, long, f"must have at most {LONGEST_ID} letters", "overlong-id")
    return ids


def _times(column: pl.Series, sieve: _Sieve) -> NDArray[np.int64]:
    """Return milliseconds since 1970."""
    report, zone = sieve.report, sieve.report.timezone
    moments, bare = (_in_calendar(part) for part in _moments(column))
    report.unzoned = len(bare) - bare.null_count()
    if report.unzoned:
        if zone is None and report.unzoned + moments.null_count() < len(moments):
            problem = "some times name no zone; these are taken as UTC"
            report.notice_fault(Fault(None, column.name, None, problem, "no-zone"), report.unzoned)
        moments = moments.fill_null(_of_zone(bare, zone or "UTC", column.name, report))
    problem = "must be a time such as 2008-11-03T10:13:36Z or seconds since 1970, before the year 10000"
    sieve.drop(column, moments.is_null().to_numpy(), problem, "bad-time")
    return moments.fill_null(0).to_numpy()


def _in_calendar(moments: pl.Series) -> pl.Series:
    inside = moments.is_between(EARLIEST_S * 1000, LATEST_S * 1000).fill_null(False)
    return moments.set(~inside, None)


def _of_zone(bare: pl.Series, zone: str, column: str, report: Report) -> pl.Series:
    """Return milliseconds of UTC of those on a zone's clocks, and report what these skip or repeat."""
    if zone == "UTC":
        return bare
    second = bare // 1000
    skipped, repeated = timestamps.unclear(second, zone)
    for count, fate, code in (
        (skipped, "skip, and are read as if they had not been set yet", "skipped-hour"),
        (repeated, "show twice, and are read as the first", "repeated-hour"),
    ):
        if count:
            problem = f"some times are in an hour that the clocks of {zone} {fate}"
            report.notice_fault(Fault(None, column, None, problem, code), count)
    return timestamps.from_zone(second, zone) * 1000 + bare % 1000


def _moments(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return milliseconds of UTC, and on the clocks of a zone that is not named; null elsewhere."""
    nothing = pl.select(pl.repeat(None, len(column), dtype=pl.Int64)).to_series()
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("ms"))
    if isinstance(column.dtype, pl.Datetime):
        moments = column.dt.epoch("ms")
        return (moments, nothing) if column.dtype.time_zone else (nothing, moments)
    if column.dtype.is_numeric():
        return _epoch(column.cast(pl.Float64)), nothing
    text = column.cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if 2 * numbers.count() > text.count():
        return _epoch(numbers), nothing
    zoned = text.str.contains(r"(Z|[+-]\d\d:?\d\d)$").fill_null(False)
    written = text.str.replace(" ", "T")
    with_zone = written.set(~zoned, None).str.replace(r"Z$", "+0000").str.replace(r":(\d\d)$", "$1")
    without = written.set(zoned, None).str.replace_all("/", "-")
    utc = with_zone.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", strict=False, time_unit="ms")
    bare = without.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="ms")
    return _others(text, utc.dt.epoch("ms"), bare.dt.epoch("ms"))


def _others(text: pl.Series, utc: pl.Series, bare: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Fill in the times that are written in one of the other ways that tables of events have."""
    left = (utc.is_null() & bare.is_null() & text.is_not_null()).arg_true()
    if len(left) == 0:
        return utc, bare
    read = timestamps.parse(text.gather(left))
    if read.are_instants:
        return utc, bare
    moments, named = read.second * 1000, read.offset_s.is_not_null()
    return utc.scatter(left, moments.set(~named, None)), bare.scatter(left, moments.set(named, None))


def _epoch(numbers: pl.Series) -> pl.Series:
    """Read numbers as seconds, or as milliseconds or finer where they would lie beyond the year 5138."""
    finite = numbers.set(~numbers.is_finite().fill_null(True), None)
    middle = float(finite.abs().median() or 0)  # type: ignore[arg-type]
    scale = 1000.0
    while middle * scale / 1000 > _LARGEST_SECOND:
        scale /= 1000
    return (finite * scale).round().cast(pl.Int64, strict=False)


def _numbered(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the ids of a column; text that is whole numbers throughout becomes numbers."""
    if column.dtype.is_integer():
        return numbered(column.fill_null(-1))
    text = column.cast(pl.String).fill_null("").str.slice(0, LONGEST_ID)
    if text.unique().str.contains(r"^(0|-?[1-9]\d{0,17})$").all():
        return numbered(text.cast(pl.Int64))
    return numbered(text)


def _report_order(
    users: NDArray[Any], times: NDArray[np.int64], rows: NDArray[np.int64], report: Report
) -> None:
    """Report falling times within the consecutive rows of a user."""
    same_user = np.concatenate([[False], users[1:] == users[:-1]])
    falling = np.concatenate([[False], np.diff(times) < 0]) & same_user
    if falling.any():
        at = np.flatnonzero(falling)
        pair = np.array([at[0] - 1, at[0]])
        unsorted(report.path, times[pair], rows[pair], report, report.header_lines)
        report.notice("unsorted", len(at) - 1)
