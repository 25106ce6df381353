"""``tracearena contest verify``: anybody can prove the judge right, or wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, note, working


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(verify)


def verify(
    file: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="What `contest export` wrote: one zip.")],
    key: Annotated[
        str | None,
        typer.Option("--key", help="The contest's public key, as its rules page showed it: 64 digits."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge an archive of a contest from scratch, and hold it against what it says.

    Every file has its hash; every ID table opens its commitment; what was released is what was handed in;
    utilities, all scores, board and awards are those of the results; every receipt is in a signed list, and
    was judged or refused; the audit log has no gap. Where original traces are not in the
    archive, the scores that need them are named and taken as they are. What is wrong is named, and the exit
    status is then 1.
    """
    from tracearena.contest import verify_archive

    with working("scores"):
        found = verify_archive(file, key=key)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), allow_nan=False))
    else:
        for name, count in found.checked.items():
            typer.echo(f"{name:<11}  {count:,}")
        for score in found.told:
            note(f"not made again, for the original traces are not there: {score}")
        for finding in found.findings:
            typer.echo(str(finding))
        if found.signed_by is not None and key is None:
            note(f"signed by {found.signed_by}: is that the key on the contest's rules page?")
        result = "everything is right" if found.is_right else f"{len(found.findings)} wrong"
        typer.echo(f"{file}: {result}")
    if not found.is_right:
        raise typer.Exit(1)
