"""``tracearena deniability``: could synthetic traces have come from other people as well?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import (
    JsonOption,
    SeedOption,
    chosen_seed,
    print_result,
    working,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._reading import ReadingOptions, say

if TYPE_CHECKING:
    from tracearena.traces import Clock, Traces


OF_THE_MODEL = (
    "places", "grid", "bounds", "top", "interval", "slot", "resample", "timezone", "utc_hours", "hours",
)  # fmt: skip
"""Options of reading about places and instants, which are the model's."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(deniability)


@reads_traces(without=OF_THE_MODEL)
def deniability(
    reading: ReadingOptions,
    context: typer.Context,
    model: Annotated[Path, typer.Option("--model", help="Model file that `synthesize --model` wrote.")],
    synthetic: Annotated[
        Path, typer.Option("--synthetic", help="Synthetic traces, whole days of the model's users.")
    ],
    k: Annotated[
        int, typer.Option("--k", help="People a trace must be plausible for, its own included.")
    ] = 10,
    eta: Annotated[float, typer.Option("--eta", help="Width of a bucket of log-likelihoods.")] = 1.0,
    verifiers: Annotated[
        int | None, typer.Option("--verifiers", help="Ask this many random users; all if omitted.")
    ] = None,
    early_stop: Annotated[
        bool, typer.Option("--early-stop", help="Stop at k: faster, and k' is cut there.")
    ] = False,
    k_prime: Annotated[
        Path | None, typer.Option("--k-prime", help="File for k' and pass of each trace.")
    ] = None,
    cluster: ClusterOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test synthetic traces for (k, eta)-plausible deniability and print the share that passes.

    A trace passes if at least k users of the model, its own user included, could have made it with
    about the same probability: in the same bucket of width eta on the log scale.
    """
    from tracearena.errors import ParameterError
    from tracearena.formats import read
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import measure_deniability as test

    workers = joined(context, cluster)
    trained = PPMTF.load(model)
    if trained.places_.grid is None and reading.is_gps(synthetic):
        raise ParameterError(f"{synthetic}: holds GPS points, not events at the model's places")
    made = read(
        synthetic, reading.format, places=trained.places_, times=reading.times, **reading.layout()
    ).as_events()
    # Nothing is assumed of the times: they are the model's.
    made.report.assumed = ""
    say(made)
    traces = made.traces
    if traces.timestamps is None:
        traces = _counted_by(trained.clock_, traces)
    used = chosen_seed(seed)
    with working("verifiers", cluster=workers):
        found = test(
            trained,
            traces,
            k=k,
            eta=eta,
            verifiers=verifiers,
            early_stop=early_stop,
            seed=used,
        )
    if k_prime is not None:
        found.write(k_prime)
    print_result(found.to_dict() | {"seed": used}, as_json)


def _counted_by(clock: Clock, traces: Traces) -> Traces:
    """Read the instants as the model's: a table of synthetic traces numbers them and has no clock."""
    from tracearena.traces import Traces

    return Traces(
        traces.places,
        clock,
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        instants=traces.instants,
        place_index=traces.place_index,
        span=traces.span,
    )
