"""Parquet files of a path: a file, a folder of parts, or partitions whose folders name a column."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tracearena.errors import FileError
from tracearena.files.limits import MAX_TABLE_EXPANSION, require_expansion
from tracearena.intake.columns import POINTS
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.tables import broken, parquet_schema

_BYTES_A_VALUE = 8


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those below it, by name; hidden ones are left out."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*.parquet") if file.is_file())
    return sorted(
        (file for file in found if not any(part[0] in "._" for part in file.relative_to(path).parts)),
        key=lambda file: file.relative_to(path).parts,
    )


def is_streamable(path: Path, layout: Layout) -> bool:
    """Whether a path is a Parquet table of points whose rows can be read one chunk after the other.

    A date and a time in two columns, and ids with decimals, are told from all rows together.
    """
    files = parquet_files(path) if path.is_dir() else [path]
    if not files or not all(map(_is_parquet, files)):
        return False
    try:
        schema = {**parquet_schema(files[0]), **dict.fromkeys(said_by_folders(path, files[0]), pl.String())}
    except FileError:
        return False
    found = layout.roles(list(schema), POINTS)
    if not {"user", "time", "lat", "lon"} <= set(found) or "date" in found:
        return False
    ids = [found[role] for role in ("user", "trajectory") if found.get(role, ONE_USER) != ONE_USER]
    return not any(schema[name].is_float() or schema[name].is_decimal() for name in ids)


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, those that folders name among them."""
    first = parquet_files(path)[0]
    return [*parquet_schema(first), *said_by_folders(path, first)]


def are_many(path: Path, rows: int) -> bool:
    """Whether the Parquet files of a path have at least so many rows."""
    found = 0
    for file in parquet_files(path):
        found += count_rows(file, 0)
        if found >= rows:
            return True
    return False


def _is_parquet(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def said_by_folders(root: Path, file: Path) -> dict[str, str]:
    """Return what the names of the folders between a root and a file say: ``day=2024-01-31``."""
    folders = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {name: value for name, _, value in pairs if name}


def count_rows(file: Path, columns: int) -> int:
    """Return the number of rows of a file; refuse one of which so many columns would be out of proportion."""
    try:
        rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(file, error) from None
    require_expansion(file, file.stat().st_size, rows * columns * _BYTES_A_VALUE, MAX_TABLE_EXPANSION)
    return rows
