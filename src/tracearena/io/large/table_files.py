"""Tables on disk, read a chunk of rows at a time: a Parquet file, a folder of parts, partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import unquote

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.atomic import name_in_errors
from tracearena.files.io import MAX_TABLE_EXPANSION, require_columns, require_expansion
from tracearena.io.fields.columns import (
    EVENTS,
    POINTS,
    has_enough_columns,
    has_only_points,
    has_released_columns,
)
from tracearena.io.inputs import TEXT_ENDINGS, Input
from tracearena.io.options import ONE_USER, Layout
from tracearena.io.report import Report
from tracearena.io.rows import NO_EVENT, NO_POINT, Rows, parse_table_rows
from tracearena.io.tables import (
    BYTES_A_VALUE,
    ROW,
    UNDELIMITED,
    blame_parquet,
    find_table_roles,
    is_parquet,
    list_visible_files,
    read_parquet,
    read_parquet_schema,
    report_rival_columns,
)
from tracearena.io.text_rows import FIRST_ROWS, TextSource

ROWS_PER_CHUNK = 1 << 20
_MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class RowChunk:
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

    def chunks(self, size: int | None = None) -> list[RowChunk]:
        """Cut every file into consecutive chunks of rows."""
        step = size or ROWS_PER_CHUNK
        return [
            RowChunk(number, first, min(first + step, count))
            for number, count in enumerate(self.rows)
            for first in range(0, count, step)
        ]

    @cached_property
    def roles(self) -> dict[str, str]:
        """The column of each role."""
        return self.layout.roles(list(self.schema), self.wanted)

    def read(self, chunk: RowChunk, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows as they stand in their file, all columns or some, with the numbers of the rows."""
        path = self.files[chunk.file]
        said = self.said[chunk.file]
        wanted = list(self.schema) if columns is None else list(columns)
        own = [name for name in wanted if name not in said]
        with blame_parquet(path):
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(own)
            frame = rows.slice(chunk.first, chunk.stop - chunk.first).collect()
        added = [pl.lit(said[name], pl.String).alias(name) for name in wanted if name in said]
        number = pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True).alias(ROW)
        return frame.with_columns(*added, number)

    def parse(self, chunk: RowChunk, report: Report, roles: Sequence[str] | None = None) -> Rows:
        """Return rows with what is read of their ids, times and coordinates, all or those of some roles.

        What is wrong goes to a report of the chunk (`empty_report`).
        """
        columns = None
        if roles is not None and not self.layout.columns:  # all that were named are asked for
            columns = [self.roles[role] for role in roles if self.roles.get(role, ONE_USER) != ONE_USER]
        return parse_table_rows(self.read(chunk, columns), report, self.wanted, self.layout, self.first_times)

    def empty_report(self, chunk: RowChunk, format: str) -> Report:
        """Return an empty report of the file of a chunk."""
        return Report(str(self.files[chunk.file]), format, header_lines=None)


def open_table(
    path: str | PathLike[str],
    report: Report,
    wanted: tuple[str, ...],
    layout: Layout,
) -> TableFiles:
    """Look at the files of a table, without reading its rows; refuse those that are none.

    A folder holds ``.parquet`` files, also in folders below it, whose names (``uid=7``) are a column.
    """
    place = Path(path)
    report.header_lines = None  # rows of Parquet are not lines
    layout.refuse_all_but(UNDELIMITED, place, "Parquet, whose columns have names")
    layout.require_roles(wanted, place)
    files = find_parquet_files(place)
    if not files:
        raise FileError.whole(place, "has no .parquet files", "empty")
    said = [find_partition_values(place, file) for file in files]
    every = {**read_parquet_schema(files[0]), **dict.fromkeys(said[0], pl.String())}
    require_columns(files[0], len(every))
    found = find_table_roles(files[0], list(every), wanted, layout)
    report_rival_columns(list(every), found, report, layout)
    schema = {name: every[name] for name in found.values() if name != ONE_USER}
    rows = []
    for file, also in zip(files, said, strict=True):
        own = {**read_parquet_schema(file), **dict.fromkeys(also, pl.String())}
        for name, kind in schema.items():
            if name not in own:
                problem = f"has no column {name}, which {files[0].name} has"
            elif own[name] != kind:
                problem = f"has {own[name]} in the column {name}, and {files[0].name} has {kind}"
            else:
                continue
            raise FileError(file, [Fault(None, name, None, problem, "columns")])
        rows.append(count_rows(file, len(schema)))
    times = found["time"]
    first = next((at for at, count in enumerate(rows) if count), None)
    if first is None:
        raise FileError.whole(place, *(NO_POINT if wanted == POINTS else NO_EVENT))
    if times in said[first]:
        first_times = pl.Series([said[first][times]], dtype=pl.String)
    else:
        first_times = read_parquet(files[first], lambda _: [times], FIRST_ROWS)[times]
    return TableFiles(str(place), tuple(files), tuple(rows), schema, tuple(said), layout, wanted, first_times)


