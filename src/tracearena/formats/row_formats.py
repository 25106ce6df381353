"""Formats that come down to rows of a table: what each is, and one way to its rows.

Their readers return frames with the columns that tables have (`intake.columns`) and the number of each row
in its file; from there on they are read as tables are, into GPS points or events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike

import polars as pl

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
from tracearena.formats.folder_files import name_of
from tracearena.intake.layout import Layout
from tracearena.intake.report import Report

_File = str | PathLike[str]

_ONE_PERSON: Mapping[str, Callable[[_File, Report, str], pl.DataFrame]] = {
    "google-records": google_records.rows,
    "google-timeline": google_timeline.rows,
    "owntracks": owntracks.rows,
}
_NAMED: Mapping[str, Callable[[_File, Report, str | None], pl.DataFrame]] = {
    "geojson": geojson.rows,
    "jsonl": jsonl.rows,
    "gpkg": lambda path, report, _: geo_tables.rows_of_geopackage(path, report),
}


def rows(
    path: _File, format: str, report: Report, layout: Layout, owner: str | None = None
) -> tuple[pl.DataFrame, Layout]:
    """Return the rows of a file of one of `ROW_FORMATS`, and what is left to say about their columns.

    Parameters
    ----------
    owner
        Whose file it is, if the file does not say; by default it is called like the file.
    """
    told = replace(layout, columns={}, one_user=None)
    if format == "trips":
        return trips.rows(path, report, layout), told
    if format in _NAMED or format == "geoparquet":
        said = layout.one_user is not None or "user" in layout.columns
        if format == "geoparquet":
            frame = geo_tables.rows_of_geoparquet(path, report, layout)
        else:
            frame = _NAMED[format](path, report, None if said else owner or name_of(path))
        if trips.are_trips(frame.columns):
            return trips.unfolded(frame, report, layout), told
        return frame, layout
    if format == "porto":
        return porto.rows(path, report), told
    frame = _ONE_PERSON[format](path, report, owner or name_of(path))
    if layout.one_user is not None:
        frame = frame.with_columns(pl.lit(layout.one_user).alias("user"))
    return frame, told
