"""The metadata of a Parquet file (columns, rows and sizes), read before anything is unpacked.

A footer may contain wrong values, so the header of every page is read too. Both are structures of Thrift's
compact protocol.

References
----------
[1] https://parquet.apache.org/docs/file-format/metadata/
[2] https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from tracearena.errors import Fault, FileError
from tracearena.io.pwscup.checker import FileSchema, build_row_count_fault

if TYPE_CHECKING:
    import polars as pl

_MAGIC = b"PAR1"
_LARGEST_FOOTER = 2**18
_DEEPEST = 12
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_WHOLE = (_I16, _I32, _I64)
# Plain, dictionary, run-length, bit-packed and delta encodings; of delta strings (7) each may repeat all
# of the one before, so that few bytes stand for very many.
_ENCODINGS = (0, 2, 3, 4, 5, 6, 8)
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3

Structure = dict[int, Any]


@dataclass(frozen=True)
class Footer:
    """Names of the columns, number of rows, and bytes of all pages, unpacked."""

    columns: tuple[str, ...]
    rows: int
    unpacked_bytes: int


def read_footer(data: bytes) -> Footer:
    """Return what a whole Parquet file holds; ValueError says what is wrong with one that is not."""
    size = int.from_bytes(data[-8:-4], "little")
    if len(data) < 12 or data[-4:] != _MAGIC or size > len(data) - 12:
        raise ValueError("it is truncated")
    if size > _LARGEST_FOOTER:
        raise ValueError(f"its footer has {size:,} bytes; at most {_LARGEST_FOOTER:,} are allowed")
    try:
        footer, _ = _CompactReader(data, len(data) - 8 - size, len(data) - 8).read_structure()
        elements = footer[2][1:]
        names = tuple(element[4].decode() for element in elements)
        rows, unpacked = _check_count(footer[3]), 0
        if rows != sum(_check_count(group[3]) for group in footer[4]):
            raise ValueError("its footer contradicts itself")
        for group in footer[4]:
            for chunk in group[1]:
                unpacked += _count_page_bytes(data, chunk[3], _check_count(group[3]))
        return Footer(names, rows, unpacked)
    except (KeyError, TypeError, AttributeError, IndexError, UnicodeDecodeError):
        raise ValueError("its footer cannot be read") from None


def _count_page_bytes(data: bytes, column: Structure, rows: int) -> int:
    """Go through the pages of a column and add up what they unpack to."""
    at = _check_count(column.get(11) or column[9])
    stop = at + _check_count(column[7])
    if not 4 <= at <= stop <= len(data):
        raise ValueError("its pages are outside the file")
    unpacked = values = 0
    while at < stop:
        page, at = _CompactReader(data, at, stop).read_structure()
        at += _check_count(page[3])
        unpacked += _check_count(page[2])
        if page[1] == _DICTIONARY_PAGE:
            continue
        if page[1] not in (_DATA_PAGE, _DATA_PAGE_V2):
            raise ValueError("it has a page of an unknown kind")
        header, encoding = (page[5], 2) if page[1] == _DATA_PAGE else (page[8], 4)
        if header[encoding] not in _ENCODINGS:
            raise ValueError("a page has an encoding that is not accepted")
        values += _check_count(header[1])
    if values != rows or at != stop:
        raise ValueError("its pages and its footer contradict each other")
    return unpacked


def _check_count(value: Any) -> int:
    """Return a count, or raise `TypeError` if it is not a whole number of at least 0."""
    if not isinstance(value, int) or value < 0:
        raise TypeError("not a count")
    return value


class _CompactReader:
    """A reader of Thrift's compact protocol, from one byte up to another."""

    def __init__(self, data: bytes, at: int, stop: int) -> None:
        self._data, self._at, self._stop = data, at, stop

    def read_structure(self, depth: int = 0) -> tuple[Structure, int]:
        """Return the fields of a structure by number, and where it ends."""
        fields: Structure = {}
        number = 0
        while (head := self._read_byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._read_signed()
            fields[number] = self._value(head & 15, depth, in_field=True)
        return fields, self._at

    def _value(self, kind: int, depth: int, in_field: bool = False) -> Any:
        if kind in (_TRUE, _FALSE) and in_field:
            return kind == _TRUE
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._read_byte()
        if kind in _WHOLE:
            return self._read_signed()
        if kind == _DOUBLE:
            return self._read_bytes(8)
        if kind == _BINARY:
            return self._read_bytes(self._read_unsigned())
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in (_LIST, _SET):
            head = self._read_byte()
            size = self._read_unsigned() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(self._there(size))]
        if kind == _MAP:
            size = self._there(self._read_unsigned())
            kinds = self._read_byte() if size else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1))
                    for _ in range(size)]  # fmt: skip
        if kind == _STRUCT:
            return self.read_structure(depth + 1)[0]
        raise ValueError("its footer cannot be read")

    def _there(self, size: int) -> int:
        """Return a number of things, each of at least one byte, if they can be there."""
        if size > self._stop - self._at:
            raise ValueError("it is truncated")
        return size

    def _read_bytes(self, size: int) -> bytes:
        start = self._at
        self._at += self._there(size)
        return self._data[start : self._at]

    def _read_byte(self) -> int:
        return self._read_bytes(1)[0]

    def _read_unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._read_byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("its footer cannot be read")

    def _read_signed(self) -> int:
        value = self._read_unsigned()
        return value >> 1 ^ -(value & 1)


# Submissions in Parquet: the same columns, of whole numbers or text, which become the text of the CSV.

_BYTES_OF_NUMBERS = 16


def format_parquet_header(path: str | PathLike[str], data: bytes) -> str:
    """Return the names of the columns as the header of a CSV file."""
    return ",".join(_read_checked_footer(path, data).columns)


def convert_parquet_to_csv(
    path: str | PathLike[str], data: bytes, layout: FileSchema, rows: int, max_bytes: int
) -> bytes | None:
    """Return a Parquet file with the columns of a layout as CSV; None if that is larger than the limit.

    Rows and sizes are those that the footer and the pages name: a file that has others than asked for, or
    that unpacks to too much, is refused before anything is unpacked.
    """
    import polars as pl

    footer = _read_checked_footer(path, data)
    if footer.rows == 0:
        return f"{layout.header}\n".encode()
    if footer.rows != rows:
        raise FileError(path, [replace(build_row_count_fault(footer.rows, rows), header_lines=None)])
    if footer.unpacked_bytes > max_bytes + _BYTES_OF_NUMBERS * rows:
        return None
    names = [column.name for column in layout.columns]
    try:
        table = pl.read_parquet(io.BytesIO(data), columns=names, parallel="none", use_statistics=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise _build_parquet_error(path, "its pages cannot be read") from None
    columns = [_convert_to_text(table[name], path) for name in names]
    size = sum(int(column.str.len_bytes().sum()) + len(column) for column in columns)
    if len(layout.header) + 1 + size > max_bytes:
        return None
    lines = pl.select(pl.concat_str(columns, separator=",").str.join("\n")).item()
    return f"{layout.header}\n{lines}\n".encode()


def _read_checked_footer(path: str | PathLike[str], data: bytes) -> Footer:
    try:
        return read_footer(data)
    except ValueError as error:
        raise _build_parquet_error(path, str(error)) from None


def _convert_to_text(column: pl.Series, path: str | PathLike[str]) -> pl.Series:
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


def _build_parquet_error(path: str | PathLike[str], why: str) -> FileError:
    return FileError.whole(path, f"is not a complete Parquet file: {why}", "bad-parquet")
