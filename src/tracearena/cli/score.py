"""``tracearena score`` and ``tracearena check``, for files of a contest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._output import ClusterOption, JsonOption, add_group, print_result
from tracearena.cli._reading import MaxBytesOption, reads_traces
from tracearena.errors import FileError
from tracearena.jobs.reading import LIMITS, ReadingOptions

OriginalOption = Annotated[
    Path, typer.Option("--original", help="Original traces in any format (such as orgtraces_*.csv).")
]

ObfuscatedOption = Annotated[
    Path,
    typer.Option(
        "--obfuscated", help="Obfuscated traces (anotraces_*.csv, a table, or a file from `protect`)."
    ),
]
ReleaseIdTableOption = Annotated[
    Path | None,
    typer.Option(
        "--id-table", help="Table of true identities (pse_id,user_id), if the release has pseudonyms."
    ),
]


class GeneralisationRule(StrEnum):
    """Rules for scoring a generalised event."""

    paper = "paper"
    official_2019 = "2019"


RuleOption = Annotated[
    GeneralisationRule,
    typer.Option(
        "--rule",
        help="Score of a set of places. paper: mean distance, cut at 2 km; 2019: "
        "mean of distances cut at 2 km.",
    ),
]


def register_score(app: typer.Typer) -> None:
    """Add the commands."""
    commands = {
        "utility": utility, "usefulness": usefulness,
        "reidentification": reidentification, "trace-inference": trace_inference,
    }  # fmt: skip
    about = "Score the utility of a release, or the result of an attack on it."
    example = "tracearena score utility --original org.csv --obfuscated released.csv"
    add_group(app, "score", about, example, commands)


@reads_traces(limits=LIMITS)
def utility(
    context: typer.Context,
    reading: ReadingOptions,
    original: OriginalOption,
    obfuscated: ObfuscatedOption,
    id_table: ReleaseIdTableOption = None,
    rule: RuleOption = GeneralisationRule.paper,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Smallest utility of a valid release.")
    ] = 0.7,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score how close the released places are to the original ones (s_U; 1 means unchanged).

    Example:
      tracearena score utility --original orgtraces.csv --obfuscated obftraces.csv
    """
    from tracearena import jobs

    score = jobs.score_utility(
        original, obfuscated, reading=reading, id_table=id_table, rule=rule.value, cluster=cluster
    )
    result = score.to_dict()
    utility = result.pop("utility")
    print_result(
        {"utility": utility, "valid": utility >= threshold, "threshold": threshold, **result}, as_json
    )


