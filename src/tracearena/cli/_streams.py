"""How commands work on tables of points of any size: from files to files, a few users at a time."""

from __future__ import annotations

import errno
import os
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
    """Whether a table of points is worked on a few users at a time.

    It is if it is large, if that is asked for, or if its folders name a column, which no other reader knows.
    """
    from tracearena.formats.writing import TABLE_NAMES
    from tracearena.intake.layout import Layout
    from tracearena.streams import are_many, folders_name_columns, unstreamable

    asked = [
        *(["--to partitions"] if to == PARTS else []),
        *(["--cluster"] if cluster is not None else []),
        *(["--resume"] if resume else []),
    ]
    is_table = (
        to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))
    )
    if (resume and to != PARTS) or (cluster is not None and out is not None and to != PARTS):
        raise ParameterError(f"{asked[0]} needs --to partitions: parts that are written one by one")
    if asked and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not path.exists() or not is_table:
        return False
    layout = Layout.parse(**reading.layout())
    problem = (
        f"is read as {reading.format}"
        if reading.format not in (None, "points")
        else "is cut by hours or dates, which needs all rows at once"
        if reading.cuts_local_times or reading.is_split
        else unstreamable(path, layout)
    )
    if problem is not None:
        if asked:
            raise ParameterError(
                f"{path}: {problem}; {', '.join(asked)} needs a Parquet file of points, or a folder of them, "
                "as tracearena convert makes them"
            )
        return False
    return bool(asked) or folders_name_columns(path) or are_many(path, STREAMED_FROM)


def are_points(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table has coordinates and no places, by its columns."""
    from tracearena.intake.columns import are_points as are_columns_of_points
    from tracearena.intake.layout import Layout
    from tracearena.streams.parquet_parts import columns_of

    return are_columns_of_points(Layout.parse(**reading.layout()).roles(columns_of(path)))


def _opened(
    reading: ReadingOptions, path: Path, scratch: Path, *, is_shared: bool = True
) -> tuple[Table, Survey]:
    from tracearena.intake.layout import Layout
    from tracearena.streams import table_of

    return table_of(
        path,
        scratch,
        layout=Layout.parse(**reading.layout()),
        timezone=reading.timezone,
        box=reading.choices().bounds,
        is_shared=is_shared,
    )


def describe(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of points."""
    from tracearena import streams

    with tempfile.TemporaryDirectory(prefix="tracearena-") as scratch:
        with working(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = _opened(reading, found_by, Path(scratch), is_shared=False)
        with working("counting", cluster if found.is_sorted else None):
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
    if cluster is not None:  # workers may have been started elsewhere
        path, out = path.resolve(), out.resolve()
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
                change = making(table, parts.root(root, len(table.portions)))
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
