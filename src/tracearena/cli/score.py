"""``tracearena score``: the three scores of the contest."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli import _large
from tracearena.cli._output import ClusterOption, JsonOption, join_cluster, note, print_result, refuse_options
from tracearena.cli._reading import LIMITS, MaxBytesOption, ReadingOptions, reads_traces

OriginalOption = Annotated[
    Path, typer.Option("--original", help="Original traces of any format (orgtraces_*.csv, a table).")
]


class GeneralisationRule(StrEnum):
    """How a generalised cell is scored."""

    paper = "paper"
    official_2019 = "2019"


RuleOption = Annotated[
    GeneralisationRule,
    typer.Option("--rule", help="paper: mean distance, then 2 km at most; 2019: 2 km at most, then mean."),
]


def register_score(app: typer.Typer) -> None:
    """Add the commands."""
    scores = typer.Typer(help="Score utility, re-identification or trace inference.", no_args_is_help=True)
    scores.command()(utility)
    scores.command()(reidentification)
    scores.command("trace-inference")(trace_inference)
    app.add_typer(scores, name="score")


@reads_traces(limits=LIMITS)
def utility(
    context: typer.Context,
    reading: ReadingOptions,
    original: OriginalOption,
    obfuscated: Annotated[
        Path,
        typer.Option(
            "--obfuscated", help="Obfuscated traces (anotraces_*.csv, a table, what protect writes)."
        ),
    ],
    id_table: Annotated[
        Path | None,
        typer.Option("--id-table", help="Who is who (pse_id,user_id), where the release has pseudonyms."),
    ] = None,
    rule: RuleOption = GeneralisationRule.paper,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Utility from which a release is valid.")
    ] = 0.7,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score how near the released places are to the original ones (s_U, 1 is untouched)."""
    from tracearena.io.places import read_id_pairs
    from tracearena.jobs.comparison import is_release_in_parquet
    from tracearena.metrics import utility_score

    # Original and release are read together, a few users at a time, where both are tables.
    if (
        rule is GeneralisationRule.paper
        and id_table is None
        and is_release_in_parquet(obfuscated)
        and _large.is_event_table(reading, original)
        and _large.are_events_processed_in_chunks(reading, original, cluster=cluster)
    ):
        reading.refuse_limits()
        score = _large.score_event_utility(reading, original, obfuscated, join_cluster(context, cluster))
    else:
        refuse_options(
            "what is read whole: the rule of 2019, pseudonyms, and all but tables in Parquet", cluster=cluster
        )
        truth = reading.read_events(original)
        released, _ = reading.read_obfuscated(
            obfuscated,
            truth,
            allow_repetition=rule is GeneralisationRule.official_2019,
            id_table=None if id_table is None else read_id_pairs(id_table),
        )
        score = utility_score(truth.traces, released, rule=rule.value)
    result = score.to_dict()
    utility = result.pop("utility")
    print_result(
        {"utility": utility, "valid": utility >= threshold, "threshold": threshold, **result}, as_json
    )


def reidentification(
    id_table: Annotated[Path, typer.Option("--id-table", help="The secret ID table (ptable_*.csv).")],
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred ID table (etable_*.csv, or pse_id,user_id).")
    ],
    max_bytes: MaxBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against re-identification (s_R, 1 is nobody identified)."""
    from tracearena.cli._output import is_id_table_file
    from tracearena.io import pwscup
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.io.places import read_id_pairs
    from tracearena.metrics import reidentification_score

    check_same_numbers(id_table, inferred)
    if is_id_table_file(inferred):
        refuse_options("a table that names pseudonyms", max_bytes=max_bytes)
        truth, guess = read_id_pairs(id_table), read_id_pairs(inferred, one_to_one=False)
    else:
        truth = pwscup.read_id_table(id_table)
        guess = pwscup.read_inferred_table(inferred, truth.pseudonyms, max_bytes=max_bytes)
    print_result(reidentification_score(truth, guess).to_dict(), as_json)


@reads_traces(limits=("max_bytes",))
def trace_inference(
    reading: ReadingOptions,
    original: OriginalOption,
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred traces (etraces_*.csv, or a table).")
    ],
    sensitive_weight: Annotated[
        float, typer.Option("--sensitive-weight", help="Weight of a cell whose original place is sensitive.")
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against trace inference (s_T, 1 is no place found)."""
    from tracearena.cli._compare import align_files
    from tracearena.cli._output import count_sensitive_places
    from tracearena.io import pwscup
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.io.released import OBFUSCATED, read_contest_header
    from tracearena.metrics import trace_inference_score

    check_same_numbers(original, inferred, same_users=True)
    truth = reading.read_events(original)
    traces, result = truth.traces, dict[str, Any]()
    if read_contest_header(inferred) == OBFUSCATED:
        guess = pwscup.read_inferred_traces(inferred, traces, max_bytes=reading.max_bytes)
    else:
        reading.refuse_limits()
        made = reading.read_alike(inferred, truth)
        traces, guess = align_files((original, traces), (inferred, made.traces))
        known = {str(user) for user in guess.user_ids.tolist()}
        there = [str(user) in known for user in traces.user_ids.tolist()]
        if not all(there):
            result = {"users_not_scored": there.count(False)}
            note(
                f"{there.count(False):,} of {len(there):,} users of {original} are not in {inferred}: they "
                "are not scored"
            )
            traces = traces.take_users(there)
    score = trace_inference_score(traces, guess, sensitive_weight=sensitive_weight)
    result |= count_sensitive_places(traces.places, sensitive_weight)
    print_result(score.to_dict() | result, as_json)
