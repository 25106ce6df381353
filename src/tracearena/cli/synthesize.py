"""``tracearena synthesize``: new traces that look like those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import (
    JsonOption,
    ReleaseSeedOption,
    check_outputs,
    note,
    print_result,
    release_seed,
    working,
)
from tracearena.cli._contest_files import TimesOption
from tracearena.cli._reading import (
    BoundsOption,
    GridOption,
    IntervalOption,
    PlacesFileOption,
    SlotOption,
    TimezoneOption,
    TopOption,
    UtcHoursOption,
)
from tracearena.cli._training import train_ppmtf

if TYPE_CHECKING:
    from tracearena.algorithms import Synthesizer
    from tracearena.engine import Cluster
    from tracearena.intake import Choices
    from tracearena.synthesis.ppmtf import PartitionedTraces
    from tracearena.traces import Traces

METHODS = ("ppmtf", "ppmtf-plus", "sgd", "sglt", "uniform")
_TRAINING = {
    "factors",
    "alpha",
    "iterations",
    "model",
    "export",
    "apart",
    "legacy-ppmtf",
    "zeros",
    "lean",
    "cluster",
}
_OWN = {
    "ppmtf": _TRAINING | {"log-likelihoods", "traces-per-user", "deniable"},
    "ppmtf-plus": _TRAINING | {"users", "days", "homes", "only-seen"},
    "sgd": {"copied", "traces-per-user"},
    "sglt": {"classes", "par-c", "par-m", "par-l", "par-v", "periods", "fakes-per-user", "no-privacy-tests"},
    "uniform": {"traces-per-user"},
}
"""Options that have a meaning for each method only."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(synthesize)


