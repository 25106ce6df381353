"""Events in a CSV or Parquet file or in a data frame, under the column names people use.

One row an event: a user, a time, and a place or coordinates or both. Names are matched without
regard to case, blanks, ``_`` and ``-``.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.files.limits import require_columns
from tracearena.files.whole import replacing
from tracearena.intake.checkins import CheckIns, check_ins
from tracearena.intake.choices import Choices
from tracearena.intake.columns import expected, read_parquet
from tracearena.intake.discretise import traces_of
from tracearena.intake.report import Report
from tracearena.intake.text import length_rules, read_rows, split_header, text_bytes
from tracearena.intake.written import local_seconds, offset_minutes, utc_seconds
from tracearena.traces import Places, Traces

NAMES: Mapping[str, tuple[str, ...]] = {
    "user": ("userid", "uid", "user"),
    "time": ("trackedat", "datetime", "time", "timestamp", "ts", "utctimestamp", "unixtime", "timeid"),
    "lat": ("lat", "latitude"),
    "lon": ("lng", "lon", "long", "longitude"),
    "venue": ("place", "placeid", "regid", "poiid", "venue", "venueid", "locationid"),
    "category": ("category", "venuecategory"),
    "offset_min": ("utcoffsetmin", "timezoneoffset"),
}
"""The roles of columns, and the names of each in order of preference."""

FRAME = "data frame"
_SEPARATORS = ",;\t"
_ROW = "row in the file"


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> tuple[Traces, Report]:
    """Read a Parquet file, or a CSV file (comma, semicolon or tab; packed or not)."""
    report = Report(str(path), "table")
    chosen = choices or Choices()
    checkins = read_check_ins(path, report, chosen, places)
    return traces_of(checkins, report, chosen, places=places), report


def read_check_ins(
    path: str | PathLike[str], report: Report, choices: Choices, places: Places | None = None
) -> CheckIns:
    """Read the events of a file as they are, without places and instants."""
    raw = read_parquet(path, wanted) if is_parquet(path) else _csv(path, report)
    return check_ins_of(raw, report, choices, places)


def from_frame(
    frame: Any, *, choices: Choices | None = None, places: Places | None = None
) -> tuple[Traces, Report]:
    """Read a pandas, Polars or Arrow data frame.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"uid": [7, 7], "datetime": ["2012-04-03 18:00", "2012-04-03 19:31"],
    ...                       "lat": [40.7, 40.8], "lng": [-74.0, -73.9], "venue": ["a", "b"]})
    >>> traces, report = from_frame(frame)
    >>> traces, traces.clock.label(18)
    (<Traces: 1 users, 2 events, 2 places, instants 18 to 19>, '18:00')
    """
    report = Report(FRAME, "table")
    chosen = choices or Choices()
    checkins = check_ins_of(_polars(frame), report, chosen, places)
    return traces_of(checkins, report, chosen, places=places), report


def to_frame(traces: Traces) -> pl.DataFrame:
    """Return one row an event: user, time, place, coordinates, and the category where there is one.

    Times are UTC, with the minutes to local time beside them, where the traces have timestamps;
    local times without a zone where they have a date; and otherwise numbers, from 1
    (``time_id``).
    """
    places, at = traces.places, traces.place_index
    columns: dict[str, Any] = {"user_id": traces.user_ids[traces.user_index]} | _times(traces)
    columns |= {"place": places.ids[at], "lat": places.latitude[at], "lng": places.longitude[at]}
    if places.categories is not None:
        columns["category"] = places.categories[at]
    return pl.DataFrame(columns)


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write Parquet where the name ends so, and CSV (packed with ``.gz``) otherwise."""
    frame = to_frame(traces)
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
        else:
            zoned = traces.timestamps is not None
            style = "%Y-%m-%dT%H:%M:%SZ" if zoned else "%Y-%m-%dT%H:%M:%S"
            out.write(frame.write_csv(datetime_format=style).encode())


def roles(columns: list[str]) -> dict[str, str]:
    """Return which column has which role.

    >>> roles(["userId", "Latitude", "lng", "ts", "speed"])
    {'user': 'userId', 'time': 'ts', 'lat': 'Latitude', 'lon': 'lng'}
    """
    plain = {plain_name(column): column for column in reversed(columns)}
    found = {
        role: next((plain[name] for name in names if name in plain), None) for role, names in NAMES.items()
    }
    return {role: column for role, column in found.items() if column is not None}


def are_enough(found: Mapping[str, str]) -> bool:
    """Whether the columns tell who, when and where."""
    return {"user", "time"} <= set(found) and ("venue" in found or {"lat", "lon"} <= set(found))


def are_points(found: Mapping[str, str]) -> bool:
    """Whether the columns tell where by coordinates alone: GPS points, not events at places.

    Instants (``time_id``) are no times, so that what has them is no GPS.
    """
    return are_enough(found) and "venue" not in found and plain_name(found["time"]) != "timeid"


