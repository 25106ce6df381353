"""Parquet files of a path: a file, a folder of parts, or partitions whose folders name a column."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import polars as pl

from tracearena.files.limits import MAX_TABLE_EXPANSION, require_expansion
from tracearena.intake.columns import POINTS
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.tables import broken, parquet_schema

_BYTES_A_VALUE = 8
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those below it, by name; hidden ones are left out."""
    return _visible(path, "*.parquet") if path.is_dir() else [path]


def _visible(folder: Path, pattern: str) -> list[Path]:
    found = (file for file in folder.rglob(pattern) if file.is_file())
    return sorted(
        (file for file in found if not any(part[0] in "._" for part in file.relative_to(folder).parts)),
        key=lambda file: file.relative_to(folder).parts,
    )


def unstreamable(path: Path, layout: Layout) -> str | None:
    """Return why the rows of a path cannot be read one chunk after the other; None where they can.

    A date and a time in two columns, and ids with decimals, are told from all rows together.
    """
    others = [file.name for file in _visible(path, "*") if file.suffix != ".parquet"] if path.is_dir() else []
    if others:
        return f"holds {others[0]} beside Parquet files"
    files = parquet_files(path)
    if not files:
        return "holds no .parquet files"
    wrong = [file.name for file in files if not _is_parquet(file)]
    if wrong:
        return "is no Parquet file" if path.is_file() else f"holds {wrong[0]}, which is no Parquet file"
    schema = {**parquet_schema(files[0]), **dict.fromkeys(said_by_folders(path, files[0]), pl.String())}
    found = layout.roles(list(schema), POINTS)
    lacking = [role for role in ("user", "time", "lat", "lon") if role not in found]
    if lacking:
        return f"has no column of the {', '.join(lacking)}"
    if "date" in found:
        return "has date and time in two columns"
    ids = [found[role] for role in ("user", "trajectory") if found.get(role, ONE_USER) != ONE_USER]
    if any(schema[name].is_float() or schema[name].is_decimal() for name in ids):
        return "has ids with decimals"
    return None


def folders_name_columns(path: Path) -> bool:
    """Whether the folders around the files of a table name columns of it (``uid=7``)."""
    return any(said_by_folders(path, file) for file in parquet_files(path))


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


def said_by_folders(root: Path, file: Path) -> dict[str, str | None]:
    """Return what the names of the folders between a root and a file say: ``day=2024-01-31``.

    Other signs than letters and digits are written as in addresses, and a missing value by a name of its own.
    A column that the file itself has is not asked of its folder.
    """
    folders = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    said = {unquote(name): None if value == _MISSING else unquote(value) for name, _, value in pairs if name}
    own = parquet_schema(file) if said else {}
    return {name: value for name, value in said.items() if name not in own}


def count_rows(file: Path, columns: int) -> int:
    """Return the number of rows of a file; refuse one of which so many columns would be out of proportion."""
    try:
        rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(file, error) from None
    require_expansion(file, file.stat().st_size, rows * columns * _BYTES_A_VALUE, MAX_TABLE_EXPANSION)
    return rows
