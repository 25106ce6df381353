"""Rows of a table, whatever holds them: CSV, Parquet, a folder of Parquet; data frames are in `frames`.

Columns are chosen by their roles (`columns.roles`) and keep their names; they are of a kind that a
reader expects, or refused by name.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.limits import MAX_TABLE_EXPANSION, require_columns, require_expansion
from tracearena.intake.columns import EVENTS, are_enough, missing, roles
from tracearena.intake.delimited import length_rules, read_rows, split_header, text_bytes
from tracearena.intake.report import Report

ROW = "row in the file"
"""The name of the column with the numbers of the rows, where some were dropped already."""

_SEPARATORS = ",;\t"

_BYTES_A_VALUE = 8
_NUMBERS = "text or numbers"
_EXPECTED = {
    "time": "times, dates, text or numbers",
    "category": "text, numbers or true and false",
    "sensitive": "true and false, text or numbers",
}
_WIDE = ("UInt64", "Int128", "UInt128")


def rows_of_file(path: str | PathLike[str], report: Report, wanted: Sequence[str] = EVENTS) -> pl.DataFrame:
    """Read the columns of a CSV or Parquet file, or of a folder of Parquet files, that have a role."""

    def chosen(names: list[str]) -> list[str]:
        return list(roles(names, wanted).values()) or names[:1]

    if Path(path).is_dir():
        return _rows_of_folder(Path(path), chosen)
    return read_parquet(path, chosen) if is_parquet(path) else _csv(path, report, wanted)


def by_role(raw: pl.DataFrame, report: Report, wanted: Sequence[str] = EVENTS) -> dict[str, pl.Series]:
    """Return the column of each role, of a kind that is expected; all that are needed are there."""
    found = roles(raw.columns, wanted)
    if not are_enough(found):
        raise FileError(report.path, missing([name for name in raw.columns if name != ROW], wanted))
    if not {"lat", "lon"} <= set(found):
        found = {role: column for role, column in found.items() if role not in ("lat", "lon")}
    return {role: expected(raw[column], role, report.path) for role, column in found.items()}


def row_numbers(raw: pl.DataFrame) -> pl.Series:
    """Return the number of each row in its file, from 1."""
    return raw[ROW] if ROW in raw.columns else pl.int_range(1, raw.height + 1, eager=True)


def files_of(folder: str | PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder by name, without those that begin with ``.`` or ``_``."""
    found = Path(folder).glob("*.parquet")
    return sorted(path for path in found if path.name[0] not in "._" and path.is_file())


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether the file begins as Parquet does."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def header_fields(line: str) -> tuple[list[str], str]:
    """Split a header at the separator it holds most of; return the names and the separator."""
    separator = max(_SEPARATORS, key=line.count)
    try:
        return next(csv.reader([line], delimiter=separator), []), separator
    except csv.Error:
        return [line], separator


def _csv(path: str | PathLike[str], report: Report, wanted: Sequence[str]) -> pl.DataFrame:
    header, rest = split_header(text_bytes(path))
    names, separator = header_fields(header)
    require_columns(path, len(names))
    found = roles(names, wanted)
    if not are_enough(found):
        raise FileError(path, missing(names, wanted))
    if not rest.strip():
        raise FileError.whole(path, "has a header and no rows", "empty")
    columns = [f"column {i}" for i in range(len(names))]
    kinds = {role: columns[names.index(column)] for role, column in found.items()}
    numbers = [kinds[role] for role in ("lat", "lon") if role in kinds]
    frame = read_rows(path, rest, columns, separator, quoted=True, numbers=numbers)
    report.rows = frame.height
    needed = [kinds[role] for role in ("user", "time", "lat", "lon") if role in kinds]
    # What lacks in a row of points is told column by column, as what is wrong with them.
    kept = report.sift(frame, length_rules(needed if "venue" in wanted else ()))
    report.refuse_if_nothing_is_left(kept.height)
    named = {kinds[role]: column for role, column in found.items()}
    return kept.select("row", *named).rename({"row": ROW, **named})


