"""Tables on disk, read a chunk of rows at a time: a Parquet file, a folder of parts, partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.io import MAX_TABLE_EXPANSION, require_columns, require_expansion
from tracearena.intake.columns import are_enough, missing
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, UNDELIMITED, broken, notice_rivals, parquet_schema, read_parquet

ROWS_PER_CHUNK = 1 << 20
_FIRST_ROWS = 1 << 16
_BYTES_A_VALUE = 8
_MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Chunk:
    """Rows `first` up to but not including `stop` of a file, by its number."""

    file: int
    first: int
    stop: int


@dataclass(frozen=True)
class TableFiles:
    """Parquet files that are one table, in the order of their names.

    Attributes
    ----------
    path
        What the user named: a file or a folder.
    files, rows
        The files, and how many rows each has.
    schema
        The columns that are read, and their types.
    said
        What the names of a file's folders say (``day=2024-01-31``), for each file.
    layout, wanted
        How columns are named, and the roles that are looked for.
    first_times
        The first times of the table, which tell how all are written.
    """

    path: str
    files: tuple[Path, ...]
    rows: tuple[int, ...]
    schema: Mapping[str, pl.DataType]
    said: tuple[Mapping[str, str | None], ...]
    layout: Layout
    wanted: tuple[str, ...]
    first_times: pl.Series

    def chunks(self, size: int | None = None) -> list[Chunk]:
        """Cut every file into consecutive chunks of rows."""
        step = size or ROWS_PER_CHUNK
        return [
            Chunk(number, first, min(first + step, count))
            for number, count in enumerate(self.rows)
            for first in range(0, count, step)
        ]

    @cached_property
    def roles(self) -> dict[str, str]:
        """The column of each role."""
        return self.layout.roles(list(self.schema), self.wanted)

    def read(self, chunk: Chunk, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows as they stand in their file, all columns or some, with the numbers of the rows."""
        path = self.files[chunk.file]
        said = self.said[chunk.file]
        wanted = list(self.schema) if columns is None else list(columns)
        own = [name for name in wanted if name not in said]
        try:
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(own)
            frame = rows.slice(chunk.first, chunk.stop - chunk.first).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise broken(path, error) from None
        added = [pl.lit(said[name], pl.String).alias(name) for name in wanted if name in said]
        number = pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True).alias(ROW)
        return frame.with_columns(*added, number)

    def empty_report(self, chunk: Chunk, format: str) -> Report:
        """Return an empty report of the file of a chunk."""
        return Report(str(self.files[chunk.file]), format, header_lines=None)


def open_table(
    path: str | PathLike[str],
    report: Report,
    wanted: tuple[str, ...],
    layout: Layout,
    *,
    nothing: tuple[str, str],
) -> TableFiles:
    """Look at the files of a table, without reading its rows; refuse those that are none.

    A folder holds ``.parquet`` files, also in folders below it, whose names (``uid=7``) are a column.

    Parameters
    ----------
    nothing
        What is said of a table without rows, and the code of that fault.
    """
    place = Path(path)
    report.header_lines = None  # rows of Parquet are no lines
    layout.refuse_all_but(UNDELIMITED, place, "Parquet, whose columns have names")
    layout.require_roles(wanted, place)
    files = parquet_files(place)
    if not files:
        raise FileError.whole(place, "holds no .parquet files", "empty")
    said = [said_by_folders(place, file) for file in files]
    schema = _chosen(files[0], said[0], report, wanted, layout)
    rows = []
    for file, also in zip(files, said, strict=True):
        _require_alike(file, also, files[0], schema)
        rows.append(count_rows(file, len(schema)))
    times = layout.roles(list(schema), wanted)["time"]
    first = next((at for at, count in enumerate(rows) if count), None)
    if first is None:
        raise FileError.whole(place, *nothing)
    if times in said[first]:
        first_times = pl.Series([said[first][times]], dtype=pl.String)
    else:
        first_times = read_parquet(files[first], lambda _: [times], _FIRST_ROWS)[times]
    return TableFiles(str(place), tuple(files), tuple(rows), schema, tuple(said), layout, wanted, first_times)


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those below it, by name; hidden ones are left out."""
    return visible_files(path, "*.parquet") if path.is_dir() else [path]


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder and of those below it, by name; hidden ones are left out."""
    found = (file for file in folder.rglob(pattern) if file.is_file())
    return sorted(
        (file for file in found if not any(part[0] in "._" for part in file.relative_to(folder).parts)),
        key=lambda file: file.relative_to(folder).parts,
    )


def named_folders(root: Path, file: Path) -> dict[str, str | None]:
    """Return what the names of the folders between a root and a file say: ``day=2024-01-31``.

    Other signs than letters and digits are written as in addresses, and a missing value by a name of its own.
    """
    folders = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return {unquote(name): None if value == _MISSING else unquote(value) for name, _, value in pairs if name}


def said_by_folders(root: Path, file: Path) -> dict[str, str | None]:
    """Return what the names of folders say of a Parquet file; a column of its own is not asked of them."""
    said = named_folders(root, file)
    own = parquet_schema(file) if said else {}
    return {name: value for name, value in said.items() if name not in own}


def _chosen(
    file: Path, said: Mapping[str, str | None], report: Report, wanted: tuple[str, ...], layout: Layout
) -> dict[str, pl.DataType]:
    schema = {**parquet_schema(file), **dict.fromkeys(said, pl.String())}
    require_columns(file, len(schema))
    layout.require_columns(list(schema), file)
    found = layout.roles(list(schema), wanted)
    if not are_enough(found):
        raise FileError(file, missing(list(schema), found, wanted, layout.header))
    notice_rivals(list(schema), found, report, layout)
    return {name: schema[name] for name in found.values() if name != ONE_USER}


def _require_alike(
    file: Path, said: Mapping[str, str | None], first: Path, wanted: Mapping[str, pl.DataType]
) -> None:
    schema = {**parquet_schema(file), **dict.fromkeys(said, pl.String())}
    for name, kind in wanted.items():
        if name not in schema:
            problem = f"has no column {name}, which {first.name} has"
        elif schema[name] != kind:
            problem = f"has {schema[name]} in the column {name}, and {first.name} has {kind}"
        else:
            continue
        raise FileError(file, [Fault(None, name, None, problem, "columns")])


def count_rows(file: Path, columns: int) -> int:
    """Return how many rows a Parquet file has; refuse one that would unpack to more than it may."""
    try:
        rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(file, error) from None
    require_expansion(file, file.stat().st_size, rows * columns * _BYTES_A_VALUE, MAX_TABLE_EXPANSION)
    return rows
