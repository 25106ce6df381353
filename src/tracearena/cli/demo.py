"""Contests with invented teams on the embedded city.

``tracearena demo`` holds one in this process and writes its page, ``contest serve --demo`` shows one in a
browser, and ``contest rehearse`` plays one against a server, through all phases.
"""

from __future__ import annotations

import os
import select
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import delay_stop
from tracearena.cli._output import JsonOption, SeedOption
from tracearena.cli.contest_client import print_scores
from tracearena.cli.contest_new import PeopleOptions, create_contest_with_key
from tracearena.cli.contest_results import print_board
from tracearena.cli.contest_server import DatabaseOption, require_extra
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note
from tracearena.jobs.outputs import choose_seed
from tracearena.jobs.reading import ReadingOptions

if TYPE_CHECKING:
    from tracearena.contest import ContestFile, ContestPlan, SimulatedContest
    from tracearena.server.operations.demo import Demonstration, DemoStop
    from tracearena.server.processes.supervisor import ServerOptions


_QUIET_S = 10
"""How long a stage goes on without a line, where there is no bar."""


_AFTERWARDS = ("Bayes-R(adaptive)", "Bayes-T(adaptive)", "Tracking-T(adaptive)", "Habits-T")
"""What the judge tries besides the attacks of the contest."""


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
    from tracearena.contest.simulation import defence_name
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
    print_board(held.board, held.awards, {one.name: defence_name(one) for one in held.entrants})
    if held.afterwards:
        typer.echo("\nafterwards, few people  s_R,min  s_T,min  at most  strongest attacks")
    for tried in held.afterwards:
        found, ceiling = tried.scores, tried.band and tried.band.ceiling
        numbers = "  ".join(
            f"{'–':>7}" if one is None else f"{one:7.3f}" for one in (found.s_R_min, found.s_T_min, ceiling)
        )
        names = ", ".join(name for name in found.strongest if name)
        typer.echo(f"{tried.defence:<22}  {numbers}  {names}")
    typer.echo(f"\nEverything with pictures: {report}")
    note(f"files of the first team, to try the other commands on: {out / 'team001'}")


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