def find_parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those below it, by name; hidden ones are left out."""
    return list_visible_files(path, "*.parquet") if path.is_dir() else [path]


def parse_folder_names(root: Path, file: Path) -> dict[str, str | None]:
    """Return what the names of the folders between a root and a file say: ``day=2024-01-31``.

    Other signs than letters and digits are written as in addresses, and a missing value by a name of its own.
    """
    folders = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return {unquote(name): None if value == _MISSING else unquote(value) for name, _, value in pairs if name}


def find_partition_values(root: Path, file: Path) -> dict[str, str | None]:
    """Return what the names of folders say of a Parquet file; a column of its own is not asked of them."""
    said = parse_folder_names(root, file)
    own = read_parquet_schema(file) if said else {}
    return {name: value for name, value in said.items() if name not in own}


def count_rows(file: Path, columns: int) -> int:
    """Return how many rows a Parquet file has; refuse one that would unpack to more than it may."""
    with blame_parquet(file):
        rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    require_expansion(file, file.stat().st_size, rows * columns * BYTES_A_VALUE, MAX_TABLE_EXPANSION)
    return rows


# Rows in a scratch folder, a file for each chunk.


def create_folder_in(scratch: Path) -> Path:
    """Return a new folder inside another, which is made if necessary; every table gets its own."""
    scratch.mkdir(parents=True, exist_ok=True)
    return Path(mkdtemp(prefix="rows-", dir=scratch))


def write_scratch_rows(folder: Path, number: int, frame: pl.DataFrame) -> None:
    """Write the rows of a chunk."""
    file = folder / f"rows-{number:06}.arrow"
    with name_in_errors(file):
        frame.write_ipc(file, compression="uncompressed")


def read_scratch_rows(folder: Path, number: int, first: int, stop: int) -> pl.DataFrame:
    """Return some of the rows of a chunk."""
    return pl.scan_ipc(folder / f"rows-{number:06}.arrow").slice(first, stop - first).collect()


# Text files that are one table of points: a file, or those of a folder and of the folders below it.

TWO_COLUMNS = "has date and time in two columns"


def build_text_sources(source: Input) -> tuple[TextSource, ...]:
    """Return the files of a table that is text, each with its layout."""
    files = source.files or [source.path]
    return tuple(TextSource(file, _open_text_file(source, file).layout) for file in files)


def find_missing_roles(found: dict[str, str]) -> str | None:
    """Return what the columns of a table lack, by their roles, to be read some rows after the others."""
    roles = [role for role in ("user", "time", "lat", "lon") if role not in found]
    if "date" in found:
        return TWO_COLUMNS
    return f"has no column of the {', '.join(roles)}" if roles else None


def _find_text_problem(source: Input, file: Path) -> str | None:
    one, layout = _open_text_file(source, file), source.layout
    folders = parse_folder_names(source.path, file)
    said = {name: value for name, value in folders.items() if name not in one.columns}
    found = layout.roles([*one.columns, *said], POINTS)
    others = [role for role, name in found.items() if name in said and role != "user"]
    if others:
        return f"has its {others[0]} in the name of a folder, which only Parquet may have there"
    if found.get("user") in said and not said[found["user"]]:
        problem = f"is in a folder that names no user: {found['user']}= must be followed by a user"
        raise FileError.whole(file, problem, "missing-user")
    try:
        formats = one.guess.formats
    except FileError:
        formats = ()
    if "points" not in formats:
        return f"is read as {formats[0]}" if formats else "is not a table of points"
    return find_missing_roles(found)


def _open_text_file(source: Input, file: Path) -> Input:
    """Return a file of text with its layout: all rows are of one user where a folder says whose they are."""
    if file == source.path:
        return source
    one, layout = Input(file, source.layout), source.layout
    said = parse_folder_names(source.path, file)
    user = layout.roles([*one.columns, *said], POINTS).get("user") if said else None
    if user is None or user in one.columns or not said.get(user):
        return one
    columns = {role: name for role, name in layout.columns.items() if role != "user"}
    return one.read_as(layout=replace(layout, columns=columns, one_user=said[user]))


# Which tables can be read in chunks of rows, and which are large.


def find_points_obstacle(source: Input) -> str | None:
    """Return why the points of a path cannot be read in chunks; None if they can.

    Dates and times in two columns, and ids with decimals, can only be recognised from all rows together.
    """
    if source.is_text:
        for file in source.files or [source.path]:
            if problem := _find_text_problem(source, file):
                return problem if file == source.path else f"has {file.name}, which {problem}"
        return None
    if problem := _find_parquet_obstacle(source):
        return problem
    schema = _read_first_columns(source)
    found = source.layout.roles(list(schema), POINTS)
    if _has_decimal_columns(schema, found, ("user", "trajectory")) and not find_missing_roles(found):
        return "has ids with decimals"
    return find_missing_roles(found)


def find_events_obstacle(source: Input, *, needs_places: bool) -> str | None:
    """Return why the events of a path cannot be read in chunks; None if they can.

    Parameters
    ----------
    needs_places
        Whether the places come from the table itself.
    """
    if source.is_text:
        if source.is_folder:
            return "is a folder of text files"
        schema: dict[str, pl.DataType] = dict.fromkeys(source.columns, pl.String())
    else:
        if problem := _find_parquet_obstacle(source):
            return problem
        schema = _read_first_columns(source)
    if not source.is_folder:
        try:
            look = source.guess
        except FileError:
            return "is not a table of events"
        if look.formats[:1] != ("table",):
            return f"is read as {look.formats[0]}" if look.formats else f"looks like {look.words}"
    if source.is_folder and has_only_points(source.layout.roles(list(schema))):
        return "is read as points"
    found = source.layout.roles(list(schema), EVENTS)
    if not has_enough_columns(found) or "time" not in found:
        return "has no columns of users, times and places"
    if needs_places and "venue" not in found:
        return "has no column of places"
    if "date" in found:
        return TWO_COLUMNS
    return "has ids with decimals" if _has_decimal_columns(schema, found, ("user", "venue")) else None


def _find_parquet_obstacle(source: Input) -> str | None:
    """Return what keeps a path from being a Parquet file of rows, or a folder of nothing else."""
    files = find_parquet_files(source.path)
    odd = [file.name for file in source.files if file.suffix != ".parquet"]
    if odd:
        texts = [file for file in source.files if file.name.endswith(TEXT_ENDINGS)]
        beside = "Parquet" if files else "CSV"
        return f"has {odd[0]} next to {beside} files" if files or texts else "has no table"
    if not files:
        return "has no files"
    if not source.is_folder and not source.is_parquet:
        return "is not a Parquet file"
    wrong = [file.name for file in files if source.is_folder and not is_parquet(file)]
    if wrong:
        return f"has {wrong[0]}, which is not a Parquet file"
    is_released = has_released_columns(list(_read_first_columns(source)))
    return "holds released traces" if is_released else None


def _read_first_columns(source: Input) -> dict[str, pl.DataType]:
    """Return the columns of the first file, with those that its folders name, and their types."""
    if not source.is_folder:
        return dict(source.schema)
    first = find_parquet_files(source.path)[0]
    said = find_partition_values(source.path, first)
    return {**read_parquet_schema(first), **dict.fromkeys(said, pl.String())}


def _has_decimal_columns(
    schema: dict[str, pl.DataType], found: dict[str, str], roles: tuple[str, ...]
) -> bool:
    ids = [found[role] for role in roles if found.get(role, ONE_USER) != ONE_USER]
    return any(schema[name].is_float() or schema[name].is_decimal() for name in ids)


def has_partition_columns(source: Input) -> bool:
    """Whether the names of folders hold values of a column (``uid=7``)."""
    if not source.is_folder:
        return False
    if source.is_text:
        return any(parse_folder_names(source.path, file) for file in source.files)
    return any(find_partition_values(source.path, file) for file in find_parquet_files(source.path))


def is_point_table(source: Input) -> bool:
    """Whether a table that can be read in chunks has coordinates and no places."""
    if source.is_text:
        first = _open_text_file(source, (source.files or [source.path])[0])
        return first.guess.formats[:1] == ("points",)
    return has_only_points(source.layout.roles(list(_read_first_columns(source))))


def has_many_rows(source: Input, rows: int) -> bool:
    """Whether a table has at least this many rows; for text, estimated from the first lines."""
    found = 0.0
    for file in source.files or [source.path]:
        if source.is_text:
            found += source.open_file(file).estimated_lines if source.is_folder else source.estimated_lines
        else:
            found += count_rows(file, 0)
        if found >= rows:
            return True
    return False
