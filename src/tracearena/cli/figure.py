"""``tracearena figure``: a paper's figure, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, print_result, progress_bar


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
        Path | None, typer.Option("--data", help="Folder of published data; the simulated city if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all randomness.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the papers again: a picture and the numbers behind it."""
    from tracearena import figures
    from tracearena.formats._files import make_folder, replacing_all

    make = figures.figure(name)
    with replacing_all(), progress_bar(name) as progress:
        make_folder(out)
        written = make(out, data=data, seed=seed, progress=progress)
    print_result({"figure": name, "files": [str(path) for path in written]}, as_json)
