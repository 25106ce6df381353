"""Which tables can be read some rows after the others, and which are large."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tracearena.errors import FileError
from tracearena.formats import recognition, released_table
from tracearena.intake.columns import EVENTS, POINTS, are_enough
from tracearena.intake.columns import are_points as are_columns_of_points
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.tables import is_parquet, parquet_schema
from tracearena.intake.text_pieces import estimated_lines
from tracearena.intake.text_tables import header_fields
from tracearena.streams.table_files import (
    count_rows,
    named_folders,
    parquet_files,
    said_by_folders,
    visible_files,
)
from tracearena.streams.text_files import (
    ENDINGS,
    TWO_COLUMNS,
    is_text,
    lacking,
    paths_of,
    texts_of,
    unstreamable_text,
)


def unstreamable(path: Path, layout: Layout) -> str | None:
    """Return why the points of a path cannot be read one chunk after the other; None where they can.

    A date and a time in two columns, and ids with decimals, are told from all rows together.
    """
    if is_text(path):
        return unstreamable_text(path, layout)
    problem = _unlike_parquet(path)
    if problem is not None:
        return problem
    schema = _columns_of(path)
    found = layout.roles(list(schema), POINTS)
    if _have_decimals(schema, found, ("user", "trajectory")) and not lacking(found):
        return "has ids with decimals"
    return lacking(found)


def unstreamable_events(path: Path, layout: Layout, *, needs_places: bool) -> str | None:
    """Return why the events of a path cannot be read one chunk after the other; None where they can.

    Parameters
    ----------
    needs_places
        Whether nothing but the table tells where events can be.
    """
    if is_text(path):
        if path.is_dir():
            return "is a folder of text files"
        names, _ = header_fields(recognition.first_line(path), layout)
        schema: dict[str, pl.DataType] = dict.fromkeys(names, pl.String())
    else:
        problem = _unlike_parquet(path)
        if problem is not None:
            return problem
        schema = _columns_of(path)
    problem = _read_otherwise(path, layout)
    if problem is not None:
        return problem
    if path.is_dir() and are_columns_of_points(layout.roles(list(schema))):
        return "is read as points"
    found = layout.roles(list(schema), EVENTS)
    if not are_enough(found) or "time" not in found:
        return "has no columns of users, times and places"
    if needs_places and "venue" not in found:
        return "has no column of places"
    if "date" in found:
        return TWO_COLUMNS
    return "has ids with decimals" if _have_decimals(schema, found, ("user", "venue")) else None


def _read_otherwise(path: Path, layout: Layout) -> str | None:
    """Return what a file is read as, if that is no table of events."""
    try:
        look = recognition.look_at(path, layout) if path.is_file() else None
    except FileError:
        return "is no table of events"
    if look is None or look.formats[:1] == ("table",):
        return None
    return f"is read as {look.formats[0]}" if look.formats else f"looks like {look.words}"


def _unlike_parquet(path: Path) -> str | None:
    """Return what keeps a path from being a Parquet file of rows, or a folder of nothing else."""
    files = parquet_files(path)
    others = visible_files(path, "*") if path.is_dir() else []
    odd = [file.name for file in others if file.suffix != ".parquet"]
    if odd:
        texts = [file for file in others if file.name.endswith(ENDINGS)]
        beside = "Parquet" if files else "CSV"
        return f"holds {odd[0]} beside {beside} files" if files or texts else "holds no table"
    if not files:
        return "holds no files"
    wrong = [file.name for file in files if not is_parquet(file)]
    if wrong:
        return "is no Parquet file" if path.is_file() else f"holds {wrong[0]}, which is no Parquet file"
    return "holds released traces" if released_table.is_layout(list(_columns_of(path))) else None


def _columns_of(path: Path) -> dict[str, pl.DataType]:
    """Return the columns of the first file, with those that its folders name, and their types."""
    first = parquet_files(path)[0]
    return {**parquet_schema(first), **dict.fromkeys(said_by_folders(path, first), pl.String())}


def _have_decimals(schema: dict[str, pl.DataType], found: dict[str, str], roles: tuple[str, ...]) -> bool:
    ids = [found[role] for role in roles if found.get(role, ONE_USER) != ONE_USER]
    return any(schema[name].is_float() or schema[name].is_decimal() for name in ids)


def folders_name_columns(path: Path) -> bool:
    """Whether the folders around the files of a table name columns of it (``uid=7``)."""
    if not path.is_dir():
        return False
    if is_text(path):
        return any(named_folders(path, file) for file in paths_of(path))
    return any(said_by_folders(path, file) for file in parquet_files(path))


def are_points(path: Path, layout: Layout) -> bool:
    """Whether a streamable table has coordinates and no places."""
    if is_text(path):
        first_text = texts_of(path, layout)[0]
        return recognition.look_at(first_text.path, first_text.layout).formats[:1] == ("points",)
    return are_columns_of_points(layout.roles(list(_columns_of(path))))


def are_many(path: Path, rows: int) -> bool:
    """Whether a table has at least so many rows; of text, by the length of its first lines."""
    are_lines = is_text(path)
    found = 0.0
    for file in paths_of(path) if are_lines else parquet_files(path):
        found += estimated_lines(file) if are_lines else count_rows(file, 0)
        if found >= rows:
            return True
    return False
