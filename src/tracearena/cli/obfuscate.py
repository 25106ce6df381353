"""``tracearena obfuscate``: a defence on a file of original traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import (
    JsonOption,
    OptionalPlacesOption,
    ReleaseSeedOption,
    check_outputs,
    note,
    print_result,
    release_seed,
)
from tracearena.cli._contest_files import TimesOption, given_times, refuse_times
from tracearena.cli._gps import TimezoneOption
from tracearena.cli._reading import refuse

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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(obfuscate)


def obfuscate(
    defence: Annotated[
        str,
        typer.Argument(help="Name and parameters, such as 'MRLH(1,1,0.5)' or 'GeoInd(expected_noise=100m)'."),
    ],
    original: Annotated[
        Path,
        typer.Argument(help="Original traces (orgtraces_*.csv), or GPS traces (GeoLife, GPX, CSV, Parquet)."),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the obfuscated traces go (anotraces_*.csv; GPS: .csv, .parquet, .gpx or a folder)."
        ),
    ],
    places: OptionalPlacesOption = None,
    seed: ReleaseSeedOption = None,
    legacy_2019: LegacyOption = False,
    digits: DigitsOption = None,
    times: TimesOption = None,
    timezone: TimezoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Obfuscate traces with a defence."""
    from tracearena.algorithms import Obfuscator, answers, catalogue
    from tracearena.cli import _gps
    from tracearena.cli._console import needed_places
    from tracearena.errors import ParameterError
    from tracearena.formats import pwscup

    if catalogue.is_kind(defence, "gps-obfuscator"):
        refuse_times(times, defence)
        refuse(defence, legacy_2019=legacy_2019)
        _gps.obfuscate(defence, original, out, seed, timezone, digits, as_json)
        return
    if digits is not None:
        raise ParameterError(f"--digits rounds coordinates of GPS traces; {defence} releases places")
    check_outputs(out, inputs=(original, places, times))
    obfuscator: Obfuscator = catalogue.create(defence, "obfuscator", legacy_2019=legacy_2019)
    refuse(defence, legacy_2019=legacy_2019 and "legacy_2019" not in obfuscator.parameters())
    regions = pwscup.read_places(needed_places(places, defence))
    traces = pwscup.read_traces(original, regions, given_times(times))
    if legacy_2019:
        note(
            "warning: --legacy-2019 draws what the programs of 2019 drew, from seed 1 unless --seed names "
            "another: whoever guesses it can undo this release; leave it out for what you publish"
        )
    used = seed if legacy_2019 else release_seed(seed)
    obfuscated = answers.transformed(obfuscator, traces, seed=used)
    pwscup.write_obfuscated(obfuscated, out)
    note(f"{out}: users are in the order of {original}; tracearena pseudonymise shuffles them")
    print_result(
        {
            "defence": str(obfuscator),
            "file": str(out),
            "users": obfuscated.n_users,
            "cells": obfuscated.n_events,
            "generalised": int(obfuscated.is_set.sum()),
            "deleted": int(obfuscated.is_deleted.sum()),
        },
        as_json,
    )
