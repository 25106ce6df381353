"""``tracearena contest``, and its commands that need no server.

They make the data, releases, board and awards of a contest from files, and verify its archive. `PANELS`
names the modules of the other commands.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import build_group
from tracearena.cli._output import JsonOption, ReleaseSeedOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.cli.contest_new import (
    DataSetsOption,
    DaysOption,
    FactorsOption,
    IterationsOption,
    MinEventsOption,
    PoisOption,
    SensitiveOption,
    TeamsOption,
    UsersOption,
    WalkOption,
    ZerosOption,
    build_plan,
    drop_small_users,
    mark_sensitive_regions,
    read_training_traces,
    write_people,
)
from tracearena.cli.contest_results import (
    Ranking,
    make_folder_board,
    make_tables_board,
    note_missing_files,
    note_refused_files,
)
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import choose_release_seed
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.contest import ContestFile


PANELS = {
    "With files, without a server": dict.fromkeys(("data", "release", "judge", "board", "verify"), "contest"),
    "Run a server": {
        "new": "contest_new",
        "serve": "contest_server",
        "status": "contest_server",
        "backup": "contest_server",
        "restore": "contest_server",
        "move": "contest_server",
        "upgrade": "contest_server",
        "export": "contest_server",
        "rehearse": "demo",
    },
    "Manage a contest": {
        "team": "contest_manage",
        "organiser": "contest_manage",
        "member": "contest_manage",
        "phase": "contest_manage",
        "announce": "contest_manage",
        "page": "contest_manage",
        "clock": "contest_manage",
        "job": "contest_manage",
        "rescore": "contest_manage",
    },
    "Take part": {"client": "contest_client"},
}
"""Commands and the modules that have them, by panel, in the order of ``tracearena contest --help``."""


def register_contest(app: typer.Typer) -> None:
    """Add the group of commands; `cli.build` finds this function by its name."""
    group = typer.Typer(
        cls=build_group(PANELS),
        help="Hold a contest: make its data, run its server, judge it and rank the teams.",
        epilog="tracearena contest serve --demo",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for panel in PANELS.values():
        for name, module_name in panel.items():
            module = import_module(f"tracearena.cli.{module_name}")
            if hasattr(module, f"register_{name}"):  # a group of commands
                getattr(module, f"register_{name}")(group)
            else:
                group.command()(getattr(module, name))
    app.add_typer(group, name="contest")


@reads_traces()
def data(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces to learn from, in any format.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest's files.")],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Further traces of the same users (their reference traces)."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", help="File of the contest (contest.toml): name, teams, rules, schedule."),
    ] = None,
    teams: TeamsOption = None,
    users: UsersOption = None,
    days: DaysOption = None,
    data_sets: DataSetsOption = None,
    homes: Annotated[
        bool, typer.Option("--homes/--no-homes", help="Put every user at home in the morning and evening.")
    ] = True,
    only_seen: Annotated[
        bool,
        typer.Option(
            "--only-seen/--any-move",
            help="Use only transitions and visits that occur in the training data.",
        ),
    ] = True,
    factors: FactorsOption = 32,
    alpha: Annotated[float, typer.Option("--alpha", help="Precision of the observed counts.")] = 200.0,
    iterations: IterationsOption = 100,
    zeros: ZerosOption = "sampled",
    walk: WalkOption = "5min",
    min_events: MinEventsOption = 10,
    sensitive: SensitiveOption = None,
    pois: PoisOption = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Model file: used if it exists, written during training if not."),
    ] = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the data of a contest: virtual users for every team, in the official file layout.

    DIR/judge is for the judge alone, DIR/teams/team001 for team 001, and DIR/everybody for everybody. Teams
    are numbered from 001. Team 000 is the pseudonymised team; the numbers after the last team are sample
    teams, whose data is public. If --rules sets teams, users, days or data sets, the options must agree with
    it. Without --seed the data cannot be reproduced: all people, and the shuffle of the pseudonymised team,
    come from the system's cryptographic source.

    Example:
      tracearena contest data trips.csv contest --grid 32x32 --teams 5
    """
    from tracearena.contest.data import check_regions
    from tracearena.files import require_new

    charter = combine_contest_options(rules, teams=teams, users=users, days=days, data_sets=data_sets)
    plan = build_plan(charter, homes=homes, only_seen=only_seen)
    require_new(folder)
    training = read_training_traces(reading, file, reference)
    check_regions(training)
    training = mark_sensitive_regions(training, reading, file, sensitive, pois)
    training = drop_small_users(training, min_events)
    parameters = {"factors": factors, "alpha": alpha, "iterations": iterations, "zeros": zeros}
    manifest = write_people(
        folder, training, charter, plan, parameters, walk=walk, model=model, seed=choose_release_seed(seed)
    )
    made, used = manifest["plan"], manifest["model"]["seed"]
    summary = {
        "folder": str(folder),
        "for_nobody_else": str(folder / "judge"),
        **{name: made[name] for name in ("teams", "users", "days", "data_sets")},
        "files": len(manifest["sha256"]) + 1,
        "training_users": training.n_users,
        "sensitive_regions": int(training.places.sensitive.sum()),
    }
    print_result(summary if used is None else summary | {"seed": used}, as_json)


