"""``tracearena contest release``, ``judge`` and ``board``: the judge's desk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption, ReleaseSeedOption, note, release_seed, working
from tracearena.cli._contest_results import (
    Ranking,
    board_of_folder,
    board_of_tables,
    say_refused,
    say_surroundings,
)
from tracearena.errors import ParameterError

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The contest's folder, as `contest data` makes it.")
]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="The contest's file; DIR/contest.toml if omitted.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Where the results go; DIR/results if omitted.")
]
OverallOption = Annotated[
    bool | None,
    typer.Option(
        "--overall/--no-overall",
        help="An overall award too: s_R,min of the first data set plus s_T,min of the last.",
    ),
]
PreliminaryOption = Annotated[
    Path | None, typer.Option("--preliminary", help="Totals of a round before this one (its totals.csv).")
]
WeightOption = Annotated[
    float | None, typer.Option("--final-weight", help="Weight of this round after a preliminary one; 9.")
]
WinnerOption = Annotated[
    bool | None,
    typer.Option(
        "--winner-attacks/--no-winner-attacks",
        help="Whether the overall winner may win the awards of the attackers as well.",
    ),
]


def register(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command()(release)
    group.command()(judge)
    group.command()(board)


def release(
    folder: FolderArgument,
    rules: RulesOption = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """End the anonymization phase: give every valid data set its pseudonyms, once and for all.

    What teams handed in (DIR/submissions/anotraces_*) is checked and scored. ID tables and salts stay in
    DIR/judge; DIR/everybody gets released traces, reference traces, and the hash of every ID table to
    publish (commitments.csv). A table that is there is never drawn again.
    """
    from tracearena.contest import read_submissions, release_all

    intake = read_submissions(folder, rules)
    say_surroundings(intake)
    with working("releases"):
        done = release_all(intake, seed=release_seed(seed))
    if as_json:
        typer.echo(json.dumps(done.to_dict(), allow_nan=False))
        return
    for (team, number), utility in done.invalid:
        lowest = intake.rules.utility_threshold
        note(f"team {team}, data set {number}: utility {utility:.4f} is below {lowest:g}")
    for team, number in done.missing:
        note(f"team {team}, data set {number}: nothing handed in that counts")
    say_refused(done.refused)
    typer.echo(f"released now     {len(done.new)}")
    typer.echo(f"released before  {len(done.before)}")
    typer.echo(f"to publish       {folder / 'everybody'}")


def judge(
    folder: FolderArgument,
    rules: RulesOption = None,
    out: OutOption = None,
    overall: OverallOption = None,
    preliminary: PreliminaryOption = None,
    final_weight: WeightOption = None,
    winner_attacks: WinnerOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of sample attacks that draw.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Run the sample attacks of the rules on everything that was released, and make the board.

    Their answers go to DIR/judge/answers. Answers and scores that are there are kept: a run that was
    stopped goes on, and a second one changes nothing.
    """
    from tracearena.contest import attack_all, read_submissions

    intake = read_submissions(folder, rules)
    with working("sample attacks"):
        intake = attack_all(intake, seed=seed)
    ranking = Ranking(overall, preliminary, final_weight, winner_attacks)
    board_of_folder(intake, rules, out, ranking, as_json)


def board(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="The contest's folder, or one folder with all its files."),
    ] = None,
    rules: RulesOption = None,
    out: OutOption = None,
    reidentification: Annotated[
        Path | None, typer.Option("--reidentification", help="In the place of DIR: a table of scores s_R.")
    ] = None,
    trace_inference: Annotated[
        Path | None, typer.Option("--trace-inference", help="In the place of DIR: a table of scores s_T.")
    ] = None,
    utility: Annotated[
        Path | None, typer.Option("--utility", help="In the place of DIR: a table of utilities.")
    ] = None,
    overall: OverallOption = None,
    preliminary: PreliminaryOption = None,
    final_weight: WeightOption = None,
    winner_attacks: WinnerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make board, matrices, awards and page from what teams handed in, or from tables of scores.

    Every file is checked; one that fails is named with the reason and does not count. The results go to
    DIR/results: a page (board.html), CSV files, and board.json. Three tables of scores in the layout of
    the published results of 2019 do as well; their results are written with --out.
    """
    from tracearena.contest import read_submissions

    tables = (reidentification, trace_inference, utility)
    ranking = Ranking(overall, preliminary, final_weight, winner_attacks)
    if folder is not None:
        if any(tables):
            raise ParameterError("a board is made of a folder or of tables of scores, not of both")
        board_of_folder(read_submissions(folder, rules), rules, out, ranking, as_json)
        return
    if reidentification is None or trace_inference is None or utility is None:
        raise ParameterError(
            "name the contest's folder, or all three of --reidentification, --trace-inference and --utility"
        )
    board_of_tables((reidentification, trace_inference, utility), rules, out, ranking, as_json)
