"""``tracearena synthesize``: new traces that look like those of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import delay_stop, print_outcome
from tracearena.cli._output import ClusterOption, JsonOption, ReleaseSeedOption, join_cluster, print_result
from tracearena.cli._reading import SlotsOption, reads_traces
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import check_outputs, choose_release_seed, refuse_options
from tracearena.jobs.reading import ReadingOptions, note_problems

if TYPE_CHECKING:
    from tracearena.algorithms import Synthesizer
    from tracearena.engine import Cluster
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf import PartitionedTraces
    from tracearena.traces import Traces


_DEFAULT_TRACES = 10
_OF_SYNTHETIC = ("pwscup", "peopleflow", "partitions", "ppmtf")


@reads_traces()
def synthesize(
    reading: ReadingOptions,
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Such as 'PPMTF(16,200,zeros=all)', SGD, SGLT or my_module:MyClass; `tracearena algorithms "
            "synthesizers` lists them.",
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="IN", help="Training traces, of any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the synthetic traces go.")],
    traces_per_user: Annotated[
        int | None,
        typer.Option("--traces-per-user", min=1, help="Synthetic days of each user; 10 if omitted."),
    ] = None,
    virtual_users: Annotated[
        int | None,
        typer.Option(
            "--virtual-users",
            min=1,
            help="PPMTF: traces of so many people who never lived (PPMTF+), not of the training users.",
        ),
    ] = None,
    homes: Annotated[
        bool, typer.Option("--homes", help="Virtual users: everybody has a home, morning and evening.")
    ] = False,
    only_seen: Annotated[
        bool,
        typer.Option(
            "--only-seen", help="Virtual users: no transition or visit that nobody made in training."
        ),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="PPMTF: model file, written during training, gone on from if unfinished, used if finished; "
            "or a folder of the PPMTF tools' modelparameter_Itr<t>_*.csv.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="PPMTF: folder for the factors as the PPMTF tools' parameter files."),
    ] = None,
    deniable: Annotated[
        str | None,
        typer.Option(
            "--deniable", help="PPMTF: k,eta; write only traces with (k, eta)-plausible deniability."
        ),
    ] = None,
    log_likelihoods: Annotated[
        bool,
        typer.Option("--log-likelihoods", help="PPMTF: weigh each trace (only in OUT of format ppmtf)."),
    ] = False,
    slots: SlotsOption = None,
    lean: Annotated[
        bool,
        typer.Option("--lean", help="PPMTF: train with less memory, in more time; the result is the same."),
    ] = False,
    cluster: ClusterOption = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a synthesizer on traces and write synthetic traces.

    They are traces of the training users, or with --virtual-users of people who never lived.
    """
    from tracearena.algorithms import catalogue, parse, validation
    from tracearena.engine import child_seed, seed_sequence, use
    from tracearena.errors import ParameterError
    from tracearena.files import require_new
    from tracearena.files.atomic import replacing_all
    from tracearena.io import ppmtf, read_places, write
    from tracearena.io.writers import guess_format_by_name
    from tracearena.synthesis import PPMTF, SGLT
    from tracearena.synthesis.ppmtf import PartitionedTraces

    if parse(name)[0] == "PPMTF+":
        plain = name.replace("PPMTF+", "PPMTF", 1)
        raise ParameterError(f"PPMTF+ draws virtual users from PPMTF: write '{plain}' and --virtual-users N")
    kind, parameters = catalogue.resolve(name, "synthesizer")
    own: dict[str, Any] = {
        "virtual_users": virtual_users,
        "model": model,
        "export": export,
        "deniable": deniable,
        "log_likelihoods": log_likelihoods,
        "lean": lean,
        "cluster": cluster,
    }
    if kind is not PPMTF:
        refuse_options(name, **own, homes=homes, only_seen=only_seen)
    elif virtual_users is None:
        refuse_options("training users; add --virtual-users", homes=homes, only_seen=only_seen)
    else:
        refuse_options("virtual users", deniable=deniable, log_likelihoods=log_likelihoods)
    untrained: Synthesizer = catalogue.create(name, "synthesizer")
    wanted = _parse_k_and_eta(deniable)
    source = reading.open(file)
    known = source.format
    to = guess_format_by_name(out, like=known if known in _OF_SYNTHETIC else "table")
    if log_likelihoods and to != "ppmtf":
        raise ParameterError("--log-likelihoods have a column only in files of format ppmtf")
    # An OUT that cannot be written is refused before the hours of training, not after them.
    if to == "partitions":
        require_new(out)
    else:
        check_outputs(out, inputs=(file, *reading.files))
    workers = join_cluster(context, cluster)
    training: Any
    if workers is not None and known == "partitions" and reading.places is not None:
        refuse_options("traces in files that workers read", slots=slots)
        # The workers read the files; without a file of places nobody would know them all.
        cuts = {"hours": reading.hours, "from_date": reading.from_date, "to_date": reading.to_date}
        refuse_options("a folder that the workers read", **cuts)
        reading.refuse_layout("a folder that the workers read")
        with show_progress("reading"):
            places = read_places(reading.places)
            training = PartitionedTraces(file, places, workers, choices=reading.choices())
        note_problems(training)
    else:
        training, _ = reading.read_events(source)
        training = training if slots is None else training.with_slots(slots)
    root = seed_sequence(choose_release_seed(seed))
    synthesizer: Any
    if kind is PPMTF:
        synthesizer = train_ppmtf(
            training, parameters, model, child_seed(root, 0), cluster=workers, lean=lean
        )
    else:
        # A class from elsewhere is tried on a few users first.
        validation.try_synthesizer(untrained, training)
        with show_progress("training"):
            synthesizer = validation.run_fit(untrained, training, seed=child_seed(root, 0))
    days = traces_per_user or _DEFAULT_TRACES
    with show_progress("drawing", cluster=workers):
        if virtual_users is not None:
            synthetic: Traces = synthesizer.sample_users(
                virtual_users, days, homes=homes, only_seen=only_seen, seed=child_seed(root, 1)
            )
        elif workers is not None:
            synthetic = synthesizer.synthesize(days, seed=child_seed(root, 1))
        else:
            synthetic = validation.run_synthesize(synthesizer, training, days, seed=child_seed(root, 1))
    made = synthetic.n_instants
    tested: dict[str, Any] = {}
    if wanted is not None:
        synthetic, tested = _keep_deniable(synthesizer, synthetic, *wanted, child_seed(root, 2), workers)
    with use(cluster=workers):
        likelihood = synthesizer.log_likelihoods(synthetic) if log_likelihoods else None
    with replacing_all():
        if to == "ppmtf":
            slot_name = "time_period" if isinstance(synthesizer, SGLT) else "time_slot"
            ppmtf.write_synthetic(ppmtf.SyntheticTraces(synthetic, likelihood), out, slot_name=slot_name)
        else:
            write(synthetic, out, to=to)
        if export is not None:
            synthesizer.export_parameters(export)
    present = int((synthetic.offsets[1:] > synthetic.offsets[:-1]).sum())
    if present < synthetic.n_users:
        note(f"{synthetic.n_users - present:,} users have no synthetic trace, and no row in {out}")
    result: dict[str, Any] = {
        "method": str(synthesizer),
        "file": str(out),
        "users": present,
        "traces_per_user": made // synthetic.clock.instants_per_day,
        "events": synthetic.n_events,
        "places": len(synthetic.places),
    }
    if seed is not None:
        result["seed"] = seed
    print_result(result | _describe_model(synthesizer) | tested, as_json)


