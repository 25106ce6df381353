"""Tables of GPS points: CSV, Parquet or any data frame, one row a point."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.files.limits import require_columns
from tracearena.files.whole import replacing
from tracearena.formats import partitions
from tracearena.formats.table import NAMES, header_fields, is_parquet, plain_name
from tracearena.intake import times as timestamps
from tracearena.intake.checkins import LONGEST_ID, identifiers
from tracearena.intake.columns import expected, read_parquet
from tracearena.intake.gps_reading import Findings, GpsReading, misplaced, odd_users, oddly_dated, unsorted
from tracearena.intake.text import EXTRA, read_rows, split_header, text_bytes
from tracearena.traces import GpsTraces
from tracearena.traces.time import EARLIEST_S, LATEST_S, require_zone

if TYPE_CHECKING:
    import polars as pl

COLUMN_NAMES = {
    "user": NAMES["user"],
    "time": tuple(name for name in NAMES["time"] if name != "timeid"),
    "latitude": NAMES["lat"],
    "longitude": NAMES["lon"],
    "trajectory": ("traj", "tid"),
}
"""The roles of columns, and the names of each in order of preference (see `table.plain_name`)."""
_SUFFIXES = (".csv", ".csv.gz", ".parquet")
_LARGEST_SECOND = 10**11  # the year 5138 in seconds, 1973 in milliseconds
_ROW = "row in the file"


def looks_like_points(path: str | PathLike[str]) -> bool:
    """Whether a file's name says that it is a table."""
    return Path(path).name.endswith(_SUFFIXES)


def read(path: str | PathLike[str], *, timezone: str | None = None, strict: bool = False) -> GpsReading:
    """Read a CSV file (comma, semicolon or tab; packed or not), a Parquet file, or a folder of them.

    Columns are known by the names in `COLUMN_NAMES`, whatever their case and order; others are ignored.

    Parameters
    ----------
    timezone
        Zone of times that name none, UTC if left out. Numbers are seconds since 1970, or
        milliseconds or finer if they are as large as that.
    strict
        Refuse a file with a row that cannot be used, instead of leaving it out and reporting it.
    """
    findings = Findings(strict)
    place = Path(path)
    if place.is_dir():
        table = partitions.rows_of(place, _wanted)
    elif is_parquet(place):
        table = read_parquet(place, _wanted)
    else:
        table = _csv(place, findings)
    return _reading(table, timezone, findings, str(path))


def from_frame(
    frame: Any, *, timezone: str | None = None, strict: bool = False, name: str = "table"
) -> GpsReading:
    """Read the points of a data frame (pandas, Polars, Arrow).

    >>> import polars
    >>> rows = {"uid": ["a", "a"], "ts": [1_225_706_416, 1_225_706_421], "lat": [40.0, 40.1], "lon": 116.3}
    >>> from_frame(polars.DataFrame(rows)).traces
    <GpsTraces: 1 users, 2 points, 1 trajectories, 2008-11-03 10:00:16 to 2008-11-03 10:00:21 UTC>
    """
    return _reading(_polars(frame), timezone, Findings(strict), name)


def _reading(table: pl.DataFrame, timezone: str | None, findings: Findings, name: str) -> GpsReading:
    if timezone is not None:
        require_zone(timezone)
    columns = _columns(table.columns, name)
    rows = table[_ROW].to_numpy() if _ROW in table.columns else np.arange(1, table.height + 1)
    given = {role: expected(table[column], role, name) for role, column in columns.items()}
    latitude = _numbers(given["latitude"], rows, findings, name)
    longitude = _numbers(given["longitude"], rows, findings, name)
    times, timed = _times(given["time"], rows, timezone, findings, name)
    users, named = _ids(given["user"], rows, findings, name)
    good = np.flatnonzero(~np.isnan(latitude) & ~np.isnan(longitude) & timed & named)
    good = good[~misplaced(name, latitude[good], longitude[good], rows[good], findings)]
    if not good.size:
        faults = [finding.fault for finding in findings.shown]
        raise FileError(name, faults or [Fault(None, None, None, "holds no point", "no-points")])
    oddly_dated(name, times[good], rows[good], findings)
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
    _report_order(name, user, times[good], rows[good], findings)
    odd_users(name, traces, findings)
    return GpsReading.of(traces, findings, timezone)


