"""Obfuscate a file of traces: events or GPS points, whole or in chunks of users, here or on a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tracearena.algorithms import GpsObfuscator, Obfuscator, catalogue, validation
from tracearena.engine import Cluster, seed_sequence
from tracearena.errors import ParameterError
from tracearena.io import Input
from tracearena.io.writers import choose_points_format
from tracearena.jobs import chunking
from tracearena.jobs.chunking import PARTS
from tracearena.jobs.feedback import join_cluster, note, show_unsaved_progress
from tracearena.jobs.outputs import (
    File,
    check_outputs,
    choose_output_form,
    choose_release_seed,
    refuse_options,
    write_obfuscated,
)
from tracearena.jobs.reading import ReadingOptions, note_unread_columns
from tracearena.jobs.transformation import (
    build_event_obfuscation,
    build_point_obfuscation,
    count_fates,
    describe_algorithm,
    write_released,
)
from tracearena.obfuscation.gps import DIGITS, round_coordinates

_FATES = ("kept", "moved", "withheld", "generalised", "deleted")


def obfuscate(
    defence: str,
    original: File | Input,
    out: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    to: str | None = None,
    seed: int | None = None,
    legacy_2019: bool = False,
    digits: int | None = None,
    cluster: Cluster | str | None = None,
    resume: bool = False,
) -> dict[str, Any]:
    """Obfuscate a file of traces with a defence; return what became of its events or points.

    Parameters
    ----------
    defence
        Name and parameters, such as ``MRLH(1,1,0.5)``; ``+`` joins defences that follow each other.
    original, out
        What is read, and where the obfuscated traces go.
    reading
        How the original is read.
    to
        ``table``, ``pwscup`` or ``partitions`` (a folder of parts); as what is read if omitted.
    seed
        For experiments only: who guesses it can undo the release. Secret if omitted.
    legacy_2019
        Reproduce the draws of the organisers' programs of 2019.
    digits
        Of GPS points, decimals of the degrees that are released.
    cluster
        A Dask cluster, or the address of one.
    resume
        Go on with a folder of parts that was stopped.
    """
    source, out = reading.open(original), Path(out)
    # What a defence serves decides whether it works on GPS points, or else what the file holds.
    if catalogue.is_kind(defence, "gps-obfuscator") and (
        not catalogue.is_kind(defence, "obfuscator")
        or (source.path.exists() and reading.grid is None and source.holds_points)
    ):
        refuse_options(defence, legacy_2019=legacy_2019)
        points = _obfuscate_points(
            defence,
            source,
            out,
            reading,
            to=to,
            seed=seed,
            digits=digits,
            cluster=cluster,
            resume=resume,
        )
        note(f"{out}: user ids are as in {source}; tracearena pseudonymise replaces them")
        return points
    if digits is not None:
        raise ParameterError(f"--digits rounds coordinates of GPS traces; {defence} releases places")
    check_outputs(out, inputs=(source.path, *reading.files), folders=to == PARTS)
    obfuscator: Obfuscator = catalogue.create(defence, "obfuscator", legacy_2019=legacy_2019)
    refuse_options(defence, legacy_2019=legacy_2019 and "legacy_2019" not in obfuscator.parameters())
    needs_all_users = not obfuscator.by_user or legacy_2019
    if needs_all_users and (to == PARTS or cluster is not None or resume):
        drawn = " with the draws of 2019, which come one after the other," if obfuscator.by_user else ""
        raise ParameterError(
            f"{defence}{drawn} needs all users at once: --to partitions, --cluster and --resume do not apply"
        )
    if not needs_all_users and chunking.are_events_processed_in_chunks(
        reading, source, out, to, cluster=cluster, resume=resume
    ):
        counts = _obfuscate_event_chunks(
            obfuscator, source, out, reading, to=to, seed=seed, cluster=cluster, resume=resume
        )
        is_contest_file = False
    else:
        counts, is_contest_file = _obfuscate_whole(obfuscator, source, out, reading, to, seed, legacy_2019)
    if is_contest_file:
        note(f"{out}: users are in the order of {source}; tracearena pseudonymise shuffles them")
    else:
        note(f"{out}: user ids are as in {source}; tracearena pseudonymise replaces them")
    if counts.get("kept") == counts["cells"] and obfuscator.name != "No":
        note(
            f"warning: {defence} changed nothing: {out} shows every event where it was; places may lie too "
            "far apart for it"
        )
    return {"defence": str(obfuscator), "file": str(out)} | counts


def _obfuscate_whole(
    obfuscator: Obfuscator,
    source: Input,
    out: Path,
    reading: ReadingOptions,
    to: str | None,
    seed: int | None,
    legacy_2019: bool,
) -> tuple[dict[str, int], bool]:
    """Obfuscate events that are read whole; return counts, and whether a file of the contest was written."""
    with show_unsaved_progress(f"reading {source.path.name}"):
        traces, report = reading.read_events(source)
    note_unread_columns(source, report.format)
    form = choose_output_form(out, to, contest=report.format == "pwscup" and obfuscator.keeps_times)
    if form == "pwscup" and not obfuscator.keeps_times:
        raise ParameterError(
            f"{obfuscator} changes times, and the contest's files of obfuscated traces hold none: --to table"
        )
    if legacy_2019:
        note(
            "warning: --legacy-2019 draws what the programs of 2019 drew, from seed 1 unless --seed "
            "names another: whoever guesses it can undo this release; leave it out for what you publish"
        )
    used = seed if legacy_2019 else choose_release_seed(seed)
    with show_unsaved_progress("users"):
        obfuscated = validation.run_transform(obfuscator, traces, seed=used)
    write_obfuscated(obfuscated, out, form)
    fates = count_fates(traces, obfuscated, keeps_times=obfuscator.keeps_times)
    return {"users": obfuscated.n_users, "cells": obfuscated.n_events, **fates}, form == "pwscup"


def _obfuscate_event_chunks(
    obfuscator: Obfuscator,
    source: Input,
    out: Path,
    reading: ReadingOptions,
    *,
    to: str | None,
    seed: int | None,
    cluster: Cluster | str | None,
    resume: bool,
) -> dict[str, int]:
    """Obfuscate a table of events a few users at a time; return what became of them."""
    with join_cluster(cluster) as workers:
        note_unread_columns(source, "table")
        found, counts = chunking.transform_event_table(
            reading,
            source,
            out,
            lambda table, root: build_event_obfuscation(table, obfuscator, root),
            partial(write_released, keeps_times=obfuscator.keeps_times),
            to=to,
            cluster=workers,
            resume=resume,
            depends_on=(*describe_algorithm(obfuscator), seed),
            root=seed_sequence(choose_release_seed(seed)),
        )
    fates = {name: counts[name] for name in _FATES if name in counts}
    return {"users": len(found.users), "cells": counts["events"], **fates}


def _obfuscate_points(
    defence: str,
    source: Input,
    out: Path,
    reading: ReadingOptions,
    *,
    to: str | None,
    seed: int | None,
    digits: int | None,
    cluster: Cluster | str | None,
    resume: bool,
) -> dict[str, Any]:
    """Obfuscate GPS points, whole or in chunks; return what became of them."""
    check_outputs(out, inputs=(source.path,), folders=True)
    options: dict[str, Any] = {} if digits is None else {"digits": digits}
    if reading.timezone is not None:
        options["timezone"] = reading.timezone
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    chunking.refuse_places(reading, defence)
    form = "points" if to == "table" else to
    if to != PARTS:
        choose_points_format(out, form)
    if obfuscator.by_user and chunking.is_processed_in_chunks(
        reading, source, out, to, cluster=cluster, resume=resume
    ):
        with join_cluster(cluster) as workers:
            root = seed_sequence(choose_release_seed(seed))
            note_unread_columns(source, "points")
            written = chunking.transform_point_table(
                reading,
                source,
                out,
                lambda table, root: build_point_obfuscation(table, obfuscator, root, kept),
                to=to,
                cluster=workers,
                resume=resume,
                depends_on=(*describe_algorithm(obfuscator), kept, seed),
                root=root,
            )
        chunking.note_users_without_rows(written, out)
        counts = {"users": written.users, "points": written.points, "points_withheld": written.withheld}
    else:
        if to == PARTS or cluster is not None or resume:
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
