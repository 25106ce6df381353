"""Why a line is refused: one fixed verdict for each kind of fault.

The scanner only says *that* a line is bad. This module says what is wrong with it; it is also the
whole parser of the small files.
"""

from __future__ import annotations

import re

from tracearena.errors import Fault
from tracearena.formats.pwscup._layout import Column, Layout

VERDICTS = {
    "empty-file": "the file has no bytes, or only a byte-order mark",
    "too-large": "the file, unpacked, is larger than the limit",
    "bad-gzip": "the file begins like gzip but cannot be unpacked",
    "bad-parquet": "the file begins like Parquet but cannot be read",
    "column-type": "a column of a Parquet file that holds neither whole numbers nor text",
    "line-break": "a cell of a Parquet file with a line break in it",
    "no-table": "the file is no table but a workbook, an archive, a picture or a document",
    "utf-16": "the file is UTF-16; it must be UTF-8",
    "cr-line-ends": "lines end in CR alone; they must end in LF or CRLF",
    "missing-header": "the first line is data",
    "other-file": "the header is that of another file of the contest",
    "wrong-header": "the first line is not the header",
    "no-rows": "nothing stands below the header",
    "row-count": "there are too many rows or too few; the row is the first one too many or missing",
    "too-many-ids": "the file lists more ids than the limit",
    "second-header": "the header stands among the rows",
    "blank-line": "a line has no characters",
    "line-too-long": "a bad line that is longer than 1,000 characters and than any good line",
    "column-count": "a row has too many cells or too few",
    "empty-cell": "a cell has no characters",
    "nul-byte": "a NUL byte",
    "stray-cr": "a CR that does not end a line",
    "not-utf8": "bytes that are not UTF-8",
    "not-ascii": "a character that is not ASCII, such as a full-width digit",
    "quotes": "a quotation mark",
    "mixed-star": "a * beside something else",
    "star-not-allowed": "a * where exactly one id must stand",
    "stray-blank": "a tab, a space at the start or end, or two spaces in a row",
    "list-not-allowed": "several ids where exactly one must stand",
    "sign": "a number with a sign",
    "not-a-number": "something that is not a plain whole number",
    "leading-zero": "a number with a leading zero",
    "out-of-range": "a number out of range",
    "repeated-id": "the same id twice in a cell",
    "not-a-decimal": "something that is not a plain decimal number",
    "unknown-word": "a word or flag that is not among those allowed",
    "duplicate-row": "the same ids as the row before",
    "unsorted-row": "a row that belongs further up",
    "repeated-user": "a user under two pseudonyms in an ID table",
    "unknown-user": "a user who is not in the original traces",
    "not-a-grid": "regions that are not the cells of a grid, row by row from the south-west",
    "not-a-clock": "times that are not the same instants every day, reference days first",
    "no-clock": "times that are not the contest's, without a table of times",
    "beyond-clock": "a time after the last of the table of times",
}

_DECIMAL = re.compile(rb"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,30})?")
_PIECE = re.compile(rb"[^ ]+")


def text_of(raw: bytes) -> str:
    """Show bytes as text, whatever they are."""
    return raw.decode("utf-8", "backslashreplace")


def diagnose_line(line: bytes, row: int, layout: Layout, *, allow_repetition: bool = False) -> Fault | None:
    """Return the first fault of a line from the left, None if there is none."""
    if not line:
        return Fault(row, None, None, "the line is blank; every row must have its cells", "blank-line")
    if line == layout.header.encode():
        return Fault(row, None, text_of(line), "the header must stand only once", "second-header")
    cells = line.split(b",", len(layout.columns))
    wanted = len(layout.columns)
    if len(cells) != wanted:
        got = line.count(b",") + 1
        problem = f"the row has {got} {_cells(got)}; it must have {wanted} ({layout.header})"
        return Fault(row, None, text_of(line), problem, "column-count")
    for cell, column in zip(cells, layout.columns, strict=True):
        code = diagnose_cell(cell, column, allow_repetition=allow_repetition)
        if code is not None:
            return cell_fault(row, column, text_of(cell), code)
    return None


def long_line_fault(length: int, row: int, layout: Layout) -> Fault | None:
    """Judge a bad line by its length alone: a hostile line may be the whole file."""
    if length <= layout.longest_line:
        return None
    problem = f"the line has {length:,} bytes; no good line has more than {layout.longest_line:,}"
    return Fault(row, None, None, problem, "line-too-long")


def row_count_fault(got: int, expected: int) -> Fault:
    """State how many rows there must be, at the first one too many or missing."""
    problem = f"the file has {got:,} rows; it must have {expected:,}"
    return Fault(min(got, expected) + 1, None, None, problem, "row-count")


def cell_fault(row: int, column: Column, value: str, code: str) -> Fault:
    """State the fault of a cell and what is allowed there."""
    return Fault(row, column.name, value, f"{VERDICTS[code]}; it must be {column.allowed}", code)


def _cells(count: int) -> str:
    return "cell" if count == 1 else "cells"


def diagnose_cell(cell: bytes, column: Column, *, allow_repetition: bool = False) -> str | None:
    """Return the verdict on a cell, None if it is good."""
    code = _diagnose_characters(cell)
    if code is not None:
        return code
    if column.kind == "decimal":
        if not _DECIMAL.fullmatch(cell):
            return "not-a-decimal"
        return None if abs(float(cell)) <= column.highest else "out-of-range"
    if column.kind == "word":
        return None if text_of(cell) in column.words else "unknown-word"
    if b"*" in cell:
        return _diagnose_star(cell, column)
    if b"\t" in cell or b"  " in cell or cell[:1] == b" " or cell[-1:] == b" ":
        return "stray-blank"
    return _diagnose_ids(cell, column, allow_repetition)


def _diagnose_characters(cell: bytes) -> str | None:
    if not cell:
        return "empty-cell"
    if b"\0" in cell:
        return "nul-byte"
    if b"\r" in cell:
        return "stray-cr"
    if not cell.isascii():
        try:
            cell.decode("utf-8")
        except UnicodeDecodeError:
            return "not-utf8"
        return "not-ascii"
    return "quotes" if b'"' in cell or b"'" in cell else None


def _diagnose_star(cell: bytes, column: Column) -> str | None:
    if cell != b"*":
        return "mixed-star"
    return None if column.kind == "list" else "star-not-allowed"


def _diagnose_ids(cell: bytes, column: Column, allow_repetition: bool) -> str | None:
    seen: set[bytes] = set()
    for match in _PIECE.finditer(cell):
        piece = match.group()
        code = _diagnose_id(piece, column)
        if code is not None:
            return code
        if piece in seen and not allow_repetition and column.kind == "list":
            return "repeated-id"
        seen.add(piece)
        if column.kind == "id" and match.end() < len(cell):
            return "list-not-allowed"
    return None


def _diagnose_id(piece: bytes, column: Column) -> str | None:
    if piece[:1] in b"+-" and piece[1:].isdigit():
        return "sign"
    if not piece.isdigit():
        return "not-a-number"
    if piece[:1] == b"0" and len(piece) > 1:
        return "leading-zero"
    if len(piece) > len(str(column.highest)) or not 1 <= int(piece) <= column.highest:
        return "out-of-range"
    if column.known is not None and int(piece) not in column.known:
        return "out-of-range"
    return None
