"""Points of text files: rewritten once, as those that can be used, to be read in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.engine import current_progress
from tracearena.errors import Fault, FileError
from tracearena.files.atomic import name_in_errors
from tracearena.io.fields.columns import POINTS
from tracearena.io.fields.degrees import CoordinateDoubts
from tracearena.io.large.first_pass import (
    FirstPass,
    PointChunkSummary,
    UserCountCollector,
    build_first_pass,
    summarise_point_chunk,
)
from tracearena.io.large.sources import select_usable_points
from tracearena.io.large.table_files import RowChunk, TableFiles
from tracearena.io.options import Layout
from tracearena.io.report import Report
from tracearena.io.tables import ROW
from tracearena.io.text_rows import (
    BYTES_A_ROW,
    FIRST_ROWS,
    TextReadMode,
    TextSource,
    WrongReadMode,
    estimate_bytes,
    iterate_rows,
)
from tracearena.traces import Box
from tracearena.traces.time import require_zone

_EMPTY = ("empty", "no-points")


@dataclass(frozen=True)
class TextPoints:
    """Text files of points whose usable points are in a folder, a file for each chunk.

    Attributes
    ----------
    path
        What the user named: a file or a folder.
    texts
        The files, and how each is laid out.
    folder
        Where the usable points go.
    """

    path: Path
    texts: tuple[TextSource, ...]
    folder: Path
    layout: Layout
    timezone: str | None
    box: Box | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read."""
        return tuple(text.path for text in self.texts)

    def part(self, number: int) -> Path:
        """Return where the points of a chunk are."""
        return self.folder / f"text-{number:06}.arrow"

    @property
    def options(self) -> tuple[object, ...]:
        """How it is read."""
        return self.layout, self.timezone, self.box

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return points of a chunk: all that were rewritten can be used."""
        rows = pl.scan_ipc(self.part(chunk.file))
        return rows.slice(chunk.first, chunk.stop - chunk.first).collect()

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same, whatever the types of ids."""
        return self.read_usable_rows(chunk)


@dataclass
class _RewriteResult:
    """What has become of some files: their chunks, and what was seen of each."""

    chunks: list[RowChunk] = field(default_factory=list)
    seen: list[PointChunkSummary] = field(default_factory=list)
    counts: UserCountCollector = field(default_factory=UserCountCollector)
    bytes: int = 0

    def add(self, other: _RewriteResult) -> None:
        """Add what has become of further files."""
        self.chunks += other.chunks
        self.seen += other.seen
        self.counts.join(other.counts)
        self.bytes += other.bytes


def rewrite_points(files: TextPoints, report: Report, rows: int) -> tuple[list[RowChunk], FirstPass]:
    """Read all rows once, about `rows` at a time, and write those that can be used; report the others."""
    if files.timezone is not None:
        require_zone(files.timezone)
    done = _RewriteResult()
    times = "time"
    for text in files.texts:
        lost = Report(str(text.path), report.format, timezone=files.timezone)
        try:
            manner = TextReadMode()
            while True:
                try:
                    own, times = _rewrite_file(files, text, lost, rows * BYTES_A_ROW, manner, done)
                    break
                except WrongReadMode as other:
                    manner = other.manner
                    lost.dropped, lost.noticed, lost.examples = {}, {}, []
        except FileError as error:
            if error.faults[0].code not in _EMPTY or len(files.texts) == 1:
                raise
            empty = Fault(None, None, None, error.faults[0].problem, "empty-file")
            report.notice_fault(empty, path=str(text.path))
            continue
        reduce(add, (one.report.doubts for one in own.seen), CoordinateDoubts()).refuse()
        done.add(own)
        report.header_lines = lost.header_lines
        report.rows += lost.dropped_rows
        report.add(lost)
    if not done.seen:
        report.refuse_if_nothing_is_left(0, "holds no point", "no-points")
    return done.chunks, build_first_pass(done.seen, done.counts, report, times, files.layout.time_format)


