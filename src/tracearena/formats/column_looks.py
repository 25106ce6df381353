"""What a table holds by its columns: GPS points, events at places, a release, or neither."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from os import PathLike
from statistics import median

from tracearena.errors import FileError
from tracearena.files.io import MOST_COLUMNS
from tracearena.formats import released_table
from tracearena.formats.look import Look
from tracearena.intake.columns import are_enough, are_points, missing
from tracearena.intake.layout import Layout
from tracearena.intake.tables import parquet_schema, read_parquet
from tracearena.intake.text_tables import header_fields
from tracearena.intake.times import LARGEST_INSTANT

SAMPLE = 100
"""Rows from which it is told whether times are instants."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
_RELEASED = Look((released_table.FORMAT,), "obfuscated or anonymized traces in a table")


def parquet_look(path: str | PathLike[str], layout: Layout) -> Look:
    """Look at the columns of a Parquet file, and at its first times."""
    try:
        columns = parquet_schema(path)
    except FileError as error:
        if error.faults[0].code != "bad-parquet":
            raise
        return Look((), "a broken Parquet file")
    if released_table.is_layout(list(columns)):
        return _RELEASED
    from tracearena.formats import glances

    if look := glances.at_parquet(path, list(columns), layout):
        return look
    layout.require_columns(list(columns), path)
    found = layout.roles(list(columns))
    if are_points(found) and not are_instants(_first_times(path, time_of(found)), found, layout):
        return Look(("points", "table", "peopleflow"), "a Parquet table of GPS points")
    if are_enough(found):
        return Look(_table_formats(found), "a Parquet table of events")
    shown = ", ".join(list(columns)[:8])
    words = f"a Parquet file without columns for user, time and place: {shown}"
    return Look((), words, tuple(missing(list(columns), found)))


def _first_times(path: str | PathLike[str], column: str) -> list[str]:
    return [str(time) for time in read_parquet(path, lambda _: [column], SAMPLE)[column].to_list()]


def are_instants(times: list[str], found: Mapping[str, str], layout: Layout) -> bool:
    """Whether times are numbers too small to be seconds since 1970: they count instants.

    Beside a date they are hours, minutes and perhaps seconds.
    """
    if {"date", "time"} <= set(found) or layout.time_format is not None:
        return False
    numbers = [float(time) for time in times if _NUMBER.fullmatch(time.strip())]
    return bool(numbers) and 2 * len(numbers) > len(times) and median(numbers) < LARGEST_INSTANT


def _table_formats(found: Mapping[str, str]) -> tuple[str, ...]:
    """Events with coordinates can be read as points too, if that is asked for."""
    as_points = ("points",) if {"lat", "lon"} <= set(found) else ()
    return ("table", "peopleflow", *as_points)


def time_of(found: Mapping[str, str]) -> str:
    """Return the column of times, or of dates where there is no other."""
    return found["time"] if "time" in found else found["date"]


def _fields(lines: list[str], separator: str) -> list[list[str]]:
    """Split rows at the separators that stand outside of quotes."""
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return [line.split(separator) for line in lines]


def table_look(lines: list[str], path: str | PathLike[str], layout: Layout) -> Look | None:
    """Look at the header of a text, and at the times of its first rows."""
    names, separator = header_fields(lines[0], layout)
    if released_table.is_layout(names):
        return _RELEASED
    layout.require_columns(names, path)
    found = layout.roles(names)
    if are_points(found):
        at = names.index(time_of(found))
        fields = _fields(lines[int(layout.header) : SAMPLE], separator)
        if not are_instants([row[at].strip('" ') for row in fields if len(row) > at], found, layout):
            return Look(("points", "table", "peopleflow"), "a table of GPS points")
    if are_enough(found):
        return Look(_table_formats(found), "a table of events with a header")
    if len(names) > 1:
        shown = ", ".join(names[:8])
        words = f"a table without columns for user, time and place: {shown[:80]}"
        # What is wider than any table, or has no second line within reach, lacks more than a column.
        is_table = len(names) <= MOST_COLUMNS and len(lines) > 1
        lacking = missing(names, found, header=layout.header) if is_table else ()
        return Look((), words, tuple(lacking))
    return None
