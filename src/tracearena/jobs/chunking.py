"""Tables of any size: decide whether to process them in chunks of users, and do so."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, Unpack

from tracearena.engine import Cluster, check_resume, current_chunk_rows
from tracearena.errors import ParameterError
from tracearena.io import Input, write
from tracearena.io.discretisation import ODDITIES
from tracearena.io.formats.recognition import FORMAT_TABLE
from tracearena.io.large import (
    ChunkOptions,
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
from tracearena.jobs.feedback import (
    delay_stop,
    join_cluster,
    note,
    show_progress,
    show_unsaved_progress,
    tell_outcome,
)
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import EVENTS_ONLY, ReadingOptions, note_problems
from tracearena.jobs.transformation import Change, WriteSummary, digest_inputs, write_changed_points
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.row_table import RowTable

T = TypeVar("T", bound=RowTable)
W = TypeVar("W")

_MIN_CHUNKED_ROWS = 2_000_000
"""Points or events of a table that is not read whole, unless `engine.use` says otherwise."""

PARTS = "partitions"
CHUNKED = {
    kind: [name for name, row in FORMAT_TABLE.items() if row.in_chunks and row.holds == kind]
    for kind in ("events", "points")
}
"""Formats of events and of points whose tables are read in chunks."""
_CUT = "is filtered by hours or dates, which needs all rows at once"


@dataclass(frozen=True)
class TableOutput:
    """Where a job writes a table, as what, and whether a cluster and an interrupted run take part.

    Attributes
    ----------
    path
        A file, or the folder of parts that ``partitions`` are.
    to
        The format as it was asked for; by the name of the path if omitted.
    cluster
        A Dask cluster, or the address of one.
    resume
        Resume a folder of parts that was interrupted.
    """

    path: Path
    to: str | None = None
    cluster: Cluster | str | None = None
    resume: bool = False

    @property
    def in_parts(self) -> bool:
        """Whether a folder of parts is written."""
        return self.to == PARTS

    @property
    def is_table(self) -> bool:
        """Whether a table is written: a folder of parts, CSV or Parquet."""
        is_named = self.to in (None, "points", "table") and str(self.path).endswith(TABLE_NAMES)
        return self.in_parts or is_named


@dataclass(frozen=True)
class TableKind(Generic[T]):
    """A kind of tables that can be worked on a few users at a time: of points, of events, of releases.

    Attributes
    ----------
    rows
        What the rows are called while they are written.
    wanted
        What a table of this kind is, in words.
    find_problem
        Says what keeps an input from being one, given how it is read.
    open
        Looks at all rows of an input, given how it is read and a folder for temporary files.
    """

    rows: str
    wanted: str
    find_problem: Callable[[ReadingOptions, Input], str | None]
    open: Callable[..., tuple[UserChunkTable[T], Any]]


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
        return "is restricted to the most visited places, which needs all rows at once"
    if reading.grid is not None and reading.bounds is None:
        return "is put on a grid without --bounds, which needs all rows at once"
    if reading.times is not None:
        return "is read with a table of times (--times)"
    if reading.resample is not None:
        return "is resampled (--resample), which is only for GPS points"
    if reading.cuts_rows:
        return _CUT
    return find_events_obstacle(source, needs_places=reading.grid is None and reading.places is None)


def is_processed_in_chunks(
    kind: TableKind[Any],
    reading: ReadingOptions,
    source: Input,
    output: TableOutput | None = None,
    *,
    cluster: Cluster | str | None = None,
) -> bool:
    """Whether a table is worked on a few users at a time.

    It is if it is large, if that is asked for, or if its folders name a column, which no other reader knows.

    Parameters
    ----------
    output
        What is made of the table, if anything is written.
    cluster
        Where nothing is written, the cluster that reads it.
    """
    asked = ["--cluster"] if cluster is not None else []
    if output is not None:
        given = {
            "to partitions": output.in_parts,
            "cluster": output.cluster is not None,
            "resume": output.resume,
        }
        asked = [f"--{name}" for name, is_asked in given.items() if is_asked]
        if asked and not output.in_parts:
            raise ParameterError(f"{asked[0]} needs --to partitions, whose files are written one by one")
    if asked and not source.path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    if not source.path.exists() or not (output is None or output.is_table):
        return False
    problem = kind.find_problem(reading, source)
    if problem is not None:
        if asked:
            raise ParameterError(
                f"{source}: {problem}; {', '.join(asked)} needs {kind.wanted}, or a folder of such "
                "files, which can be read in chunks"
            )
        return False
    return bool(asked) or is_large(source)


def can_be_processed_in_chunks(kind: TableKind[Any], reading: ReadingOptions, source: Input) -> bool:
    """Whether an input is a table that can be worked on a few users at a time, however large it is."""
    return source.path.exists() and kind.find_problem(reading, source) is None


def is_large(source: Input) -> bool:
    """Whether a table has too many rows to be read whole, or folders that name a column."""
    return has_partition_columns(source) or has_many_rows(source, current_chunk_rows(_MIN_CHUNKED_ROWS))


def open_point_table(
    reading: ReadingOptions, source: Input, scratch: Path, **how: Unpack[ChunkOptions]
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Look at all rows of a table of points."""
    reading.refuse_for(is_gps=True)
    return open_point_chunks(source, scratch, choices=reading.choices(), **how)


USERS_PER_PART = 1024
"""Parts of events have a multiple of this many users, and at least as many: training reads whole blocks."""


def open_event_table(
    reading: ReadingOptions, source: Input, scratch: Path, **how: Unpack[ChunkOptions]
) -> tuple[UserChunkTable[Traces], EventFirstPass]:
    """Look at all rows of a table of events."""
    places = None if reading.places is None else read_places(reading.places)
    return open_event_chunks(source, scratch, choices=reading.choices(), places=places, **how)


