"""``tracearena synthesize``: trains a synthesizer and writes synthetic traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import complete_algorithms, delay_stop, print_outcome
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


_DEFAULT_TRACES, _DEFAULT_TRIPS = 10, 1
_OF_SYNTHETIC = ("pwscup", "peopleflow", "partitions", "ppmtf")


@reads_traces()
def synthesize(
    reading: ReadingOptions,
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Synthesizer, such as 'PPMTF(16,200,zeros=all)', SGD, SGLT or my_module:MyClass; "
            "`tracearena algorithms synthesizers` lists all.",
            autocompletion=complete_algorithms("synthesizers"),
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="IN", help="Training traces in any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File for the synthetic traces.")],
    traces_per_user: Annotated[
        int | None,
        typer.Option(
            "--traces-per-user",
            min=1,
            help="Synthetic days per user, of GPS data trips per user. [default: 10, of GPS data 1]",
        ),
    ] = None,
    virtual_users: Annotated[
        int | None,
        typer.Option(
            "--virtual-users",
            min=1,
            help="PPMTF, PrivateRoles and PrivateTrips: make this many virtual users instead of traces of "
            "training users.",
        ),
    ] = None,
    homes: Annotated[
        bool, typer.Option("--homes", help="Virtual users: put everybody at home in the morning and evening.")
    ] = False,
    only_seen: Annotated[
        bool,
        typer.Option(
            "--only-seen", help="Virtual users: use only transitions and visits of the training data."
        ),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="PPMTF, PrivateRoles and PrivateTrips: model file, written during training and used if it "
            "is finished. PPMTF also resumes an unfinished one, and takes a folder with "
            "modelparameter_Itr<t>_*.csv of the PPMTF tools.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", help="PPMTF: folder for the factors, as parameter files of the PPMTF tools."
        ),
    ] = None,
    deniable: Annotated[
        str | None,
        typer.Option(
            "--deniable", help="PPMTF: write only traces with (k, eta)-plausible deniability, such as 10,1."
        ),
    ] = None,
    log_likelihoods: Annotated[
        bool,
        typer.Option(
            "--log-likelihoods", help="PPMTF: add the log-likelihood of each trace (ppmtf files only)."
        ),
    ] = False,
    privacy_cost: Annotated[
        bool,
        typer.Option(
            "--privacy-cost",
            help="PPMTF: print the ε of publishing the parameters, and κ: how far the model's counts are "
            "out of their range.",
        ),
    ] = False,
    shares: Annotated[
        str | None,
        typer.Option(
            "--shares",
            help="PrivateRoles and PrivateTrips: share of ε for each table, such as homes=0.4,works=0.25,…",
        ),
    ] = None,
    not_private_seed: Annotated[
        bool,
        typer.Option(
            "--not-private-seed",
            help="PrivateRoles and PrivateTrips: allow --seed, for an experiment. The release then has no "
            "guarantee: anyone who guesses the seed can remove the noise.",
        ),
    ] = False,
    slots: SlotsOption = None,
    lean: Annotated[
        bool,
        typer.Option(
            "--lean", help="PPMTF: use less memory and more time in training; the result is the same."
        ),
    ] = False,
    cluster: ClusterOption = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a synthesizer on traces, and write synthetic traces.

    They are traces of the training users or, with --virtual-users, of invented people.

    Example:
      tracearena synthesize "PPMTF(16,200)" trips.csv synthetic.csv --grid 32x32
    """
    from tracearena.algorithms import catalogue, parse, validation
    from tracearena.cli.private import check_private_inputs, create_private, fit_privately
    from tracearena.engine import child_seed, seed_sequence, use
    from tracearena.errors import ParameterError
    from tracearena.files import require_new
    from tracearena.files.atomic import replacing_all
    from tracearena.io import ppmtf, read_places, write
    from tracearena.io.writers import guess_format_by_name
    from tracearena.synthesis import PPMTF, SGLT, PrivateRoles, PrivateTrips
    from tracearena.synthesis.ppmtf import PartitionedTraces, privacy_budget

    if parse(name)[0] == "PPMTF+":
        plain = name.replace("PPMTF+", "PPMTF", 1)
        raise ParameterError(f"PPMTF+ is PPMTF with virtual users: use '{plain}' with --virtual-users N")
    kind, parameters = catalogue.resolve(name, ("synthesizer", "gps-synthesizer"))
    is_private, of_trips = kind in (PrivateRoles, PrivateTrips), kind.kind == "gps-synthesizer"
    own: dict[str, Any] = {
        "virtual_users": virtual_users,
        "model": model,
        "export": export,
        "deniable": deniable,
        "log_likelihoods": log_likelihoods,
        "privacy_cost": privacy_cost,
        "lean": lean,
        "cluster": cluster,
    }
    private = {"shares": shares, "not_private_seed": not_private_seed}
    if is_private:
        others = {key: value for key, value in own.items() if key not in ("virtual_users", "model")}
        refuse_options(name, **others, homes=homes, only_seen=only_seen)
    elif kind is not PPMTF:
        others = {key: value for key, value in own.items() if key != "cluster" or kind is not SGLT}
        refuse_options(name, **others, homes=homes, only_seen=only_seen)
    elif virtual_users is None:
        refuse_options("traces of training users; add --virtual-users", homes=homes, only_seen=only_seen)
    else:
        refuse_options("virtual users", deniable=deniable, log_likelihoods=log_likelihoods)
    if not is_private:
        refuse_options(name, **private)
    if of_trips:
        refuse_options(f"{name}, which makes GPS trips", slots=slots)
    untrained: Synthesizer = catalogue.create(name, kind.kind)
    if privacy_cost:
        # A model without a known ε is refused before it is trained.
        privacy_budget(PPMTF(**parameters), kappa=0)
    wanted = _parse_k_and_eta(deniable)
    source = reading.open(file)
    if is_private:
        check_private_inputs(kind.name, reading, source, virtual_users, seed, not_private=not_private_seed)
    known = source.format
    if of_trips:
        to = guess_format_by_name(out, "points")
    else:
        to = guess_format_by_name(out, like=known if known in _OF_SYNTHETIC else "table")
    if log_likelihoods and to != "ppmtf":
        raise ParameterError(
            "--log-likelihoods needs OUT in format ppmtf, the only one with a column for them"
        )
    # An OUT that cannot be written is refused before the hours of training, not after them.
    if to == "partitions":
        require_new(out)
    else:
        check_outputs(out, model if is_private else None, inputs=(file, *reading.files))
    workers = join_cluster(context, cluster)
    training: Any
    if of_trips:
        # The box of the model cuts trips at its border, which reading only some points would hide.
        training = replace(reading, bounds=None if is_private else reading.bounds).read_points(source).traces
    elif kind is PPMTF and workers is not None and known == "partitions" and reading.places is not None:
        refuse_options("a folder that workers read", slots=slots)
        # The workers read the files, so only a file of places can list all places in advance.
        cuts = {"hours": reading.hours, "from_date": reading.from_date, "to_date": reading.to_date}
        refuse_options("a folder that workers read", **cuts)
        reading.refuse_layout("a folder that workers read")
        with show_progress("reading"):
            places = read_places(reading.places)
            training = PartitionedTraces(file, places, workers, choices=reading.choices())
        note_problems(training)
    else:
        training, _ = reading.read_events(source)
        training = training if slots is None else training.with_slots(slots)
    if kind is PrivateRoles and not source.has_instants and training.clock.first_day is None:
        raise ParameterError(
            f"{file}: {name} needs times, not numbers, which are counted from the first of all"
        )
    root = seed_sequence(choose_release_seed(seed))
    synthesizer: Any
    if kind is PPMTF:
        synthesizer = train_ppmtf(
            training, parameters, model, child_seed(root, 0), cluster=workers, lean=lean
        )
    elif is_private:
        noise = None if seed is None else child_seed(root, 0)
        box = reading.bounds if of_trips else None
        synthesizer = fit_privately(create_private(name, shares, box), training, file, noise, model)
    else:
        # A user's own class is tried on a few users first.
        validation.try_synthesizer(untrained, training)
        with show_progress("training", cluster=workers):
            synthesizer = validation.run_fit(untrained, training, seed=child_seed(root, 0))
    days = traces_per_user or (_DEFAULT_TRIPS if of_trips else _DEFAULT_TRACES)
    synthetic: Any
    with show_progress("drawing", cluster=workers):
        if is_private:
            synthetic = synthesizer.sample_users(virtual_users, days, seed=child_seed(root, 1))
        elif virtual_users is not None:
            synthetic = synthesizer.sample_users(
                virtual_users, days, homes=homes, only_seen=only_seen, seed=child_seed(root, 1)
            )
        elif workers is not None:
            synthetic = synthesizer.synthesize(days, seed=child_seed(root, 1))
        else:
            synthetic = validation.run_synthesize(synthesizer, training, days, seed=child_seed(root, 1))
    made = days if of_trips else synthetic.n_instants // synthetic.clock.instants_per_day
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
        note(f"{synthetic.n_users - present:,} users have no synthetic trace and no row in {out}")
    result: dict[str, Any] = {
        "method": str(synthesizer),
        "file": str(out),
        "users": present,
        "traces_per_user": made,
    }
    if of_trips:
        result["points"] = synthetic.n_points
    else:
        result |= {"events": synthetic.n_events, "places": len(synthetic.places)}
    if seed is not None:
        result["seed"] = seed
    if privacy_cost:
        with use(cluster=workers):
            result |= privacy_budget(synthesizer).to_dict()
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
    """Keep the traces that pass, and the users that have some."""
    import numpy as np

    from tracearena.synthesis.ppmtf import DeniabilityTest, measure_deniability

    with show_progress("testing", cluster=cluster):
        found = measure_deniability(
            model, synthetic, DeniabilityTest(k=k, eta=eta, early_stop=True), seed=seed
        )
    kept = synthetic.keep(np.repeat(found.passed, synthetic.clock.instants_per_day))
    result = found.to_dict()
    chosen = {name: result[name] for name in ("k", "eta", "pass_rate", "passed")}
    return kept.take_users(np.diff(kept.offsets) > 0), chosen


def _describe_model(model: Any) -> dict[str, Any]:
    """Return figures about the training or the tests of a model."""
    from tracearena.synthesis import PPMTF, SGLT, PrivateRoles, PrivateTrips

    if isinstance(model, PrivateRoles | PrivateTrips):
        return {"guarantee": model.guarantee}
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
    """Train PPMTF, resume an interrupted training, or load a trained model."""
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
            f"the training has not converged: its error changes by {report.drift:+.1%} from one quarter of "
            "the iterations to the next; use more iterations"
        )
    return model


@contextmanager
def _explain_resume(path: Path | None) -> Iterator[None]:
    """Let an interrupted training save its state, and print how to resume it."""
    if path is None:
        try:
            yield
        except KeyboardInterrupt:
            note("the training was not saved; with --model FILE it can be resumed")
            raise
        return
    with delay_stop():
        try:
            yield
        except KeyboardInterrupt:
            if path.exists():
                print_outcome(f"{path}: has the training so far; run the same command again to resume it")
            raise
