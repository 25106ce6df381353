"""``tracearena pseudonymise``: the judge's shuffle, for files of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._output import ClusterOption, JsonOption, ReleaseSeedOption, ResumeOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.reading import LIMITS, ReadingOptions


@reads_traces(
    without=("grid", "bounds", "top", "interval", "slot", "resample", "utc_hours", "hours"),
    limits=LIMITS,
)
def pseudonymise(
    reading: ReadingOptions,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Obfuscated traces (anotraces_*.csv, a table), GPS traces, or events of any format.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the anonymized traces go (pubtraces_*.csv, a table; by its name, or as IN)."
        ),
    ],
    id_table: Annotated[
        Path, typer.Option("--id-table", help="Where the secret ID table goes (ptable_*.csv).")
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: the original traces they were made from."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Draw anew over an ID table that is there; its commitment is void then."
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option("--to", help="partitions, a folder of parts; by the name of OUT if omitted."),
    ] = None,
    seed: ReleaseSeedOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give every trace a pseudonym at random and write the secret table of who is who.

    Publish the printed commitment before the attacks. Its salt is kept beside the ID table
    (NAME.salt), as secret as that; publish both afterwards, so that nobody can doubt the judge.
    """
    from tracearena import jobs

    result = jobs.pseudonymise(
        file,
        out,
        id_table,
        reading=reading,
        original=original,
        again=again,
        to=to,
        seed=seed,
        cluster=cluster,
        resume=resume,
    )
    print_result(result, as_json)
