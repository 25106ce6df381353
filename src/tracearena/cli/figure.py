"""``tracearena figure`` and ``tracearena findings``.

``figure`` reproduces a figure of a paper; ``findings`` compares the statements of the papers with our
numbers.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, print_result
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import refuse_options

if TYPE_CHECKING:
    from tracearena.arena.claims import ClaimResult


class FigureZeros(StrEnum):
    """Zero cells that PPMTF is trained with."""

    sampled = "sampled"
    all = "all"


def figure(
    name: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help="Paper and number, such as contest-8; `list` prints all figures."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the picture and its numbers. [default: figures]")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of published data. By default the simulated city.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of all randomness. [default: 1]")
    ] = None,
    zeros: Annotated[
        FigureZeros | None,
        typer.Option(
            "--zeros",
            help="Zero cells that PPMTF is trained with: sampled, as in the papers, or all. "
            "[default: sampled]",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Reproduce a figure of a paper: the picture, its numbers, and a check of its claims.

    Every claim of the paper about the figure is tested on these numbers and printed with "holds" or "does not
    hold here".

    Example:
      tracearena figure contest-8 --out figures
    """
    from tracearena import papers
    from tracearena.files.atomic import make_folder, replacing_all
    from tracearena.papers import style

    if name == "list":
        refuse_options("the list of figures", out=out, data=data, seed=seed is not None, zeros=zeros)
        if as_json:
            listed = [{"name": one.name, "shows": one.shows} for one in papers.list_figures().values()]
            print_result({"figures": listed}, True)
            return
        width = max(map(len, papers.list_figures()))
        for one in papers.list_figures().values():
            typer.echo(f"{one.name:<{width}}  {one.shows}")
        return
    style.require_matplotlib()
    found: list[ClaimResult] = []
    folder = out or Path("figures")
    make = papers.figure(name)
    with replacing_all(), show_progress(name):
        make_folder(folder)
        written = make(
            folder,
            data=data,
            seed=1 if seed is None else seed,
            zeros=None if zeros is None else zeros.value,
            tell=found.append,
        )
    result: dict[str, Any] = {"figure": name, "files": [str(path) for path in written]}
    if as_json:
        result["findings"] = [finding.to_dict() for finding in found]
    print_result(result, as_json)
    if not as_json:
        for finding in found:
            typer.echo(str(finding))


def findings(
    paper: Annotated[
        str | None,
        typer.Option("--paper", help="Only this paper: samples, contest, ppmtf, geo, sglt, or ours."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="Run the commands that contain this text; repeat for more. `missing` runs those without a "
            "record.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the published data, for --measure.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Folder of recorded outputs. By default that of the package."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the page of the documentation (Markdown).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare every figure, table and finding of the papers with our numbers, and say which hold.

    Our numbers come from recorded runs of the named commands; --measure runs them again.

    Example:
      tracearena findings --paper contest
    """
    from tracearena.files import replacing
    from tracearena.papers import published_claims
    from tracearena.papers.claims_table import (
        claim_to_dict,
        format_claims_page,
        iterate_claims,
        select_commands,
    )

    if measure:
        if record is None:
            raise typer.BadParameter("--measure needs --record, the folder for the outputs")
        for command in select_commands(measure, record):
            note(f"tracearena {command}")
            published_claims.write_run(published_claims.run_command(command, data), record)
    else:
        refuse_options("printing recorded results", data=data)
    if page is not None:
        with replacing(page) as file:
            file.write(format_claims_page(record).encode())
    found = [claim_to_dict(name, row, run) for name, row, run in iterate_claims(record, paper)]
    if as_json:
        print_result({"findings": found}, True)
        return
    for one in found:
        typer.echo(f"{one['verdict']}: {one['paper']}, {one['where']}: {one['states']}")
        for label in ("command", "here", "published", "missing", "note"):
            if one[label]:
                typer.echo(f"  {label:<10}{one[label]}")
