"""``tracearena attack``: an attack on a file of anonymized traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._console import JsonOption, PlacesOption, SeedOption, chosen_seed, print_result


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(attack)


def attack(
    name: Annotated[str, typer.Argument(metavar="ATTACK", help="Such as VisitProb-R or VisitProb-T.")],
    out: Annotated[Path, typer.Argument(help="Where the answer goes (etable_*.csv or etraces_*.csv).")],
    places: PlacesOption,
    reference: Annotated[Path, typer.Option("--reference", help="Reference traces (reftraces_*.csv).")],
    anonymized: Annotated[Path, typer.Option("--anonymized", help="Anonymized traces (pubtraces_*.csv).")],
    seed: SeedOption = None,
    legacy_2019: Annotated[
        bool,
        typer.Option("--legacy-2019", help="A tenth of the events and ten regions of a set, as in 2019."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Attack anonymized traces: who is who (…-R), or who was where (…-T)."""
    from tracearena.attacks import ReidentificationAttack
    from tracearena.contest import make_attacks
    from tracearena.formats import pwscup

    (attacker,) = make_attacks([name], legacy_2019=legacy_2019)
    regions = pwscup.read_places(places)
    known = pwscup.read_traces(reference, regions)
    target = pwscup.read_anonymized(anonymized, regions)
    used = chosen_seed(seed)
    attacker.fit(known)
    result: dict[str, Any] = {"attack": str(attacker), "file": str(out), "pseudonyms": target.n_users}
    if isinstance(attacker, ReidentificationAttack):
        table = attacker.identify(target, seed=used)
        pwscup.write_inferred_table(out, table)
        result["kind"] = "inferred ID table"
    else:
        traces = attacker.infer(target, seed=used)
        pwscup.write_inferred_traces(out, traces)
        result["kind"] = "inferred traces"
        result["cells"] = traces.n_events
    print_result(result, as_json)
