"""How commands work on tables of any size: from files to files, a few users at a time.

First what decides whether a table is worked on so, then points and events that are described, obfuscated,
converted, renamed and scored.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tracearena.cli._app import delay_stop, print_outcome
from tracearena.cli._output import (
    check_outputs,
    choose_release_seed,
    join_cluster,
    note,
    print_result,
    refuse_options,
    show_progress,
    show_unsaved_progress,
)
from tracearena.cli._reading import ReadingOptions, note_problems
from tracearena.errors import ParameterError
from tracearena.files.atomic import scratch_folder

if TYPE_CHECKING:
    from tracearena.algorithms import GpsObfuscator, Obfuscator
    from tracearena.cli.pseudonymise import Pseudonyms
    from tracearena.engine import Cluster
    from tracearena.io.large import EventFirstPass, PartsCheckpoint, UserChunkTable
    from tracearena.io.large.first_pass import FirstPass
    from tracearena.io.report import Report
    from tracearena.jobs.transformation import Change, WriteSummary
    from tracearena.metrics import UtilityScore
    from tracearena.pages.describe import Summary
    from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces


S = TypeVar("S", bound="FirstPass")
W = TypeVar("W")

_MIN_CHUNKED_ROWS = 2_000_000
"""Points or events of a table that is not read whole, unless `engine.use` says otherwise."""

PARTS = "partitions"

ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a folder of parts (--to partitions) that was stopped."),
]


Arrange = Callable[["UserChunkTable[Any]", Any, Path, Any], "UserChunkTable[Any]"]
"""Reorders the users of a table, given what was found in it, a folder and the root of all draws."""

Problem = Callable[[ReadingOptions, Path], str | None]
"""Says what keeps a table from being worked on a few users at a time."""


def find_points_problem(reading: ReadingOptions, path: Path) -> str | None:
    """Return what keeps a table of points from being worked on a few users at a time."""
    from tracearena.io.large import find_points_obstacle

    if reading.format not in (None, "points"):
        return f"is read as {reading.format}"
    return _find_cut_problem(reading) or find_points_obstacle(path, reading.parse_layout())


def find_events_problem(reading: ReadingOptions, path: Path) -> str | None:
    """Return what keeps a table of events from being worked on a few users at a time."""
    from tracearena.io.large import find_events_obstacle

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
    return _find_cut_problem(reading) or find_events_obstacle(
        path, reading.parse_layout(), needs_places=needs_places
    )


def _find_cut_problem(reading: ReadingOptions) -> str | None:
    if reading.cuts_local_times or reading.is_split:
        return "is cut by hours or dates, which needs all rows at once"
    return None


def is_processed_in_chunks(
    reading: ReadingOptions,
    path: Path,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: str | None = None,
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
    if asked and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not path.exists() or not _is_table_output(out, to):
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
    from tracearena.io.large import has_many_rows, has_partition_columns

    return has_partition_columns(path) or has_many_rows(path, current_chunk_rows(_MIN_CHUNKED_ROWS))


def can_process_points_in_chunks(
    reading: ReadingOptions, path: Path, out: Path | None, to: str | None
) -> bool:
    """Whether a table of points can be worked on a few users at a time, however large it is."""
    return path.exists() and _is_table_output(out, to) and find_points_problem(reading, path) is None


def _is_table_output(out: Path | None, to: str | None) -> bool:
    from tracearena.io.writers import TABLE_NAMES

    return to == PARTS or out is None or (to in (None, "points", "table") and str(out).endswith(TABLE_NAMES))


def is_point_table(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table that goes through has coordinates and no places."""
    from tracearena.io import large

    return large.is_point_table_path(path, reading.parse_layout())


