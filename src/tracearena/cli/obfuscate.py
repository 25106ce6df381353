"""``tracearena obfuscate``: a defence on a file of original traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, PlacesOption, SeedOption, chosen_seed, print_result

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
        str, typer.Argument(help="Name and parameters, such as 'MRLH(1,1,0.5)' or 'PL(4,1)'.")
    ],
    original: Annotated[Path, typer.Argument(help="Original traces (orgtraces_*.csv).")],
    out: Annotated[Path, typer.Argument(help="Where the obfuscated traces go (anotraces_*.csv).")],
    places: PlacesOption,
    seed: SeedOption = None,
    legacy_2019: LegacyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Obfuscate traces with a defence."""
    from tracearena import registry
    from tracearena.formats import pwscup
    from tracearena.obfuscation import Obfuscator

    obfuscator: Obfuscator = registry.create(defence, "obfuscator", legacy_2019=legacy_2019)
    traces = pwscup.read_traces(original, pwscup.read_places(places))
    used = seed if legacy_2019 else chosen_seed(seed)
    obfuscated = obfuscator.transform(traces, seed=used)
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
