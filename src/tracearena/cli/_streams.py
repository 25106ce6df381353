"""How commands work on tables of points of any size: from files to files, a few users at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import note, working
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._stopping import unhurried
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.pages.summary import Summary
    from tracearena.streams import Table, Written
    from tracearena.streams.survey import Survey
    from tracearena.streams.transforming import Change

STREAMED_FROM = 2_000_000
"""Points of a table that is not read whole."""

PARTS = "partitions"

ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a folder of parts (--to partitions) that was stopped."),
]


def goes_through(
    reading: ReadingOptions,
    path: Path,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: str | None = None,
    resume: bool = False,
) -> bool:
    """Whether a table of points is worked on a few users at a time: it is large, or that is asked for."""
    from tracearena.formats.writing import TABLE_NAMES
    from tracearena.intake.layout import Layout
    from tracearena.streams import are_many, is_streamable

    asked = [
        *(["--to partitions"] if to == PARTS else []),
        *(["--cluster"] if cluster is not None else []),
        *(["--resume"] if resume else []),
    ]
    is_table = (
        to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))
    )
    plain = reading.format in (None, "points") and not reading.cuts_local_times and not reading.is_split
    layout = Layout.parse(**reading.layout())
    if not (is_table and plain and path.exists() and is_streamable(path, layout)):
        if asked:
            raise ParameterError(
                f"{path}: {', '.join(asked)} needs a Parquet file of points, or a folder of them, and all "
                "its hours and dates; tracearena convert makes one"
            )
        return False
    if out is not None and to != PARTS and (cluster is not None or resume):
        raise ParameterError(f"{asked[0]} needs --to partitions: parts that are written one by one")
    return bool(asked) or are_many(path, STREAMED_FROM)


def are_points(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table has coordinates and no places, by its columns."""
    from tracearena.intake.columns import are_points as are_columns_of_points
    from tracearena.intake.layout import Layout
    from tracearena.streams.parquet_parts import columns_of

    return are_columns_of_points(Layout.parse(**reading.layout()).roles(columns_of(path)))


def _opened(reading: ReadingOptions, path: Path, scratch: Path) -> tuple[Table, Survey]:
    from tracearena.intake.layout import Layout
    from tracearena.streams import table_of

    return table_of(
        path,
        scratch,
        layout=Layout.parse(**reading.layout()),
        timezone=reading.timezone,
        box=reading.choices().bounds,
    )


def describe(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of points."""
    from tracearena import streams

    with tempfile.TemporaryDirectory(prefix="tracearena-") as scratch:
        with working(f"reading {path.name}", cluster):
            table, found = _opened(reading, path, Path(scratch))
        with working("counting", cluster):
            return streams.describe(table, found)


def write_changed(
    reading: ReadingOptions,
    path: Path,
    out: Path,
    making: Callable[[Table, Any], Change],
    *,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    depends_on: tuple[object, ...],
    root: Any = None,
) -> Written:
    """Read a table of points, change every portion and write the result.

    Parameters
    ----------
    making
        Makes of a table, and of the root of all draws, what is done with a portion.
    depends_on
        What the result depends on beside the files: a stopped run goes on with the same alone.
    """
    from tracearena import streams
    from tracearena.streams.unfinished import refuse_unfinished, scratch_beside

    in_parts = to == PARTS
    if in_parts:
        refuse_unfinished(out, resume=resume)
    with scratch_beside(out) as scratch:
        with working(f"reading {path.name}", cluster):
            table, found = _opened(reading, path, scratch)
        for line in found.report.lines():
            note(line)
        if not in_parts:
            with working("points"):
                return streams.write_changed(table, found, out, making(table, root))
        parts = streams.Unfinished(out, streams.depends_on(table, *depends_on))
        parts.begin(resume=resume)
        try:
            with unhurried(), working("points", cluster):
                change = making(table, parts.root(root))
                written = streams.write_changed(table, found, out, change, unfinished=parts)
        except BaseException:
            done = f"{len(parts.done)} of {len(table.portions)} parts are finished in {parts.folder}"
            note(f"{done}; the same command with --resume goes on")
            raise
        parts.finish()
        return written


def say_silent(written: Written, out: Path) -> None:
    """Say which users have no row in what was written, and what is odd about the others."""
    if written.silent:
        note(f"{out}: {written.silent:,} users without points have no row in a table")
    if written.same_times:
        note(f"noticed, same time: {written.same_times:,}")
