"""``tracearena contest release``, ``judge`` and ``board``: the judge's desk."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, ReleaseSeedOption, note, release_seed, working
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracearena.contest import Account, Award, Board, Charter, Intake, Judged, Refusal, Rules

PAGE = "board.html"

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


def chartered(
    rules: Path | None, *, teams: int | None, users: int | None, days: int | None, data_sets: int | None
) -> Charter:
    """Return what a contest is to be: as its file says, or as the options do; both must agree."""
    from tracearena.contest import Charter, ContestPlan, read_charter

    options = {"teams": teams, "users": users, "days": days, "data_sets": data_sets}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if rules is None:
        plan = ContestPlan(**given)
        return Charter(teams=plan.teams, rules=plan.rules())
    charter = read_charter(rules)
    if charter.data is not None:
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
            f"{charter.rules.original_days}: contest data makes halves"
        )
    return charter


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
    _say_surroundings(intake)
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
    _say_refused(done.refused)
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
    ranking = _Ranking(overall, preliminary, final_weight, winner_attacks)
    _board_of_folder(intake, rules, out, ranking, as_json)


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
    ranking = _Ranking(overall, preliminary, final_weight, winner_attacks)
    if folder is not None:
        if any(tables):
            raise ParameterError("a board is made of a folder or of tables of scores, not of both")
        _board_of_folder(read_submissions(folder, rules), rules, out, ranking, as_json)
        return
    if reidentification is None or trace_inference is None or utility is None:
        raise ParameterError(
            "name the contest's folder, or all three of --reidentification, --trace-inference and --utility"
        )
    _board_of_tables((reidentification, trace_inference, utility), rules, out, ranking, as_json)


class _Ranking:
    """What the options say of the ranking; what they leave out is as the rules have it."""

    def __init__(
        self,
        overall: bool | None,
        preliminary: Path | None,
        final_weight: float | None,
        winner_attacks: bool | None,
    ) -> None:
        from tracearena.contest.score_tables import read_totals

        given = {
            "overall_total": overall,
            "final_weight": final_weight,
            "winner_takes_attack_awards": winner_attacks,
        }
        self.options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self.preliminary = None if preliminary is None else read_totals(preliminary)
        self.words = _options(
            {
                "--preliminary": preliminary,
                "--final-weight": final_weight,
                "--overall" if overall else "--no-overall": None if overall is None else "",
                "--winner-attacks" if winner_attacks else "--no-winner-attacks": (
                    None if winner_attacks is None else ""
                ),
            }
        )
        if final_weight is not None and preliminary is None:
            raise ParameterError("--final-weight has no meaning without --preliminary")

    def rules(self, rules: Rules) -> Rules:
        """Return the rules with what the options say."""
        return replace(rules, **self.options)


def _board_of_folder(
    intake: Intake, rules: Path | None, out: Path | None, ranking: _Ranking, as_json: bool
) -> None:
    from tracearena.contest import judge as judge_all
    from tracearena.contest.handout import read_commitments

    _say_surroundings(intake)
    with working("scores"):
        judged = judge_all(intake, ranking.rules(intake.rules))
    lost = "" if judged.sensitive_places else ": their weight has no effect on s_T"
    note(f"{judged.sensitive_places} of {judged.places:,} regions are sensitive{lost}")
    target = out or intake.folder / "results"
    commitments = {_owner(intake, name): one for name, one in sorted(read_commitments(intake.folder).items())}
    _finish(
        judged.board(),
        target,
        ranking,
        as_json,
        title=intake.charter.name,
        names={team: intake.charter.called(team) for team in intake.teams},
        refused=judged.refused,
        look=_Looking(judged),
        commitments=commitments,
        command=["contest", "board", str(intake.folder), *_options({"--rules": rules, "--out": out})],
        counts={"places": judged.places, "sensitive_places": judged.sensitive_places},
    )


def _board_of_tables(
    tables: tuple[Path, Path, Path], rules: Path | None, out: Path | None, ranking: _Ranking, as_json: bool
) -> None:
    from tracearena.contest import Rules, read_charter, read_score_tables

    charter = None if rules is None else read_charter(rules)
    found = read_score_tables(*tables)
    for column in found.minimum_columns:
        note(f"column {column} is the minimum of each row: it is held against the others and is no attack")
    if charter is not None and charter.rules.data_sets < found.data_sets:
        said = charter.rules.data_sets
        raise ParameterError(
            f"the tables have {found.data_sets} data sets a team, and the rules say {said}: they must agree"
        )
    made = found.board(ranking.rules(Rules() if charter is None else charter.rules))
    names = ("--reidentification", "--trace-inference", "--utility")
    words = _options(dict(zip(names, tables, strict=True)) | {"--rules": rules, "--out": out})
    _finish(
        made,
        out,
        ranking,
        as_json,
        title="A contest" if charter is None else charter.name,
        names={} if charter is None else {t: charter.called(t) for t in found.teams},
        command=["contest", "board", *words],
    )


def _finish(
    made: Board,
    out: Path | None,
    ranking: _Ranking,
    as_json: bool,
    *,
    title: str,
    names: Mapping[str, str],
    command: Sequence[str],
    refused: Sequence[Refusal] = (),
    counts: Mapping[str, int] | None = None,
    **account: Any,
) -> None:
    """Write the results, if there is somewhere to write them, and print them."""
    from tracearena.contest import make_awards, summary
    from tracearena.contest.account import account_of

    awards = make_awards(made, ranking.preliminary)
    written: list[Path] = []
    if out is not None:
        told = account_of(
            made,
            title=title,
            command=shlex.join(["tracearena", *command, *ranking.words]),
            names=names,
            preliminary=ranking.preliminary,
            refused=tuple(refused),
            **account,
        )
        written = _write(out, made, awards, refused, ranking, told)
    if as_json:
        files = {"files": [str(path) for path in written]}
        result = summary(made, awards, refused) | dict(counts or {}) | files
        typer.echo(json.dumps(result, allow_nan=False))
        return
    _say_refused(refused)
    print_board(made, awards)
    if out is not None:
        typer.echo(f"\nEverything with pictures: {out / PAGE}")


def _write(
    out: Path,
    made: Board,
    awards: Sequence[Award],
    refused: Sequence[Refusal],
    ranking: _Ranking,
    told: Account,
) -> list[Path]:
    from tracearena.contest import write_results
    from tracearena.files.staging import make_folder, replacing_all
    from tracearena.pages.contest import contest_report

    with replacing_all():
        make_folder(out)
        written = write_results(out, made, awards, refused, ranking.preliminary)
        contest_report(told).write(out / PAGE)
    return [*written, out / PAGE]


def print_board(made: Board, awards: Sequence[Award], defences: Mapping[str, str] | None = None) -> None:
    """Print who won, and the board; with the defences where they are known."""
    from tracearena.contest import compared
    from tracearena.contest.records import Role

    width = max(len(award.title) for award in awards)
    for award in awards:
        winners = " and ".join(award.winners) or "nobody"
        value = f"{award.places[0].value:.3f}" if award.places else "–"
        typer.echo(f"{award.title:<{width}}  {winners} ({value})")
    points = compared(made)
    valid = [row for row in points if row.role is Role.TEAM]
    typer.echo(
        f"\n{made.rules.challenge}: {len(valid)} of {len(made.roster.teams)} teams valid{_together(made)}"
    )
    named = max([4, *(len(row.team) for row in made.rows)])
    used = {} if defences is None else {"defence": 20}
    sets = {"set": 3} if made.rules.data_sets > 1 else {}
    head = [f"{'team':<{named}}", *(f"{name:<{size}}" for name, size in (used | sets).items())]
    typer.echo("  ".join([*head, "utility", "s_R,min", "s_T,min"]))
    for row in made.rows:
        cells = [f"{row.team:<{named}}"]
        cells += [f"{(defences or {}).get(row.team, ''):<20}"] if used else []
        cells += [f"{row.data_set:<3}"] if sets else []
        cells.append("      –" if row.utility is None else f"{row.utility:7.3f}")
        cells += [f"{row.s_R_min:7.3f}", f"{row.s_T_min:7.3f}"] if row.valid else ["invalid"]
        typer.echo("  ".join(cells))


def _together(made: Board) -> str:
    from tracearena.arena.lessons import correlation
    from tracearena.contest import compared

    points = compared(made)
    found = correlation((row.s_R_min, row.s_T_min) for row in points)
    return "" if found is None else f"; R = {found:.4f} over {len(points)} data sets"


def _options(given: Mapping[str, Any]) -> list[str]:
    """Return options as they are typed; None is one that was not given, an empty text a switch."""
    return [
        word
        for option, value in given.items()
        if value is not None
        for word in ([option] if value == "" else [option, str(value)])
    ]


class _Looking:
    """Reads the traces behind a row of the page, which calls teams by their names."""

    def __init__(self, judged: Judged) -> None:
        from tracearena.contest.desk import Desk

        self._desk = Desk(judged.intake, judged.rules)
        charter = judged.intake.charter
        self._numbers = {charter.called(team): team for team in judged.intake.teams}

    def __call__(self, row: Any) -> Any:
        from tracearena.contest.account import Sight
        from tracearena.contest.file_scores import read_obfuscated
        from tracearena.contest.truth import Truth
        from tracearena.traces import ObfuscatedTraces

        target = self._numbers.get(row.team, row.team), row.data_set
        truth = Truth(self._desk, target)
        path = self._desk.handed_in(truth).path
        obfuscated = (
            ObfuscatedTraces.unchanged(truth.original)
            if path is None
            else read_obfuscated(path, truth.original, self._desk.rules)
        )
        return Sight(row.team, row.data_set, truth.original, obfuscated)


def _owner(intake: Intake, name: str) -> str:
    """Return whose ID table a file is, as people see it."""
    from tracearena.formats.pwscup import PwsName

    found = PwsName.parse(name)
    number = 1 if found.purpose == "IDP" else 2
    team = f"{found.team:03d}"
    called = intake.charter.called(team) if team in intake.teams else team
    return called if intake.rules.data_sets == 1 else f"{called} / {number}"


def _say_surroundings(intake: Intake) -> None:
    if not intake.has_charter:
        note("there is no contest.toml: the rules are the usual ones, and nothing is late")
    elif intake.charter.schedule is not None and not intake.has_arrivals:
        note(f"{intake.submissions / 'received.csv'} is not there: no file is held against the schedule")


def _say_refused(refused: Sequence[Refusal]) -> None:
    for one in refused:
        note(f"does not count: {one.file}: {one.reason}")
