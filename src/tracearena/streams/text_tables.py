"""A text file of rows as they stand: rewritten once, to be read in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracearena.engine import current_progress
from tracearena.files.atomic import naming
from tracearena.intake.layout import Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW
from tracearena.intake.text_pieces import estimated_bytes
from tracearena.intake.text_rows import BYTES_A_ROW, FIRST_ROWS, Manner, Otherwise, Text, rows_of
from tracearena.streams.table_files import Chunk, TableFiles


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

    def chunks(self, size: int | None = None) -> list[Chunk]:
        """Return the chunks in which the file was rewritten."""
        return [Chunk(number, 0, count) for number, count in enumerate(self.rows)]

    def read(self, chunk: Chunk, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows as they stand in the file, with their numbers."""
        rows = pl.scan_ipc(_part(self.folder, chunk.file)).select([*(columns or self.schema), ROW])
        return rows.slice(chunk.first, chunk.stop - chunk.first).collect()

    def empty_report(self, chunk: Chunk, format: str) -> Report:
        """Return an empty report of the file."""
        return Report(self.path, format, header_lines=self.header_lines)


def rewritten(
    path: Path, folder: Path, report: Report, wanted: tuple[str, ...], layout: Layout, rows: int
) -> TextTableFiles:
    """Read a file once, about so many rows at a time, and write them as they stand.

    `report` is told of rows that cannot be told apart.
    """
    manner, text = Manner(), Text(path, layout)
    while True:
        lost = Report(report.path, report.format)
        try:
            made = _rewritten(text, folder, lost, wanted, rows * BYTES_A_ROW, manner)
        except Otherwise as other:
            manner = other.manner
            continue
        report.header_lines = lost.header_lines
        report.rows += lost.dropped_rows
        report.add(lost)
        return made


def _rewritten(
    text: Text, folder: Path, lost: Report, wanted: tuple[str, ...], size: int, manner: Manner
) -> TextTableFiles:
    counts: list[int] = []
    first = pl.DataFrame()
    total, progress = estimated_bytes(text.path), current_progress()
    for raw, _, done in rows_of(text, wanted, lost, size, manner):
        progress(min(done, total), total)
        if raw.height:
            first = first if counts else raw.head(FIRST_ROWS)
            part = _part(folder, len(counts))
            with naming(part):
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


def _part(folder: Path, number: int) -> Path:
    return folder / f"text-{number:06}.arrow"
