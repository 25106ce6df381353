"""``tracearena deniability``: the test of synthetic traces for plausible deniability."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
"""Options for places and instants; the test uses those of the model."""


@reads_traces(without=OF_THE_MODEL)
def deniability(
    reading: ReadingOptions,
    context: typer.Context,
    model: Annotated[Path, typer.Option("--model", help="Model file written by `synthesize --model`.")],
    synthetic: Annotated[
        Path, typer.Option("--synthetic", help="Synthetic traces: complete days of the users of the model.")
    ],
    k: Annotated[
        int, typer.Option("--k", help="Number of users a trace must be plausible for, including its own.")
    ] = 10,
    eta: Annotated[float, typer.Option("--eta", help="Width of a log-likelihood bucket.")] = 1.0,
    verifiers: Annotated[
        int | None, typer.Option("--verifiers", help="Compare with this many random users. By default all.")
    ] = None,
    early_stop: Annotated[
        bool, typer.Option("--early-stop", help="Stop counting at k: faster, but k' is then at most k.")
    ] = False,
    k_prime: Annotated[
        Path | None, typer.Option("--k-prime", help="File for k' and the result of each trace.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted test (with --k-prime).")
    ] = False,
    cluster: ClusterOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test synthetic traces for (k, eta)-plausible deniability, and print the share that passes.

    A trace passes if at least k users of the model, its own user included, could have made it with about the
    same probability (in the same bucket of width eta on the log scale). With --k-prime FILE, an interrupted
    test leaves its counts in FILE.unfinished, from which --resume continues.

    Example:
      tracearena deniability --model model.npz --synthetic synthetic.csv --k 10
    """
    from tracearena.arena.sweep import digest
    from tracearena.engine import Checkpoint, check_resume, get_checkpoint_path, read_checkpoint_seed
    from tracearena.errors import ParameterError
    from tracearena.files import digest_file, is_stream
    from tracearena.io import read
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability

    kept = None  # file in which the test stores its counts, if any
    if k_prime is not None and not is_stream(k_prime):
        kept = get_checkpoint_path(k_prime)
        check_resume(k_prime, resume=resume)
    elif resume:
        raise ParameterError(
            "--resume needs --k-prime FILE, because the counts of a test are stored next to that file"
        )
    check_outputs(k_prime, inputs=(model, synthetic))
    workers = join_cluster(context, cluster)
    trained = PPMTF.load(model)
    source = reading.open(synthetic)
    if trained.places_.grid is None and source.holds_points:
        raise ParameterError(f"{synthetic}: has GPS points; it must have events at the places of the model")
    made = read(source, places=trained.places_, times=reading.times).as_events()
    # The times are those of the model, so nothing was assumed about them.
    made.report.assumed = ""
    note_problems(made)
    traces = made.traces
    if traces.timestamps is None:
        # A table of synthetic traces has numbers of instants and no clock: take that of the model.
        traces = traces.replace(clock=trained.clock_)
    # An interrupted test continues with its own seed.
    begun = read_checkpoint_seed(kept) if resume and kept is not None and seed is None else None
    if begun is not None:
        note(f"seed {begun}, from {kept}")
    used = choose_seed(seed) if begun is None else begun
    test = DeniabilityTest(k=k, eta=eta, verifiers=verifiers, early_stop=early_stop)
    checkpoint = None
    if kept is not None:
        depends_on = digest([traces], digest_file(model), test, used)
        checkpoint = Checkpoint(kept, depends_on, used, refuse_as=kept if resume else None)
    try:
        with show_progress("verifiers", cluster=workers):
            found = measure_deniability(trained, traces, test, seed=used, checkpoint=checkpoint)
    except BaseException:
        if checkpoint is not None and checkpoint.rows:
            done = sum(row["done"] for row in checkpoint.rows.values())
            finished = f"{done:,} verifiers are finished in {kept}"
            print_outcome(f"{finished}; to continue, run the same command with --resume")
        elif checkpoint is not None:
            checkpoint.remove()
        raise
    if k_prime is not None:
        found.write(k_prime)
    if checkpoint is not None:
        checkpoint.remove()
    print_result(found.to_dict() | {"seed": used}, as_json)
