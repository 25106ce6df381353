"""Tables of any size: decide whether to process them in chunks of users, and do so."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, Generic, TypeVar, Unpack

import numpy as np
import polars as pl

from tracearena import __version__
from tracearena.engine import (
    Cluster,
    block_ranges,
    check_resume,
    current_chunk_rows,
    current_progress,
    run_blocks,
    thread_count,
    use,
)
from tracearena.engine.blocks import run_in_order
from tracearena.errors import ParameterError
from tracearena.files import digest_values
from tracearena.files.io import replacing
from tracearena.io import Input, write
from tracearena.io.discretisation import ODDITIES, count_oddities
from tracearena.io.formats import checkins, released_table
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
from tracearena.io.points import format_points
from tracearena.io.report import Report
from tracearena.io.tables import write_csv_rows
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
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.row_table import RowTable

T = TypeVar("T", bound=RowTable)
Change = Callable[[T, int], Any]
"""Returns what is released of a chunk of users, given the chunk and its number."""
Count = Callable[[T, Any], dict[str, int]]
"""Counts what is to be known of a chunk and of what was made of it."""
Text = Callable[[Any], pl.DataFrame]
"""Returns the rows of CSV for some users."""


@dataclass(frozen=True)
class ChunkFormat:
    """How the result of a chunk is counted, and how it is written as CSV.

    Attributes
    ----------
    count
        Counts what is to be known of a chunk and of its result.
    build_text
        Makes, from the table, what was found in it, and the change of a chunk, what gives the rows of CSV.
    """

    count: Count[Any]
    build_text: Callable[[UserChunkTable[Any], FirstPass, Change[Any]], Text]


# What is counted of the chunks of each kind of table, and how they become CSV.


def _count_points(given: GpsTraces, made: GpsTraces) -> dict[str, int]:
    same_time = np.diff(given.time_ms) == 0
    same_time[given.offsets[1:-1] - 1] = False  # of two users
    silent = int((made.offsets[1:] == made.offsets[:-1]).sum())
    return {"points": len(made), "silent": silent, SAME_TIME: int(same_time.sum())}


def _build_points_text(table: UserChunkTable[GpsTraces], found: FirstPass, change: Change[GpsTraces]) -> Text:
    # CSV has no fractions of a second if no released time has; the first chunk mostly shows one.
    whole_seconds = found.whole_seconds or all(
        not (change(table.traces(one.number), one.number).time_ms % 1000).any() for one in table.portions
    )
    return partial(format_points, whole_seconds=whole_seconds)


def _count_events(given: Traces, made: Traces) -> dict[str, int]:
    return {"events": made.n_events, **count_oddities(given)}


SAME_TIME = "same time"
"""What is counted of points, and noticed: two of a user at the same time."""
POINT_ROWS = ChunkFormat(_count_points, _build_points_text)
EVENT_ROWS = ChunkFormat(_count_events, lambda *_: checkins.format_events)
RELEASED_ROWS = ChunkFormat(
    lambda _, made: {"events": made.n_events}, lambda *_: released_table.format_released
)

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
    form
        How a table of this kind is written.
    """

    rows: str
    wanted: str
    find_problem: Callable[[ReadingOptions, Input], str | None]
    open: Callable[..., tuple[UserChunkTable[T], Any]]
    form: ChunkFormat


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


POINTS = TableKind(
    "points", "a CSV or Parquet file of points", find_points_problem, open_point_table, POINT_ROWS
)
EVENTS = TableKind(
    "events", "a CSV or Parquet file of events", find_events_problem, open_event_table, EVENT_ROWS
)


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
    form
        How the result is written, if it is not a table of the same kind.
    """

    build_change: Callable[[UserChunkTable[Any], Any], Change[Any]]
    depends_on: tuple[object, ...]
    root: Any = None
    check: Callable[[Any], None] | None = None
    arrange: Callable[[UserChunkTable[Any], Any, Path, Any], UserChunkTable[Any]] | None = None
    sealed: Callable[[], None] | None = None
    users: int = 1
    form: ChunkFormat | None = None


def transform_table(
    kind: TableKind[Any], reading: ReadingOptions, source: Input, output: TableOutput, job: Transformation
) -> tuple[Any, dict[str, int]]:
    """Read a table, change every chunk of users and write one file, or parts that outlast an interruption.

    Returns
    -------
    found, counts
        What was found in the table, and the sums of what was counted in its chunks.
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

            def arrange_and_write(root: Any, parts: PartsCheckpoint | None) -> dict[str, int]:
                arranged = table if job.arrange is None else job.arrange(table, found, scratch, root)
                change, form = job.build_change(arranged, root), job.form or kind.form
                return write_chunks(arranged, found, out, change, form, unfinished=parts)

            if output.in_parts:
                parts = PartsCheckpoint(out, digest_inputs(table, *job.depends_on))
                parts.begin(resume=output.resume)
                try:
                    with delay_stop(), show_progress(kind.rows, cluster):
                        root = parts.root(job.root, len(table.portions) if job.arrange is None else None)
                        counts = arrange_and_write(root, parts)
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
            else:
                with show_progress(kind.rows):
                    counts = arrange_and_write(job.root, None)
                if job.sealed is not None:
                    job.sealed()
    if "silent" in counts:
        counts["silent"] += len(found.outside)
        note_silent_users(output.path, counts["silent"])
    for reason in (*ODDITIES, SAME_TIME):
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
    if (to or guess_format_by_name(out, "points")) == "points":
        note_silent_users(out, int((traces.offsets[1:] == traces.offsets[:-1]).sum()))


