"""``tracearena contest``: what an organiser does without a server.

Data, releases, board and awards of a contest by files, and the check of its archive. The commands of a
contest with a server are in the modules that `SERVER_COMMANDS` names.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, ReleaseSeedOption, print_result
from tracearena.cli._reading import reads_traces
from tracearena.cli.contest_new import (
    MinEventsOption,
    PoisOption,
    SensitiveOption,
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


SERVER_COMMANDS = {
    "new": "contest_new",
    "serve": "contest_server",
    "team": "contest_manage",
    "account": "contest_manage",
    "phase": "contest_manage",
    "clock": "contest_manage",
    "status": "contest_server",
    "job": "contest_manage",
    "rescore": "contest_manage",
    "storage": "contest_server",
    "export": "contest_server",
    "rehearse": "demo",
    "client": "contest_client",
}
"""Names of functions (or of ``register_NAME`` for groups) and the modules that have them, in the order of
``tracearena contest --help``."""


def register_contest(app: typer.Typer) -> None:
    """Add the group of commands; `cli.build` finds this function by its name."""
    group = typer.Typer(
        help="Hold a contest: data, releases, board and awards.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (data, release, judge, board, verify):
        group.command()(command)
    for name, module_name in SERVER_COMMANDS.items():
        module = import_module(f"tracearena.cli.{module_name}")
        if hasattr(module, f"register_{name}"):  # several commands
            getattr(module, f"register_{name}")(group)
        else:
            group.command()(getattr(module, name))
    app.add_typer(group, name="contest")


@reads_traces()
def data(
    reading: ReadingOptions,
    file: Annotated[Path, typer.Argument(metavar="IN", help="Traces to learn from, of any format.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the contest's files.")],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="More traces of the same users (their reference traces)."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", help="The contest's file (contest.toml): name, teams, rules, schedule."),
    ] = None,
    teams: Annotated[int | None, typer.Option("--teams", help="Teams that take part; 21.")] = None,
    users: Annotated[int | None, typer.Option("--users", help="Virtual users of a team; 2,000.")] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="Days of a user, half reference, half original; 40.")
    ] = None,
    data_sets: Annotated[
        int | None, typer.Option("--data-sets", help="1 (as usual): data01_IDP. 2: data02_TRP as well.")
    ] = None,
    homes: Annotated[
        bool, typer.Option("--homes/--no-homes", help="Everybody has a home, morning and evening.")
    ] = True,
    only_seen: Annotated[
        bool,
        typer.Option("--only-seen/--any-move", help="No transition or visit that nobody made in training."),
    ] = True,
    factors: Annotated[int, typer.Option("--factors", help="Factors of the model.")] = 32,
    alpha: Annotated[float, typer.Option("--alpha", help="Precision of the counts.")] = 200.0,
    iterations: Annotated[int, typer.Option("--iterations", help="Gibbs iterations.")] = 100,
    zeros: ZerosOption = "all",
    walk: WalkOption = "5min",
    min_events: MinEventsOption = 0,
    sensitive: SensitiveOption = None,
    pois: PoisOption = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Model file: written during training, used if it is there."),
    ] = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the data of a contest: virtual users of every team's own, as the official files.

    DIR/judge is for nobody else, DIR/teams/team001 for team 001, DIR/everybody for everybody. Teams are
    numbered from 001; 000 is the pseudonymised team, the numbers after the last are sample teams whose
    data everybody may have. What --rules says of teams, users, days and data sets holds; options must
    agree with it. Without --seed nothing can be made again: all people, and the shuffle of the
    pseudonymised team, come from the system's cryptographic source.
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
    """Return what a contest is to be: as its file says, or as the options do; both must agree.

    If the contest is to be made from its file alone, that may say where its people come from.
    """
    from tracearena.contest import ContestFile, ContestPlan, read_contest_file

    options = {"teams": teams, "users": users, "days": days, "data_sets": data_sets}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if rules is None:
        plan = ContestPlan(**given)
        return ContestFile(teams=plan.teams, rules=plan.rules())
    charter = read_contest_file(rules, to_make=to_make)
    if charter.data is not None and not to_make:
        raise ParameterError(f"{rules}: contest data takes its traces from IN; leave [data] out of the file")
    said = {"teams": charter.teams, "users": charter.rules.users, "data_sets": charter.rules.data_sets}
    said["days"] = charter.rules.reference_days + charter.rules.original_days
    for name, value in given.items():
        if said[name] != value:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(f"{option} says {value}, and {rules} {said[name]}: they must agree")
    if charter.rules.reference_days != said["days"] // 2:
        raise ParameterError(
            f"{rules}: reference_days = {charter.rules.reference_days} and original_days = "
            f"{charter.rules.original_days}: data is made in halves"
        )
    return charter


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
        note(f"team {team}, data set {number}: nothing handed in that counts")
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
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of sample attacks that draw.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Run the sample attacks of the rules on everything that was released, and make the board.

    Their answers go to DIR/judge/answers. Answers and scores that are there are kept: a run that was
    stopped goes on, and a second one changes nothing.
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
        make_folder_board(read_submissions(folder, rules), rules, out, ranking, as_json)
        return
    if reidentification is None or trace_inference is None or utility is None:
        raise ParameterError(
            "name the contest's folder, or all three of --reidentification, --trace-inference and --utility"
        )
    make_tables_board((reidentification, trace_inference, utility), rules, out, ranking, as_json)


def verify(
    file: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="What `contest export` wrote: one zip.")],
    key: Annotated[
        str | None,
        typer.Option("--key", help="The contest's public key, as its rules page showed it: 64 digits."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge an archive of a contest from scratch, and hold it against what it says.

    Every file has its hash; every ID table opens its commitment; what was released is what was handed in;
    utilities, all scores, board and awards are those of the results; every receipt is in a signed list, and
    was judged or refused; the audit log has no gap. Where original traces are not in the
    archive, the scores that need them are named and taken as they are. What is wrong is named, and the exit
    status is then 1.
    """
    from tracearena.contest import verify_archive

    with show_progress("scores"):
        found = verify_archive(file, key=key)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), allow_nan=False))
    else:
        for name, count in found.checked.items():
            typer.echo(f"{name:<11}  {count:,}")
        for score in found.told:
            note(f"not made again, for the original traces are not there: {score}")
        for finding in found.findings:
            typer.echo(str(finding))
        if found.signed_by is not None and key is None:
            note(f"signed by {found.signed_by}: is that the key on the contest's rules page?")
        result = "everything is right" if found.is_right else f"{len(found.findings)} wrong"
        typer.echo(f"{file}: {result}")
    if not found.is_right:
        raise typer.Exit(1)
