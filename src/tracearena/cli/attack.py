"""``tracearena attack``: an attack on a file of anonymized traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._console import (
    JsonOption,
    OptionalPlacesOption,
    SeedOption,
    check_outputs,
    chosen_seed,
    print_result,
)
from tracearena.cli._contest_files import TimesOption, given_times, refuse_times, refuse_two_clocks
from tracearena.cli._gps import TimezoneOption
from tracearena.cli._reading import refuse


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(attack)


def attack(
    name: Annotated[
        str, typer.Argument(metavar="ATTACK", help="Such as VisitProb-R, VisitProb-T or 'Smooth(9)'.")
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the answer goes (etable_*.csv or etraces_*.csv; GPS: .csv, .parquet, .gpx, folder)."
        ),
    ],
    anonymized: Annotated[
        Path, typer.Option("--anonymized", help="Anonymized traces (pubtraces_*.csv), or GPS traces.")
    ],
    places: OptionalPlacesOption = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Reference traces (reftraces_*.csv); GPS attacks need none."),
    ] = None,
    seed: SeedOption = None,
    legacy_2019: Annotated[
        bool,
        typer.Option("--legacy-2019", help="A tenth of the events and ten regions of a set, as in 2019."),
    ] = False,
    times: TimesOption = None,
    timezone: TimezoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Attack anonymized traces: who is who (…-R), or who was where (…-T, and those on GPS traces)."""
    from tracearena.algorithms import ReidentificationAttack, answers, catalogue
    from tracearena.arena import make_attacks
    from tracearena.cli import _gps
    from tracearena.cli._console import needed_places
    from tracearena.errors import DataError, ParameterError
    from tracearena.formats import pwscup
    from tracearena.intake.user_key import carrying, refuse_stale_key

    if catalogue.is_kind(name, "gps-attack"):
        refuse_times(times, name)
        refuse(name, legacy_2019=legacy_2019)
        _gps.attack(name, out, anonymized, timezone, as_json)
        return
    if reference is None:
        raise ParameterError(f"{name} learns from reference traces: name them with --reference")
    check_outputs(out, inputs=(places, reference, anonymized, times))
    refuse_stale_key(reference, out)
    (attacker,) = make_attacks([name], legacy_2019=legacy_2019)
    refuse(name, legacy_2019=legacy_2019 and "legacy_2019" not in attacker.parameters())
    regions = pwscup.read_places(needed_places(places, name))
    clock = given_times(times)
    known = pwscup.read_traces(reference, regions, clock)
    target = pwscup.read_anonymized(anonymized, regions, clock)
    refuse_two_clocks((reference, known), (anonymized, target))
    if known.n_users != target.n_users:
        raise DataError(
            f"{reference} has {known.n_users:,} users but {anonymized} {target.n_users:,} pseudonyms: "
            "they are not of one team"
        )
    used = chosen_seed(seed)
    answers.try_attack(attacker, known)
    answers.fitted(attacker, known)
    result: dict[str, Any] = {"attack": str(attacker), "file": str(out), "pseudonyms": target.n_users}
    if isinstance(attacker, ReidentificationAttack):
        table = answers.identified(attacker, target, known, seed=used)
        with carrying(reference, out):
            pwscup.write_inferred_table(table, out)
        result["kind"] = "inferred ID table"
    else:
        traces = answers.inferred(attacker, target, known, seed=used)
        with carrying(reference, out):
            pwscup.write_inferred_traces(traces, out)
        result["kind"] = "inferred traces"
        result["cells"] = traces.n_events
    print_result(result, as_json)
