"""``tracearena figure``: a paper's figure, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, print_result, working
from tracearena.cli._refusing import refuse

if TYPE_CHECKING:
    from tracearena.arena.claims import Finding


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(figure)


def figure(
    name: Annotated[
        str,
        typer.Argument(help="Paper and number, such as contest-8; `list` says what each figure shows."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the picture and its numbers; figures if omitted.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of published data; the simulated city if omitted.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of all randomness; 1 if omitted.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the papers again: a picture and the numbers behind it.

    What is said of the figure is tested on these numbers and printed as "holds" or "does not hold here".
    """
    from tracearena import figures
    from tracearena.files.atomic import make_folder, replacing_all

    if name == "list":
        refuse("the list of figures", out=out, data=data, seed=seed is not None)
        _print_list(as_json)
        return
    found: list[Finding] = []
    folder = out or Path("figures")
    make = figures.figure(name)
    with replacing_all(), working(name):
        make_folder(folder)
        written = make(folder, data=data, seed=1 if seed is None else seed, tell=found.append)
    result: dict[str, Any] = {"figure": name, "files": [str(path) for path in written]}
    if as_json:
        result["findings"] = [finding.to_dict() for finding in found]
    print_result(result, as_json)
    if not as_json:
        for finding in found:
            typer.echo(str(finding))


def _print_list(as_json: bool) -> None:
    """Say what each figure shows, from the catalogue of figures."""
    from tracearena.figures import FIGURES

    if as_json:
        print_result(
            {"figures": [{"name": name, "shows": what} for name, (_, what) in FIGURES.items()]}, True
        )
        return
    width = max(map(len, FIGURES))
    for name, (_, what) in FIGURES.items():
        typer.echo(f"{name:<{width}}  {what}")
