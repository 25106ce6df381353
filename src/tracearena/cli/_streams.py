"""How commands work on tables of any size: from files to files, a few users at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tracearena.cli._console import note, working
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._stopping import say_outcome, unhurried
from tracearena.errors import ParameterError
from tracearena.files.atomic import scratch_folder

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.pages.describe import Summary
    from tracearena.streams import Table, Unfinished, Written
    from tracearena.streams.survey import Survey
    from tracearena.streams.transforming import Change
    from tracearena.traces import GpsTraces

    S = TypeVar("S", bound=Survey)
    W = TypeVar("W")

_STREAMED_FROM = 2_000_000
"""Points or events of a table that is not read whole, unless `engine.use` says otherwise."""

PARTS = "partitions"

ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a folder of parts (--to partitions) that was stopped."),
]


Arrange = Callable[["Table[Any]", Any, Path, Any], "Table[Any]"]
"""Makes of a table, what was found in it, a folder and the root of all draws the same in another order."""

Problem = Callable[[ReadingOptions, Path], str | None]
"""Says what keeps a table from being worked on a few users at a time."""


def problem_of_points(reading: ReadingOptions, path: Path) -> str | None:
    """Return what keeps a table of points from being worked on a few users at a time."""
    from tracearena.intake.layout import Layout
    from tracearena.streams import unstreamable

    if reading.format not in (None, "points"):
        return f"is read as {reading.format}"
    return _cut(reading) or unstreamable(path, Layout.parse(**reading.layout()))


def problem_of_events(reading: ReadingOptions, path: Path) -> str | None:
    """Return what keeps a table of events from being worked on a few users at a time."""
    from tracearena.intake.layout import Layout
    from tracearena.streams import unstreamable_events

    if reading.format not in (None, "table", "partitions"):
        return f"is read as {reading.format}"
    if reading.top is not None:
        return "is cut down to the most visited places, which needs all rows at once"
    if reading.grid is not None and reading.bounds is None:
        return "is put on a grid without --bounds, which needs all rows at once"
    if reading.times is not None:
        return "is read with a table of times (--times)"
    if reading.resample is not None:
        return "is resampled (--resample), which only GPS points are"
    needs_places = reading.grid is None and reading.places is None
    return _cut(reading) or unstreamable_events(
        path, Layout.parse(**reading.layout()), needs_places=needs_places
    )


def _cut(reading: ReadingOptions) -> str | None:
    if reading.cuts_local_times or reading.is_split:
        return "is cut by hours or dates, which needs all rows at once"
    return None


def goes_through(
    reading: ReadingOptions,
    path: Path,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: str | None = None,
    resume: bool = False,
    problem_of: Problem = problem_of_points,
    wanted: str = "a CSV or Parquet file of points",
) -> bool:
    """Whether a table is worked on a few users at a time.

    It is if it is large, if that is asked for, or if its folders name a column, which no other reader knows.

    Parameters
    ----------
    problem_of
        Says what keeps a table from it.
    wanted
        What it must be.
    """
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
    problem = problem_of(reading, path)
    if problem is not None:
        if asked:
            raise ParameterError(
                f"{path}: {problem}; {', '.join(asked)} needs {wanted}, or a folder of nothing else, whose "
                "rows can be read some after the others"
            )
        return False
    return bool(asked) or is_large(path)


def is_large(path: Path) -> bool:
    """Whether a table has too many rows to be read whole, or folders that name a column."""
    from tracearena.engine import current_chunk_rows
    from tracearena.streams import are_many, folders_name_columns

    return folders_name_columns(path) or are_many(path, current_chunk_rows(_STREAMED_FROM))


def can_go_through(reading: ReadingOptions, path: Path, out: Path | None, to: str | None) -> bool:
    """Whether a table of points can be worked on a few users at a time, however large it is."""
    return path.exists() and _is_table(out, to) and problem_of_points(reading, path) is None


def _is_table(out: Path | None, to: str | None) -> bool:
    from tracearena.formats.writing import TABLE_NAMES

    return to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))


def are_points(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table that goes through has coordinates and no places."""
    from tracearena import streams
    from tracearena.intake.layout import Layout

    return streams.are_points(path, Layout.parse(**reading.layout()))