def to_frame(traces: GpsTraces) -> pl.DataFrame:
    """Return the points as a Polars frame: user_id, time (UTC), latitude, longitude, traj."""
    import polars as pl

    return pl.DataFrame(
        {
            "user_id": pl.Series(traces.user_ids.tolist()).gather(traces.user_index),
            "time": pl.Series(traces.time_ms).cast(pl.Datetime("ms", "UTC")),
            "latitude": traces.latitude,
            "longitude": traces.longitude,
            "traj": pl.Series(traces.trajectory_ids.tolist()).gather(traces.trajectory),
        }
    )


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write the points as CSV (``.csv``, ``.csv.gz``) or Parquet (``.parquet``)."""
    import polars as pl

    frame = to_frame(traces)
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
            return
        whole = bool((traces.time_ms % 1000 == 0).all())
        layout = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.3fZ"
        frame.with_columns(pl.col("time").dt.to_string(layout)).write_csv(out)


def _wanted(names: list[str]) -> list[str]:
    return list(_found(names).values()) or names[:1]


def _csv(path: Path, findings: Findings) -> pl.DataFrame:
    import polars as pl

    header, rest = split_header(text_bytes(path))
    names, separator = header_fields(header)
    require_columns(path, len(names))
    labels = [f"column {i}" for i in range(len(names))]
    chosen = {column: labels[names.index(column)] for column in _columns(names, str(path)).values()}
    degrees = [chosen[c] for role, c in _found(names).items() if role in ("latitude", "longitude")]
    frame = read_rows(path, rest, labels, separator, quoted=True, numbers=degrees)
    long = frame.filter(pl.col(EXTRA).is_not_null())
    for row, value in zip(long["row"].to_list(), long[EXTRA].to_list(), strict=True):
        problem = f"the row has more than the {len(names)} fields of the header"
        findings.drop(str(path), Fault(row, None, value, problem, "too-many-fields"))
    kept = frame.filter(pl.col(EXTRA).is_null()) if long.height else frame
    return kept.select(pl.col("row").alias(_ROW), *(pl.col(at).alias(name) for name, at in chosen.items()))


def unread_columns(path: str | PathLike[str]) -> list[str]:
    """Return the columns of a table that are no part of GPS traces, such as a speed or a name."""
    import polars as pl

    from tracearena.formats.recognition import first_line

    place = Path(path)
    if place.suffix == ".parquet":
        names = list(pl.read_parquet_schema(place))
    else:
        names, _ = header_fields(first_line(place))
    taken = set(_columns(names, str(path)).values())
    return [name for name in names if name not in taken]


def _polars(frame: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    return pl.DataFrame({str(column): np.asarray(frame[column]) for column in frame})


def _found(columns: list[str]) -> dict[str, str]:
    given = {plain_name(column): column for column in reversed(columns)}
    known = {
        role: next((given[n] for n in names if n in given), None) for role, names in COLUMN_NAMES.items()
    }
    return {role: column for role, column in known.items() if column is not None}


def _columns(columns: list[str], name: str) -> dict[str, str]:
    """Find the column of each role, or say which names would do."""
    found = _found(columns)
    shown = ", ".join(columns[:12])
    faults = [
        Fault(0, None, shown, f"no column for the {role}; it may be called {', '.join(n)}", "missing-column")
        for role, n in COLUMN_NAMES.items()
        if role not in found and role != "trajectory"
    ]
    if faults:
        raise FileError(name, faults)
    return found


def _numbers(
    column: pl.Series, rows: NDArray[np.int64], findings: Findings, name: str
) -> NDArray[np.float64]:
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    values = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    _drop(column, bad, rows, "must be a number", "bad-number", findings, name)
    values[bad] = np.nan
    return values


def _ids(
    column: pl.Series, rows: NDArray[np.int64], findings: Findings, name: str
) -> tuple[pl.Series, NDArray[np.bool_]]:
    import polars as pl

    ids = identifiers(column) if column.dtype.is_float() else column
    missing = ids.is_null().to_numpy()
    _drop(column, np.flatnonzero(missing), rows, "must name a user", "bad-user", findings, name)
    if ids.dtype != pl.String:
        return ids, ~missing
    long = (ids.str.len_chars() > LONGEST_ID).fill_null(False).to_numpy()
    problem = f"must have at most {LONGEST_ID} letters"
    _drop(column, np.flatnonzero(long), rows, problem, "overlong-id", findings, name)
    return ids, ~missing & ~long


def _drop(
    column: pl.Series,
    bad: NDArray[np.int64],
    rows: NDArray[np.int64],
    problem: str,
    code: str,
    findings: Findings,
    name: str,
) -> None:
    """Report rows for what stands in one column."""
    for at in bad.tolist():
        value = column[at]
        shown = "" if value is None else str(value)
        findings.drop(name, Fault(int(rows[at]), column.name, shown, problem, code))


def _times(
    column: pl.Series, rows: NDArray[np.int64], timezone: str | None, findings: Findings, name: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return milliseconds since 1970 and where there are any."""
    moments, bare = (_in_calendar(part) for part in _moments(column))
    findings.unzoned = len(bare) - bare.null_count()
    if findings.unzoned:
        if timezone is None and findings.unzoned + moments.null_count() < len(moments):
            problem = "some times name no zone; these are taken as UTC"
            findings.notice(name, Fault(None, column.name, None, problem, "no-zone"), findings.unzoned)
        moments = moments.fill_null(_of_zone(bare, timezone or "UTC", column.name, findings, name))
    missing = moments.is_null().to_numpy()
    problem = "must be a time such as 2008-11-03T10:13:36Z or seconds since 1970, before the year 10000"
    _drop(column, np.flatnonzero(missing), rows, problem, "bad-time", findings, name)
    return moments.fill_null(0).to_numpy(), ~missing