def open_point_table(
    reading: ReadingOptions, path: Path, scratch: Path, *, sort: bool = True, is_shared: bool = True
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Look at all rows of a table of points; sort them by user and time, if that is wanted."""
    from tracearena.io.large import open_point_chunks

    reading.refuse_for(is_gps=True)
    return open_point_chunks(
        path,
        scratch,
        layout=reading.parse_layout(),
        timezone=reading.timezone,
        box=reading.choices().bounds,
        sort=sort,
        is_shared=is_shared,
    )


def describe_point_table(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of points."""
    from tracearena import jobs

    with scratch_folder() as scratch:
        with show_progress(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = open_point_table(reading, found_by, scratch, is_shared=False)
        found.report.path = str(path)
        with show_progress("counting", None if table.is_in_scratch else cluster):
            return jobs.describe_points(table, found)


def transform_point_table(
    reading: ReadingOptions,
    path: Path,
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
    from tracearena import jobs

    def writing(
        table: UserChunkTable[Any], found: FirstPass, change: Change[Any], parts: PartsCheckpoint | None
    ) -> WriteSummary:
        return jobs.write_changed_points(table, found, out, change, unfinished=parts)

    return transform_table(
        path,
        out,
        lambda path, scratch: open_point_table(reading, path, scratch, sort=arrange is None),
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
    path: Path,
    out: Path,
    opening: Callable[[Path, Path], tuple[UserChunkTable[Any], S]],
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
        Looks at all rows of a path, with a folder for temporary files.
    writing
        Writes what becomes of all chunks.
    rows
        What the rows are.

    See Also
    --------
    transform_point_table : the same for a table of points, with the other parameters.
    """
    from tracearena import jobs
    from tracearena.engine import check_resume
    from tracearena.io import large
    from tracearena.io.large.checkpoint import make_scratch_folder

    in_parts = to == PARTS
    if cluster is not None:  # workers may have been started elsewhere
        path, out = path.resolve(), out.resolve()
    if in_parts:
        check_resume(out, resume=resume)
    with make_scratch_folder(out) as scratch:
        with show_progress(f"reading {path.name}", cluster):
            table, found = opening(path, scratch)
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
        parts = large.PartsCheckpoint(out, jobs.digest_inputs(table, *depends_on))
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
            print_outcome(f"{done}; the same command with --resume goes on")
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


def is_event_table(reading: ReadingOptions, path: Path) -> bool:
    """Whether a table is one of events that can be worked on a few users at a time, however large it is."""
    return path.exists() and find_events_problem(reading, path) is None


def are_events_processed_in_chunks(
    reading: ReadingOptions,
    path: Path,
    out: Path | None = None,
    to: str | None = None,
    *,
    cluster: str | None = None,
    resume: bool = False,
) -> bool:
    """Whether a table of events is worked on a few users at a time: see `is_processed_in_chunks`."""
    return is_processed_in_chunks(
        reading,
        path,
        out,
        to,
        cluster=cluster,
        resume=resume,
        problem_of=find_events_problem,
        wanted="a CSV or Parquet file of events",
    )


def open_event_table(
    reading: ReadingOptions, path: Path, scratch: Path, **how: Any
) -> tuple[UserChunkTable[Traces], EventFirstPass]:
    """Look at all rows of a table of events."""
    from tracearena.io.large import open_event_chunks
    from tracearena.io.places import read_places

    return open_event_chunks(
        path,
        scratch,
        layout=reading.parse_layout(),
        choices=reading.choices(),
        places=None if reading.places is None else read_places(reading.places),
        **how,
    )


def describe_event_table(reading: ReadingOptions, path: Path, cluster: Cluster | None) -> Summary:
    """Describe a table of events."""
    from tracearena import jobs

    with scratch_folder() as scratch:
        with show_progress(f"reading {path.name}", cluster):
            found_by = path if cluster is None else path.resolve()
            table, found = open_event_table(reading, found_by, scratch, is_shared=False)
        with show_progress("counting", None if table.is_in_scratch else cluster):
            return jobs.describe_events(table, found)


def obfuscate_event_table(
    reading: ReadingOptions,
    obfuscator: Obfuscator,
    original: Path,
    out: Path,
    *,
    to: str | None,
    seed: int | None,
    cluster: Cluster | None,
    resume: bool,
) -> dict[str, int]:
    """Obfuscate a table of events; return what became of them."""
    from tracearena import jobs
    from tracearena.engine import seed_sequence

    reading.note_unread_columns(original, "table")
    found, counts = _write_changed_events(
        reading,
        original,
        out,
        lambda table, root: jobs.build_event_obfuscation(table, obfuscator, root),
        partial(jobs.write_released, keeps_times=obfuscator.keeps_times),
        to=to,
        cluster=cluster,
        resume=resume,
        depends_on=(*jobs.describe_algorithm(obfuscator), seed),
        root=seed_sequence(choose_release_seed(seed)),
    )
    names = ("kept", "moved", "withheld", "generalised", "deleted")
    return {
        "users": len(found.users),
        "cells": counts["events"],
        **{name: counts[name] for name in names if name in counts},
    }


def convert_event_table(
    reading: ReadingOptions,
    file: Path,
    out: Path,
    *,
    to: str | None,
    places_out: Path | None,
    cluster: Cluster | None,
    resume: bool,
) -> dict[str, Any]:
    """Write a table of events as another, and its places if that is asked for; return what was written."""
    from tracearena import jobs
    from tracearena.files.atomic import replacing_all
    from tracearena.io.places import write_places

    known: list[EventFirstPass] = []

    def sealed() -> None:
        if places_out is not None:
            write_places(known[0].places, places_out)

    in_parts = to == PARTS
    with ExitStack() if in_parts else replacing_all():
        found, counts = _write_changed_events(
            reading,
            file,
            out,
            lambda table, root: jobs.keep_unchanged,
            jobs.write_events,
            to=to,
            cluster=cluster,
            resume=resume,
            depends_on=("convert",),
            check=known.append,
            sealed=sealed,
            users=USERS_PER_PART if in_parts else 1,
        )
    return found.report.to_dict() | {
        "to": to or "table",
        "users": len(found.users),
        "events": counts["events"],
        "places": len(found.places),
        "written": [str(path) for path in (out, places_out) if path is not None],
    }


def write_pseudonymised_events(
    reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any
) -> None:
    """Write a table of events under pseudonyms."""
    from tracearena import jobs

    reading.note_unread_columns(file, "table")
    _write_changed_events(
        reading,
        file,
        out,
        lambda table, root: jobs.build_pseudonym_change(pseudonyms()),
        jobs.write_events,
        **how,
    )


def is_release_processed_in_chunks(
    reading: ReadingOptions, path: Path, out: Path, to: str | None, **how: Any
) -> bool:
    """Whether a table of released traces is worked on a few users at a time: see `is_processed_in_chunks`."""

    def find_problem(reading: ReadingOptions, path: Path) -> str | None:
        from tracearena.jobs.comparison import is_release_in_parquet

        if reading.times is not None:
            return "is read with a table of times (--times)"
        return None if is_release_in_parquet(path) else "is no table of released traces in Parquet"

    return is_processed_in_chunks(
        reading,
        path,
        out,
        to,
        problem_of=find_problem,
        wanted="a Parquet file of released traces",
        **how,
    )


def write_pseudonymised_release(
    reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any
) -> None:
    """Write a table of released traces under pseudonyms."""
    from tracearena import jobs
    from tracearena.io.places import read_places

    places = None if reading.places is None else read_places(reading.places)

    def writing(
        table: UserChunkTable[ObfuscatedTraces],
        found: FirstPass,
        change: Change[ObfuscatedTraces],
        parts: PartsCheckpoint | None,
    ) -> None:
        jobs.write_anonymized(table, out, change, unfinished=parts)

    transform_table(
        file,
        out,
        lambda path, scratch: jobs.open_release_chunks(path, places=places),
        lambda table, root: jobs.build_pseudonym_change(pseudonyms()),
        writing,
        rows="events",
        **how,
    )


def score_event_utility(
    reading: ReadingOptions, original: Path, obfuscated: Path, cluster: Cluster | None
) -> UtilityScore:
    """Score the utility of a released table against the table it was made from."""
    from tracearena import jobs
    from tracearena.metrics.contest_scores import UtilitySum

    if cluster is not None:  # workers may have been started elsewhere
        original, obfuscated = original.resolve(), obfuscated.resolve()
    with scratch_folder() as scratch:
        with show_progress(f"reading {original.name}", cluster):
            table, found = open_event_table(reading, original, scratch, is_shared=False)
        note_problems(found)
        below = scratch / "released"
        below.mkdir()
        with show_progress(f"reading {obfuscated.name}", cluster):
            both = jobs.open_release_beside(table, found, obfuscated, below)
        with show_progress("scoring", cluster):
            return both.fold(UtilitySum.of).score


def _write_changed_events(
    reading: ReadingOptions,
    path: Path,
    out: Path,
    making: Callable[[UserChunkTable[Traces], Any], Change[Traces]],
    write: Callable[..., dict[str, int]],
    *,
    users: int = 1,
    **how: Any,
) -> tuple[EventFirstPass, dict[str, int]]:
    """Change every chunk of a table and write the result; return what was found and counted."""
    from tracearena.io.discretisation import ODDITIES

    def writing(
        table: UserChunkTable[Traces],
        found: EventFirstPass,
        change: Change[Traces],
        parts: PartsCheckpoint | None,
    ) -> tuple[EventFirstPass, dict[str, int]]:
        return found, write(table, out, change, unfinished=parts)

    def opening(path: Path, scratch: Path) -> tuple[UserChunkTable[Traces], EventFirstPass]:
        return open_event_table(reading, path, scratch, sort=how.get("arrange") is None, users=users)

    found, counts = transform_table(path, out, opening, making, writing, rows="events", **how)
    for reason in ODDITIES:
        if counts.get(reason):
            found.report.notice(reason, counts[reason])
            note(f"noticed, {reason}: {counts[reason]:,}")
    return found, counts


EVENTS_ONLY = ("grid", "places", "times", "top", "interval", "slot", "resample", "utc_hours")
"""Options of reading that make events of points, which no application wants."""


def read_gps_traces(reading: ReadingOptions, path: Path, what: str = "GPS points") -> GpsTraces:
    """Read GPS traces, and the coordinates of events too; refuse to put them at places."""
    refuse_places(reading, what)
    with show_unsaved_progress(f"reading {path.name}"):
        return reading.read_points(path).traces


def refuse_places(reading: ReadingOptions, what: str) -> None:
    """Refuse options that would put points at places."""
    refuse_options(
        f"{what}, which stay at no places",
        **{name: getattr(reading, name) for name in EVENTS_ONLY},
    )


def write_gps_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    from tracearena.io import write
    from tracearena.io.writers import guess_format_by_name

    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or guess_format_by_name(out, "points")) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


@dataclass(frozen=True)
class ObfuscationOutput:
    """What is to become of obfuscated points."""

    out: Path
    to: str | None
    seed: int | None
    digits: int | None
    cluster: str | None
    resume: bool


def obfuscate_points(
    context: typer.Context,
    reading: ReadingOptions,
    defence: str,
    original: Path,
    asked: ObfuscationOutput,
    as_json: bool,
) -> None:
    """Run a defence of GPS traces from file to file."""
    from tracearena.algorithms import catalogue, validation
    from tracearena.engine import seed_sequence
    from tracearena.io.writers import choose_points_format
    from tracearena.jobs.transformation import build_point_obfuscation, describe_algorithm
    from tracearena.obfuscation.gps import DIGITS, round_coordinates

    out, digits = asked.out, asked.digits
    check_outputs(out, inputs=(original,), folders=True)
    options: dict[str, Any] = {} if digits is None else {"digits": digits}
    if reading.timezone is not None:
        options["timezone"] = reading.timezone
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    refuse_places(reading, defence)
    form = "points" if asked.to == "table" else asked.to
    if asked.to != PARTS:
        choose_points_format(out, form)
    if obfuscator.by_user and is_processed_in_chunks(
        reading, original, out, asked.to, cluster=asked.cluster, resume=asked.resume
    ):
        root = seed_sequence(choose_release_seed(asked.seed))
        reading.note_unread_columns(original, "points")
        written = transform_point_table(
            reading,
            original,
            out,
            lambda table, root: build_point_obfuscation(table, obfuscator, root, kept),
            to=asked.to,
            cluster=join_cluster(context, asked.cluster),
            resume=asked.resume,
            depends_on=(*describe_algorithm(obfuscator), kept, asked.seed),
            root=root,
        )
        note_users_without_rows(written, out)
        counts = {"users": written.users, "points": written.points, "points_withheld": written.withheld}
    else:
        if asked.to == PARTS or asked.cluster is not None or asked.resume:
            raise ParameterError(
                f"{defence} needs all users at once: --to partitions, --cluster and --resume do not apply"
            )
        traces = read_gps_traces(reading, original, obfuscator.name)
        reading.note_unread_columns(original, "points")
        with show_unsaved_progress("users"):
            moved = validation.run_gps_transform(obfuscator, traces, seed=choose_release_seed(asked.seed))
        # Our own defences round already; a class from elsewhere need not know that it should.
        released = round_coordinates(moved, kept)
        write_gps_traces(released, out, form)
        withheld = len(traces) - len(released)
        counts = {"users": released.n_users, "points": released.n_points, "points_withheld": withheld}
    note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    print_result({"defence": str(obfuscator), "file": str(out)} | counts, as_json)


def write_pseudonymised_points(
    reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any
) -> None:
    """Write a table of points under pseudonyms, a few users at a time."""
    from tracearena.jobs.transformation import build_renaming

    reading.note_unread_columns(file, "points")
    written = transform_point_table(
        reading, file, out, lambda table, root: build_renaming(table, pseudonyms()), **how
    )
    note_users_without_rows(written, out)


def can_convert_in_chunks(reading: ReadingOptions, file: Path, out: Path, to: str | None) -> bool:
    """Whether a table of points can be converted to another a few users at a time."""
    return (
        not any(getattr(reading, name) for name in EVENTS_ONLY)
        and to in (None, "points", PARTS)
        and can_process_points_in_chunks(reading, file, out, to)
        and (reading.format is not None or is_point_table(reading, file))
    )


def convert_points_in_chunks(
    reading: ReadingOptions,
    file: Path,
    out: Path,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Write a table of points as another."""
    from tracearena.jobs.transformation import keep_unchanged

    written = transform_point_table(
        reading,
        file,
        out,
        lambda table, root: keep_unchanged,
        to=to,
        cluster=cluster,
        resume=resume,
        depends_on=("convert",),
        check=lambda found: refuse_useless_zone(reading, found.report),
    )
    note_users_without_rows(written, out)
    result = {"format": "gps", "users": written.users - written.silent, "points": written.points}
    print_result(result | {"to": to or "points", "written": [str(out)]}, as_json)


def refuse_useless_zone(reading: ReadingOptions, report: Report) -> None:
    """Refuse a zone where all times name theirs and nothing needs local ones."""
    if reading.timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file name their zone"
        raise ParameterError(f"--timezone does not apply: {why}")


def attack_points(
    reading: ReadingOptions, name: str, out: Path, anonymized: Path, to: str | None, as_json: bool
) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena.algorithms import GpsAttack, catalogue, validation

    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = validation.run_recover(attacker, read_gps_traces(reading, anonymized, name))
    write_gps_traces(recovered, out, "points" if to == "table" else to)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