POINTS = TableKind("points", "a CSV or Parquet file of points", find_points_problem, open_point_table)
EVENTS = TableKind("events", "a CSV or Parquet file of events", find_events_problem, open_event_table)


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """What a job makes of a table, a few users at a time.

    Attributes
    ----------
    build_change
        Makes, from a table and the root of all draws, the change of a chunk.
    depends_on
        What the result depends on besides the files: a stopped run is resumed with the same only.
    root
        The root of all draws, if there are any.
    check
        Refuses what was found in the table, before anything is written.
    arrange
        Gives the users another order, from the table, what was found in it, a folder for temporary files and
        the root of all draws.
    sealed
        Called when all is written, before a folder of parts gets its name.
    users
        Every part but the last has a multiple of this many users.
    """

    build_change: Callable[[UserChunkTable[Any], Any], Change[Any]]
    depends_on: tuple[object, ...]
    root: Any = None
    check: Callable[[Any], None] | None = None
    arrange: Callable[[UserChunkTable[Any], Any, Path, Any], UserChunkTable[Any]] | None = None
    sealed: Callable[[], None] | None = None
    users: int = 1


def transform_table(
    kind: TableKind[Any],
    reading: ReadingOptions,
    source: Input,
    output: TableOutput,
    job: Transformation,
    write: Callable[[UserChunkTable[Any], Any, Path, Change[Any], PartsCheckpoint | None], W],
) -> W:
    """Read a table, change every chunk of users and write one file, or parts that outlast an interruption.

    Parameters
    ----------
    write
        Writes what becomes of all chunks, given the table, what was found in it, where it goes, the change of
        a chunk, and the parts if there are several.
    """
    with join_cluster(output.cluster) as cluster:
        out = output.path
        if cluster is not None:  # workers may have been started elsewhere
            source, out = source.resolve(), out.resolve()
        if output.in_parts:
            check_resume(out, resume=output.resume)
        with make_scratch_folder(out) as scratch:
            with show_progress(f"reading {source.path.name}", cluster):
                table, found = kind.open(reading, source, scratch, sort=job.arrange is None, users=job.users)
            if job.check is not None:
                job.check(found)
            note_problems(found)

            def arrange_and_write(root: Any, parts: PartsCheckpoint | None) -> W:
                arranged = table if job.arrange is None else job.arrange(table, found, scratch, root)
                return write(arranged, found, out, job.build_change(arranged, root), parts)

            if not output.in_parts:
                with show_progress(kind.rows):
                    written = arrange_and_write(job.root, None)
                if job.sealed is not None:
                    job.sealed()
                return written
            parts = PartsCheckpoint(out, digest_inputs(table, *job.depends_on))
            parts.begin(resume=output.resume)
            try:
                with delay_stop(), show_progress(kind.rows, cluster):
                    root = parts.root(job.root, len(table.portions) if job.arrange is None else None)
                    written = arrange_and_write(root, parts)
                if job.sealed is not None:
                    job.sealed()
            except BaseException as error:
                if isinstance(error, Exception) and not (parts.done or output.resume):
                    parts.discard()
                    raise
                done = f"{len(parts.done)} of {len(table.portions)} parts are finished in {parts.folder}"
                tell_outcome(f"{done}; to continue, run the same command with --resume")
                raise
            parts.finish()
            return written


def transform_point_table(
    reading: ReadingOptions, source: Input, output: TableOutput, job: Transformation
) -> WriteSummary:
    """Change every chunk of a table of points and write the result; say which users have no row in it."""
    written = transform_table(POINTS, reading, source, output, job, write_changed_points)
    if written.silent:
        note(f"{output.path}: {written.silent:,} users without points have no rows in this table")
    if written.same_times:
        note(f"noticed, same time: {written.same_times:,}")
    return written


def transform_event_table(
    reading: ReadingOptions,
    source: Input,
    output: TableOutput,
    job: Transformation,
    write: Callable[..., dict[str, int]],
) -> tuple[EventFirstPass, dict[str, int]]:
    """Change every chunk of a table of events and write the result; return what was found and counted."""

    def write_and_return(
        table: UserChunkTable[Traces],
        found: EventFirstPass,
        out: Path,
        change: Change[Traces],
        parts: PartsCheckpoint | None,
    ) -> tuple[EventFirstPass, dict[str, int]]:
        return found, write(table, out, change, unfinished=parts)

    found, counts = transform_table(EVENTS, reading, source, output, job, write_and_return)
    for reason in ODDITIES:
        if counts.get(reason):
            found.report.notice(reason, counts[reason])
            note(f"noticed, {reason}: {counts[reason]:,}")
    return found, counts


def read_gps_traces(reading: ReadingOptions, path: Path | Input, what: str = "GPS points") -> GpsTraces:
    """Read GPS traces, or the coordinates of events; options that make places are refused."""
    refuse_places(reading, what)
    source = path if isinstance(path, Input) else reading.open(path)
    with show_unsaved_progress(f"reading {source.path.name}"):
        return reading.read_points(source).traces


def refuse_places(reading: ReadingOptions, what: str) -> None:
    """Refuse options that would put points at places."""
    refuse_options(
        f"{what}, which have no places",
        **{name: getattr(reading, name) for name in EVENTS_ONLY},
    )


def write_gps_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or guess_format_by_name(out, "points")) == "points":
        note(f"{out}: {silent:,} users without points have no rows in this table")


def refuse_useless_zone(reading: ReadingOptions, report: Report) -> None:
    """Refuse a zone where all times name theirs and nothing needs local ones."""
    if reading.timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file have a zone"
        raise ParameterError(f"--timezone does not apply: {why}")
