"""Tables of any size: which are worked on a few users at a time, and how one becomes another."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tracearena.engine import Cluster, check_resume, current_chunk_rows
from tracearena.errors import ParameterError
from tracearena.io import Input, write
from tracearena.io.discretisation import ODDITIES
from tracearena.io.formats.recognition import FORMAT_TABLE
from tracearena.io.large import (
    EventFirstPass,
    PartsCheckpoint,
    UserChunkTable,
    find_events_obstacle,
    find_points_obstacle,
    has_many_rows,
    has_partition_columns,
    open_event_chunks,
    open_point_chunks,
)
from tracearena.io.large.checkpoint import make_scratch_folder
from tracearena.io.large.first_pass import FirstPass
from tracearena.io.places import read_places
from tracearena.io.report import Report
from tracearena.io.writers import TABLE_NAMES, guess_format_by_name
from tracearena.jobs.feedback import delay_stop, note, show_progress, show_unsaved_progress, tell_outcome
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions, note_problems
from tracearena.jobs.transformation import Change, WriteSummary, digest_inputs, write_changed_points
from tracearena.traces import GpsTraces, Traces

S = TypeVar("S", bound="FirstPass")
W = TypeVar("W")

_MIN_CHUNKED_ROWS = 2_000_000
"""Points or events of a table that is not read whole, unless `engine.use` says otherwise."""

PARTS = "partitions"
CHUNKED = {
    kind: [name for name, row in FORMAT_TABLE.items() if row.in_chunks and row.holds == kind]
    for kind in ("events", "points")
}
"""Formats of events and of points whose tables are read in chunks."""
_CUT = "is cut by hours or dates, which needs all rows at once"

Arrange = Callable[["UserChunkTable[Any]", Any, Path, Any], "UserChunkTable[Any]"]
"""Reorders the users of a table, given what was found in it, a folder and the root of all draws."""

Problem = Callable[[ReadingOptions, "Input"], str | None]
"""Says what keeps a table from being worked on a few users at a time."""


def find_points_problem(reading: ReadingOptions, source: Input) -> str | None:
    """Return what keeps a table of points from being worked on a few users at a time."""
    if source.asked_format not in (None, *CHUNKED["points"]):
        return f"is read as {source.asked_format}"
    return _CUT if reading.cuts_rows else find_points_obstacle(source)


def find_events_problem(reading: ReadingOptions, source: Input) -> str | None:
    """Return what keeps a table of events from being worked on a few users at a time."""
    if source.asked_format not in (None, *CHUNKED["events"]):
        return f"is read as {source.asked_format}"
    if reading.top is not None:
        return "is cut down to the most visited places, which needs all rows at once"
    if reading.grid is not None and reading.bounds is None:
        return "is put on a grid without --bounds, which needs all rows at once"
    if reading.times is not None:
        return "is read with a table of times (--times)"
    if reading.resample is not None:
        return "is resampled (--resample), which only GPS points are"
    if reading.cuts_rows:
        return _CUT
    return find_events_obstacle(source, needs_places=reading.grid is None and reading.places is None)


def is_processed_in_chunks(
    reading: ReadingOptions,
    source: Input,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: Cluster | str | None = None,
    resume: bool = False,
    problem_of: Problem = find_points_problem,
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
    if asked and not source.path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    if not source.path.exists() or not _is_table_output(out, to):
        return False
    problem = problem_of(reading, source)
    if problem is not None:
        if asked:
            raise ParameterError(
                f"{source}: {problem}; {', '.join(asked)} needs {wanted}, or a folder of nothing else, whose "
                "rows can be read some after the others"
            )
        return False
    return bool(asked) or is_large(source)


def is_large(source: Input) -> bool:
    """Whether a table has too many rows to be read whole, or folders that name a column."""
    return has_partition_columns(source) or has_many_rows(source, current_chunk_rows(_MIN_CHUNKED_ROWS))


def can_process_points_in_chunks(
    reading: ReadingOptions, source: Input, out: Path | None, to: str | None
) -> bool:
    """Whether a table of points can be worked on a few users at a time, however large it is."""
    return source.path.exists() and _is_table_output(out, to) and find_points_problem(reading, source) is None


def _is_table_output(out: Path | None, to: str | None) -> bool:
    return to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))


def open_point_table(
    reading: ReadingOptions, source: Input, scratch: Path, *, sort: bool = True, is_shared: bool = True
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Look at all rows of a table of points; sort them by user and time, if that is wanted."""
    reading.refuse_for(is_gps=True)
    return open_point_chunks(
        source,
        scratch,
        layout=source.layout,
        timezone=reading.timezone,
        box=reading.choices().bounds,
        sort=sort,
        is_shared=is_shared,
    )


