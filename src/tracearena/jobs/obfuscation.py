"""Obfuscate a file of traces: events or GPS points, whole or in chunks of users, here or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import GpsObfuscator, Obfuscator, catalogue, validation
from tracearena.algorithms.base import Algorithm, Defence
from tracearena.arena.sweep import digest_code
from tracearena.checks import accepts
from tracearena.engine import block_ranges, run_blocks, seed_sequence
from tracearena.errors import ParameterError
from tracearena.io import Input
from tracearena.io.discretisation import count_oddities
from tracearena.io.formats import released_table
from tracearena.io.large import UserChunkTable
from tracearena.io.writers import choose_points_format
from tracearena.jobs import chunking
from tracearena.jobs.chunking import (
    EVENTS,
    POINTS,
    Change,
    ChunkFormat,
    TableOutput,
    Transformation,
    is_processed_in_chunks,
    transform_table,
)
from tracearena.jobs.feedback import note, show_unsaved_progress
from tracearena.jobs.outputs import (
    File,
    OutputOptions,
    check_outputs,
    choose_output_form,
    choose_release_seed,
    refuse_options,
    write_obfuscated,
)
from tracearena.jobs.reading import ReadingOptions, note_unread_columns
from tracearena.obfuscation.gps import DIGITS, round_coordinates
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

_FATES = ("kept", "moved", "withheld", "generalised", "deleted")


@accepts(OutputOptions)
def obfuscate(
    defence: str,
    original: File | Input,
    out: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    seed: int | None = None,
    legacy_2019: bool = False,
    digits: int | None = None,
    **options: Unpack[OutputOptions],
) -> dict[str, Any]:
    """Obfuscate a file of traces with a defence; return counts of kept, moved and deleted events.

    Parameters
    ----------
    defence
        Name and parameters, such as ``MRLH(1,1,0.5)``; join several defences with ``+``.
    original, out
        Input, and file for the obfuscated traces.
    reading
        Options for reading the original.
    seed
        For experiments only: anyone who guesses it can undo the release. Secret randomness if omitted.
    legacy_2019
        Reproduce the random draws of the organisers' programs of 2019.
    digits
        Decimals of the released degrees, for GPS points.
    **options
        Keywords of `OutputOptions`: ``to`` (``table``, ``pwscup`` or ``partitions``), ``cluster`` and
        ``resume``.
    """
    source, out = reading.open(original), Path(out)
    output = TableOutput(out, **options)
    # What a defence serves decides whether it works on GPS points, or else what the file holds.
    if catalogue.is_kind(defence, "gps-obfuscator") and (
        not catalogue.is_kind(defence, "obfuscator")
        or (source.path.exists() and reading.grid is None and source.holds_points)
    ):
        refuse_options(defence, legacy_2019=legacy_2019)
        points = _obfuscate_points(defence, source, output, reading, seed, digits)
        note(f"{out}: has the user ids of {source}; replace them with `tracearena pseudonymise`")
        return points
    if digits is not None:
        raise ParameterError(f"--digits rounds coordinates of GPS traces, but {defence} releases places")
    check_outputs(out, inputs=(source.path, *reading.files), folders=output.in_parts)
    obfuscator: Obfuscator = catalogue.create(defence, "obfuscator", legacy_2019=legacy_2019)
    refuse_options(defence, legacy_2019=legacy_2019 and "legacy_2019" not in obfuscator.get_params())
    needs_all_users = not obfuscator.by_user or legacy_2019
    if needs_all_users and (output.in_parts or output.cluster is not None or output.resume):
        drawn = " with the random numbers of 2019, which depend on each other," if obfuscator.by_user else ""
        raise ParameterError(
            f"{defence}{drawn} needs all users at once: --to partitions, --cluster and --resume do not apply"
        )
    if not needs_all_users and is_processed_in_chunks(EVENTS, reading, source, output):
        counts = _obfuscate_event_chunks(obfuscator, source, output, reading, seed)
        is_contest_file = False
    else:
        counts, is_contest_file = _obfuscate_whole(obfuscator, source, output, reading, seed, legacy_2019)
    if is_contest_file:
        note(
            f"{out}: has the users in the order of {source}, as a contest requires; before you publish it "
            "yourself, shuffle them with `tracearena pseudonymise`"
        )
    else:
        note(f"{out}: has the user ids of {source}; replace them with `tracearena pseudonymise`")
    if counts.get("kept") == counts["cells"] and obfuscator.name != "No":
        note(
            f"warning: {defence} changed nothing: {out} has every event at its original place; the "
            "places may be too far apart"
        )
    return {"defence": str(obfuscator), "file": str(out)} | counts


def _obfuscate_whole(
    obfuscator: Obfuscator,
    source: Input,
    output: TableOutput,
    reading: ReadingOptions,
    seed: int | None,
    legacy_2019: bool,
) -> tuple[dict[str, int], bool]:
    """Obfuscate events that are read whole; return counts, and whether a file of the contest was written."""
    out = output.path
    with show_unsaved_progress(f"reading {source.path.name}"):
        traces, report = reading.read_events(source)
    note_unread_columns(source, report.format)
    form = choose_output_form(out, output.to, contest=report.format == "pwscup" and obfuscator.keeps_times)
    if form == "pwscup" and not obfuscator.keeps_times:
        raise ParameterError(
            f"{obfuscator} changes times, but the contest's files of obfuscated "
            "traces have no times: use --to table"
        )
    if legacy_2019:
        note(
            "warning: --legacy-2019 uses the random numbers of the programs of 2019, from seed 1 "
            "unless --seed is given: anyone who guesses the seed can undo this release; leave out "
            "this option for a release that you publish"
        )
    used = seed if legacy_2019 else choose_release_seed(seed)
    with show_unsaved_progress("users"):
        obfuscated = validation.run_transform(obfuscator, traces, seed=used)
    write_obfuscated(obfuscated, out, form)
    fates = count_fates(traces, obfuscated, keeps_times=obfuscator.keeps_times)
    return {"users": obfuscated.n_users, "cells": obfuscated.n_events, **fates}, form == "pwscup"


def _obfuscate_event_chunks(
    obfuscator: Obfuscator, source: Input, output: TableOutput, reading: ReadingOptions, seed: int | None
) -> dict[str, int]:
    """Obfuscate a table of events a few users at a time; return what became of them."""
    note_unread_columns(source, "table")
    job = Transformation(
        build_change=lambda table, root: build_event_obfuscation(table, obfuscator, root),
        depends_on=(*describe_algorithm(obfuscator), seed),
        root=seed_sequence(choose_release_seed(seed)),
        form=build_released_format(keeps_times=obfuscator.keeps_times),
    )
    found, counts = transform_table(EVENTS, reading, source, output, job)
    fates = {name: counts[name] for name in _FATES if name in counts}
    return {"users": len(found.users), "cells": counts["events"], **fates}


def _obfuscate_points(
    defence: str,
    source: Input,
    output: TableOutput,
    reading: ReadingOptions,
    seed: int | None,
    digits: int | None,
) -> dict[str, Any]:
    """Obfuscate GPS points, whole or in chunks; return what became of them."""
    out, to = output.path, output.to
    check_outputs(out, inputs=(source.path,), folders=True)
    options: dict[str, Any] = {} if digits is None else {"digits": digits}
    if reading.timezone is not None:
        options["timezone"] = reading.timezone
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} keeps {kept} digits; leave out one of them")
    chunking.refuse_places(reading, defence)
    form = "points" if to == "table" else to
    if not output.in_parts:
        choose_points_format(out, form)
    if obfuscator.by_user and is_processed_in_chunks(POINTS, reading, source, output):
        job = Transformation(
            build_change=lambda table, root: build_point_obfuscation(table, obfuscator, root, kept),
            depends_on=(*describe_algorithm(obfuscator), kept, seed),
            root=seed_sequence(choose_release_seed(seed)),
        )
        note_unread_columns(source, "points")
        found, written = transform_table(POINTS, reading, source, output, job)
        withheld = found.n_points - written["points"]
        counts = {"users": found.n_users, "points": written["points"], "points_withheld": withheld}
    else:
        if output.in_parts or output.cluster is not None or output.resume:
            raise ParameterError(
                f"{defence} needs all users at once: --to partitions, --cluster and --resume do not apply"
            )
        traces = chunking.read_gps_traces(reading, source, obfuscator.name)
        note_unread_columns(source, "points")
        with show_unsaved_progress("users"):
            moved = validation.run_gps_transform(obfuscator, traces, seed=choose_release_seed(seed))
        # Our own defences round already; a class from elsewhere need not know that it should.
        released = round_coordinates(moved, kept)
        chunking.write_gps_traces(released, out, form)
        withheld = len(traces) - len(released)
        counts = {"users": released.n_users, "points": released.n_points, "points_withheld": withheld}
    return {"defence": str(obfuscator), "file": str(out)} | counts


# What a defence makes of a chunk: the same as if it had the whole table.


def describe_algorithm(algorithm: Algorithm) -> tuple[str, ...]:
    """Identify an algorithm by its class, its parameters and, for a user's own class, its code."""
    kind = type(algorithm)
    return kind.__module__, kind.__qualname__, repr(algorithm), digest_code([algorithm])


