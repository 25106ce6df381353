"""``tracearena obfuscate``: applies a defence to original traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._app import complete_algorithms
from tracearena.cli._output import (
    ClusterOption,
    JsonOption,
    ReleaseSeedOption,
    ReleaseToOption,
    ResumeOption,
    print_result,
)
from tracearena.cli._reading import reads_traces
from tracearena.jobs.reading import ReadingOptions

LegacyOption = Annotated[
    bool,
    typer.Option(
        "--legacy-2019",
        help="Reproduce the organisers' programs of 2019, with seed 1 by default; not for publishing.",
    ),
]

DigitsOption = Annotated[
    int | None,
    typer.Option(
        "--digits",
        min=0,
        max=9,
        help="GPS: decimal places of released degrees. [default: 6, which is 0.1 m]",
    ),
]


@reads_traces()
def obfuscate(
    reading: ReadingOptions,
    defence: Annotated[
        str,
        typer.Argument(
            metavar="DEFENCE",
            help="Defence with its parameters, such as 'MRLH(1,1,0.5)' or "
            "'GeoInd(expected_noise=100m)'; join "
            "several with +.",
            autocompletion=complete_algorithms("defences"),
        ),
    ],
    original: Annotated[
        Path,
        typer.Argument(metavar="IN", help="Original traces in any format: events at places, or GPS points."),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File for the obfuscated traces (.csv, .parquet, or a folder with --to partitions; for GPS "
            "also .gpx or a GeoLife folder).",
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
    """Apply a defence to traces: noise, generalisation, deletion, swapping and others.

    `tracearena algorithms defences` lists all defences.

    Example:
      tracearena obfuscate "GeoInd(expected_noise=100m)" trips.gpx released.gpx
    """
    from tracearena import jobs

    result = jobs.obfuscate(
        defence,
        original,
        out,
        reading=reading,
        to=to,
        seed=seed,
        legacy_2019=legacy_2019,
        digits=digits,
        cluster=cluster,
        resume=resume,
    )
    print_result(result, as_json)