def plain_name(column: str) -> str:
    """Return a column's name without case, blanks, ``_`` and ``-``."""
    return "".join(letter for letter in column.lower() if letter not in " _-\"'\ufeff")


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether the file begins as Parquet does."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def header_fields(line: str) -> tuple[list[str], str]:
    """Split a header at the separator it holds most of; return the names and the separator."""
    separator = max(_SEPARATORS, key=line.count)
    try:
        return next(csv.reader([line], delimiter=separator), []), separator
    except csv.Error:
        return [line], separator


def check_ins_of(
    raw: pl.DataFrame, report: Report, choices: Choices, places: Places | None = None
) -> CheckIns:
    """Turn rows under any of the known names into check-ins."""
    found = roles(raw.columns)
    if not are_enough(found):
        raise FileError(report.path, [_missing_columns(raw.columns, found)])
    if not {"lat", "lon"} <= set(found):
        found = {role: column for role, column in found.items() if role not in ("lat", "lon")}
    row = raw[_ROW] if _ROW in raw.columns else pl.Series(np.arange(1, raw.height + 1))
    report.rows = report.rows or raw.height
    frame = pl.DataFrame({"row": row, **_expected(raw, found, report)})
    report.refuse_if_nothing_is_left(frame)
    return check_ins(frame, report, choices, places)


def _expected(raw: pl.DataFrame, found: Mapping[str, str], report: Report) -> dict[str, pl.Series]:
    return {role: expected(raw[column], role, report.path) for role, column in found.items()}


def _missing_columns(columns: list[str], found: Mapping[str, str]) -> Fault:
    lacking = [
        f"{what} ({', '.join(names)})"
        for what, names, there in (
            ("a user", ("user_id", "uid", "user"), "user" in found),
            ("a time", ("datetime", "timestamp", "time", "…"), "time" in found),
            (
                "a place (place, venue, …) or coordinates",
                ("lat", "lon"),
                are_enough({"user": "", "time": "", **found}),
            ),
        )
        if not there
    ]
    names = ", ".join(columns[:12]) or "none"
    return Fault(0, None, names, f"no column for {' and '.join(lacking)}", "columns")


def _csv(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    data = text_bytes(path)
    header, rest = split_header(data)
    names, separator = header_fields(header)
    require_columns(path, len(names))
    found = roles(names)
    if not are_enough(found):
        raise FileError(path, [_missing_columns(names, found)])
    if not rest.strip():
        raise FileError.whole(path, "has a header and no rows", "empty")
    columns = [f"column {i}" for i in range(len(names))]
    kinds = {role: columns[names.index(column)] for role, column in found.items()}
    numbers = [kinds[role] for role in ("lat", "lon") if role in kinds]
    frame = read_rows(path, rest, columns, separator, quoted=True, numbers=numbers)
    report.rows = frame.height
    needed = [kinds[role] for role in ("user", "time", "lat", "lon") if role in kinds]
    kept = report.sift(frame, length_rules(needed))
    report.refuse_if_nothing_is_left(kept)
    named = {kinds[role]: column for role, column in found.items()}
    return kept.select("row", *named).rename({"row": _ROW, **named})


def wanted(columns: list[str]) -> list[str]:
    """Return the columns that have a role, or the first if none has."""
    return list(roles(columns).values()) or columns[:1]


def parquet_columns(path: str | PathLike[str]) -> list[str]:
    """Return the names of all columns of a Parquet file."""
    try:
        return list(pl.read_parquet_schema(Path(path)))
    except pl.exceptions.PolarsError as error:
        problem = f"is not a whole Parquet file: {str(error).splitlines()[0]}"
        raise FileError.whole(path, problem, "bad-parquet") from None


def _polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pl.DataFrame({str(name): _pandas_column(frame[name]) for name in frame.columns})
    if hasattr(frame, "__arrow_c_stream__"):
        return pl.DataFrame(frame)
    raise ParameterError.of("frame", type(frame).__name__, "a pandas, Polars or Arrow table")


def _pandas_column(column: Any) -> pl.Series:
    """Without Arrow, which pandas need not have."""
    if getattr(column.dtype, "tz", None) is not None:
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return pl.Series(moments).dt.replace_time_zone("UTC")
    values = column.to_numpy()
    if values.dtype.kind != "O":
        return pl.Series(values)
    return pl.Series(
        [None if value != value or value is None else value for value in values.tolist()], strict=False
    )


def _times(traces: Traces) -> dict[str, Any]:
    if traces.timestamps is not None:
        moments = pl.Series(utc_seconds(traces) * 1_000_000).cast(pl.Datetime("us"))
        return {"time": moments.dt.replace_time_zone("UTC"), "utc_offset_min": offset_minutes(traces)}
    if traces.clock.first_day is not None:
        return {"time": pl.Series(local_seconds(traces) * 1_000_000).cast(pl.Datetime("us"))}
    return {"time_id": traces.instants + 1}
