"""Google's location history as Takeout gives it: ``Records.json``, every position of one person.

``{"locations": [{"latitudeE7": 481371079, "longitudeE7": 115753822, "timestamp":
"2013-12-16T05:42:25.711Z", "deviceTag": 1184882232, …}, …]}``; before 2022 with ``"timestampMs":
"1387172545711"``. The file names nobody: its points are those of one user, and each device
(``deviceTag``) is a trajectory, since a tablet stays at home while the telephone travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault
from tracearena.formats.json_text import TWICE, Rows, column, json_text, pieces
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW

DIGITS = 1e7
_OVERFLOW = 2**32


def rows(path: str | PathLike[str], report: Report, user: str) -> pl.DataFrame:
    """Return one row a position, numbered from 1; all of them belong to `user`.

    Notes
    -----
    Some exports hold positions beyond the ends of the earth, which have lost a bit of 32: 2^32 is
    added to or taken from them, and the report counts it.
    """
    report.header_lines = None
    found = Rows("time", "latitudeE7", "longitudeE7", "traj")
    for key, index, place in pieces(path, json_text(path)):
        if key != "locations" or index is None:
            continue
        if not isinstance(place, dict) or TWICE in place:
            found.add(index, None, None, None, None)
            continue
        get = place.get
        found.add(index, _time(get), get("latitudeE7"), get("longitudeE7"), get("deviceTag"))
    frame = found.frame("traj")
    latitude = _degrees(frame, "latitudeE7", 90, report).alias("lat")
    longitude = _degrees(frame, "longitudeE7", 180, report).alias("lon")
    return frame.drop("latitudeE7", "longitudeE7").with_columns(
        pl.lit(user).alias("user"), latitude, longitude
    )


def _time(get: Callable[[str], Any]) -> Any:
    """Return a time as text, whichever of the two ways it is written."""
    moment = get("timestamp")
    if moment is not None:
        return moment
    milliseconds = get("timestampMs")
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, TypeError, OverflowError, OSError):
        return str(milliseconds)


def _degrees(frame: pl.DataFrame, name: str, limit: int, report: Report) -> pl.Series:
    """Return degrees of ten-millionths of them; what is no number stays as it is, to be reported."""
    given = frame[name]
    numbers = given.cast(pl.Float64, strict=False)
    beyond = (numbers.abs() > limit * DIGITS) & (numbers.abs() <= _OVERFLOW)
    if beyond.any():
        numbers = pl.select(
            pl.when(beyond.fill_null(False)).then(numbers - numbers.sign() * _OVERFLOW).otherwise(numbers)
        ).to_series()
        _say_overflow(beyond.arg_true(), frame, name, report)
    degrees = numbers / DIGITS
    if degrees.null_count() == given.null_count():
        return degrees
    shown: Iterable[Any] = zip(degrees.to_list(), given.to_list(), strict=True)
    return column(name, [text if number is None else number for number, text in shown])


def _say_overflow(at: pl.Series, frame: pl.DataFrame, name: str, report: Report) -> None:
    first = int(at[0])
    problem = "has lost a bit of 32, and is put right"
    fault = Fault(int(frame[ROW][first]), name, str(frame[name][first]), problem, "overflow", None)
    report.notice_fault(fault, len(at))
