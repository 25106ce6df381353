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
from tracearena.streams.point_files import count_rows, parquet_files, said_by_folders, visible_files
from tracearena.streams.text_pieces import estimated_lines


def unstreamable(path: Path, layout: Layout) -> str | None:
    """Return why the rows of a path cannot be read one chunk after the other; None where they can.

    A date and a time in two columns, and ids with decimals, are told from all rows together.
    """
    if is_text(path):
        return _unstreamable_text(path, layout)
    others = visible_files(path, "*") if path.is_dir() else []
    odd = [file.name for file in others if file.suffix != ".parquet"]
    if odd:
        return f"holds {odd[0]} beside Parquet files"
    files = parquet_files(path)
    if not files:
        return "holds no .parquet files"
    wrong = [file.name for file in files if not is_parquet(file)]
    if wrong:
        return "is no Parquet file" if path.is_file() else f"holds {wrong[0]}, which is no Parquet file"
    schema = {**parquet_schema(files[0]), **dict.fromkeys(said_by_folders(path, files[0]), pl.String())}
    found = layout.roles(list(schema), POINTS)
    ids = [found[role] for role in ("user", "trajectory") if found.get(role, ONE_USER) != ONE_USER]
    if any(schema[name].is_float() or schema[name].is_decimal() for name in ids) and not _lacking(found):
        return "has ids with decimals"
    return _lacking(found)


def folders_name_columns(path: Path) -> bool:
    """Whether the folders around the files of a table name columns of it (``uid=7``)."""
    return path.is_dir() and any(said_by_folders(path, file) for file in parquet_files(path))


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


def _unstreamable_text(path: Path, layout: Layout) -> str | None:
    try:
        formats = recognition.look_at(path, layout).formats
    except FileError:
        formats = ()
    if "points" not in formats:
        return f"is read as {formats[0]}" if formats else "is no table of points"
    names, _ = header_fields(recognition.first_line(path), layout)
    return _lacking(layout.roles(names, POINTS))


def _lacking(found: dict[str, str]) -> str | None:
    lacking = [role for role in ("user", "time", "lat", "lon") if role not in found]
    if "date" in found:
        return "has date and time in two columns"
    return f"has no column of the {', '.join(lacking)}" if lacking else None
