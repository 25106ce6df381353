"""Tables of GPS points on disk, read a chunk of rows at a time: a file, a folder of parts, partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.limits import MAX_TABLE_EXPANSION, require_columns, require_expansion
from tracearena.intake.columns import MAPS, POINTS, are_enough, missing, plain_name
from tracearena.intake.ids import LONGEST_ID, NUL, identifiers
from tracearena.intake.layout import AS_NAMED, ONE_USER, Layout
from tracearena.intake.positions import OLDEST_MS
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, UNDELIMITED, broken, notice_rivals, parquet_schema, read_parquet
from tracearena.streams.point_rows import columns, parsed_points, usable_points
from tracearena.traces import Box
from tracearena.traces.time import LATEST_S, require_zone

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
class PointFiles:
    """Parquet files that are one table of points, in the order of their names.

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
    first_times
        The first times of the table, which tell how all are written.
    box
        Points outside of it are left out.
    """

    path: str
    files: tuple[Path, ...]
    rows: tuple[int, ...]
    schema: Mapping[str, pl.DataType]
    said: tuple[Mapping[str, str | None], ...]
    layout: Layout
    timezone: str | None
    first_times: pl.Series
    box: Box | None = None

    def chunks(self, size: int | None = None) -> list[Chunk]:
        """Cut every file into consecutive chunks of rows."""
        step = size or ROWS_PER_CHUNK
        return [
            Chunk(number, first, min(first + step, count))
            for number, count in enumerate(self.rows)
            for first in range(0, count, step)
        ]

    def report(self, path: str | None = None) -> Report:
        """Return an empty report of the table, or of one of its files."""
        return Report(path or self.path, "points", timezone=self.timezone)

    @property
    def times(self) -> str:
        """The column of times."""
        return self._roles["time"]

    @property
    def _is_zoned(self) -> bool:
        kind = self.schema[self.times]
        return isinstance(kind, pl.Datetime) and kind.time_zone is not None

    def read(self, chunk: Chunk, wanted: list[pl.Expr] | None = None) -> pl.DataFrame:
        """Return rows as they stand in their file, with their numbers; or what is `wanted` of them."""
        path = self.files[chunk.file]
        said = self.said[chunk.file]
        own = [name for name in self.schema if name not in said]
        try:
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(own)
            frame = rows.slice(chunk.first, chunk.stop - chunk.first).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise broken(path, error) from None
        added = [pl.lit(said[name], pl.String).alias(name) for name in self.schema if name in said]
        if wanted is not None:
            return frame.with_columns(*added).select(wanted)
        number = pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True).alias(ROW)
        return frame.with_columns(*added, number)

    def points(self, chunk: Chunk) -> tuple[pl.DataFrame, Report]:
        """Return the points of a chunk that can be used, and the report of the others.

        Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
        ``trajectory``, and ``row``.
        """
        clean = self._clean(chunk)
        if clean is not None:
            report = self.report(str(self.files[chunk.file]))
            report.rows = clean.height
            report.unzoned = 0 if self._is_zoned else clean.height
            return clean, report
        report = self.report(str(self.files[chunk.file]))
        return usable_points(self.read(chunk), report, self.layout, self.first_times, self.box), report

    def kept_points(self, chunk: Chunk) -> pl.DataFrame:
        """Return the points of a chunk that can be used, without the numbers of their rows."""
        return self.points(chunk)[0].drop("row")

    def good_points(self, chunk: Chunk, kinds: tuple[Any, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        plain = self._plain(chunk) if self._types() == kinds else None
        if plain is not None:
            return plain
        report = self.report(str(self.files[chunk.file]))
        return columns(parsed_points(self.read(chunk), report, self.layout, self.first_times)).drop("row")

    def _types(self) -> tuple[Any, Any] | None:
        """Return the types of ids where all columns can be taken as they are; None where they cannot."""
        found = self._roles
        types = {role: self.schema.get(name) for role, name in found.items()}
        time, ids = types["time"], (types["user"], types.get("trajectory"))
        as_it_is = (
            found["user"] != ONE_USER
            and self.layout.time_format is None
            and self.layout.decimal == "."
            and isinstance(time, pl.Datetime)
            and (time.time_zone is not None or self.timezone in (None, "UTC"))
            and types["lat"] == types["lon"] == pl.Float64
            and not {plain_name(found[role]) for role in ("lat", "lon")} & set(MAPS)
        )
        return ids if as_it_is and all(kind in (None, pl.Int64, pl.String) for kind in ids) else None

    @cached_property
    def _roles(self) -> dict[str, str]:
        return self.layout.roles(list(self.schema), POINTS)

    def _plain(self, chunk: Chunk) -> pl.DataFrame:
        """Return columns that need no more than their names."""
        found = self._roles
        wanted = [
            pl.col(found["user"]).alias("user"),
            pl.col(found["time"]).dt.epoch("ms").alias("at"),
            pl.col(found["lat"]).alias("lat"),
            pl.col(found["lon"]).alias("lon"),
        ]
        if "trajectory" in found:
            name = pl.col(found["trajectory"])
            is_text = self.schema[found["trajectory"]] == pl.String
            wanted.append(
                (name.str.slice(0, LONGEST_ID).fill_null("") if is_text else name.fill_null(-1)).alias(
                    "trajectory"
                )
            )
        return self.read(chunk, wanted)

    def _clean(self, chunk: Chunk) -> pl.DataFrame | None:
        """Return the points of a chunk of which nothing needs to be said; None of any other."""
        types = self._types()
        if types is None or self.box is not None:
            return None
        frame = self._plain(chunk)
        if not frame.height or any(frame[name].null_count() for name in ("user", "at", "lat", "lon")):
            return None
        least: Any = frame["at"].min()
        latest: Any = frame["at"].max()
        if least < OLDEST_MS or latest > LATEST_S * 1000:
            return None
        for name, most in (("lat", 90), ("lon", 180)):
            if not frame[name].is_between(-most, most).all():
                return None
        texts = [name for name, kind in zip(("user", "trajectory"), types, strict=True) if kind == pl.String]
        if not all(_is_plain_text(frame[name]) for name in texts):
            return None
        if "trajectory" in texts and (frame["trajectory"] == "").any():
            return None  # a missing name among numbers is a number too
        return frame.with_columns(
            row=pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True)
        )


def _is_plain_text(ids: pl.Series) -> bool:
    """Whether ids are text that is no number, and good; each run of one id is looked at once."""
    runs = ids.filter(ids.ne_missing(ids.shift()))
    longest: Any = runs.str.len_chars().max()
    return (
        identifiers(runs).dtype == pl.String
        and longest <= LONGEST_ID
        and not runs.str.contains(NUL, literal=True).any()
    )


def open_points(
    path: str | PathLike[str],
    report: Report,
    *,
    layout: Layout = AS_NAMED,
    timezone: str | None = None,
    box: Box | None = None,
) -> PointFiles:
    """Look at the files of a table of points, without reading its rows; refuse those that are none.

    A folder holds ``.parquet`` files, also in folders below it, whose names (``uid=7``) are a column.
    """
    if timezone is not None:
        require_zone(timezone)
    place = Path(path)
    layout.refuse_all_but(UNDELIMITED, place, "Parquet, whose columns have names")
    files = parquet_files(place)
    if not files:
        raise FileError.whole(place, "holds no .parquet files", "empty")
    said = [said_by_folders(place, file) for file in files]
    schema = _chosen(files[0], said[0], report, layout)
    rows = []
    for file, also in zip(files, said, strict=True):
        _require_alike(file, also, files[0], schema)
        rows.append(count_rows(file, len(schema)))
    times = layout.roles(list(schema), POINTS)["time"]
    first = next((at for at, count in enumerate(rows) if count), None)
    if first is None:
        raise FileError.whole(place, "holds no point", "no-points")
    if times in said[first]:
        first_times = pl.Series([said[first][times]], dtype=pl.String)
    else:
        first_times = read_parquet(files[first], lambda _: [times], _FIRST_ROWS)[times]
    return PointFiles(
        str(place), tuple(files), tuple(rows), schema, tuple(said), layout, timezone, first_times, box
    )


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
    file: Path, said: Mapping[str, str | None], report: Report, layout: Layout
) -> dict[str, pl.DataType]:
    schema = {**parquet_schema(file), **dict.fromkeys(said, pl.String())}
    require_columns(file, len(schema))
    layout.require_columns(list(schema), file)
    found = layout.roles(list(schema), POINTS)
    if not are_enough(found):
        raise FileError(file, missing(list(schema), found, POINTS, layout.header))
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
    try:
        rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(file, error) from None
    require_expansion(file, file.stat().st_size, rows * columns * _BYTES_A_VALUE, MAX_TABLE_EXPANSION)
    return rows