def note_silent_users(out: Path, users: int) -> None:
    """Say how many users a table of points does not name, if there are any."""
    if users:
        note(f"{out}: {users:,} users without points have no rows in this table")


def refuse_useless_zone(reading: ReadingOptions, report: Report) -> None:
    """Refuse a zone where all times name theirs and nothing needs local ones."""
    if reading.timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file have a zone"
        raise ParameterError(f"--timezone does not apply: {why}")


# Writing the results of all chunks: to one file in their order, or to parts.


def keep_unchanged(part: T, number: int) -> T:
    """Return a chunk as it is."""
    return part


def digest_inputs(table: UserChunkTable[Any], *others: object) -> str:
    """Return a digest of what every part depends on: files, how they are read, settings, versions."""
    files = table.files
    said = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files.files]
    options = (*files.options, table.portions, pl.__version__, np.__version__, __version__, others)
    return digest_values(repr((said, options)))


def write_chunks(
    table: UserChunkTable[T],
    found: FirstPass,
    out: Path,
    change: Change[T],
    form: ChunkFormat,
    *,
    unfinished: PartsCheckpoint | None = None,
) -> dict[str, int]:
    """Change every chunk of a table and write the result; return the sums of what was counted.

    Parameters
    ----------
    unfinished
        Write a folder of parts, which the workers of a cluster write themselves; one file if omitted.
    """

    def change_chunk(number: int) -> tuple[Any, dict[str, int]]:
        with use(threads=1):
            given = table.traces(number)
            made = change(given, number)
            return made, form.count(given, made)

    if unfinished is not None:
        counts = _write_parts(table, change_chunk, unfinished)
    else:
        text = None if out.suffix == ".parquet" else form.build_text(table, found, change)
        counts = _write_one_file(table, change_chunk, out, text)
    return {name: sum(one[name] for one in counts) for name in counts[0]}


def _write_parts(
    table: UserChunkTable[Any],
    change_chunk: Callable[[int], tuple[Any, dict[str, int]]],
    unfinished: PartsCheckpoint,
) -> list[dict[str, Any]]:
    left = [one for one in table.portions if one.number not in unfinished.done]
    done = [len(one) for one in table.portions if one.number in unfinished.done]
    total, progress = sum(map(len, table.portions)), current_progress()
    names = [unfinished.part(one.number) for one in left]

    def work(block: int, first: int, stop: int) -> dict[str, int]:
        made, counts = change_chunk(left[block].number)
        write_part(made, names[block])
        return counts

    def record(block: int, counts: dict[str, int]) -> None:
        unfinished.add(left[block].number, counts)
        done.append(len(left[block]))
        progress(sum(done), total)

    run_blocks(work, block_ranges(len(left), 1), anywhere=True, finished=record)
    return [unfinished.done[one.number] for one in table.portions]


def _write_one_file(
    table: UserChunkTable[Any],
    change_chunk: Callable[[int], tuple[Any, dict[str, int]]],
    out: Path,
    text: Text | None,
) -> list[dict[str, Any]]:
    counts: list[dict[str, Any]] = []
    total, progress = sum(map(len, table.portions)), current_progress()

    def change_in_order() -> Iterator[Any]:
        pieces = [(one.number,) for one in table.portions]
        for made, counted in run_in_order(change_chunk, pieces, False, ahead=thread_count()):
            counts.append(counted)
            progress(table.portions[len(counts) - 1].stop, total)
            yield made

    write_in_order(change_in_order(), out, text)
    return counts


COMPRESSION: Any = "lz4"
"""Of large tables: a third of the time that the default of Polars takes, and 1.6 times the space."""


def write_part(traces: Traces | GpsTraces | ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write a part of a folder of Parquet files; it gets its name when it is complete."""
    with replacing(path) as out:
        traces.to_frame().write_parquet(out, compression=COMPRESSION)


def write_in_order(parts: Iterator[Any], path: Path, text: Text | None) -> None:
    """Write parts that come one after the other into one file: CSV, or Parquet without `text`."""
    with replacing(path) as out:
        if text is None:
            _write_frames(parts, out)
        else:
            for number, part in enumerate(parts):
                write_csv_rows(text(part), out, has_header=number == 0)


def _write_frames(parts: Iterator[Any], out: IO[bytes]) -> None:
    from polars.io.plugins import register_io_source

    first = next(parts).to_frame()
    raised: list[BaseException] = []

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        yield first
        try:
            for part in parts:
                yield part.to_frame()
        except BaseException as error:
            raised.append(error)
            raise

    try:
        register_io_source(frames, schema=first.schema).sink_parquet(out, compression=COMPRESSION)
    except pl.exceptions.PolarsError:
        # Polars tells of an error in its own words; the one that was raised says what happened.
        if raised:
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]
