"""Events in a CSV or Parquet file, under the column names people use.

One row an event: a user, a time, and a place or coordinates or both (`intake.columns` has the names).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tracearena.files.io import replacing
from tracearena.intake.checkins import CheckIns, check_ins
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import traces_of
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Reading, Report
from tracearena.intake.tables import by_role, rows_of_file
from tracearena.traces import Places, Traces

if TYPE_CHECKING:
    from tracearena.intake.sampling import Sample


def read(
    path: str | PathLike[str],
    *,
    choices: Choices | None = None,
    places: Places | None = None,
    format: str = "table",
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[Traces]:
    """Read a Parquet file or a folder of them, or a CSV file (comma, semicolon or tab; packed or not)."""
    report = Report(str(path), format)
    raw = rows_of_file(path, report, layout=layout, sample=sample)
    return events_of(raw, report, choices or Choices(), places, layout)


def events_of(
    raw: pl.DataFrame,
    report: Report,
    choices: Choices,
    places: Places | None = None,
    layout: Layout = AS_NAMED,
) -> Reading[Traces]:
    """Make traces of rows."""
    checkins = check_ins_of(raw, report, choices, places, layout)
    return Reading(traces_of(checkins, report, choices, places=places), report)


def check_ins_of(
    raw: pl.DataFrame,
    report: Report,
    choices: Choices,
    places: Places | None = None,
    layout: Layout = AS_NAMED,
) -> CheckIns:
    """Turn rows under any of the known names into check-ins, without places and instants."""
    frame, names = by_role(raw, report, layout=layout)
    report.rows = report.rows or frame.height
    report.refuse_if_nothing_is_left(frame.height)
    return check_ins(frame, report, choices, places, layout=layout, names=names)


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write Parquet where the name ends so, and CSV (packed with ``.gz``) otherwise."""
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            traces.to_frame().write_parquet(out)
        else:
            out.write(text(traces).encode())


def text(traces: Traces, has_header: bool = True) -> str:
    """Return events as CSV."""
    style = "%Y-%m-%dT%H:%M:%S" if traces.timestamps is None else "%Y-%m-%dT%H:%M:%SZ"
    made: str = traces.to_frame().write_csv(datetime_format=style, include_header=has_header)
    return made
