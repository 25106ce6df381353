"""Read a text file of any size, compressed or not, in pieces of complete rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import polars as pl

from tracearena.errors import FileError
from tracearena.files.io import LONGEST_LINE, open_unpacked, require_short_lines
from tracearena.io.options import Layout
from tracearena.io.report import Report
from tracearena.io.tables import (
    BOM,
    ROW,
    WINDOWS_1252,
    TextTable,
    count_odd_letters,
    from_windows_1252,
    is_utf8,
    require_text,
)

S = TypeVar("S")
_QUOTE = b'"'
_PACKED_TO = 4
"""How many times smaller text is when it is packed, at least: a guess that only tells large from small."""


def read_text_pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield a file about `size` bytes at a time, cut where a row ends; a row may continue within quotes."""
    rest, lines = b"", 0
    with open_unpacked(path) as source:
        begin = source.read(size).removeprefix(BOM)
        while data := begin or source.read(size):
            begin = b""
            require_text(path, data)
            data = rest + data
            end = _find_end_of_rows(data)
            piece, rest = data[:end], data[end:]
            require_short_lines(path, piece, lines_before=lines)
            lines += piece.count(b"\n")
            if len(rest) > LONGEST_LINE:
                require_short_lines(path, rest, lines_before=lines)
                problem = (
                    f"has a quote that is not closed within {LONGEST_LINE:,} bytes, in line {lines + 1:,}"
                )
                raise FileError.whole(path, problem, "open-quote")
            if piece:
                yield piece
    if rest:
        yield rest


def estimate_bytes(path: Path) -> int:
    """Estimate the size of a file in bytes, unpacked."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return path.stat().st_size * (_PACKED_TO if is_packed else 1)


def _find_end_of_rows(data: bytes) -> int:
    """Return where the last row ends that is whole: after a line end with an even number of quotes before."""
    quotes, end = data.count(_QUOTE), len(data)
    while True:
        at = data.rfind(b"\n", 0, end)
        if at < 0:
            return 0
        quotes -= data.count(_QUOTE, at, end)
        if quotes % 2 == 0:
            return at + 1
        end = at


# Rows of a text file, read piece by piece as if all had been read at once.

BYTES_A_ROW = 32
FIRST_ROWS = 1 << 16
"""Rows whose times tell how all are written."""


@dataclass(frozen=True)
class TextSource:
    """A text file and how its rows are laid out; of whom they are may be said by its folder."""

    path: Path
    layout: Layout


@dataclass(frozen=True)
class TextReadMode:
    """What the rows read so far leave open: whether coordinates are text, and the encoding."""

    numbers_are_text: bool = False
    is_windows_1252: bool | None = None


class WrongReadMode(Exception):
    """The file must be read again in another manner."""

    def __init__(self, manner: TextReadMode) -> None:
        self.manner = manner


def read_in_right_mode(
    path: Path, format: str, work: Callable[[Report, TextReadMode], S]
) -> tuple[S, Report]:
    """Return what some work makes of a file, again in another manner where that turns out to be needed.

    Parameters
    ----------
    work
        Is given an empty report, which is returned too, and the manner.
    """
    manner = TextReadMode()
    while True:
        report = Report(str(path), format)
        try:
            return work(report, manner), report
        except WrongReadMode as other:
            manner = other.manner


def iterate_rows(
    text: TextSource, wanted: tuple[str, ...], lost: Report, size: int, manner: TextReadMode
) -> Iterator[tuple[pl.DataFrame, TextTable, int]]:
    """Yield the rows that have all their fields, with the table and the number of bytes read so far.

    The other rows are reported to `lost`.
    """
    table: TextTable | None = None
    before, done, is_blank = 0, 0, True
    if manner.is_windows_1252:
        lost.notice(WINDOWS_1252)
    for piece in read_text_pieces(text.path, size):
        if manner.is_windows_1252 is None and not is_utf8(piece):
            # The whole file decides its encoding.
            counted = [count_odd_letters(one) for one in read_text_pieces(text.path, size)]
            broken, beyond_ascii = (sum(column) for column in zip(*counted, strict=True))
            raise WrongReadMode(replace(manner, is_windows_1252=2 * broken > beyond_ascii))
        data = from_windows_1252(piece) if manner.is_windows_1252 else piece
        if table is None:
            table, data = TextTable.read_header(text.path, data, lost, wanted, text.layout)
        is_blank = is_blank and not data.strip()
        frame = table.read(data, as_text=manner.numbers_are_text)
        if not manner.numbers_are_text and any(frame.schema[name] == pl.String for name in table.numbers):
            raise WrongReadMode(replace(manner, numbers_are_text=True))
        numbered = frame.with_columns(pl.col("row") + before)
        before += frame.height
        done += len(piece)
        yield table.drop_short_rows(numbered, lost, ROW), table, done
    if table is None:
        raise FileError.whole(text.path, "is empty", "empty")
    if is_blank:
        raise FileError.whole(text.path, "has a header and no rows", "empty")
