"""``tracearena bounds``: between which values the privacy of whereabouts must lie."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena import arena
from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import (
    JsonOption,
    SeedOption,
    check_outputs,
    chosen_seed,
    note,
    print_result,
    working,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions
from tracearena.cli.score import OriginalOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bounds)


@reads_traces(halves=True)
def bounds(
    reading: ReadingOptions,
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Where the table goes (CSV), one line a defence.")],
    original: OriginalOption,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Reference traces; --split-at cuts them off the original instead."),
    ] = None,
    defences: Annotated[
        list[str] | None,
        typer.Option("--defences", help="A defence; repeat for more. [default: the 37 samples]"),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="A trace inference to compare; samples, strongest or all for several. [default: strongest]",
        ),
    ] = None,
    seed: SeedOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say between which values the privacy of whereabouts (s_T) of every defence must lie on this data.

    Above: what habits alone leave (Habits-T, which does not read the release), so no defence is worth
    more. Below: an estimate of what an attacker leaves who is told the defence and who is who. Attacks
    outside of the two are named, with 95 % intervals over the users.
    """
    from tracearena.cli._sensitive import sensitive_places
    from tracearena.cli._together import read_halves

    check_outputs(out, inputs=(reference, original, *reading.files))
    halves = read_halves(reading, reference, original)
    used = chosen_seed(seed)
    with working("defences", cluster=joined(context, cluster)):
        found = arena.bounds(
            *halves, defences=defences or arena.SAMPLE_DEFENCES, attacks=attacks or ("strongest",), seed=used
        )
    arena.write_bounds(found, out)
    for row in found.defences:
        if row.is_artefact:
            note(
                f"{row.defence}: {row.strongest_T} leaves {row.s_T_min:.4f}, more than habits alone by "
                f"{row.above}: the figure is an artefact of weak attacks"
            )
        for name, less in row.below.items():
            note(f"{row.defence}: {name} is below the estimate of {row.estimate.value:.4f} by {less}")
        for why in row.failed.values():
            note(f"{row.defence}: {why}")
    estimates = [row.estimate.value for row in found.defences]
    result = {
        "file": str(out),
        "defences": len(found.defences),
        "ceiling": found.ceiling.value,
        "ceiling_low": found.ceiling.low,
        "ceiling_high": found.ceiling.high,
        "lowest_estimate": min(estimates),
        "highest_estimate": max(estimates),
        "above_ceiling": len(found.artefacts),
        "below_estimate": sum(bool(row.below) for row in found.defences),
    }
    result |= sensitive_places(halves[1].places, 10.0)
    print_result(result, as_json)
