"""Points of a text file: rewritten once, as those that can be used, to be read in any order.

Numbers are parsed as such as long as all are, and letters are UTF-8 as long as they can be; a file that
proves otherwise is read anew from its begin, so that every row is read as if all had been read at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.engine import current_progress
from tracearena.errors import FileError
from tracearena.intake.columns import POINTS
from tracearena.intake.delimited import WINDOWS_1252, from_windows_1252, is_utf8, odd_letters
from tracearena.intake.layout import Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, notice_rivals
from tracearena.intake.text_tables import TextTable
from tracearena.streams.point_rows import usable_points
from tracearena.streams.survey import Counts, Seen, Survey, seen_of, summed_up
from tracearena.streams.table_files import Chunk
from tracearena.streams.text_pieces import estimated_bytes, pieces
from tracearena.traces import Box
from tracearena.traces.time import require_zone

_BYTES_A_ROW = 32
_FIRST_ROWS = 1 << 16


@dataclass(frozen=True)
class TextPoints:
    """A text file of points whose usable points are in a folder, a file for each chunk."""

    path: Path
    folder: Path
    layout: Layout
    timezone: str | None
    box: Box | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that was read."""
        return (self.path,)

    def part(self, number: int) -> Path:
        """Return where the points of a chunk are."""
        return self.folder / f"text-{number:06}.arrow"

    @property
    def options(self) -> tuple[object, ...]:
        """How it is read."""
        return self.layout, self.timezone, self.box

    def kept_rows(self, chunk: Chunk) -> pl.DataFrame:
        """Return points of a chunk: all that were rewritten can be used."""
        rows = pl.scan_ipc(self.part(chunk.file))
        return rows.slice(chunk.first, chunk.stop - chunk.first).collect()

    def good_rows(self, chunk: Chunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same, whatever the types of ids."""
        return self.kept_rows(chunk)


@dataclass(frozen=True)
class _Manner:
    """What the rows read so far leave open: whether coordinates are text, and the encoding."""

    numbers_are_text: bool = False
    is_windows_1252: bool | None = None


class _Otherwise(Exception):
    """The file must be read anew in another manner."""

    def __init__(self, manner: _Manner) -> None:
        self.manner = manner


def rewrite(files: TextPoints, report: Report, rows: int) -> tuple[list[Chunk], Survey]:
    """Read all rows once, about so many at a time, and write those that can be used; `report` is told."""
    if files.timezone is not None:
        require_zone(files.timezone)
    manner = _Manner()
    while True:
        try:
            return _rewritten(files, report, rows * _BYTES_A_ROW, manner)
        except _Otherwise as other:
            manner = other.manner


def _rewritten(files: TextPoints, report: Report, size: int, manner: _Manner) -> tuple[list[Chunk], Survey]:
    lost = Report(report.path, report.format)
    counts, seen, chunks = Counts(), list[Seen](), list[Chunk]()
    first_times: pl.Series | None = None
    times = "time"
    for raw, table in _rows(files, lost, size, manner):
        if not raw.height:
            continue
        if first_times is None:
            times = table.found["time"]
            first_times = raw[times].head(_FIRST_ROWS)
        own = Report(report.path, report.format, header_lines=lost.header_lines, timezone=files.timezone)
        points = usable_points(raw, own, files.layout, first_times, files.box)
        points.drop("row").write_ipc(files.part(len(chunks)), compression="uncompressed")
        seen.append(seen_of(points, own))
        counts.take(len(chunks), seen[-1:])
        chunks.append(Chunk(len(chunks), 0, points.height))
    report.header_lines = lost.header_lines
    report.rows = lost.dropped_rows
    report.add(lost)
    if not seen:
        report.refuse_if_nothing_is_left(0)
    return chunks, summed_up(seen, counts, report, times, files.layout.time_format)


def _rows(
    files: TextPoints, lost: Report, size: int, manner: _Manner
) -> Iterator[tuple[pl.DataFrame, TextTable]]:
    """Yield the rows that have all their fields, with their numbers; `lost` is told of the others."""
    table: TextTable | None = None
    before, done, is_blank = 0, 0, True
    total, progress = estimated_bytes(files.path), current_progress()
    if manner.is_windows_1252:
        lost.notice(WINDOWS_1252)
    for piece in pieces(files.path, size):
        data = _in_utf8(files.path, piece, size, manner)
        if table is None:
            table, data = TextTable.begun(files.path, data, lost, POINTS, files.layout)
            notice_rivals(table.names, table.found, lost, files.layout)
        is_blank = is_blank and not data.strip()
        frame = table.read(data, as_text=manner.numbers_are_text)
        if not manner.numbers_are_text and any(frame.schema[name] == pl.String for name in table.numbers):
            raise _Otherwise(replace(manner, numbers_are_text=True))
        numbered = frame.with_columns(pl.col("row") + before)
        before += frame.height
        done += len(piece)
        progress(min(done, total), total)
        yield table.good(numbered, lost, ROW), table
    if table is None:
        raise FileError.whole(files.path, "is empty", "empty")
    if is_blank:
        raise FileError.whole(files.path, "has a header and no rows", "empty")


def _in_utf8(path: Path, piece: bytes, size: int, manner: _Manner) -> bytes:
    """Return a piece in UTF-8; the first one that is none makes the whole file be looked at."""
    if manner.is_windows_1252:
        return from_windows_1252(piece)
    if manner.is_windows_1252 is None and not is_utf8(piece):
        counted = [odd_letters(one) for one in pieces(path, size)]
        broken, beyond_ascii = (sum(column) for column in zip(*counted, strict=True))
        raise _Otherwise(replace(manner, is_windows_1252=2 * broken > beyond_ascii))
    return piece
