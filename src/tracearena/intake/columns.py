"""Columns of a Parquet file or a data frame: of a kind that a reader expects, or refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.limits import MAX_TABLE_EXPANSION, require_columns, require_expansion

_BYTES_A_VALUE = 8
_NUMBERS = "text or numbers"
_EXPECTED = {
    "time": "times, dates, text or numbers",
    "category": "text, numbers or true and false",
    "sensitive": "true and false, text or numbers",
}
_WIDE = ("UInt64", "Int128", "UInt128")


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