def _rows_of_folder(folder: Path, wanted: Callable[[list[str]], list[str]]) -> pl.DataFrame:
    """Return some columns, chosen by their names, of all files; their types must be the same."""
    files = files_of(folder)
    if not files:
        raise FileError.whole(folder, "holds no .parquet files", "empty")
    frames = [read_parquet(file, wanted) for file in files]
    for file, frame in zip(files, frames, strict=True):
        if frame.schema != frames[0].schema:
            differ = f"{_columns(frame)}, not {_columns(frames[0])}"
            problem = f"has other columns or types than {files[0].name}: {differ}"
            raise FileError.whole(file, problem, "columns")
    return pl.concat(frames)


def _columns(frame: pl.DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.schema.items())


def read_parquet(
    path: str | PathLike[str], wanted: Callable[[list[str]], list[str]], most: int | None = None
) -> pl.DataFrame:
    """Read some columns of a Parquet file, which are chosen by their names, or their first `most` rows."""
    try:
        lazy = pl.scan_parquet(Path(path), glob=False)
        names = lazy.collect_schema().names()
        require_columns(path, len(names))
        chosen = wanted(names)
        if most is not None:
            return lazy.select(chosen).head(most).collect()
        rows = int(lazy.select(pl.len()).collect().item())
        unpacked = rows * len(chosen) * _BYTES_A_VALUE
        require_expansion(path, Path(path).stat().st_size, unpacked, MAX_TABLE_EXPANSION)
        return lazy.select(chosen).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _broken(path, error) from None


def parquet_schema(path: str | PathLike[str]) -> Mapping[str, pl.DataType]:
    """Return the names and types of the columns of a Parquet file."""
    try:
        schema = pl.read_parquet_schema(Path(path))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _broken(path, error) from None
    require_columns(path, len(schema))
    return schema


def expected(column: pl.Series, role: str, path: str | PathLike[str]) -> pl.Series:
    """Return a column as text, numbers of 64 bits, or for times as dates; refuse every other kind.

    Categories become text, decimals and wide whole numbers plain numbers if they fit.

    Parameters
    ----------
    role
        What the column is for: ``time``, ``category``, ``sensitive``, or any other, which is an id
        or a number.
    """
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum) or kind == pl.Null:
        return column.cast(pl.String)
    if kind == pl.Boolean and role in ("category", "sensitive"):
        return column.cast(pl.String) if role == "category" else column.cast(pl.Int8)
    if str(kind) in _WIDE or (isinstance(kind, pl.Decimal) and not kind.scale):
        return _narrowed(column, path)
    if isinstance(kind, pl.Decimal):
        return column.cast(pl.Float64)
    if kind == pl.String or kind.is_integer() or kind.is_float():
        return column
    if role == "time" and (kind == pl.Date or isinstance(kind, pl.Datetime)):
        return column
    problem = f"the column has the type {_shown(kind)}; it must hold {_EXPECTED.get(role, _NUMBERS)}"
    raise FileError(path, [Fault(None, column.name, None, problem, "column-type")])


def _narrowed(column: pl.Series, path: str | PathLike[str]) -> pl.Series:
    narrow = column.cast(pl.Int64, strict=False)
    lost = (narrow.is_null() & column.is_not_null()).arg_true()
    if len(lost) == 0:
        return narrow
    row = int(lost[0])
    problem = f"the column has the type {_shown(column.dtype)}; a whole number must fit 64 bits with its sign"
    raise FileError(path, [Fault(row + 1, column.name, str(column[row]), problem, "column-type")], len(lost))


def _shown(kind: pl.DataType) -> str:
    return str(kind).partition("(")[0]


def _broken(path: str | PathLike[str], error: BaseException) -> FileError:
    said = (str(error).splitlines() or ["it cannot be read"])[0]
    return FileError.whole(path, f"is not a whole Parquet file: {said[:200]}", "bad-parquet")
