"""``tracearena pseudonymise``: replaces the user ids of traces in any format by random pseudonyms."""

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
            help="Obfuscated traces (such as anotraces_*.csv), GPS traces, or events in any format.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File for the anonymized traces, in the format of its name or else of IN."
        ),
    ],
    id_table: Annotated[
        Path, typer.Option("--id-table", help="File for the secret ID table (such as ptable_*.csv).")
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: the original traces."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Replace an existing ID table; its commitment is then no longer valid."),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="partitions: write a folder of Parquet files. By default by the name of OUT."
        ),
    ] = None,
    seed: ReleaseSeedOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give every user a random pseudonym, and write the secret table of true identities.

    Publish the printed commitment before the attacks. Its salt is stored next to the ID table (NAME.salt);
    keep both secret. Publish them afterwards, so that everybody can check the commitment.

    Example:
      tracearena pseudonymise obfuscated.csv public.csv --id-table secret.csv
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
