"""``tracearena lbs``: how well people hide among fakes from a location-based service."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import JsonOption, SeedOption, chosen_seed, print_result
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.traces import Traces


class Method(StrEnum):
    """Where the fakes come from."""

    sglt = "sglt"
    uniform = "uniform"
    aggregate = "aggregate"
    walk = "walk"
    own_walk = "own-walk"


class Attacker(StrEnum):
    """What the attacker knows."""

    population = "population"
    generator = "generator"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(lbs)


@reads_traces()
def lbs(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces, of any format.")],
    fakes: Annotated[int, typer.Option("--fakes", min=1, help="Fakes sent beside the real place.")] = 10,
    exposure: Annotated[
        float, typer.Option("--exposure", help="Chance that a place is sent, above 0 and at most 1.")
    ] = 0.3,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="sglt; every instant by itself (uniform, aggregate); a random walk as everybody moves "
            "(walk) or as the user herself moves (own-walk).",
        ),
    ] = Method.sglt,
    classes: Annotated[
        int | None, typer.Option("--classes", help="Semantic classes; the best number if omitted.")
    ] = None,
    attacker: Annotated[
        Attacker,
        typer.Option(
            "--attacker",
            help="What he knows: how the population moves, or how the generator's fakes move as well.",
        ),
    ] = Attacker.population,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hide people among fakes and let an attacker look for them.

    Everybody knows the first half of the days (all of them if there is only one); people hide and
    the attacker tracks them on the rest. Privacy is the share of the places sent that he misses
    (1 is best); different places and classes sent at once are the price.
    """
    from tracearena.arena import hide_from_service, location_classes
    from tracearena.engine import child_seed, seed_sequence
    from tracearena.obfuscation.fakes import FakeTraces

    defence = FakeTraces(method=method.value, fakes=fakes, exposure=exposure, classes=classes)
    traces, _ = reading.read_events(file)
    root = seed_sequence(chosen_seed(seed))
    training, original = _halves(traces)
    kinds = location_classes(training, classes, seed=child_seed(root, 0))
    result = hide_from_service(
        training, original, defence, kinds, knows=attacker.value, seed=child_seed(root, 1)
    )
    print_result({"users": original.n_users, "classes": len(kinds)} | result.to_dict(), as_json)


def _halves(traces: Traces) -> tuple[Traces, Traces]:
    length = traces.clock.instants_per_day
    first, stop = traces.span[0] // length, -(-traces.span[1] // length)
    if stop - first < 2:
        return traces, traces
    return traces.split_days((stop - first) // 2)
