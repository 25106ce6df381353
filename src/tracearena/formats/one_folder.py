"""A folder becomes traces: one of a format that has folders, or the files in it one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.errors import FileError
from tracearena.formats import recognition
from tracearena.formats.look import Look
from tracearena.formats.one_file import LAYOUTS, Request, as_chosen, known_places, read_file, read_rows
from tracearena.formats.recognition import EITHER
from tracearena.intake.choices import Choices
from tracearena.intake.layout import Layout
from tracearena.intake.report import Reading, Report
from tracearena.intake.tables import by_role, rows_of_file
from tracearena.traces import GpsTraces, Traces

if TYPE_CHECKING:
    import polars as pl


def read_folder(folder: Path, name: str, format: str | None, request: Request) -> Reading[Traces | GpsTraces]:
    """Read the files of a folder: those of the format if one is named, or else all that hold GPS points."""
    from tracearena.formats import bundles
    from tracearena.formats.folder_files import owners_of

    are_points = recognition.is_gps(folder, format, request.layout)

    def fits(look: Look) -> bool:
        return recognition.holds_points(look) if are_points and format is None else name in look.formats

    files, others = bundles.sorted_out(
        folder, fits, lambda file: recognition.look_at_one(file, request.layout)
    )
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    owners = owners_of(list(files))

    def laid_out(file: Path) -> Layout:
        layout = files[file][1]
        is_told = layout.one_user == request.layout.one_user
        return layout if is_told else replace(layout, one_user=owners[file])

    def read_one(file: Path, wanted: Request) -> Reading[Traces | GpsTraces]:
        known = replace(wanted, layout=laid_out(file), owner=owners[file])
        return read_file(file, format or files[file][0].formats[0], known)

    if len(files) == 1:
        reading = read_one(next(iter(files)), request)
    elif are_points:
        choices = Choices(timezone=request.choices.timezone)
        plain = replace(request, choices=choices, resample=None, places=None)
        made = bundles.joined(folder, list(files), name, lambda file: read_one(file, plain).as_points())
        made.report.strict = request.strict
        reading = as_chosen(made, request.choices, request.resample, known_places(request.places))
    elif name in ("table", *EITHER):
        report = Report(str(folder), name, header_lines=None)
        parts = [_rows_of_events(file, name, report, laid_out(file), owners[file]) for file in files]
        plain = replace(request, layout=replace(request.layout, columns={}, header=True, one_user=None))
        reading = read_rows(bundles.one_table(parts), "table", report, plain)
    else:
        shown = ", ".join(str(file.relative_to(folder)) for file in list(files)[:5])
        problem = f"holds {len(files):,} files of format {name}, of which one can be read at a time: {shown}"
        raise FileError.whole(folder, problem, "several-files")
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def read_whole(folder: Path, name: str, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a folder of a format that has folders; traces beside it are left out by name."""
    from tracearena.formats import bundles

    others = [
        (file, bundles.left_out(look))
        for file, look in recognition.traces_beside(folder, name, request.layout)
    ]
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    reading = read_file(folder, name, request)
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def _rows_of_events(file: Path, name: str, report: Report, layout: Layout, owner: str) -> pl.DataFrame:
    """Return the rows of one of several tables of events, under the names of their roles."""
    from tracearena.formats import row_formats

    layout.refuse_all_but(LAYOUTS[name], file, f"files of format {name}")
    found = Report(str(file), name)
    if name == "table":
        rows = rows_of_file(file, found, layout=layout)
    else:
        rows, layout = row_formats.rows(file, name, found, layout, owner)
    given = by_role(rows, found, layout=layout)[0]
    report.add(found)
    return given