def _parse_k_and_eta(text: str | None) -> tuple[int, float] | None:
    from tracearena.checks import LARGEST_COUNT, require_number, require_whole
    from tracearena.errors import ParameterError

    if text is None:
        return None
    k, _, eta = text.partition(",")
    try:
        wanted = int(k), float(eta)
        require_whole("k", wanted[0], at_least=1, at_most=LARGEST_COUNT)
        require_number("eta", wanted[1], above=0, at_most=1e6)
    except ValueError:
        raise ParameterError.of("--deniable", text, "k,eta such as 10,1") from None
    return wanted


def _keep_deniable(
    model: Any, synthetic: Traces, k: int, eta: float, seed: Any, cluster: Cluster | None
) -> tuple[Traces, dict[str, Any]]:
    """Keep the traces that pass, and the users who have any."""
    import numpy as np

    from tracearena.synthesis.ppmtf import measure_deniability

    with show_progress("testing", cluster=cluster):
        found = measure_deniability(model, synthetic, k=k, eta=eta, early_stop=True, seed=seed)
    kept = synthetic.keep(np.repeat(found.passed, synthetic.clock.instants_per_day))
    result = found.to_dict()
    chosen = {name: result[name] for name in ("k", "eta", "pass_rate", "passed")}
    return kept.take_users(np.diff(kept.offsets) > 0), chosen


def _describe_model(model: Any) -> dict[str, Any]:
    """Return what a model tells of its training or its tests."""
    from tracearena.synthesis import PPMTF, SGLT

    if isinstance(model, PPMTF) and model.error_:
        report = model.convergence().to_dict()
        return {f"training_{name}": report[name] for name in ("error", "drift", "settled")}
    if isinstance(model, SGLT):
        about: dict[str, Any] = {"classes": len(model.classes_), "alternatives": len(model.alternatives_)}
        rates = {} if model.pass_rates_ is None else model.pass_rates_.to_dict()
        if rates:
            about["fakes_tested"] = rates.pop("fakes")
        return about | {f"pass_rate_{name}": rate for name, rate in rates.items()}
    return {}


def train_ppmtf(
    training: Traces | PartitionedTraces,
    parameters: dict[str, Any],
    path: Path | None,
    seed: Any,
    *,
    cluster: Cluster | None = None,
    lean: bool = False,
) -> PPMTF:
    """Train PPMTF, resume an interrupted training, or load a model that is trained."""
    from tracearena.synthesis import PPMTF
    from tracearena.synthesis.ppmtf.training import SETTLED_BELOW

    if path is not None and path.is_dir():
        iteration = parameters.get("iterations", 100)
        others = {name: value for name, value in parameters.items() if name != "iterations"}
        return PPMTF.import_parameters(path, training, iteration=iteration, **others)
    model = PPMTF(**parameters)
    with _explain_resume(path), show_progress("training", cluster=cluster):
        known = path is not None and path.exists()
        model.fit(training, seed=None if known else seed, lean=lean, checkpoint=path)
    report = model.convergence()
    if abs(report.drift) >= SETTLED_BELOW:
        note(
            f"the error still changes by {report.drift:+.1%} from one quarter of the iterations to the next: "
            "more iterations would settle it"
        )
    return model


@contextmanager
def _explain_resume(path: Path | None) -> Iterator[None]:
    """Let training that is stopped save its state, and say how to go on."""
    if path is None:
        try:
            yield
        except KeyboardInterrupt:
            note("nothing of the training is kept; with --model FILE it could have been gone on with")
            raise
        return
    with delay_stop():
        try:
            yield
        except KeyboardInterrupt:
            if path.exists():
                print_outcome(f"{path}: holds the training so far; the same command goes on from it")
            raise
