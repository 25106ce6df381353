"""Submissions in Parquet: the same columns, of whole numbers or text, which become the text of the CSV."""

from __future__ import annotations

import io
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from tracearena.errors import Fault, FileError
from tracearena.formats.pwscup._footer import Footer, read_footer
from tracearena.formats.pwscup._layout import Layout
from tracearena.formats.pwscup._verdicts import row_count_fault

if TYPE_CHECKING:
    import polars as pl

_BYTES_OF_NUMBERS = 16


def header_of(path: str | PathLike[str], data: bytes) -> str:
    """Return the names of the columns as the header of a CSV file."""
    return ",".join(_footer(path, data).columns)


def csv_of(path: str | PathLike[str], data: bytes, layout: Layout, rows: int, max_bytes: int) -> bytes | None:
    """Return a Parquet file with the columns of a layout as CSV; None if that is larger than the limit.

    Rows and sizes are those that the footer and the pages name: a file that has others than asked for, or
    that unpacks to too much, is refused before anything is unpacked.
    """
    footer = _footer(path, data)
    if footer.rows == 0:
        return f"{layout.header}\n".encode()
    if footer.rows != rows:
        raise FileError(path, [replace(row_count_fault(footer.rows, rows), header_lines=None)])
    if footer.unpacked_bytes > max_bytes + _BYTES_OF_NUMBERS * rows:
        return None
    return _text(_table(path, data, layout), path, layout, max_bytes)


def _footer(path: str | PathLike[str], data: bytes) -> Footer:
    try:
        return read_footer(data)
    except ValueError as error:
        raise _broken(path, str(error)) from None


def _table(path: str | PathLike[str], data: bytes, layout: Layout) -> pl.DataFrame:
    import polars as pl

    names = [column.name for column in layout.columns]
    try:
        return pl.read_parquet(io.BytesIO(data), columns=names, parallel="none", use_statistics=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise _broken(path, "its pages cannot be read") from None


def _text(table: pl.DataFrame, path: str | PathLike[str], layout: Layout, max_bytes: int) -> bytes | None:
    import polars as pl

    columns = [_as_text(table[column.name], path) for column in layout.columns]
    size = sum(int(column.str.len_bytes().sum()) + len(column) for column in columns)
    if len(layout.header) + 1 + size > max_bytes:
        return None
    lines = pl.select(pl.concat_str(columns, separator=",").str.join("\n")).item()
    return f"{layout.header}\n{lines}\n".encode()


def _as_text(column: pl.Series, path: str | PathLike[str]) -> pl.Series:
    """Return a column of whole numbers or text as text, empty where nothing stands."""
    import polars as pl

    kind = column.dtype
    if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
        problem = f"the column has the type {str(kind).partition('(')[0]}; it must hold whole numbers or text"
        raise FileError(path, [Fault(None, column.name, None, problem, "column-type")])
    text = column.cast(pl.String).fill_null("")
    broken = text.str.contains("[\r\n]").arg_true()
    if len(broken):
        row = int(broken[0])
        problem = "a line break within a cell"
        fault = Fault(row + 1, column.name, text[row], problem, "line-break", header_lines=None)
        raise FileError(path, [fault], len(broken))
    return text


def _broken(path: str | PathLike[str], why: str) -> FileError:
    return FileError.whole(path, f"is not a whole Parquet file: {why}", "bad-parquet")
