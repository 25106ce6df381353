"""``tracearena obfuscate``: a defence on a file of original traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
