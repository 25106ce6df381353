"""``tracearena obfuscate``: a defence on a file of original traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._large import ResumeOption
from tracearena.cli._output import (
    ClusterOption,
    JsonOption,
    ReleaseSeedOption,
    ReleaseToOption,
    check_outputs,
    choose_output_form,
    choose_release_seed,
    join_cluster,
    note,
    print_result,
    refuse_options,
    show_unsaved_progress,
    write_obfuscated,
)
from tracearena.cli._reading import ReadingOptions, note_unread_columns, reads_traces

if TYPE_CHECKING:
    from tracearena.algorithms import Obfuscator


LegacyOption = Annotated[
    bool,
    typer.Option(
        "--legacy-2019",
        help="Reproduce the organisers' programs of 2019 (draws, seed 1 by default); not for publishing.",
    ),
]

DigitsOption = Annotated[
    int | None,
    typer.Option(
        "--digits",
        min=0,
        max=9,
        help="GPS: decimals of the degrees that are released; 6 (0.1 m) if omitted.",
    ),
]


@reads_traces()
def obfuscate(
    context: typer.Context,
    reading: ReadingOptions,
    defence: Annotated[
        str,
        typer.Argument(
            help="Name and parameters, such as 'MRLH(1,1,0.5)' or 'GeoInd(expected_noise=100m)'; + joins "
            "defences that follow each other."
        ),
    ],
    original: Annotated[
        Path, typer.Argument(help="Original traces of any format: events at places, or GPS points.")
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the obfuscated traces go (.csv, .parquet, or a folder of parts with --to "
            "partitions; GPS also .gpx, or a folder of GeoLife)."
        ),
    ],
    to: ReleaseToOption = None,
    seed: ReleaseSeedOption = None,
    legacy_2019: LegacyOption = False,
    digits: DigitsOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Obfuscate traces with a defence."""
    from tracearena.algorithms import catalogue, validation
    from tracearena.cli import _large
    from tracearena.errors import ParameterError
    from tracearena.jobs.transformation import count_fates

    source = reading.open(original)
    # What a defence serves decides whether it works on GPS points, or else what the file holds.
    if catalogue.is_kind(defence, "gps-obfuscator") and (
        not catalogue.is_kind(defence, "obfuscator")
        or (original.exists() and reading.grid is None and source.holds_points)
    ):
        refuse_options(defence, legacy_2019=legacy_2019)
        asked = _large.ObfuscationOutput(out, to, seed, digits, cluster, resume)
        _large.obfuscate_points(context, reading, defence, source, asked, as_json)
        return
    if digits is not None:
        raise ParameterError(f"--digits rounds coordinates of GPS traces; {defence} releases places")
    in_parts = to == _large.PARTS
    check_outputs(out, inputs=(original, *reading.files), folders=in_parts)
    obfuscator: Obfuscator = catalogue.create(defence, "obfuscator", legacy_2019=legacy_2019)
    refuse_options(defence, legacy_2019=legacy_2019 and "legacy_2019" not in obfuscator.parameters())
    needs_all_users = not obfuscator.by_user or legacy_2019
    if needs_all_users and (in_parts or cluster is not None or resume):
        drawn = " with the draws of 2019, which come one after the other," if obfuscator.by_user else ""
        raise ParameterError(
            f"{defence}{drawn} needs all users at once: --to partitions, --cluster and --resume do not apply"
        )
    if not needs_all_users and _large.are_events_processed_in_chunks(
        reading, source, out, to, cluster=cluster, resume=resume
    ):
        form, workers = "table", join_cluster(context, cluster)
        counts = _large.obfuscate_event_table(
            reading, obfuscator, source, out, to=to, seed=seed, cluster=workers, resume=resume
        )
    else:
        with show_unsaved_progress(f"reading {original.name}"):
            traces, report = reading.read_events(source)
        note_unread_columns(source, report.format)
        form = choose_output_form(out, to, contest=report.format == "pwscup" and obfuscator.keeps_times)
        if form == "pwscup" and not obfuscator.keeps_times:
            raise ParameterError(
                f"{obfuscator} changes times, and the contest's files of obfuscated traces hold none: "
                "--to table"
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
        counts = {"users": obfuscated.n_users, "cells": obfuscated.n_events, **fates}
    if form == "pwscup":
        note(f"{out}: users are in the order of {original}; tracearena pseudonymise shuffles them")
    else:
        note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    if counts.get("kept") == counts["cells"] and obfuscator.name != "No":
        note(
            f"warning: {defence} changed nothing: {out} shows every event where it was; places may lie too "
            "far apart for it"
        )
    print_result({"defence": str(obfuscator), "file": str(out)} | counts, as_json)