def combine_contest_options(
    rules: Path | None,
    *,
    teams: int | None,
    users: int | None,
    days: int | None,
    data_sets: int | None,
    to_make: bool = False,
) -> ContestFile:
    """Return the contest that a file and the options describe; the two must agree.

    Only with `to_make` may the file have a section [data], which says where the people come from.
    """
    from tracearena.contest import ContestFile, ContestPlan, read_contest_file

    options = {"teams": teams, "users": users, "days": days, "data_sets": data_sets}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if rules is None:
        plan = ContestPlan(**given)
        return ContestFile(teams=plan.teams, rules=plan.rules())
    charter = read_contest_file(rules, to_make=to_make)
    if charter.data is not None and not to_make:
        raise ParameterError(
            f"{rules}: has a section [data], but `contest data` takes its traces from IN; remove the section"
        )
    said = {"teams": charter.teams, "users": charter.rules.users, "data_sets": charter.rules.data_sets}
    said["days"] = charter.rules.reference_days + charter.rules.original_days
    for name, value in given.items():
        if said[name] != value:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(f"{option} is {value}, but {rules} says {said[name]}: they must agree")
    if charter.rules.reference_days != said["days"] // 2:
        raise ParameterError(
            f"{rules}: reference_days = {charter.rules.reference_days} and original_days = "
            f"{charter.rules.original_days}; they must be equal"
        )
    return charter


FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the contest, made by `contest data`.")
]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="File of the contest. [default: DIR/contest.toml]")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for the results. [default: DIR/results]")
]
OverallOption = Annotated[
    bool | None,
    typer.Option(
        "--overall/--no-overall",
        help="Also give an overall award: s_R,min of the first data set plus s_T,min of the last.",
    ),
]
PreliminaryOption = Annotated[
    Path | None, typer.Option("--preliminary", help="Totals of an earlier round (its totals.csv).")
]
WeightOption = Annotated[
    float | None,
    typer.Option("--final-weight", help="Weight of this round against the earlier one. [default: 9]"),
]
WinnerOption = Annotated[
    bool | None,
    typer.Option(
        "--winner-attacks/--no-winner-attacks",
        help="Whether the overall winner may also win the awards for attacks.",
    ),
]