@reads_traces(limits=LIMITS)
def usefulness(
    reading: ReadingOptions,
    original: OriginalOption,
    obfuscated: ObfuscatedOption,
    id_table: ReleaseIdTableOption = None,
    pois: Annotated[
        Path | None,
        typer.Option(
            "--pois",
            help="Points of interest with categories, for POI accuracy: a table of places, or POI_*.csv of "
            "the people flow data.",
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="With --pois: category of the POIs. [default: food]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a release is still useful for: recommending places, crowds, and movements.

    POI accuracy (1 is best) is the share of POIs within 1 km that a service would find from the released
    places. TP-TV is the distance of the populations by time of day, over all places and over the 50 most
    visited; TM-EMD is that of the transition matrices, in regions, along both axes and over many directions
    (0 is best).

    Example:
      tracearena score usefulness --original org.csv --obfuscated released.csv
    """
    from tracearena import jobs

    result = jobs.score_usefulness(
        original, obfuscated, reading=reading, id_table=id_table, pois=pois, category=category
    )
    print_result(result, as_json)


def reidentification(
    id_table: Annotated[Path, typer.Option("--id-table", help="Secret ID table (ptable_*.csv).")],
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred ID table (etable_*.csv, or a table pse_id,user_id).")
    ],
    max_bytes: MaxBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against re-identification (s_R; 1 means that no user was identified).

    Example:
      tracearena score reidentification --id-table ptable.csv --inferred etable.csv
    """
    from tracearena import jobs

    print_result(jobs.score_reidentification(id_table, inferred, max_bytes=max_bytes).to_dict(), as_json)


@reads_traces(limits=("max_bytes",))
def trace_inference(
    reading: ReadingOptions,
    original: OriginalOption,
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred traces (etraces_*.csv, or a table).")
    ],
    sensitive_weight: Annotated[
        float, typer.Option("--sensitive-weight", help="Weight of an event at a sensitive place.")
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against trace inference (s_T; 1 means that no place was found).

    Example:
      tracearena score trace-inference --original org.csv --inferred etraces.csv
    """
    from tracearena import jobs

    found = jobs.score_trace_inference(original, inferred, reading=reading, sensitive_weight=sensitive_weight)
    print_result(found, as_json)


# ``tracearena check``: does a submission follow the rules for its kind of file?


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Submission: .csv, .csv.gz, or a table.")]


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """What an answer is compared with: the files of an attacker, or the original traces of the judge."""

    reference: Annotated[
        Path | None, typer.Option("--reference", help="Reference traces of the attacked team.")
    ] = None
    anonymized: Annotated[
        Path | None,
        typer.Option("--anonymized", help="Public traces of the attacked team (pubtraces_*.csv)."),
    ] = None
    original: Annotated[
        Path | None,
        typer.Option("--original", help="For the judge: original traces, instead of the two options above."),
    ] = None


def register_check(app: typer.Typer) -> None:
    """Add the commands."""
    commands = {
        "obfuscated": check_obfuscated,
        "inferred-table": check_inferred_table,
        "inferred-traces": check_inferred_traces,
    }
    about = "Check a submission to a contest: the exit status is 0 if it is valid, 2 if not."
    example = "tracearena check obfuscated obftraces.csv --original orgtraces.csv"
    add_group(app, "check", about, example, commands)


@reads_traces(limits=LIMITS)
def check_obfuscated(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check obfuscated traces: they must have one row per row of the original.

    Example:
      tracearena check obfuscated obftraces.csv --original orgtraces.csv
    """
    from tracearena import jobs

    _print_check(file, as_json, lambda: jobs.check_obfuscated(file, original, reading=reading))


@reads_traces(limits=("max_bytes",), others={"answer": AnswerOptions})
def check_inferred_table(
    reading: ReadingOptions, file: FileArgument, answer: AnswerOptions, as_json: JsonOption = False
) -> None:
    """Check an inferred ID table: it must name one user of the reference traces per pseudonym.

    An attacker uses --reference and --anonymized; the judge can use --original instead.

    Example:
      tracearena check inferred-table etable.csv --reference reftraces.csv \\
          --anonymized pubtraces.csv
    """
    from tracearena import jobs

    _print_check(file, as_json, lambda: jobs.check_inferred_table(file, reading=reading, **vars(answer)))


@reads_traces(limits=("max_bytes",), others={"answer": AnswerOptions})
def check_inferred_traces(
    reading: ReadingOptions, file: FileArgument, answer: AnswerOptions, as_json: JsonOption = False
) -> None:
    """Check inferred traces: they must have exactly one region per user and time.

    An attacker uses --reference and --anonymized; the judge can use --original instead.

    Example:
      tracearena check inferred-traces etraces.csv --reference reftraces.csv \\
          --anonymized pubtraces.csv
    """
    from tracearena import jobs

    _print_check(file, as_json, lambda: jobs.check_inferred_traces(file, reading=reading, **vars(answer)))


def _print_check(file: Path, as_json: bool, check: Callable[[], dict[str, int]]) -> None:
    """Print what was counted in a submission, or in JSON what is wrong with it."""
    file.stat()
    try:
        counts = check()
    except FileError as error:
        if as_json and error.path == str(file):
            typer.echo(json.dumps({"valid": False, **error.to_dict()}))
        raise
    if as_json:
        typer.echo(json.dumps({"valid": True, "file": str(file), **counts}))
        return
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    typer.echo(f"OK {file}: {said}")