def build_event_obfuscation(
    table: UserChunkTable[Traces], defence: Obfuscator, root: np.random.SeedSequence
) -> Change[Traces]:
    """Return what a defence makes of a chunk: the same as if it had the whole table."""
    before = count_draws_before(table, defence)

    def change(part: Traces, number: int) -> ObfuscatedTraces:
        first, total = int(before[number]), int(before[-1])
        return validation.run_transform_part(defence, part, seed=root, first=first, total=total)

    return change


def build_point_obfuscation(
    table: UserChunkTable[GpsTraces], defence: GpsObfuscator, root: np.random.SeedSequence, digits: int
) -> Change[GpsTraces]:
    """Return what a defence makes of a chunk: the same as if it had the whole table."""
    before = count_draws_before(table, defence)
    is_ours = not validation.is_foreign(defence)

    def change(part: GpsTraces, number: int) -> GpsTraces:
        first, total = int(before[number]), int(before[-1])
        moved = validation.run_gps_transform_part(defence, part, seed=root, first=first, total=total)
        if is_ours:
            return moved
        # Our own defences round already; a class from elsewhere need not know that it should.
        from tracearena.obfuscation.gps import round_coordinates

        return round_coordinates(moved, digits)

    return change


def count_draws_before(table: UserChunkTable[Any], defence: Defence[Any, Any]) -> NDArray[np.int64]:
    """Count the draws of the chunks before each, and of all; where a row is one draw, nothing is read."""

    def work(block: int, first: int, stop: int) -> int:
        return defence.draws(table.traces(block))

    if defence.counts_draws:
        draws = run_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    else:
        draws = [len(one) for one in table.portions]
    return np.concatenate([[0], np.cumsum(draws)]).astype(np.int64)


def build_released_format(*, keeps_times: bool) -> ChunkFormat:
    """Return the format of what is released of events, which counts what became of them.

    Parameters
    ----------
    keeps_times
        Whether the events of the release are the table's in their order.
    """

    def count(given: Traces, made: ObfuscatedTraces) -> dict[str, int]:
        fates = count_fates(given, made, keeps_times=keeps_times)
        return {"events": made.n_events, **fates, **count_oddities(given)}

    return ChunkFormat(count, lambda *_: released_table.format_released)


def count_fates(given: Traces, made: ObfuscatedTraces, *, keeps_times: bool) -> dict[str, int]:
    """Count what became of events: how many were kept, moved, left out, generalised, deleted.

    Where times are changed it is unknown which event is which, and so which were moved.
    """
    if keeps_times:
        kept = int((made.codes == given.place_index).sum())
        places = {"kept": kept, "moved": int(made.is_single.sum()) - kept}
    else:
        places = {"withheld": given.n_events - made.n_events}
    return {**places, "generalised": int(made.is_set.sum()), "deleted": int(made.is_deleted.sum())}
