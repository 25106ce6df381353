"""``tracearena findings``: what the papers say, and whether it holds here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, note, print_result
from tracearena.cli._refusing import refuse


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(findings)


def findings(
    paper: Annotated[
        str | None,
        typer.Option("--paper", help="One paper only: samples, contest, ppmtf, geo, sglt, or ours."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="Run the commands that have this text in them; repeat for more. `missing`: those never run.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the published data, for --measure.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Folder of what commands printed; that of the package if omitted."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the page of the documentation (Markdown).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Set each figure, table and finding of the papers beside our number: holds, holds not, cannot be tried.

    Our numbers are kept from runs of the commands named; --measure runs them again.
    """
    from tracearena.figures.ledger import runs
    from tracearena.figures.ledger.page import chosen, entries, told
    from tracearena.figures.ledger.page import page as written
    from tracearena.files import replacing

    if measure:
        if record is None:
            raise typer.BadParameter("--measure needs --record, the folder where runs are kept")
        for command in chosen(measure, record):
            note(f"tracearena {command}")
            runs.keep(runs.measure(command, data), record)
    else:
        refuse("reading what was measured", data=data)
    if page is not None:
        with replacing(page) as file:
            file.write(written(record).encode())
    found = [told(name, row, run) for name, row, run in entries(record, paper)]
    if as_json:
        print_result({"findings": found}, True)
        return
    for one in found:
        typer.echo(f"{one['verdict']}: {one['paper']}, {one['where']}: {one['states']}")
        for label in ("command", "here", "published", "missing", "note"):
            if one[label]:
                typer.echo(f"  {label:<10}{one[label]}")
