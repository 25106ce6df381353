"""Text files that are one table: read once, and rewritten to be read in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl

from tracearena.engine import current_progress
from tracearena.errors import Fault, FileError
from tracearena.io.fields.columns import POINTS, convert_ids
from tracearena.io.fields.coordinates import CoordinateDoubts
from tracearena.io.large.table_files import RowChunk, TableFiles, read_scratch_rows, write_scratch_rows
from tracearena.io.options import Layout
from tracearena.io.report import Report
from tracearena.io.rows import NO_POINT, Rows, parse_table_rows
from tracearena.io.tables import ROW
from tracearena.io.text_rows import (
    BYTES_A_ROW,
    FIRST_ROWS,
    TextReadMode,
    TextSource,
    estimate_bytes,
    iterate_rows,
    read_in_right_mode,
)

_COPIES = {"time": "_at", "lat": "_lat", "lon": "_lon"}
"""Columns as they stand, and what is read of them."""


@dataclass(frozen=True)
class TextPart:
    """Rows of a text file that are in a file of their own: how many, and what is known of all rows.

    Attributes
    ----------
    path, header_lines
        The text file, and lines above its first row.
    rows
        How many rows there are.
    names, are_instants
        What it calls the columns, and whether its times are numbers of instants.
    """

    path: str
    header_lines: int | None
    rows: int
    names: Mapping[str, str]
    are_instants: bool


@dataclass(frozen=True)
class TextTableFiles(TableFiles):
    """Text files that are one table; what is read of their rows is in a folder, in parts."""

    folder: Path
    parts: tuple[TextPart, ...]

    def chunks(self, size: int | None = None) -> list[RowChunk]:
        """Return the parts in which the files were rewritten."""
        return [RowChunk(number, 0, part.rows) for number, part in enumerate(self.parts)]

    def parse(self, chunk: RowChunk, report: Report, roles: Sequence[str] | None = None) -> Rows:
        """Return what was read of rows."""
        part = self.parts[chunk.file]
        frame = read_scratch_rows(self.folder, chunk.file, chunk.first, chunk.stop)
        for role, read in _COPIES.items():
            if read in frame.columns and role not in frame.columns:
                frame = frame.with_columns(pl.col(read).alias(role))
        report.rows = frame.height
        return Rows(frame, part.names, part.are_instants, self.layout.time_format, is_whole=False)

    def empty_report(self, chunk: RowChunk, format: str) -> Report:
        """Return an empty report of the text file of a chunk."""
        part = self.parts[chunk.file]
        return Report(part.path, format, header_lines=part.header_lines)


@dataclass
class _TextRewriter:
    """Writes what is read of text files, `size` bytes of them at a time, to parts in a folder.

    Attributes
    ----------
    parts
        What was written.
    first
        The first rows of the last file, as they stand.
    bytes_before
        Bytes of the files that are finished.
    """

    texts: Sequence[TextSource]
    folder: Path
    wanted: tuple[str, ...]
    size: int
    parts: list[TextPart] = field(default_factory=list)
    first: pl.DataFrame = field(default_factory=pl.DataFrame)
    bytes_before: int = 0

    def rewrite(self, text: TextSource, lost: Report, manner: TextReadMode) -> list[TextPart]:
        """Write what is read of a file; rows of another length are reported to `lost`."""
        own: list[TextPart] = []
        doubts, times = CoordinateDoubts(), ""
        total, progress = sum(estimate_bytes(one.path) for one in self.texts), current_progress()
        for raw, table, done in iterate_rows(text, self.wanted, lost, self.size, manner):
            progress(min(self.bytes_before + done, total), total)
            if not raw.height:
                continue
            if not own:
                self.first, times = raw.head(FIRST_ROWS), table.found["time"]
            found = Report(lost.path, lost.format, header_lines=lost.header_lines)
            read = parse_table_rows(raw, found, self.wanted, text.layout, self.first[times])
            doubts += found.doubts
            frame = read.frame
            if len(self.texts) > 1 and self.wanted == POINTS and "trajectory" not in frame.columns:
                frame = frame.with_columns(trajectory=pl.lit(0, pl.Int64))  # one through all files
            write_scratch_rows(self.folder, len(self.parts) + len(own), _pack_rows(frame, self.wanted))
            own.append(TextPart(lost.path, lost.header_lines, raw.height, read.names, read.are_instants))
        doubts.refuse()
        lost.refuse_if_nothing_is_left(len(own))
        return own


def rewrite_text(
    texts: Sequence[TextSource],
    folder: Path,
    report: Report,
    wanted: tuple[str, ...],
    layout: Layout,
    rows: int,
) -> TextTableFiles:
    """Read text files once, about `rows` at a time, and write what is read of them; report broken rows."""
    writer = _TextRewriter(texts, folder, wanted, rows * BYTES_A_ROW)
    for text in texts:
        try:
            own, lost = read_in_right_mode(text.path, report.format, partial(writer.rewrite, text))
        except FileError as error:
            if error.faults[0].code != "empty" or len(texts) == 1:
                raise
            empty = Fault(None, None, None, error.faults[0].problem, "empty-file")
            report.notice_fault(empty, path=str(text.path))
            continue
        writer.parts += own
        writer.bytes_before += estimate_bytes(text.path)
        report.header_lines = lost.header_lines
        report.rows += lost.dropped_rows
        report.add(lost)
    report.refuse_if_nothing_is_left(len(writer.parts), *NO_POINT)
    schema = {name: kind for name, kind in writer.first.schema.items() if name != ROW}
    return TextTableFiles(
        report.path,
        tuple(text.path for text in texts),
        tuple(part.rows for part in writer.parts),
        schema,
        (),
        layout,
        wanted,
        writer.first[layout.roles(list(schema), wanted)["time"]],
        folder=folder,
        parts=tuple(writer.parts),
    )


def _pack_rows(frame: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    """Leave out what no report shows as it stood: numbers, and times of points, if all of them are good."""
    copies = [role for role in ("lat", "lon") if frame.schema.get(role) == pl.Float64]
    if wanted == POINTS:
        copies.append("time")
    frame = frame.drop(
        role for role in copies if frame[role].null_count() == frame[_COPIES[role]].null_count()
    )
    # Ids that are all numbers are so among the rows that can be used, too.
    ids = [convert_ids(frame[role]) for role in ("venue", "trajectory") if role in frame.columns]
    return frame.with_columns(one for one in ids if one.dtype == pl.Int64)