def opened(
    reading: ReadingOptions, path: Path, scratch: Path, *, sort: bool = True, is_shared: bool = True
) -> tuple[Table[GpsTraces], Survey]:
    """Look at all rows of a table of points; sort them by user and time, if that is wanted."""
    from tracearena.intake.layout import Layout
    from tracearena.streams import table_of

    reading.refuse_for(is_gps=True)
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

    with scratch_folder() as scratch:
        with working(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = opened(reading, found_by, scratch, is_shared=False)
        found.report.path = str(path)
        with working("counting", None if table.is_in_scratch else cluster):
            return streams.describe(table, found)


def write_changed(
    reading: ReadingOptions,
    path: Path,
    out: Path,
    making: Callable[[Table[Any], Any], Change[Any]],
    *,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    depends_on: tuple[object, ...],
    root: Any = None,
    check: Callable[[Survey], None] | None = None,
    arrange: Arrange | None = None,
    sealed: Callable[[], None] | None = None,
) -> Written:
    """Read a table of points, change every portion and write the result.

    Parameters
    ----------
    making
        Makes of a table, and of the root of all draws, what is done with a portion.
    depends_on
        What the result depends on beside the files: a stopped run goes on with the same alone.
    check
        Refuses what was found in the table, before anything is written.
    arrange
        Gives the users another order, drawn from that root; a folder is there for what is needed meanwhile.
    sealed
        Called when all is written, before a folder of parts gets its name.
    """
    from tracearena import streams

    def writing(table: Table[Any], found: Survey, change: Change[Any], parts: Unfinished | None) -> Written:
        return streams.write_changed(table, found, out, change, unfinished=parts)

    return through(
        path,
        out,
        lambda path, scratch: opened(reading, path, scratch, sort=arrange is None),
        making,
        writing,
        to=to,
        cluster=cluster,
        resume=resume,
        depends_on=depends_on,
        root=root,
        check=check,
        arrange=arrange,
        sealed=sealed,
    )


def through(
    path: Path,
    out: Path,
    opening: Callable[[Path, Path], tuple[Table[Any], S]],
    making: Callable[[Table[Any], Any], Change[Any]],
    writing: Callable[[Table[Any], S, Change[Any], Unfinished | None], W],
    *,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    depends_on: tuple[object, ...],
    root: Any = None,
    check: Callable[[S], None] | None = None,
    arrange: Arrange | None = None,
    sealed: Callable[[], None] | None = None,
    rows: str = "points",
) -> W:
    """Read a table, change every portion and write the result: one file, or parts that a stop leaves.

    Parameters
    ----------
    opening
        Looks at all rows of a path, with a folder for what is needed for the time being.
    writing
        Writes what becomes of all portions.
    rows
        What the rows are.

    See Also
    --------
    write_changed : the same of a table of points, with the other parameters.
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
            table, found = opening(path, scratch)
        if check is not None:
            check(found)
        for line in found.report.lines():
            note(line)
        if not in_parts:
            with working(rows):
                if arrange is not None:
                    table = arrange(table, found, scratch, root)
                written = writing(table, found, making(table, root), None)
            if sealed is not None:
                sealed()
            return written
        parts = streams.Unfinished(out, streams.depends_on(table, *depends_on))
        parts.begin(resume=resume)
        try:
            with unhurried(), working(rows, cluster):
                drawn = parts.root(root, len(table.portions) if arrange is None else None)
                if arrange is not None:
                    table = arrange(table, found, scratch, drawn)
                written = writing(table, found, making(table, drawn), parts)
            if sealed is not None:
                sealed()
        except BaseException as error:
            if isinstance(error, Exception) and not (parts.done or resume):
                parts.discard()
                raise
            done = f"{len(parts.done)} of {len(table.portions)} parts are finished in {parts.folder}"
            say_outcome(f"{done}; the same command with --resume goes on")
            raise
        parts.finish()
        return written


def say_silent(written: Written, out: Path) -> None:
    """Say which users have no row in what was written, and what is odd about the others."""
    if written.silent:
        note(f"{out}: {written.silent:,} users without points have no row in a table")
    if written.same_times:
        note(f"noticed, same time: {written.same_times:,}")
