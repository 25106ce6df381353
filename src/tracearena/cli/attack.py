"""``tracearena attack`` and ``tracearena algorithms``.

``attack`` runs an attack on anonymized traces; ``algorithms`` lists every defence, attack and synthesizer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._app import complete_algorithms
from tracearena.cli._output import ClusterOption, JsonOption, LazyCluster, SeedOption, ToOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import (
    check_outputs,
    choose_output_form,
    choose_seed,
    refuse_options,
    write_inferred_table,
    write_inferred_traces,
)
from tracearena.jobs.reading import ReadingOptions


@reads_traces()
def attack(
    reading: ReadingOptions,
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="ATTACK",
            help="Attack, such as VisitProb-R, VisitProb-T or 'Smooth(9)'.",
            autocompletion=complete_algorithms("attacks"),
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File for the answer (.csv, .parquet; for GPS also .gpx or a GeoLife folder)."
        ),
    ],
    anonymized: Annotated[
        Path,
        typer.Option("--anonymized", help="Anonymized traces (such as pubtraces_*.csv), or GPS traces."),
    ],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Reference traces in any format; GPS attacks need none."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Defence that made the traces, such as 'PL(4,1)', for attacks that can use it (such as "
            "Bayes-R and Tracking-T). By default they estimate it from the traces.",
        ),
    ] = None,
    to: ToOption = None,
    seed: SeedOption = None,
    legacy_2019: Annotated[
        bool,
        typer.Option("--legacy-2019", help="Use a tenth of the events and ten regions per set, as in 2019."),
    ] = False,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack anonymized traces: re-identify users, or infer where they were.

    Attacks whose names end in -R write an inferred ID table. Those in -T, and attacks on GPS traces, write
    inferred traces.

    Example:
      tracearena attack VisitProb-R etable.csv --reference ref.csv \\
          --anonymized pub.csv
    """
    from tracearena import jobs
    from tracearena.algorithms import ReidentificationAttack, catalogue, validation
    from tracearena.errors import ParameterError
    from tracearena.io.id_mapping import check_no_stale_key, copy_key_beside
    from tracearena.jobs.pairs import align_files, compare_users

    if catalogue.is_kind(name, "gps-attack"):
        refuse_options(
            name,
            reference=reference,
            seed=seed,
            legacy_2019=legacy_2019,
            mechanism=mechanism,
            cluster=cluster,
        )
        print_result(jobs.attack_points(reading, name, out, anonymized, to), as_json)
        return
    if reference is None:
        raise ParameterError(f"{name} needs reference traces: name them with --reference")
    check_outputs(out, inputs=(reference, anonymized, *reading.files))
    check_no_stale_key(reference, out)
    attacker = _make_attack(name, mechanism, legacy_2019)
    learned = reading.open(reference)
    if getattr(attacker, "takes_points", False) and reading.grid is None and learned.holds_points:
        refuse_options(f"{name} on GPS points", cluster=cluster)
        used = choose_seed(seed)
        form = choose_output_form(out, to, contest=False)
        reference_points = reading.read_points(learned).traces
        points = reading.read_points(reading.open_second(anonymized)).traces
        with show_progress("blocks of the attack"):
            table = attacker.fit(reference_points).identify(points, seed=used)
        write_inferred_table(table, out, form)
        counts = {"pseudonyms": points.n_users, "kind": "inferred ID table"}
        print_result({"attack": str(attacker), "file": str(out), **counts}, as_json)
        return
    before = reading.read_events(learned)
    after = reading.read_anonymized(anonymized, before)
    form = choose_output_form(out, to, contest=after.report.format == "pwscup")
    known, target = align_files((reference, before.traces), (anonymized, after.traces))
    compare_users(reference, known.n_users, anonymized, target.n_users, strictly=form == "pwscup")
    used = choose_seed(seed)
    workers: Any = None if cluster is None else LazyCluster(context, cluster)
    result: dict[str, Any] = {"attack": str(attacker), "file": str(out), "pseudonyms": target.n_users}
    validation.try_attack(attacker, known)
    with show_progress("blocks of the attack", cluster=workers):
        validation.run_fit(attacker, known)
        if isinstance(attacker, ReidentificationAttack):
            table = validation.run_identify(attacker, target, known, seed=used)
        else:
            traces = validation.run_infer(attacker, target, known, seed=used)
    if workers is not None and not workers.was_needed:
        note(f"{attacker} has no work for a cluster: it ran on this machine")
    if isinstance(attacker, ReidentificationAttack):
        with copy_key_beside(reference, out):
            write_inferred_table(table, out, form)
        result["kind"] = "inferred ID table"
    else:
        with copy_key_beside(reference, out):
            write_inferred_traces(traces, out, form)
        result["kind"] = "inferred traces"
        result["cells"] = traces.n_events
    print_result(result, as_json)


def _make_attack(name: str, mechanism: str | None, legacy_2019: bool) -> Any:
    """Make the attack; refuse options that it does not have, and a missing mechanism."""
    from tracearena.algorithms import parse
    from tracearena.arena import make_attacks
    from tracearena.errors import ParameterError

    options = {} if mechanism is None else {"mechanism": mechanism}
    (attacker,) = make_attacks([name], legacy_2019=legacy_2019, **options)
    has = attacker.get_params(deep=False)
    refuse_options(
        name,
        legacy_2019=legacy_2019 and "legacy_2019" not in has,
        mechanism=None if "mechanism" in has else mechanism,
    )
    if mechanism is not None and has["mechanism"] != mechanism:
        raise ParameterError(f"{name} already has a mechanism; leave out --mechanism {mechanism}")
    if getattr(attacker, "is_adaptive", False):
        raise ParameterError(
            f"{attacker}: adaptive attacks get the defence from a sweep; here name it with --mechanism, such "
            f"as --mechanism 'PL(4,1)', or use {parse(name)[0]}, which estimates it from the release"
        )
    return attacker


def algorithms(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind of algorithm (defences, gps-defences, attacks, reidentification, trace-inference, "
            "gps-attacks or synthesizers), or one algorithm, such as MRLH or my_module:MyDefence.",
            autocompletion=complete_algorithms("defences", "attacks", "synthesizers"),
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the defences, attacks and synthesizers with their parameters, or explain one.

    Write parameters in the listed order or by name: PL(4,1) is PL(l=4, r=1km). Those with a value after = or
    in brackets are optional. Numbers can have a unit where one is listed (m, km, s, min, h).

    Example:
      tracearena algorithms defences
    """
    from difflib import get_close_matches

    from tracearena.algorithms import Description, Listing, describe, overview
    from tracearena.algorithms.base import KIND_WORDS, kinds_by_word
    from tracearena.errors import ParameterError

    found: Listing | Description
    if what is None or kinds_by_word(what):
        found = overview(what)
    else:
        close = get_close_matches(what.lower(), KIND_WORDS, n=1, cutoff=0.8)
        if close:
            raise ParameterError(f"there is no kind {what!r}; did you mean {close[0]}?")
        found = describe(what)
    if as_json:
        listed = found if isinstance(found, Listing) else Listing([found])
        print_result({"algorithms": listed.to_dicts()}, as_json)
    else:
        typer.echo(str(found))
