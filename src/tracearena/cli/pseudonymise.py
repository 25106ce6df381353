"""``tracearena pseudonymise``: the judge's shuffle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, check_outputs, print_result


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(pseudonymise)


def pseudonymise(
    obfuscated: Annotated[Path, typer.Argument(help="Obfuscated traces (anotraces_*.csv).")],
    out: Annotated[Path, typer.Argument(help="Where the anonymized traces go (pubtraces_*.csv).")],
    original: Annotated[Path, typer.Option("--original", help="The original traces they were made from.")],
    id_table: Annotated[
        Path, typer.Option("--id-table", help="Where the secret ID table goes (ptable_*.csv).")
    ],
    places: Annotated[
        Path | None, typer.Option("--places", help="The regions, if they are not the contest's 1,024.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="For experiments only; without it the shuffle is cryptographic."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Give every trace a pseudonym at random and write the secret table of who is who.

    Publish the printed commitment before the attacks; keep its salt as secret as the ID table, and
    publish both afterwards, so that nobody can doubt the judge.
    """
    from tracearena import contest
    from tracearena.formats import pwscup
    from tracearena.formats._files import replacing_all

    check_outputs(out, id_table, inputs=(obfuscated, original, places))
    regions = pwscup.contest_regions() if places is None else pwscup.read_places(places)
    traces = pwscup.read_obfuscated(obfuscated, pwscup.read_traces(original, regions))
    release = contest.pseudonymise(traces, seed=seed)
    with replacing_all():
        pwscup.write_id_table(id_table, release.id_table)
        pwscup.write_anonymized(out, release.anonymized)
    commitment = contest.commit(release.id_table)
    print_result(
        {
            "file": str(out),
            "id_table": str(id_table),
            "pseudonyms": len(release.id_table),
            "commitment": commitment.digest,
            "commitment_salt": commitment.salt,
        },
        as_json,
    )
