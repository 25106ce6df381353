"""``tracearena figure``: a paper's figure, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, print_result, working

if TYPE_CHECKING:
    from tracearena.arena.findings import Finding


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Names: " + ", ".join(_names()))(figure)


def _names() -> list[str]:
    from tracearena.figures import FIGURES

    return list(FIGURES)


def figure(
    name: Annotated[str, typer.Argument(help="Paper and number, such as contest-8.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the picture and its numbers.")] = Path(
        "figures"
    ),
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of published data; the simulated city if omitted.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all randomness.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the papers again: a picture and the numbers behind it.

    What is said of the figure is tested on these numbers and printed as "holds" or "does not hold here".
    """
    from tracearena import figures
    from tracearena.files.staging import make_folder, replacing_all

    found: list[Finding] = []

    make = figures.figure(name)
    with replacing_all(), working(name):
        make_folder(out)
        written = make(out, data=data, seed=seed, tell=found.append)
    result: dict[str, Any] = {"figure": name, "files": [str(path) for path in written]}
    if as_json:
        result["findings"] = [finding.to_dict() for finding in found]
    print_result(result, as_json)
    if not as_json:
        for finding in found:
            typer.echo(str(finding))