def synthesize(
    context: typer.Context,
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="ppmtf, ppmtf-plus, sgd, sglt, uniform, or your own.")
    ],
    file: Annotated[Path, typer.Argument(metavar="IN", help="Training traces, of any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the synthetic traces go.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format: ppmtf, pwscup, table, …; recognised if omitted. OUT has it too (a table for raw "
            "check-ins).",
        ),
    ] = None,
    places: PlacesFileOption = None,
    traces_per_user: Annotated[
        int | None,
        typer.Option("--traces-per-user", min=1, help="Synthetic days of each user; 10 if omitted."),
    ] = None,
    users: Annotated[
        int | None, typer.Option("--users", min=1, help="ppmtf-plus: virtual users; 2000 if omitted.")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="ppmtf-plus: days of each; 40 if omitted.")
    ] = None,
    homes: Annotated[
        bool, typer.Option("--homes", help="ppmtf-plus: everybody has a home, morning and evening.")
    ] = False,
    only_seen: Annotated[
        bool,
        typer.Option("--only-seen", help="ppmtf-plus: no transition or visit that nobody made in training."),
    ] = False,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="ppmtf: precision of the counts; 200 if omitted.")
    ] = None,
    factors: Annotated[
        int | None, typer.Option("--factors", help="ppmtf: number of factors; 16 if omitted.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="ppmtf: Gibbs iterations; 100 if omitted.")
    ] = None,
    apart: Annotated[bool, typer.Option("--apart", help="ppmtf: factorise the two tensors apart.")] = False,
    legacy_ppmtf: Annotated[
        bool,
        typer.Option(
            "--legacy-ppmtf", help="ppmtf: draw hyperparameters as the authors' program (uncentred scatter)."
        ),
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="ppmtf: model file, written during training, gone on from if unfinished, used if finished; "
            "or a folder of the PPMTF tools' modelparameter_Itr<t>_*.csv.",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="ppmtf: folder for the factors as the PPMTF tools' parameter files."),
    ] = None,
    zeros: Annotated[
        str | None,
        typer.Option("--zeros", help="ppmtf: sampled (the paper's way) or all (faster); sampled if omitted."),
    ] = None,
    deniable: Annotated[
        str | None,
        typer.Option(
            "--deniable", help="ppmtf: k,eta; write only traces with (k, eta)-plausible deniability."
        ),
    ] = None,
    log_likelihoods: Annotated[
        bool,
        typer.Option("--log-likelihoods", help="ppmtf: weigh each trace (only in OUT of format ppmtf)."),
    ] = False,
    copied: Annotated[
        int | None, typer.Option("--copied", help="sgd: first instants copied from the user; 0 if omitted.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option("--classes", help="sglt: semantic classes; the best number if omitted.")
    ] = None,
    par_c: Annotated[
        float | None,
        typer.Option("--par-c", help="sglt: chance that a place of a class is dropped; 0.25 if omitted."),
    ] = None,
    par_m: Annotated[
        float | None,
        typer.Option("--par-m", help="sglt: chance to merge classes a step apart; 0.75 if omitted."),
    ] = None,
    par_l: Annotated[
        float | None,
        typer.Option("--par-l", help="sglt: chance that the seed's own place is dropped; 1 if omitted."),
    ] = None,
    par_v: Annotated[
        float | None,
        typer.Option("--par-v", help="sglt: largest random factor of a move's probability; 4 if omitted."),
    ] = None,
    periods: Annotated[
        int | None, typer.Option("--periods", help="sglt: time periods of a day; 1 if omitted.")
    ] = None,
    fakes_per_user: Annotated[
        int | None,
        typer.Option("--fakes-per-user", min=1, help="sglt: fakes of each user; 10 if omitted."),
    ] = None,
    no_privacy_tests: Annotated[
        bool, typer.Option("--no-privacy-tests", help="sglt: let fakes out that give their seed away.")
    ] = False,
    grid: GridOption = None,
    bounds: BoundsOption = None,
    top: TopOption = None,
    interval: IntervalOption = None,
    slot: SlotOption = None,
    timezone: TimezoneOption = None,
    utc_hours: UtcHoursOption = False,
    times: TimesOption = None,
    lean: Annotated[
        bool,
        typer.Option("--lean", help="ppmtf: train with less memory, in more time; the result is the same."),
    ] = False,
    cluster: ClusterOption = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a synthesizer on traces and write synthetic traces.

    They are traces of the training users, or with ppmtf-plus of virtual users who never lived.
    """
    from tracearena.algorithms import answers
    from tracearena.engine import child_seed, seed_sequence, use
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import read, recognise
    from tracearena.intake import Choices

    given = {"factors": factors, "alpha": alpha, "iterations": iterations, "zeros": zeros}
    fake = {
        "classes": classes,
        "par_c": par_c,
        "par_m": par_m,
        "par_l": par_l,
        "par_v": par_v,
        "periods": periods,
    }
    special = {
        **given,
        **fake,
        "model": model,
        "export": export,
        "copied": copied,
        "users": users,
        "days": days,
    }
    special |= {
        "traces_per_user": traces_per_user,
        "fakes_per_user": fakes_per_user,
        "deniable": deniable,
        "cluster": cluster,
    }
    flags = {"apart": apart, "legacy_ppmtf": legacy_ppmtf, "log_likelihoods": log_likelihoods}
    flags |= {"homes": homes, "only_seen": only_seen, "no_privacy_tests": no_privacy_tests, "lean": lean}
    _check(method, [name for name in special if special[name] is not None] + [n for n in flags if flags[n]])
    wanted = _k_and_eta(deniable)
    known = format or recognise(file)
    if log_likelihoods and known != "ppmtf":
        raise ParameterError("--log-likelihoods have a column only in files of format ppmtf")
    choices = Choices.parse(
        grid=grid,
        bounds=bounds,
        top=top,
        interval=interval,
        slot=slot,
        timezone=timezone,
        utc_hours=utc_hours,
    )
    _check_out(out, known, (file, places, times))
    workers = joined(context, cluster)
    training: Any
    if workers is not None and known == "partitions" and places is not None:
        training = _left_to_workers(file, places, choices, workers)
        report = training.report
    else:
        training, report = read(file, known, places=places, choices=choices, times=times).as_events()
    known = "table" if known == "points" else known
    for line in report.lines():
        note(line)
    root = seed_sequence(release_seed(seed))
    tested: dict[str, Any] = {}
    if method in ("ppmtf", "ppmtf-plus"):
        parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        parameters |= {"shared_factors": not apart, "scatter": "uncentred" if legacy_ppmtf else "centred"}
        synthesizer: Synthesizer = train_ppmtf(
            training, parameters, model, child_seed(root, 0), cluster=workers, lean=lean
        )
    elif method == "sglt":
        traces_per_user = fakes_per_user
        synthesizer = _sglt(training, fake, not no_privacy_tests, child_seed(root, 0))
    else:
        synthesizer = _simple(method, copied)
        answers.try_synthesizer(synthesizer, training)
        answers.fitted(synthesizer, training, seed=child_seed(root, 0))
    with working("drawing", cluster=workers):
        if method == "ppmtf-plus":
            synthetic = _virtual(synthesizer, users, days, homes, only_seen, child_seed(root, 1))
        elif workers is not None:
            synthetic = synthesizer.synthesize(traces_per_user or 10, seed=child_seed(root, 1))
        else:
            each = traces_per_user or 10
            synthetic = answers.synthesized(synthesizer, training, each, seed=child_seed(root, 1))
    made = synthetic.n_instants
    if wanted is not None:
        synthetic, tested = _deniable(synthesizer, synthetic, *wanted, child_seed(root, 2), workers)
    with use(cluster=workers):
        likelihood = synthesizer.log_likelihoods(synthetic) if log_likelihoods else None  # type: ignore[attr-defined]
    slot_name = "time_period" if method == "sglt" else "time_slot"
    with replacing_all():
        written = _write(out, synthetic, known, likelihood, slot_name)
        if export is not None:
            synthesizer.export_parameters(export)  # type: ignore[attr-defined]
    result: dict[str, Any] = {
        "method": str(synthesizer),
        "file": str(written),
        "users": synthetic.n_users,
        "traces_per_user": made // synthetic.clock.instants_per_day,
        "events": synthetic.n_events,
        "places": len(synthetic.places),
    }
    if seed is not None:
        result["seed"] = seed
    if method in ("ppmtf", "ppmtf-plus"):
        result |= _about(synthesizer) | tested
    if method == "sglt":
        result |= _about_fakes(synthesizer)
    print_result(result, as_json)


def _check_out(out: Path, format: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse an OUT that cannot be written before the hours of training, not after them."""
    from tracearena.files import require_new

    if format == "partitions":
        require_new(out)
    else:
        check_outputs(out, inputs=inputs)


def _left_to_workers(folder: Path, places: Path, choices: Choices, cluster: Cluster) -> PartitionedTraces:
    """Have the workers read the files; without a file of places nobody would know them all."""
    from tracearena.formats import read_places
    from tracearena.synthesis.ppmtf import PartitionedTraces

    with working("reading"):
        return PartitionedTraces(folder, read_places(places), cluster, choices=choices)


def _check(method: str, given: list[str]) -> None:
    from tracearena.algorithms import catalogue
    from tracearena.errors import ParameterError

    if method not in METHODS and not catalogue.is_kind(method, "synthesizer"):
        known = f"one of {', '.join(METHODS)}, or a synthesizer of your own such as my_module:MyClass"
        raise ParameterError.of("METHOD", method, known)
    for name in (name.replace("_", "-") for name in given):
        if name not in _OWN.get(method, {"traces-per-user"}):
            raise ParameterError(f"--{name} has no meaning for {method}")


def _k_and_eta(text: str | None) -> tuple[int, float] | None:
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


def _deniable(
    model: Any, synthetic: Traces, k: int, eta: float, seed: Any, cluster: Cluster | None
) -> tuple[Traces, dict[str, Any]]:
    """Keep the traces that pass, and the users who have any."""
    import numpy as np

    from tracearena.synthesis.ppmtf import measure_deniability

    with working("testing", cluster=cluster):
        found = measure_deniability(model, synthetic, k=k, eta=eta, early_stop=True, seed=seed)
    kept = synthetic.keep(np.repeat(found.passed, synthetic.clock.instants_per_day))
    result = found.to_dict()
    chosen = {name: result[name] for name in ("k", "eta", "pass_rate", "passed")}
    return kept.take_users(np.diff(kept.offsets) > 0), chosen


def _virtual(
    model: Any,
    users: int | None,
    days: int | None,
    homes: bool,
    only_seen: bool,
    seed: Any,
) -> Traces:
    traces: Traces = model.sample_users(
        users or 2_000, days or 40, homes=homes, only_seen=only_seen, seed=seed
    )
    return traces


def _simple(method: str, copied: int | None) -> Synthesizer:
    from tracearena.algorithms import catalogue
    from tracearena.synthesis import SGD, Uniform

    if method in METHODS:
        return SGD(copied=copied or 0) if method == "sgd" else Uniform()
    made: Synthesizer = catalogue.create(method, "synthesizer")
    return made


def _sglt(training: Traces, given: dict[str, Any], privacy_tests: bool, seed: Any) -> Synthesizer:
    from tracearena.synthesis import SGLT

    parameters = {name: value for name, value in given.items() if value is not None}
    return SGLT(**parameters, privacy_tests=privacy_tests).fit(training, seed=seed)


def _about_fakes(model: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"classes": len(model.classes_), "alternatives": len(model.alternatives_)}
    if model.pass_rates_ is not None:
        rates = model.pass_rates_.to_dict()
        about |= {"fakes_tested": rates.pop("fakes")}
        about |= {f"pass_rate_{name}": rate for name, rate in rates.items()}
    return about


def _about(model: Any) -> dict[str, Any]:
    report = model.convergence().to_dict()
    return (
        {f"training_{name}": report[name] for name in ("error", "drift", "settled")} if model.error_ else {}
    )


def _write(out: Path, synthetic: Traces, format: str, likelihood: Any, slot_name: str) -> Path:
    """Write in the format of the training traces if it has one for synthetic traces, else as a table."""
    from tracearena.formats import ppmtf, write

    if format == "ppmtf":
        ppmtf.write_synthetic(ppmtf.SyntheticTraces(synthetic, likelihood), out, slot_name=slot_name)
    else:
        write(synthetic, out, to=format if format in ("pwscup", "peopleflow", "partitions") else "table")
    return out
