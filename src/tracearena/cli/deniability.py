"""``tracearena deniability``: could synthetic traces have come from other people as well?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._app import print_outcome
from tracearena.cli._output import ClusterOption, JsonOption, SeedOption, join_cluster, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import check_outputs, choose_seed
from tracearena.jobs.reading import ReadingOptions, note_problems

OF_THE_MODEL = (
    "places", "grid", "bounds", "top", "interval", "slot", "resample", "timezone", "utc_hours", "hours",
)  # fmt: skip
"""Options of reading about places and instants, which are the model's."""


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
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a test (--k-prime) that was stopped.")
    ] = False,
    cluster: ClusterOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test synthetic traces for (k, eta)-plausible deniability and print the share that passes.

    A trace passes if at least k users of the model, its own user included, could have made it with
    about the same probability: in the same bucket of width eta on the log scale. With --k-prime FILE, what
    finished verifiers have counted is kept in FILE.unfinished until all are: --resume goes on there.
    """
    from tracearena.arena.sweep import digest
    from tracearena.engine import Checkpoint, check_resume, get_checkpoint_path, read_checkpoint_seed
    from tracearena.errors import ParameterError
    from tracearena.files import digest_file, is_stream
    from tracearena.io import read
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import measure_deniability

    kept = None  # where the test keeps what it has counted, if it does
    if k_prime is not None and not is_stream(k_prime):
        kept = get_checkpoint_path(k_prime)
        check_resume(k_prime, resume=resume)
    elif resume:
        raise ParameterError(
            "--resume needs --k-prime FILE: what a test has counted is kept beside that file"
        )
    check_outputs(k_prime, inputs=(model, synthetic))
    workers = join_cluster(context, cluster)
    trained = PPMTF.load(model)
    source = reading.open(synthetic)
    if trained.places_.grid is None and source.holds_points:
        raise ParameterError(f"{synthetic}: holds GPS points, not events at the model's places")
    made = read(source, places=trained.places_, times=reading.times).as_events()
    # Nothing is assumed of the times: they are the model's.
    made.report.assumed = ""
    note_problems(made)
    traces = made.traces
    if traces.timestamps is None:
        # A table of synthetic traces numbers the instants and has no clock: they are the model's.
        traces = traces.replace(clock=trained.clock_)
    # A stopped test goes on with its own seed.
    begun = read_checkpoint_seed(kept) if resume and kept is not None and seed is None else None
    if begun is not None:
        note(f"seed {begun}, with which {kept} was begun")
    used = choose_seed(seed) if begun is None else begun
    asked: dict[str, Any] = {"k": k, "eta": eta, "verifiers": verifiers, "early_stop": early_stop}
    checkpoint = None
    if kept is not None:
        depends_on = digest([traces], digest_file(model), asked, used)
        checkpoint = Checkpoint(kept, depends_on, used, refuse_as=kept if resume else None)
    try:
        with show_progress("verifiers", cluster=workers):
            found = measure_deniability(trained, traces, **asked, seed=used, checkpoint=checkpoint)
    except BaseException:
        if checkpoint is not None and checkpoint.rows:
            done = sum(row["done"] for row in checkpoint.rows.values())
            finished = f"{done:,} verifiers are finished in {kept}"
            print_outcome(f"{finished}; the same command with --resume goes on")
        elif checkpoint is not None:
            checkpoint.remove()
        raise
    if k_prime is not None:
        found.write(k_prime)
    if checkpoint is not None:
        checkpoint.remove()
    print_result(found.to_dict() | {"seed": used}, as_json)