def transform_point_table(
    reading: ReadingOptions,
    source: Input,
    out: Path,
    making: Callable[[UserChunkTable[Any], Any], Change[Any]],
    *,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    depends_on: tuple[object, ...],
    root: Any = None,
    check: Callable[[FirstPass], None] | None = None,
    arrange: Arrange | None = None,
    sealed: Callable[[], None] | None = None,
) -> WriteSummary:
    """Read a table of points, change every chunk of users and write the result.

    Parameters
    ----------
    making
        Makes, from a table and the root of all draws, the change of a chunk.
    depends_on
        What the result depends on besides the files: a stopped run is resumed with the same only.
    check
        Refuses what was found in the table, before anything is written.
    arrange
        Gives the users another order, drawn from that root; gets a folder for temporary files.
    sealed
        Called when all is written, before a folder of parts gets its name.
    """

    def writing(
        table: UserChunkTable[Any], found: FirstPass, change: Change[Any], parts: PartsCheckpoint | None
    ) -> WriteSummary:
        return write_changed_points(table, found, out, change, unfinished=parts)

    return transform_table(
        source,
        out,
        lambda source, scratch: open_point_table(reading, source, scratch, sort=arrange is None),
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


def transform_table(
    source: Input,
    out: Path,
    opening: Callable[[Input, Path], tuple[UserChunkTable[Any], S]],
    making: Callable[[UserChunkTable[Any], Any], Change[Any]],
    writing: Callable[[UserChunkTable[Any], S, Change[Any], PartsCheckpoint | None], W],
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
    """Read a table, change every chunk of users and write one file, or parts that outlast an interruption.

    Parameters
    ----------
    opening
        Looks at all rows of an input, with a folder for temporary files.
    writing
        Writes what becomes of all chunks.
    rows
        What the rows are.

    See Also
    --------
    transform_point_table : the same for a table of points, with the other parameters.
    """
    in_parts = to == PARTS
    if cluster is not None:  # workers may have been started elsewhere
        source, out = source.resolve(), out.resolve()
    if in_parts:
        check_resume(out, resume=resume)
    with make_scratch_folder(out) as scratch:
        with show_progress(f"reading {source.path.name}", cluster):
            table, found = opening(source, scratch)
        if check is not None:
            check(found)
        note_problems(found)
        if not in_parts:
            with show_progress(rows):
                if arrange is not None:
                    table = arrange(table, found, scratch, root)
                written = writing(table, found, making(table, root), None)
            if sealed is not None:
                sealed()
            return written
        parts = PartsCheckpoint(out, digest_inputs(table, *depends_on))
        parts.begin(resume=resume)
        try:
            with delay_stop(), show_progress(rows, cluster):
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
            tell_outcome(f"{done}; the same command with --resume goes on")
            raise
        parts.finish()
        return written


def note_users_without_rows(written: WriteSummary, out: Path) -> None:
    """Say which users have no row in what was written, and what is odd about the others."""
    if written.silent:
        note(f"{out}: {written.silent:,} users without points have no row in a table")
    if written.same_times:
        note(f"noticed, same time: {written.same_times:,}")


USERS_PER_PART = 1024
"""Parts of events have a multiple of this many users, and at least as many: training reads whole blocks."""


def is_event_table(reading: ReadingOptions, source: Input) -> bool:
    """Whether a table is one of events that can be worked on a few users at a time, however large it is."""
    return source.path.exists() and find_events_problem(reading, source) is None


def are_events_processed_in_chunks(
    reading: ReadingOptions,
    source: Input,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: Cluster | str | None = None,
    resume: bool = False,
) -> bool:
    """Whether a table of events is worked on a few users at a time: see `is_processed_in_chunks`."""
    return is_processed_in_chunks(
        reading,
        source,
        out,
        to,
        cluster=cluster,
        resume=resume,
        problem_of=find_events_problem,
        wanted="a CSV or Parquet file of events",
    )


def open_event_table(
    reading: ReadingOptions, source: Input, scratch: Path, **how: Any
) -> tuple[UserChunkTable[Traces], EventFirstPass]:
    """Look at all rows of a table of events."""
    return open_event_chunks(
        source,
        scratch,
        layout=source.layout,
        choices=reading.choices(),
        places=None if reading.places is None else read_places(reading.places),
        **how,
    )


def is_release_processed_in_chunks(
    reading: ReadingOptions, source: Input, out: Path, to: str | None, **how: Any
) -> bool:
    """Whether a table of released traces is worked on a few users at a time: see `is_processed_in_chunks`."""

    def find_problem(reading: ReadingOptions, source: Input) -> str | None:
        if reading.times is not None:
            return "is read with a table of times (--times)"
        return None if source.is_chunked_release else "is no table of released traces in Parquet"

    return is_processed_in_chunks(
        reading,
        source,
        out,
        to,
        problem_of=find_problem,
        wanted="a Parquet file of released traces",
        **how,
    )


def transform_event_table(
    reading: ReadingOptions,
    source: Input,
    out: Path,
    making: Callable[[UserChunkTable[Traces], Any], Change[Traces]],
    write: Callable[..., dict[str, int]],
    *,
    users: int = 1,
    **how: Any,
) -> tuple[EventFirstPass, dict[str, int]]:
    """Change every chunk of a table and write the result; return what was found and counted."""

    def writing(
        table: UserChunkTable[Traces],
        found: EventFirstPass,
        change: Change[Traces],
        parts: PartsCheckpoint | None,
    ) -> tuple[EventFirstPass, dict[str, int]]:
        return found, write(table, out, change, unfinished=parts)

    def opening(source: Input, scratch: Path) -> tuple[UserChunkTable[Traces], EventFirstPass]:
        return open_event_table(reading, source, scratch, sort=how.get("arrange") is None, users=users)

    found, counts = transform_table(source, out, opening, making, writing, rows="events", **how)
    for reason in ODDITIES:
        if counts.get(reason):
            found.report.notice(reason, counts[reason])
            note(f"noticed, {reason}: {counts[reason]:,}")
    return found, counts


def read_gps_traces(reading: ReadingOptions, path: Path | Input, what: str = "GPS points") -> GpsTraces:
    """Read GPS traces, and the coordinates of events too; refuse to put them at places."""
    refuse_places(reading, what)
    source = reading.open(path)
    with show_unsaved_progress(f"reading {source.path.name}"):
        return reading.read_points(source).traces


def refuse_places(reading: ReadingOptions, what: str) -> None:
    """Refuse options that would put points at places."""
    refuse_options(
        f"{what}, which stay at no places",
        **{name: getattr(reading, name) for name in EVENTS_ONLY},
    )


def write_gps_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or guess_format_by_name(out, "points")) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


def refuse_useless_zone(reading: ReadingOptions, report: Report) -> None:
    """Refuse a zone where all times name theirs and nothing needs local ones."""
    if reading.timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file name their zone"
        raise ParameterError(f"--timezone does not apply: {why}")