def release(
    folder: FolderArgument,
    rules: RulesOption = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """End the anonymization phase: give every valid data set its final pseudonyms.

    The submissions of the teams (DIR/submissions/anotraces_*) are checked and scored. ID tables and salts
    stay in DIR/judge. DIR/everybody gets the released traces, the reference traces, and the hash of every ID
    table to publish (commitments.csv). An ID table that exists is never drawn again.

    Example:
      tracearena contest release contest
    """
    from tracearena.contest import read_submissions, release_all

    intake = read_submissions(folder, rules)
    note_missing_files(intake)
    with show_progress("releases"):
        done = release_all(intake, seed=choose_release_seed(seed))
    if as_json:
        typer.echo(json.dumps(done.to_dict(), allow_nan=False))
        return
    for (team, number), utility in done.invalid:
        lowest = intake.rules.utility_threshold
        note(f"team {team}, data set {number}: utility {utility:.4f} is below {lowest:g}")
    for team, number in done.missing:
        note(f"team {team}, data set {number}: no valid submission")
    note_refused_files(done.refused)
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
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of sample attacks that use randomness.")
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Run the sample attacks of the rules on all released data sets, and make the board.

    Their answers go to DIR/judge/answers. Answers and scores that exist are kept: an interrupted run is
    resumed, and a second run changes nothing.

    Example:
      tracearena contest judge contest
    """
    from tracearena.contest import attack_all, read_submissions

    intake = read_submissions(folder, rules)
    with show_progress("sample attacks"):
        intake = attack_all(intake, seed=seed)
    ranking = Ranking(overall, preliminary, final_weight, winner_attacks)
    make_folder_board(intake, rules, out, ranking, as_json)


def board(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Folder of the contest, or one folder with all its files."),
    ] = None,
    rules: RulesOption = None,
    out: OutOption = None,
    reidentification: Annotated[
        Path | None, typer.Option("--reidentification", help="Instead of DIR: a table of scores s_R.")
    ] = None,
    trace_inference: Annotated[
        Path | None, typer.Option("--trace-inference", help="Instead of DIR: a table of scores s_T.")
    ] = None,
    utility: Annotated[
        Path | None, typer.Option("--utility", help="Instead of DIR: a table of utilities.")
    ] = None,
    overall: OverallOption = None,
    preliminary: PreliminaryOption = None,
    final_weight: WeightOption = None,
    winner_attacks: WinnerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rank the teams, from their submissions or from tables of scores; write awards and a page.

    Every file is checked; a file that fails is named with the reason and does not count. The results go to
    DIR/results: a page (board.html), CSV files, and board.json. Instead of DIR you can name three tables of
    scores in the layout of the published results of 2019; their results are written only with --out.

    Example:
      tracearena contest board contest --overall
    """
    from tracearena.contest import read_submissions

    tables = (reidentification, trace_inference, utility)
    ranking = Ranking(overall, preliminary, final_weight, winner_attacks)
    if folder is not None:
        if any(tables):
            raise ParameterError("use either DIR or tables of scores, not both")
        make_folder_board(read_submissions(folder, rules), rules, out, ranking, as_json)
        return
    if reidentification is None or trace_inference is None or utility is None:
        raise ParameterError(
            "name the folder of the contest, or all three of --reidentification, "
            "--trace-inference and --utility"
        )
    make_tables_board((reidentification, trace_inference, utility), rules, out, ranking, as_json)


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="ARCHIVE", help="Archive written by `contest export` (.zip).")
    ],
    key: Annotated[
        str | None,
        typer.Option("--key", help="Public key of the contest, from its rules page: 64 hexadecimal digits."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge an archived contest from scratch, and compare the result with the archive.

    It checks the hash of every file; that every ID table matches its commitment; that the released traces are
    the submitted ones; all utilities, scores, ranks and awards; that every receipt is in a signed list and
    was judged or refused; and that the audit log has no gap. If the archive has no original traces, the
    scores that need them are named and not recomputed. Every problem is named, and the exit status is then 1.

    Example:
      tracearena contest verify friday.zip
    """
    from tracearena.contest import verify_archive

    with show_progress("scores"):
        found = verify_archive(file, key=key)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), allow_nan=False))
    else:
        for name, count in found.checked.items():
            typer.echo(f"{name:<11}  {count:,}")
        for score in found.assumed:
            note(f"not recomputed, because the archive has no original traces: {score}")
        for finding in found.findings:
            typer.echo(str(finding))
        if found.signed_by is not None and key is None:
            note(
                f"signed with the key {found.signed_by}: compare it with the key on "
                "the rules page of the contest"
            )
        n_problems = len(found.findings)
        problems = "1 problem" if n_problems == 1 else f"{n_problems} problems"
        result = "everything is correct" if found.is_right else problems
        typer.echo(f"{file}: {result}")
    if not found.is_right:
        raise typer.Exit(1)
