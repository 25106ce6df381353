"""``tracearena tune``: the best synthesizer for some traces, by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, chosen_seed, print_result, working
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._reading_options import SlotsOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tune)


@reads_traces()
def tune(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(help="Traces of everybody, in any format that is read.")],
    synthesizers: Annotated[
        list[str], typer.Argument(help="Synthesizers to try, such as 'PPMTF(16,20)' 'PPMTF(16,200)' SGD.")
    ],
    by: Annotated[
        str, typer.Option("--by", help="What to choose by: tp_tv, tp_tv_top50, tm_emd_x, tm_emd_y, vf_tv, …")
    ] = "tp_tv",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of the people, each tested once.")] = 5,
    traces_per_user: Annotated[
        int, typer.Option("--traces-per-user", min=1, help="Synthetic traces of each user.")
    ] = 1,
    most_reidentified: Annotated[
        float | None,
        typer.Option("--most-reidentified", help="Do not choose what betrays a larger share of traces."),
    ] = None,
    largest_advantage: Annotated[
        float | None,
        typer.Option("--largest-advantage", help="Do not choose what has a larger membership advantage."),
    ] = None,
    slots: SlotsOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose a synthesizer and its parameters: train on most of the people, compare with the others.

    Every part of the people is held out once, and all metrics are averaged (0 is best).
    """
    from tracearena.arena.evaluation import choose_synthesizer

    traces, _ = reading.read_events(file)
    traces = traces if slots is None else traces.with_slots(slots)
    used = chosen_seed(seed)
    with working("folds"):
        found = choose_synthesizer(
            synthesizers,
            traces,
            by=by,
            folds=folds,
            traces_per_user=traces_per_user,
            most_reidentified=most_reidentified,
            largest_advantage=largest_advantage,
            seed=used,
        )
    if as_json:
        print_result(found.to_dict() | {"seed": used}, True)
        return
    _print(found.to_dict(), by)


def _print(found: dict[str, Any], by: str) -> None:
    """Print a line a synthesizer, best first, and what was chosen."""
    columns = [by, *(name for name in ("reidentification_rate", "membership_advantage") if name != by)]
    width = max(len(one["name"]) for one in found["tried"])
    typer.echo(" " * width + "".join(f"  {name.replace('_', ' '):>22}" for name in columns))
    for one in found["tried"]:
        cells = [
            f"{one['mean'][name]:.4f} ± {one['spread'][name]:.4f}" if name in one["mean"] else "-"
            for name in columns
        ]
        mark = "" if one["allowed"] else "  betrays too much"
        typer.echo(f"{one['name']:<{width}}" + "".join(f"  {cell:>22}" for cell in cells) + mark)
    typer.echo(f"\nbest by {by.replace('_', ' ')}: {found['best'] or 'none keeps the bounds of privacy'}")
