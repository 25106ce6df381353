"""The results of a contest: computed from a folder or from tables of scores, written and printed."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note, show_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracearena.contest import Award, Board, ContestFolder, Judgement, Refusal, Rules


PAGE = "board.html"


class Ranking:
    """Options of the ranking; the rules of the contest set what was not given."""

    def __init__(
        self,
        overall: bool | None,
        preliminary: Path | None,
        final_weight: float | None,
        winner_attacks: bool | None,
    ) -> None:
        from tracearena.contest.report_data import read_totals

        given = {
            "overall_total": overall,
            "final_weight": final_weight,
            "winner_takes_attack_awards": winner_attacks,
        }
        self.options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self.preliminary = None if preliminary is None else read_totals(preliminary)
        self.words = _format_options(
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
            raise ParameterError("--final-weight needs --preliminary")

    def rules(self, rules: Rules) -> Rules:
        """Return the rules, with the options applied."""
        return replace(rules, **self.options)


def make_folder_board(
    intake: ContestFolder, rules: Path | None, out: Path | None, ranking: Ranking, as_json: bool
) -> None:
    """Score the submissions in a folder, then write and print the board."""
    from tracearena import contest
    from tracearena.contest.data import read_commitments
    from tracearena.io.pwscup import PwsName

    note_missing_files(intake)
    with show_progress("scores"):
        judged = contest.judge(intake, ranking.rules(intake.rules))
    lost = "" if judged.sensitive_places else ", so their weight has no effect on s_T"
    note(f"{judged.sensitive_places} of {judged.places:,} regions are sensitive{lost}")
    target = out or intake.folder / "results"
    commitments = {}
    for name, one in sorted(read_commitments(intake.folder).items()):
        file = PwsName.parse(name)
        team = f"{file.team:03d}"
        owner = intake.charter.team_label(team) if team in intake.teams else team
        if intake.rules.data_sets > 1:
            owner = f"{owner} / {1 if file.purpose == 'IDP' else 2}"
        commitments[owner] = one
    _write_and_print(
        judged.board(),
        target,
        ranking,
        as_json,
        title=intake.charter.name,
        names={team: intake.charter.team_label(team) for team in intake.teams},
        refused=judged.refused,
        look=_TraceReader(judged),
        commitments=commitments,
        command=["contest", "board", str(intake.folder), *_format_options({"--rules": rules, "--out": out})],
        counts={"places": judged.places, "sensitive_places": judged.sensitive_places},
    )


def make_tables_board(
    tables: tuple[Path, Path, Path], rules: Path | None, out: Path | None, ranking: Ranking, as_json: bool
) -> None:
    """Write and print the board of three tables of scores: s_R, s_T and utility."""
    from tracearena.contest import Rules, read_contest_file, read_score_tables

    charter = None if rules is None else read_contest_file(rules)
    found = read_score_tables(*tables)
    for column in found.minimum_columns:
        note(
            f"column {column} is the minimum of each row: it is compared with the "
            "other columns, and is not an attack"
        )
    if charter is not None and charter.rules.data_sets < found.data_sets:
        said = charter.rules.data_sets
        raise ParameterError(
            f"the tables have {found.data_sets} data sets per team, but the rules say {said}: they must agree"
        )
    made = found.board(ranking.rules(Rules() if charter is None else charter.rules))
    names = ("--reidentification", "--trace-inference", "--utility")
    words = _format_options(dict(zip(names, tables, strict=True)) | {"--rules": rules, "--out": out})
    _write_and_print(
        made,
        out,
        ranking,
        as_json,
        title="A contest" if charter is None else charter.name,
        names={} if charter is None else {t: charter.team_label(t) for t in found.teams},
        command=["contest", "board", *words],
    )


def _write_and_print(
    made: Board,
    out: Path | None,
    ranking: Ranking,
    as_json: bool,
    *,
    title: str,
    names: Mapping[str, str],
    command: Sequence[str],
    refused: Sequence[Refusal] = (),
    counts: Mapping[str, int] | None = None,
    **details: Any,
) -> None:
    """Print the results, and write them if a folder is given."""
    from tracearena.contest import make_awards, summary, write_results
    from tracearena.contest.report_data import build_report_data
    from tracearena.files.atomic import make_folder, replacing_all
    from tracearena.pages.contest import contest_report

    awards = make_awards(made, ranking.preliminary)
    written: list[Path] = []
    if out is not None:
        report = build_report_data(
            made,
            title=title,
            command=shlex.join(["tracearena", *command, *ranking.words]),
            names=names,
            preliminary=ranking.preliminary,
            refused=tuple(refused),
            **details,
        )
        with replacing_all():
            make_folder(out)
            written = write_results(out, made, awards, refused, ranking.preliminary)
            contest_report(report).write(out / PAGE)
        written = [*written, out / PAGE]
    if as_json:
        files = {"files": [str(path) for path in written]}
        result = summary(made, awards, refused) | dict(counts or {}) | files
        typer.echo(json.dumps(result, allow_nan=False))
        return
    note_refused_files(refused)
    print_board(made, awards)
    if out is not None:
        typer.echo(f"\nFull report: {out / PAGE}")


def _format_options(given: Mapping[str, Any]) -> list[str]:
    """Return the words of options; None is an option that was not given, an empty text a switch."""
    return [
        word
        for option, value in given.items()
        if value is not None
        for word in ([option] if value == "" else [option, str(value)])
    ]


class _TraceReader:
    """Reads the traces of a row of the page, where teams have names instead of numbers."""

    def __init__(self, judged: Judgement) -> None:
        from tracearena.contest.file_judge import FileJudge

        self._judge = FileJudge(judged.intake, judged.rules)
        charter = judged.intake.charter
        self._numbers = {charter.team_label(team): team for team in judged.intake.teams}

    def __call__(self, row: Any) -> Any:
        from tracearena.contest.file_judge import GroundTruth, read_obfuscated
        from tracearena.contest.report_data import DataSetView
        from tracearena.traces import ObfuscatedTraces

        target = self._numbers.get(row.team, row.team), row.data_set
        truth = GroundTruth(self._judge, target)
        path = self._judge.select_submission(truth).path
        obfuscated = (
            ObfuscatedTraces.from_traces(truth.original)
            if path is None
            else read_obfuscated(path, truth.original, self._judge.rules)
        )
        return DataSetView(row.team, row.data_set, truth.original, obfuscated)


def note_missing_files(intake: ContestFolder) -> None:
    """Print which files are missing, and the consequence."""
    if not intake.has_contest_file:
        note("there is no contest.toml: the default rules apply, and no file is late")
    elif intake.charter.schedule is not None and not intake.has_arrivals:
        note(f"{intake.submissions / 'received.csv'} is missing: files are not compared with the schedule")


def note_refused_files(refused: Sequence[Refusal]) -> None:
    """Print each file that does not count, with the reason."""
    for one in refused:
        note(f"does not count: {one.file}: {one.reason}")


def print_board(made: Board, awards: Sequence[Award], defences: Mapping[str, str] | None = None) -> None:
    """Print winners and board, with the defences if they are known."""
    from tracearena.arena.claims import correlation
    from tracearena.contest import select_compared_rows
    from tracearena.contest.board import Role

    width = max(len(award.title) for award in awards)
    for award in awards:
        winners = " and ".join(award.winners) or "nobody"
        value = f"{award.places[0].value:.3f}" if award.places else "–"
        typer.echo(f"{award.title:<{width}}  {winners} ({value})")
    points = select_compared_rows(made)
    valid = sum(row.role is Role.TEAM for row in points)
    found = correlation((row.s_R_min, row.s_T_min) for row in points)
    related = "" if found is None else f"; R = {found:.4f} over {len(points)} data sets"
    typer.echo(f"\n{made.rules.challenge}: {valid} of {len(made.roster.teams)} teams valid{related}")
    named = max([4, *(len(row.team) for row in made.rows)])
    used = {} if defences is None else {"defence": max([20, *map(len, defences.values())])}
    sets = {"set": 3} if made.rules.data_sets > 1 else {}
    head = [f"{'team':<{named}}", *(f"{name:<{size}}" for name, size in (used | sets).items())]
    typer.echo("  ".join([*head, "utility", "s_R,min", "s_T,min"]))
    for row in made.rows:
        cells = [f"{row.team:<{named}}"]
        cells += [f"{(defences or {}).get(row.team, ''):<{used['defence']}}"] if used else []
        cells += [f"{row.data_set:<3}"] if sets else []
        cells.append("      –" if row.utility is None else f"{row.utility:7.3f}")
        cells += [f"{row.s_R_min:7.3f}", f"{row.s_T_min:7.3f}"] if row.valid else ["invalid"]
        typer.echo("  ".join(cells))
