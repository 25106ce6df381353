"""``tracearena score``: the three scores of the contest."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, PlacesOption, print_result
from tracearena.cli._contest_files import TimesOption, given_times

OriginalOption = Annotated[Path, typer.Option("--original", help="Original traces (orgtraces_*.csv).")]


class Rule(StrEnum):
    """How a generalised cell is scored."""

    paper = "paper"
    official_2019 = "2019"


RuleOption = Annotated[
    Rule,
    typer.Option("--rule", help="paper: mean distance, then 2 km at most; 2019: 2 km at most, then mean."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    scores = typer.Typer(help="Score utility, re-identification or trace inference.", no_args_is_help=True)
    scores.command()(utility)
    scores.command()(reidentification)
    scores.command("trace-inference")(trace_inference)
    app.add_typer(scores, name="score")


def utility(
    places: PlacesOption,
    original: OriginalOption,
    obfuscated: Annotated[Path, typer.Option("--obfuscated", help="Obfuscated traces (anotraces_*.csv).")],
    rule: RuleOption = Rule.paper,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Utility from which a release is valid.")
    ] = 0.7,
    times: TimesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score how near the released places are to the original ones (s_U, 1 is untouched)."""
    from tracearena.formats import pwscup
    from tracearena.metrics import utility_score

    traces = pwscup.read_traces(original, pwscup.read_places(places), given_times(times))
    released = pwscup.read_obfuscated(obfuscated, traces, allow_repetition=rule is Rule.official_2019)
    score = utility_score(traces, released, rule=rule.value)
    result = score.to_dict()
    utility = result.pop("utility")
    print_result(
        {"utility": utility, "valid": utility >= threshold, "threshold": threshold, **result}, as_json
    )


def reidentification(
    id_table: Annotated[Path, typer.Option("--id-table", help="The secret ID table (ptable_*.csv).")],
    inferred: Annotated[Path, typer.Option("--inferred", help="Inferred ID table (etable_*.csv).")],
    as_json: JsonOption = False,
) -> None:
    """Score privacy against re-identification (s_R, 1 is nobody identified)."""
    from tracearena.formats import pwscup
    from tracearena.intake.user_key import refuse_numbered_apart
    from tracearena.metrics import reidentification_score

    refuse_numbered_apart(id_table, inferred)
    truth = pwscup.read_id_table(id_table)
    guess = pwscup.read_inferred_table(inferred, truth.pseudonyms)
    print_result(reidentification_score(truth, guess).to_dict(), as_json)


def trace_inference(
    places: PlacesOption,
    original: OriginalOption,
    inferred: Annotated[Path, typer.Option("--inferred", help="Inferred traces (etraces_*.csv).")],
    sensitive_weight: Annotated[
        float, typer.Option("--sensitive-weight", help="Weight of a cell whose original place is sensitive.")
    ] = 10.0,
    times: TimesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against trace inference (s_T, 1 is no place found)."""
    from tracearena.formats import pwscup
    from tracearena.intake.user_key import refuse_numbered_apart
    from tracearena.metrics import trace_inference_score

    refuse_numbered_apart(original, inferred, same_users=True)
    traces = pwscup.read_traces(original, pwscup.read_places(places), given_times(times))
    guess = pwscup.read_inferred_traces(inferred, traces)
    print_result(trace_inference_score(traces, guess, sensitive_weight=sensitive_weight).to_dict(), as_json)