def _in_calendar(moments: pl.Series) -> pl.Series:
    inside = moments.is_between(EARLIEST_S * 1000, LATEST_S * 1000).fill_null(False)
    return moments.set(~inside, None)


def _of_zone(bare: pl.Series, zone: str, column: str, findings: Findings, name: str) -> pl.Series:
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
            findings.notice(name, Fault(None, column, None, problem, code), count)
    return timestamps.from_zone(second, zone) * 1000 + bare % 1000


def _moments(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return milliseconds of UTC, and on the clocks of a zone that is not named; null elsewhere."""
    import polars as pl

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
    import polars as pl

    finite = numbers.set(~numbers.is_finite().fill_null(True), None)
    middle = float(finite.abs().median() or 0)  # type: ignore[arg-type]
    scale = 1000.0
    while middle * scale / 1000 > _LARGEST_SECOND:
        scale /= 1000
    return (finite * scale).round().cast(pl.Int64, strict=False)


def _numbered(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the ids of a column; text that is whole numbers throughout becomes numbers."""
    import polars as pl

    if column.dtype.is_integer():
        values = column.fill_null(-1)
        ids = values.unique().sort()
        number = np.searchsorted(ids.to_numpy(), values.to_numpy())
        return number.astype(np.int64), ids.to_numpy()
    text = column.cast(pl.String).fill_null("").str.slice(0, LONGEST_ID)
    known = text.unique().sort()
    if known.str.contains(r"^(0|-?[1-9]\d{0,17})$").all():
        return _numbered(text.cast(pl.Int64))
    number = text.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64)
    return number, np.array(known.to_list(), np.str_)


def _report_order(
    name: str, users: NDArray[Any], times: NDArray[np.int64], rows: NDArray[np.int64], findings: Findings
) -> None:
    """Report falling times within the consecutive rows of a user."""
    same_user = np.concatenate([[False], users[1:] == users[:-1]])
    falling = np.concatenate([[False], np.diff(times) < 0]) & same_user
    if falling.any():
        at = np.flatnonzero(falling)
        pair = np.array([at[0] - 1, at[0]])
        unsorted(name, times[pair], rows[pair], findings)
        findings.noticed["unsorted"] += len(at) - 1
