"""How commands work on tables of points of any size: from files to files, a few users at a time."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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


class Opened(NamedTuple):
    """A table of points whose rows have been looked at, and a folder for what is needed meanwhile."""

    table: Table
    found: Survey
    scratch: Path


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
    from tracearena.streams import are_many, folders_name_columns

    asked = [
        *(["--to partitions"] if to == PARTS else []),
        *(["--cluster"] if cluster is not None else []),
        *(["--resume"] if resume else []),
    ]
    if (resume and to != PARTS) or (cluster is not None and out is not None and to != PARTS):
        raise ParameterError(f"{asked[0]} needs --to partitions: parts that are written one by one")
    if asked and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not path.exists() or not _is_table(out, to):
        return False
    problem = _problem(reading, path)
    if problem is not None:
        if asked:
            raise ParameterError(
                f"{path}: {problem}; {', '.join(asked)} needs a CSV or Parquet file of points, or a folder "
                "of CSV or of Parquet alone, as tracearena convert makes them"
            )
        return False
    return bool(asked) or folders_name_columns(path) or are_many(path, STREAMED_FROM)


def can_go_through(reading: ReadingOptions, path: Path, out: Path | None, to: str | None) -> bool:
    """Whether a table of points can be worked on a few users at a time, however large it is."""
    return path.exists() and _is_table(out, to) and _problem(reading, path) is None


def _is_table(out: Path | None, to: str | None) -> bool:
    from tracearena.formats.writing import TABLE_NAMES

    return to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))


def _problem(reading: ReadingOptions, path: Path) -> str | None:
    """Return what keeps a table from being worked on a few users at a time."""
    from tracearena.intake.layout import Layout
    from tracearena.streams import unstreamable

    if reading.format not in (None, "points"):
        return f"is read as {reading.format}"
    if reading.cuts_local_times or reading.is_split:
        return "is cut by hours or dates, which needs all rows at once"
    return unstreamable(path, Layout.parse(**reading.layout()))


def are_points(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table that goes through has coordinates and no places."""
    from tracearena import streams
    from tracearena.intake.layout import Layout

    return streams.are_points(path, Layout.parse(**reading.layout()))


def opened(
    reading: ReadingOptions, path: Path, scratch: Path, *, sort: bool = True, is_shared: bool = True
) -> tuple[Table, Survey]:
    """Look at all rows of a table; sort them by user and time, if that is wanted."""
    from tracearena.intake.layout import Layout
    from tracearena.streams import table_of

    return table_of(
        path,
        scratch,
        layout=Layout.parse(**reading.layout()),
        timezone=reading.timezone,
        box=reading.choices().bounds,
        sort=sort,
        is_shared=is_shared,
    )


def describe(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of points."""
    from tracearena import streams

    with tempfile.TemporaryDirectory(prefix="tracearena-") as scratch:
        with working(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = opened(reading, found_by, Path(scratch), is_shared=False)
        with working("counting", None if table.is_in_scratch else cluster):
            return streams.describe(table, found)


def write_changed(
    reading: ReadingOptions,
    path: Path,
    out: Path,
    making: Callable[[Opened, Any], tuple[Table, Change]],
    *,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    depends_on: tuple[object, ...],
    root: Any = None,
    check: Callable[[Survey], None] | None = None,
    sort: bool = True,
    sealed: Callable[[], None] | None = None,
) -> Written:
    """Read a table of points, change every portion and write the result.

    Parameters
    ----------
    making
        Makes of a table, and of the root of all draws, what is written: portions, and what is done with each.
    depends_on
        What the result depends on beside the files: a stopped run goes on with the same alone.
    check
        Refuses what was found in the table, before anything is written.
    sort
        Leave it out where `making` gives the users another order.
    sealed
        Called when all is written, before a folder of parts gets its name.
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
            given = Opened(*opened(reading, path, scratch, sort=sort), scratch)
        table, found, _ = given
        if check is not None:
            check(found)
        for line in found.report.lines():
            note(line)
        if not in_parts:
            with working("points"):
                arranged, change = making(given, root)
                written = streams.write_changed(arranged, found, out, change)
            if sealed is not None:
                sealed()
            return written
        parts = streams.Unfinished(out, streams.depends_on(table, *depends_on))
        parts.begin(resume=resume)
        try:
            with unhurried(), working("points", cluster):
                table, change = making(given, parts.root(root, len(table.portions) if sort else None))
                written = streams.write_changed(table, found, out, change, unfinished=parts)
            if sealed is not None:
                sealed()
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