def _rewrite_file(
    files: TextPoints, text: TextSource, lost: Report, size: int, manner: TextReadMode, before: _RewriteResult
) -> tuple[_RewriteResult, str]:
    """Rewrite the usable points of a file, in order; return its column of times too."""
    own, first = _RewriteResult(bytes=estimate_bytes(text.path)), len(before.chunks)
    first_times: pl.Series | None = None
    times = "time"
    total, progress = sum(estimate_bytes(path) for path in files.files), current_progress()
    for raw, table, done in iterate_rows(text, POINTS, lost, size, manner):
        progress(min(before.bytes + done, total), total)
        if not raw.height:
            continue
        if first_times is None:
            times = table.found["time"]
            first_times = raw[times].head(FIRST_ROWS)
        report = Report(lost.path, lost.format, header_lines=lost.header_lines, timezone=files.timezone)
        points, outside = select_usable_points(raw, report, text.layout, first_times, files.box)
        if len(files.texts) > 1 and "trajectory" not in points.columns:
            points = points.with_columns(trajectory=pl.lit(0, pl.Int64))  # one through all files
        number = first + len(own.chunks)
        with name_in_errors(files.part(number)):
            points.drop("row").write_ipc(files.part(number), compression="uncompressed")
        own.seen.append(summarise_point_chunk(points, report, outside))
        own.counts.take(number, own.seen[-1:])
        own.chunks.append(RowChunk(number, 0, points.height))
    if not own.seen:
        lost.refuse_if_nothing_is_left(0)
    return own, times


# Rows as they stand in a text file: rewritten once, to be read in any order.


@dataclass(frozen=True)
class TextTableFiles(TableFiles):
    """A text file that is a table; its rows are in a folder, a file for each chunk.

    Attributes
    ----------
    folder
        Where the rows are.
    header_lines
        Lines above the first row.
    """

    folder: Path
    header_lines: int | None

    def chunks(self, size: int | None = None) -> list[RowChunk]:
        """Return the chunks in which the file was rewritten."""
        return [RowChunk(number, 0, count) for number, count in enumerate(self.rows)]

    def read(self, chunk: RowChunk, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows as they stand in the file, with their numbers."""
        rows = pl.scan_ipc(_find_part(self.folder, chunk.file)).select([*(columns or self.schema), ROW])
        return rows.slice(chunk.first, chunk.stop - chunk.first).collect()

    def empty_report(self, chunk: RowChunk, format: str) -> Report:
        """Return an empty report of the file."""
        return Report(self.path, format, header_lines=self.header_lines)


def rewrite_table(
    path: Path, folder: Path, report: Report, wanted: tuple[str, ...], layout: Layout, rows: int
) -> TextTableFiles:
    """Read a file once, about `rows` at a time, and write them as they stand; report broken rows."""
    manner, text = TextReadMode(), TextSource(path, layout)
    while True:
        lost = Report(report.path, report.format)
        try:
            made = _rewrite_table_as(text, folder, lost, wanted, rows * BYTES_A_ROW, manner)
        except WrongReadMode as other:
            manner = other.manner
            continue
        report.header_lines = lost.header_lines
        report.rows += lost.dropped_rows
        report.add(lost)
        return made


def _rewrite_table_as(
    text: TextSource, folder: Path, lost: Report, wanted: tuple[str, ...], size: int, manner: TextReadMode
) -> TextTableFiles:
    counts: list[int] = []
    first = pl.DataFrame()
    total, progress = estimate_bytes(text.path), current_progress()
    for raw, _, done in iterate_rows(text, wanted, lost, size, manner):
        progress(min(done, total), total)
        if raw.height:
            first = first if counts else raw.head(FIRST_ROWS)
            part = _find_part(folder, len(counts))
            with name_in_errors(part):
                raw.write_ipc(part, compression="uncompressed")
            counts.append(raw.height)
    lost.refuse_if_nothing_is_left(len(counts))
    schema = {name: kind for name, kind in first.schema.items() if name != ROW}
    times = text.layout.roles(list(schema), wanted)["time"]
    return TextTableFiles(
        str(text.path),
        (text.path,),
        tuple(counts),
        schema,
        ({},),
        text.layout,
        wanted,
        first[times],
        folder=folder,
        header_lines=lost.header_lines,
    )


def _find_part(folder: Path, number: int) -> Path:
    return folder / f"text-{number:06}.arrow"
