"""Tables of GPS points: CSV, Parquet or any data frame, one row a point."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.formats._files import read_bytes, replacing
from tracearena.formats.gps_reading import Findings, GpsReading, misplaced, odd_users, oddly_dated, unsorted
from tracearena.formats.table import NAMES, plain_name
from tracearena.traces import GpsTraces

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
_FIRST_MILLISECONDS = 10**11  # later than the year 5138 in seconds, 1973 in milliseconds


def looks_like_points(path: str | PathLike[str]) -> bool:
    """Whether a file's name says that it is a table."""
    return Path(path).name.endswith(_SUFFIXES)


def read(path: str | PathLike[str], *, timezone: str = "UTC", strict: bool = False) -> GpsReading:
    """Read a CSV (also packed with gzip) or Parquet file of points.

    Columns are known by the names in `COLUMN_NAMES`, whatever their case and order; others are ignored.

    Parameters
    ----------
    timezone
        Zone of times that name none. Numbers are seconds or milliseconds since 1970.
    strict
        Refuse a file with a row that cannot be used, instead of leaving it out and reporting it.
    """
    return from_frame(_frame(Path(path)), timezone=timezone, strict=strict, name=str(path))


def from_frame(frame: Any, *, timezone: str = "UTC", strict: bool = False, name: str = "table") -> GpsReading:
    """Read the points of a data frame (pandas, Polars, Arrow).

    >>> import polars
    >>> rows = {"uid": ["a", "a"], "ts": [1_225_706_416, 1_225_706_421], "lat": [40.0, 40.1], "lon": 116.3}
    >>> from_frame(polars.DataFrame(rows)).traces
    <GpsTraces: 1 users, 2 points, 1 trajectories, 2008-11-03 10:00:16 to 2008-11-03 10:00:21 UTC>
    """
    table = _polars(frame)
    columns = _columns(table, name)
    findings = Findings(strict)
    latitude = _numbers(table[columns["latitude"]], findings, name)
    longitude = _numbers(table[columns["longitude"]], findings, name)
    times, timed = _times(table[columns["time"]], timezone, findings, name)
    users = table[columns["user"]]
    named = users.is_not_null().to_numpy()
    for row in np.flatnonzero(~named):
        findings.drop(name, Fault(int(row) + 1, columns["user"], "", "must name a user", "bad-user"))
    good = np.flatnonzero(~np.isnan(latitude) & ~np.isnan(longitude) & timed & named)
    good = good[~misplaced(name, latitude[good], longitude[good], good + 1, findings)]
    if not good.size:
        faults = [finding.fault for finding in findings.shown]
        raise FileError(name, faults or [Fault(None, None, None, "holds no point", "no-points")])
    oddly_dated(name, times[good], good + 1, findings)
    user, user_ids = _numbered(users.gather(good))
    trajectory, names = (
        _numbered(table[columns["trajectory"]].gather(good)) if "trajectory" in columns else (None, None)
    )
    traces = GpsTraces.from_points(
        user,
        times[good],
        latitude[good],
        longitude[good],
        trajectories=trajectory,
        user_ids=np.arange(len(user_ids)),
    ).renamed(user_ids, None if names is None else lambda labels: names[labels])
    _report_order(name, user, times[good], good, findings)
    odd_users(name, traces, findings)
    return GpsReading.of(traces, findings)


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


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        text = read_bytes(path)
        return pl.read_csv(text, infer_schema=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError.whole(path, f"is not a readable table: {error}", "bad-table") from None


def unread_columns(path: str | PathLike[str]) -> list[str]:
    """Return the columns of a table that are no part of GPS traces, such as a speed or a name."""
    import polars as pl

    from tracearena.formats.recognition import first_line

    place = Path(path)
    if place.suffix == ".parquet":
        names = list(pl.read_parquet_schema(place))
    else:
        names = next(csv.reader([first_line(place)]), [])
    taken = set(_columns(pl.DataFrame(schema=dict.fromkeys(names, pl.String)), str(path)).values())
    return [name for name in names if name not in taken]


def _polars(frame: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    return pl.DataFrame({str(column): np.asarray(frame[column]) for column in frame})


def _columns(table: pl.DataFrame, name: str) -> dict[str, str]:
    """Find the column of each role, or say which names would do."""
    given = {plain_name(column.removeprefix("\ufeff")): column for column in table.columns}
    found = {}
    faults = []
    for role, names in COLUMN_NAMES.items():
        known = [given[word] for word in names if word in given]
        if known:
            found[role] = known[0]
        elif role != "trajectory":
            problem = f"no column for the {role}; it may be called {', '.join(names)}"
            faults.append(Fault(0, None, ", ".join(table.columns), problem, "missing-column"))
    if faults:
        raise FileError(name, faults)
    return found


def _numbers(column: pl.Series, findings: Findings, name: str) -> NDArray[np.float64]:
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    values = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    for row in bad.tolist():
        value = column[row]
        fault = Fault(
            row + 1, column.name, "" if value is None else str(value), "must be a number", "bad-number"
        )
        findings.drop(name, fault)
    values[bad] = np.nan
    return values


def _times(
    column: pl.Series, timezone: str, findings: Findings, name: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return milliseconds since 1970 and where there are any."""
    import polars as pl

    moments = _moments(column, timezone)
    missing = moments.is_null().to_numpy()
    for row in np.flatnonzero(missing).tolist():
        value = column[row]
        problem = "must be a time such as 2008-11-03T10:13:36Z or seconds since 1970"
        fault = Fault(row + 1, column.name, "" if value is None else str(value), problem, "bad-time")
        findings.drop(name, fault)
    return moments.cast(pl.Int64).fill_null(0).to_numpy(), ~missing


def _moments(column: pl.Series, timezone: str) -> pl.Series:
    import polars as pl

    if isinstance(column.dtype, pl.Datetime):
        zoned = (
            column if column.dtype.time_zone else column.dt.replace_time_zone(timezone, ambiguous="earliest")
        )
        return zoned.dt.convert_time_zone("UTC").dt.cast_time_unit("ms").cast(pl.Int64)
    if column.dtype.is_numeric():
        return _epoch(column.cast(pl.Float64))
    text = column.cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(numbers):
        return _epoch(numbers)
    shape = pl.DataFrame({"t": text}).select(
        pl.when(pl.col("t").str.contains(r"(Z|[+-]\d\d:?\d\d)$"))
        .then(pl.col("t").str.replace(r"Z$", "+0000").str.replace(" ", "T").str.replace(r":(\d\d)$", "$1"))
        .alias("zoned"),
        pl.when(~pl.col("t").str.contains(r"(Z|[+-]\d\d:?\d\d)$"))
        .then(pl.col("t").str.replace_all("/", "-").str.replace(" ", "T"))
        .alias("naive"),
    )
    return _parsed(shape, timezone)


def _parsed(shape: pl.DataFrame, timezone: str) -> pl.Series:
    import polars as pl

    with_zone = shape["zoned"].str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.f%z", strict=False, time_unit="ms", exact=True
    )
    without = shape["naive"].str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="ms")
    local = without.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    return (
        pl.DataFrame({"a": with_zone.dt.convert_time_zone("UTC"), "b": local.dt.convert_time_zone("UTC")})
        .select(pl.coalesce("a", "b").cast(pl.Int64))
        .to_series()
    )


def _epoch(numbers: pl.Series) -> pl.Series:
    """Read numbers as seconds, or as milliseconds where they would lie beyond the year 5138."""
    import polars as pl

    milliseconds = (numbers.abs() >= _FIRST_MILLISECONDS).fill_null(False)
    finite = numbers.is_finite()
    scaled = pl.DataFrame({"n": numbers, "ms": milliseconds, "ok": finite}).select(
        pl.when(pl.col("ok")).then(pl.when("ms").then(pl.col("n")).otherwise(pl.col("n") * 1000).round())
    )
    return scaled.to_series().cast(pl.Int64, strict=False)


def _numbered(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number the ids of a column; text that is whole numbers throughout becomes numbers."""
    import polars as pl

    if column.dtype.is_integer():
        values = column.fill_null(-1)
        ids = values.unique().sort()
        number = np.searchsorted(ids.to_numpy(), values.to_numpy())
        return number.astype(np.int64), ids.to_numpy()
    text = column.cast(pl.String).fill_null("")
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
        unsorted(name, times[pair], rows[pair] + 1, findings)
        findings.noticed["unsorted"] += len(at) - 1
