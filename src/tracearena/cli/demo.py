"""``tracearena demo``: a whole contest on the embedded city, and its page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._output import JsonOption, SeedOption, choose_seed, note
from tracearena.cli.contest_results import print_board

if TYPE_CHECKING:
    from tracearena.contest import SimulatedContest


_QUIET_S = 10
"""How long a stage goes on without a line, where there is no bar."""


_AFTERWARDS = ("Bayes-R(adaptive)", "Bayes-T(adaptive)", "Tracking-T(adaptive)", "Habits-T")
"""What the judge tries besides the attacks of the contest."""


def register_demo(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the page and a team's files.")] = Path(
        "demo"
    ),
    teams: Annotated[int, typer.Option("--teams", min=2, max=21, help="Number of teams.")] = 7,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="Further attacks that the judge tries after the awards, or none; repeat for more. "
            f"[default: {', '.join(_AFTERWARDS)}]",
        ),
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a whole contest on the embedded city: teams defend, attack each other, and somebody wins.

    The page is OUT/report.html. OUT/team001 holds the files of the first team, as a team of 2019 got
    them, to try the other commands on.
    """
    import json
    import shlex

    from tracearena.arena import attack_names, make_attacks
    from tracearena.contest import simulate_contest
    from tracearena.files.atomic import make_folder, replacing_all
    from tracearena.pages.contest import contest_report

    used = choose_seed(seed)
    after = [] if attacks == ["none"] else list(attacks or _AFTERWARDS)
    make_attacks(attack_names(after))
    chosen = "".join(f" --attacks {shlex.quote(name)}" for name in attacks or ())
    with replacing_all(), _show_stages() as tell:
        make_folder(out)
        held = simulate_contest(teams=teams, attacks=after, seed=used, tell=tell)
        tell("the page is written", 0, 1)
        report = out / "report.html"
        _write_team(held, out / "team001")
        contest_report(held.to_report_data(f"tracearena demo --teams {teams} --seed {used}{chosen}")).write(
            report
        )
    if as_json:
        typer.echo(json.dumps({"report": str(report), **held.to_dict()}, allow_nan=False))
        return
    _print_awards(held)
    typer.echo(f"\nEverything with pictures: {report}")
    note(f"files of the first team, to try the other commands on: {out / 'team001'}")


def _print_awards(held: SimulatedContest) -> None:
    from tracearena.contest.simulation import defence_name

    print_board(held.board, held.awards, {one.name: defence_name(one) for one in held.entrants})
    if held.afterwards:
        typer.echo("\nafterwards, few people  s_R,min  s_T,min  at most  strongest attacks")
        for tried in held.afterwards:
            found, ceiling = tried.scores, tried.band and tried.band.ceiling
            numbers = "  ".join(_format_cell(one) for one in (found.s_R_min, found.s_T_min, ceiling))
            names = ", ".join(name for name in found.strongest if name)
            typer.echo(f"{tried.defence:<22}  {numbers}  {names}")


def _format_cell(number: float | None) -> str:
    return f"{'–':>7}" if number is None else f"{number:7.3f}"


def _write_team(held: SimulatedContest, folder: Path) -> None:
    """Write what the first team got and what it handed in, under the names of 2019."""
    from tracearena.files.atomic import make_folder
    from tracearena.io import pwscup

    team = held.teams[0]
    make_folder(folder)
    pwscup.write_places(team.original.places, folder / "info_region.csv")
    pwscup.write_traces(team.reference, folder / "reftraces_team001.csv")
    pwscup.write_traces(team.original, folder / "orgtraces_team001.csv")
    days = [traces.n_instants // traces.clock.instants_per_day for traces in (team.reference, team.original)]
    pwscup.write_times(pwscup.ContestTimes(team.original.clock, *days), folder / "info_time.csv")
    pwscup.write_obfuscated(team.obfuscated, folder / "obftraces_team001.csv")


def _build_stage_printer() -> Callable[[str, int, int], None]:
    """Say each stage when it begins, and how far it is while it lasts."""
    from time import monotonic

    last, at = "", 0.0

    def say(what: str, done: int, total: int) -> None:
        nonlocal last, at
        if what == last and monotonic() - at < _QUIET_S:
            return
        note(what if what != last else f"{what}: {done:,} of {total:,}")
        last, at = what, monotonic()

    return say


@contextmanager
def _show_stages() -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar for each stage of the contest; lines where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield _build_stage_printer()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, int] = {}

        def draw(what: str, done: int, total: int) -> None:
            if what not in tasks:
                for task in bars.tasks:
                    bars.update(task.id, completed=task.total)
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        yield draw
        for task in bars.tasks:
            bars.update(task.id, completed=task.total)
