"""Which tables of points can be read some rows after the others, and which are large."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tracearena.errors import FileError
from tracearena.files import archives
from tracearena.formats import recognition
from tracearena.intake.columns import POINTS
from tracearena.intake.columns import are_points as are_columns_of_points
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.tables import is_parquet, parquet_schema
from tracearena.intake.text_tables import header_fields
from tracearena.streams.point_files import count_rows, parquet_files, said_by_folders
from tracearena.streams.text_pieces import estimated_lines


def is_streamable(path: Path, layout: Layout) -> bool:
    """Whether a path is a table of points whose rows can be read one chunk after the other.

    A date and a time in two columns, and ids with decimals, are told from all rows together.
    """
    if is_text(path):
        return _is_streamable_text(path, layout)
    files = parquet_files(path) if path.is_dir() else [path]
    if not files or not all(map(is_parquet, files)):
        return False
    try:
        schema = {**parquet_schema(files[0]), **dict.fromkeys(said_by_folders(path, files[0]), pl.String())}
    except FileError:
        return False
    found = layout.roles(list(schema), POINTS)
    if not _has_all(found):
        return False
    ids = [found[role] for role in ("user", "trajectory") if found.get(role, ONE_USER) != ONE_USER]
    return not any(schema[name].is_float() or schema[name].is_decimal() for name in ids)


def is_text(path: Path) -> bool:
    """Whether a path is a file that is read as text, packed or not, if it is a table."""
    return path.is_file() and not is_parquet(path) and not archives.is_archive(path)


def are_points(path: Path, layout: Layout) -> bool:
    """Whether a streamable table has coordinates and no places."""
    if is_text(path):
        return recognition.look_at(path, layout).formats[:1] == ("points",)
    first = parquet_files(path)[0]
    names = [*parquet_schema(first), *said_by_folders(path, first)]
    return are_columns_of_points(layout.roles(names))


def are_many(path: Path, rows: int) -> bool:
    """Whether a table has at least so many rows; of text, by the length of its first lines."""
    if is_text(path):
        return estimated_lines(path) >= rows
    found = 0
    for file in parquet_files(path):
        found += count_rows(file, 0)
        if found >= rows:
            return True
    return False


def _is_streamable_text(path: Path, layout: Layout) -> bool:
    try:
        if "points" not in recognition.look_at(path, layout).formats:
            return False
    except FileError:
        return False
    names, _ = header_fields(recognition.first_line(path), layout)
    return _has_all(layout.roles(names, POINTS))


def _has_all(found: dict[str, str]) -> bool:
    return {"user", "time", "lat", "lon"} <= set(found) and "date" not in found
