"""``tracearena obfuscate``: a defence on a file of original traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import (
    JsonOption,
    OptionalPlacesOption,
    SeedOption,
    check_outputs,
    chosen_seed,
    print_result,
)
from tracearena.cli._gps import TimezoneOption

LegacyOption = Annotated[
    bool,
    typer.Option(
        "--legacy-2019", help="Reproduce the organisers' programs of 2019 (draws, seed 1 by default)."
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
    seed: SeedOption = None,
    legacy_2019: LegacyOption = False,
    timezone: TimezoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Obfuscate traces with a defence."""
    from tracearena import answers, registry
    from tracearena.cli import _gps
    from tracearena.cli._console import needed_places
    from tracearena.formats import pwscup
    from tracearena.obfuscation import Obfuscator

    if registry.is_kind(defence, "gps-obfuscator"):
        _gps.obfuscate(defence, original, out, seed, timezone, as_json)
        return
    check_outputs(out, inputs=(original, places))
    obfuscator: Obfuscator = registry.create(defence, "obfuscator", legacy_2019=legacy_2019)
    traces = pwscup.read_traces(original, pwscup.read_places(needed_places(places, defence)))
    used = seed if legacy_2019 else chosen_seed(seed)
    obfuscated = answers.transformed(obfuscator, traces, seed=used)
    pwscup.write_obfuscated(out, obfuscated)
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
