"""Rows of a text file, some after the others, each read as if all had been read at once.

Numbers are parsed as such as long as all are, and letters are UTF-8 as long as they can be; a file that
proves otherwise is read anew from its begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tracearena.errors import FileError
from tracearena.intake.delimited import WINDOWS_1252, from_windows_1252, is_utf8, odd_letters
from tracearena.intake.layout import Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, notice_rivals
from tracearena.intake.text_pieces import pieces
from tracearena.intake.text_tables import TextTable

BYTES_A_ROW = 32
FIRST_ROWS = 1 << 16
"""Rows whose times tell how all are written."""


@dataclass(frozen=True)
class Text:
    """A text file and how its rows are laid out; of whom they are may be said by its folder."""

    path: Path
    layout: Layout


@dataclass(frozen=True)
class Manner:
    """What the rows read so far leave open: whether coordinates are text, and the encoding."""

    numbers_are_text: bool = False
    is_windows_1252: bool | None = None


class Otherwise(Exception):
    """The file must be read anew in another manner."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner


def rows_of(
    text: Text, wanted: tuple[str, ...], lost: Report, size: int, manner: Manner
) -> Iterator[tuple[pl.DataFrame, TextTable, int]]:
    """Yield the rows that have all their fields, with their numbers; `lost` is told of the others.

    Beside them stands how many bytes have been read.
    """
    table: TextTable | None = None
    before, done, is_blank = 0, 0, True
    if manner.is_windows_1252:
        lost.notice(WINDOWS_1252)
    for piece in pieces(text.path, size):
        data = _in_utf8(text.path, piece, size, manner)
        if table is None:
            table, data = TextTable.begun(text.path, data, lost, wanted, text.layout)
            notice_rivals(table.names, table.found, lost, text.layout)
        is_blank = is_blank and not data.strip()
        frame = table.read(data, as_text=manner.numbers_are_text)
        if not manner.numbers_are_text and any(frame.schema[name] == pl.String for name in table.numbers):
            raise Otherwise(replace(manner, numbers_are_text=True))
        numbered = frame.with_columns(pl.col("row") + before)
        before += frame.height
        done += len(piece)
        yield table.good(numbered, lost, ROW), table, done
    if table is None:
        raise FileError.whole(text.path, "is empty", "empty")
    if is_blank:
        raise FileError.whole(text.path, "has a header and no rows", "empty")


def _in_utf8(path: Path, piece: bytes, size: int, manner: Manner) -> bytes:
    """Return a piece in UTF-8; the first one that is none makes the whole file be looked at."""
    if manner.is_windows_1252:
        return from_windows_1252(piece)
    if manner.is_windows_1252 is None and not is_utf8(piece):
        counted = [odd_letters(one) for one in pieces(path, size)]
        broken, beyond_ascii = (sum(column) for column in zip(*counted, strict=True))
        raise Otherwise(replace(manner, is_windows_1252=2 * broken > beyond_ascii))
    return piece