@contextmanager
def _show_stages() -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar for each stage of the contest; lines where stderr is not a terminal."""
    if not sys.stderr.isatty():
        last, at = "", 0.0

        def say(what: str, done: int, total: int) -> None:
            nonlocal last, at
            if what == last and time.monotonic() - at < _QUIET_S:
                return
            note(what if what != last else f"{what}: {done:,} of {total:,}")
            last, at = what, time.monotonic()

        yield say
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


_LOOK_S = 0.2
_PHASE_TEXTS = {
    "anonymization": "the anonymization phase: teams hand in what they have hidden",
    "attack": "the attack phase: everybody attacks what the others have published",
    "ceremony": "the pause before the results: hold the ceremony as the organiser",
    "results": "the results: board, awards, and the judge's promises opened",
}


def run_demo(host: str, port: int, workers: int, phase: str) -> None:
    """Hold a contest with invented teams up to a phase, say who can log in, and serve until told to stop."""
    from tracearena.contest import ContestPlan, write_contest_data
    from tracearena.contest.contest_file import CityPeople
    from tracearena.engine import fresh_seed
    from tracearena.server.operations.demo import TEAM_COUNT, DemoStop
    from tracearena.server.processes.supervisor import ServerOptions, require_free_port, stop_on_signal
    from tracearena.server.settings import is_loopback

    if not is_loopback(host):
        raise ParameterError(f"--host {host}: a demo is for this machine alone; leave --host out")
    serving = ServerOptions(host=host, port=port, workers=workers)
    require_free_port(serving)
    plan, stop = ContestPlan(teams=TEAM_COUNT, users=60, days=4), DemoStop(phase)
    charter = _build_contest_file("Demo", plan, stop, mode="live")
    note("the city wakes up; the first time takes longer, for the kernels are compiled")
    write = partial(write_contest_data, model=CityPeople(), plan=plan, charter=charter)
    simulated = _serve_simulation(charter, write, serving, fresh_seed(), incidents=True)
    with delay_stop(), simulated as demonstration:
        demonstration.play_until(stop, lambda following: note(f"invented teams play: {following}"))
        with stop_on_signal() as ended:
            _print_logins(demonstration)
            _wait_for_end(demonstration, ended)
    note("ended; nothing of the demo is left")


def _print_logins(shown: Demonstration) -> None:
    url = shown.stage.url
    typer.echo(f"The contest is at {url}/")
    typer.echo(f"It is in {_PHASE_TEXTS[str(shown.stop)]}\n")
    width = max(len(one.name) for one in shown.accounts)
    for one in shown.accounts:
        typer.echo(
            f"{one.role:<10} {one.name:<{width}}  password {one.password}  {url}/login?next={one.page}"
        )
    typer.echo("\nA private window, or localhost in the place of 127.0.0.1, lets you be two of them at once.")
    for one in shown.accounts:
        if one.files is not None:
            typer.echo(f"Files that {one.role} can hand in: {one.files}")
    typer.echo("These accounts and everything else are gone when you end it with Ctrl-C.")


def _wait_for_end(shown: Demonstration, ended: threading.Event) -> None:
    """Wait for the end; in a terminal, Enter goes on to the next phase."""
    listens = sys.stdin.isatty()
    _prompt_next_phase(shown, listens)
    while not ended.wait(_LOOK_S):
        if listens and select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                listens = False
            elif not shown.is_over:
                note("the teams play on")
                shown.play_next()
                typer.echo(f"It is in {_PHASE_TEXTS[str(shown.stop)]}")
                _prompt_next_phase(shown, listens)


def _prompt_next_phase(shown: Demonstration, listens: bool) -> None:
    if listens and not shown.is_over:
        typer.echo("Enter goes on to the next phase.")


def _build_contest_file(name: str, plan: ContestPlan, stop: DemoStop, **rules: Any) -> ContestFile:
    """Return a contest of the first teams of the cast, on people of the embedded city; a stop is now."""
    from dataclasses import replace

    from tracearena.contest import ContestFile, DataSource
    from tracearena.contest.simulated_teams import select_simulated_teams
    from tracearena.server.operations.demo import build_demo_schedule

    cast = select_simulated_teams(plan.teams)
    return ContestFile(
        name=name,
        teams=plan.teams,
        rules=replace(plan.rules(), **rules),
        schedule=build_demo_schedule(stop, datetime.now(UTC).replace(microsecond=0)),
        names={f"{number:03d}": player.name for number, player in enumerate(cast, 1)},
        data=DataSource(),
    )


@contextmanager
def _serve_simulation(
    charter: ContestFile,
    write: Callable[[Path], object],
    serving: ServerOptions,
    seed: int,
    *,
    incidents: bool = False,
    database: str | None = None,
) -> Iterator[Demonstration]:
    """Serve a contest with invented teams, who have not begun; nothing is left of it after the block.

    Parameters
    ----------
    charter
        The contest.
    write
        Writes its data to a new folder.
    serving
        How it is served.
    seed
        Of the teams' defences and attacks.
    incidents
        Whether some things go wrong (`plan_hand_ins`).
    database
        URL of an empty PostgreSQL database; SQLite if left out.
    """
    from tracearena.contest.simulated_teams import plan_hand_ins
    from tracearena.server import clock
    from tracearena.server.operations.create import open_private_folder
    from tracearena.server.operations.demo import Demonstration, DemoSetup
    from tracearena.server.processes.supervisor import serve_in_background
    from tracearena.server.settings import configure
    from tracearena.server.store.crypto import read_judge_key
    from tracearena.server.store.database import require_empty_database
    from tracearena.server.store.folder import Folder

    require_empty_database(database)
    with tempfile.TemporaryDirectory(prefix=f"tracearena-{charter.name.lower()}-") as place:
        folder, key = Path(place), Path(place) / "judge-key"

        def put(at: datetime, runs: bool) -> None:
            clock.set_driven(folder / "clock", at, runs=runs)

        assert charter.schedule is not None
        put(charter.schedule.registration_begin, False)
        os.environ[clock.VARIABLE] = str(folder / "clock")  # also for everything that is started from here on
        try:
            with open_private_folder() as prepared:
                write(prepared / "contest")
                made = folder / "contest", prepared / "contest", key, None, charter
                links = create_contest_with_key(*made, database=database)
            contest = Folder(folder / "contest")
            configure(contest)
            with (
                (folder / "log").open("wb") as log,
                serve_in_background(contest, read_judge_key(key), serving, log=log) as url,
            ):
                stage = DemoSetup(url=url, made=links, folder=folder, put=put, seed=seed)
                demonstration = Demonstration(stage, plan_hand_ins(charter.teams, incidents=incidents))
                yield demonstration
                demonstration.close()
        finally:
            del os.environ[clock.VARIABLE]


_STAGES = {"anonymization": "teams defend", "attack": "everybody attacks", "ceremony": "the judge scores"}


def rehearse(
    teams: Annotated[int, typer.Option("--teams", min=2, max=21, help="Number of teams.")] = 3,
    users: Annotated[int, typer.Option("--users", help="Virtual users of a team.")] = 50,
    days: Annotated[int, typer.Option("--days", help="Days of a user, half reference, half original.")] = 4,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Judges.")] = 2,
    database: DatabaseOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a contest with invented teams, through all phases, against a server that is started for it.

    The server's clock is driven, so weeks pass in minutes. Everything goes over HTTP, as with real teams:
    links, tokens, downloads, uploads. Nothing is left behind but what is printed.
    """
    require_extra("server")
    import json

    from tracearena.contest import ContestPlan
    from tracearena.server.operations.demo import DemoStop
    from tracearena.server.processes.supervisor import ServerOptions, find_free_port

    used, begun = choose_seed(seed), time.monotonic()
    plan = ContestPlan(teams=teams, users=users, days=days)
    charter = _build_contest_file("Rehearsal", plan, DemoStop.RESULTS)
    write = partial(PeopleOptions(ReadingOptions(), seed=used).write, charter=charter)
    serving = ServerOptions(port=find_free_port(), workers=workers)
    with _serve_simulation(charter, write, serving, used, database=database) as demonstration:
        demonstration.play_until(
            DemoStop.RESULTS, lambda following: note(_STAGES[following]) if following in _STAGES else None
        )
        board = demonstration.playing["001"].client.get("board")
    took = time.monotonic() - begun
    if as_json:
        typer.echo(json.dumps({"seed": used, "seconds": took, "board": board}))
        return
    print_scores(board)
    typer.echo(f"\n{teams} teams with {users:,} users went through all phases in {took:.0f} s")
