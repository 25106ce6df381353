"""Formats that come down to rows of a table: what each is, and one way to its rows.

Their readers return frames with the columns that tables have (`intake.columns`) and the number of each row
in its file; from there on they are read as tables are, into GPS points or events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.formats import (
    geo_tables,
    geojson,
    google_records,
    google_timeline,
    jsonl,
    owntracks,
    porto,
    trips,
)
from tracearena.intake.report import Report

_File = str | PathLike[str]

_ROLES = {"user": "user", "time": "time", "lat": "lat", "lon": "lon", "lng": "lon", "place": "place"} | {
    "trajectory": "traj",
    "category": "category",
}


@dataclass(frozen=True)
class Asked:
    """What a caller says about the rows of a file.

    Attributes
    ----------
    one_user
        Whose rows they all are.
    columns
        Which column is which, where the names do not tell.
    """

    one_user: str | None = None
    columns: Mapping[str, str] | None = None

    def owner(self, path: _File) -> str:
        """Return whose rows they are in a file that names nobody."""
        return self.one_user or name_of(path)


def name_of(path: _File) -> str:
    """Return the name of a file without its endings.

    >>> name_of("people/ann.json.gz")
    'ann'
    """
    return Path(Path(path).name.removesuffix(".gz")).stem


_ONE_PERSON: Mapping[str, Callable[[_File, Report, str], pl.DataFrame]] = {
    "google-records": google_records.rows,
    "google-timeline": google_timeline.rows,
    "owntracks": owntracks.rows,
}
_NAMED: Mapping[str, Callable[[_File, Report, str], pl.DataFrame]] = {
    "geojson": geojson.rows,
    "jsonl": jsonl.rows,
    "gpkg": lambda path, report, _: geo_tables.rows_of_geopackage(path, report),
    "geoparquet": lambda path, report, _: geo_tables.rows_of_geoparquet(path, report),
}


def rows(path: _File, format: str, report: Report, asked: Asked) -> pl.DataFrame:
    """Return the rows of a file of one of `ROW_FORMATS`."""
    columns = dict(asked.columns or {})
    if format == "trips":
        return trips.rows(path, report, asked.one_user, columns)
    if format in _NAMED:
        frame = _NAMED[format](path, report, asked.owner(path))
        if trips.are_trips(frame.columns):
            return trips.unfolded(frame, report, asked.one_user, columns)
        return _renamed(frame, columns, asked.one_user, report)
    if columns:
        raise ParameterError(f"{path}: a {format} file has fixed columns: no columns can be named")
    if format == "porto":
        if asked.one_user is not None:
            raise ParameterError(f"{path}: a porto file names its users: one_user does not apply")
        return porto.rows(path, report)
    frame = _ONE_PERSON[format](path, report, asked.owner(path))
    return frame if asked.one_user is None else frame.with_columns(pl.lit(asked.one_user).alias("user"))


def _renamed(
    frame: pl.DataFrame, columns: Mapping[str, str], one_user: str | None, report: Report
) -> pl.DataFrame:
    """Return the rows under the names that the caller's choice of columns gives them."""
    for role, name in columns.items():
        if role not in _ROLES:
            raise ParameterError.of("columns", role, f"one of {', '.join(_ROLES)}")
        if name not in frame.columns:
            shown = ", ".join(frame.columns[1:13])
            fault = Fault(None, None, name, f"there is no such column; there are {shown}", "columns", None)
            raise FileError(report.path, [fault])
        taken = frame[name].alias(_ROLES[role])
        frame = frame.drop(name, _ROLES[role], strict=False).with_columns(taken)
    return frame if one_user is None else frame.with_columns(pl.lit(one_user).alias("user"))
