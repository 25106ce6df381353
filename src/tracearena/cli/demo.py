"""Contests with invented teams on the embedded city.

``tracearena demo`` simulates one in this process and writes a page, ``contest serve --demo`` serves one to a
browser, and ``contest rehearse`` runs one through all phases on a server.
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
from datetime import UTC, datetime, timedelta
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
"""Seconds between two lines about the same stage, where stderr is not a terminal."""


_AFTERWARDS = ("Bayes-R(adaptive)", "Bayes-T(adaptive)", "Tracking-T(adaptive)", "Habits-T")
"""Attacks that the judge tries in addition to those of the contest."""


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the page and the files of one team.")] = Path(
        "demo"
    ),
    teams: Annotated[int, typer.Option("--teams", min=2, max=21, help="Number of teams.")] = 7,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            help="Attack that the judge tries after the awards; repeat for more, or none. "
            f"[default: {', '.join(_AFTERWARDS)}]",
        ),
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a whole contest in the embedded city: teams defend, attack each other, and win awards.

    The report is OUT/report.html. OUT/team001 has the files of the first team, in the layout of 2019, to try
    the other commands on.

    Example:
      tracearena demo --out demo --seed 1
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
        tell("writing the page", 0, 1)
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
        width = max([22, *(len(tried.defence) for tried in held.afterwards)])
        typer.echo(f"\n{'afterwards, few people':<{width}}  s_R,min  s_T,min  at most  strongest attacks")
    for tried in held.afterwards:
        found, ceiling = tried.scores, tried.band and tried.band.ceiling
        numbers = "  ".join(
            f"{'–':>7}" if one is None else f"{one:7.3f}" for one in (found.s_R_min, found.s_T_min, ceiling)
        )
        names = ", ".join(name for name in found.strongest if name)
        typer.echo(f"{tried.defence:<{width}}  {numbers}  {names}")
    typer.echo(f"\nFull report: {report}")
    note(f"files of the first team, to try other commands on: {out / 'team001'}")


def _write_team(held: SimulatedContest, folder: Path) -> None:
    """Write the files that the first team received and submitted, with the names of 2019."""
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
    """Show one bar for each stage of the contest, or lines where stderr is not a terminal."""
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
    "anonymization": "the anonymization phase: teams submit obfuscated traces",
    "attack": "the attack phase: teams attack the released traces of the others",
    "ceremony": "the pause before the results: hold the ceremony as the organiser",
    "results": "the results: board, awards, and the opened commitments of the judge",
}


def run_demo(host: str, port: int, workers: int, phase: str) -> None:
    """Play a contest with invented teams up to a phase, print the accounts, and serve it until a signal."""
    from tracearena.contest import ContestPlan, write_contest_data
    from tracearena.contest.contest_file import CityPeople
    from tracearena.engine import fresh_seed
    from tracearena.server.operations.demo import TEAM_COUNT, DemoStop
    from tracearena.server.processes.supervisor import ServerOptions, require_free_port, stop_on_signal
    from tracearena.server.settings import is_loopback

    if not is_loopback(host):
        raise ParameterError(f"--host {host}: a demo is served to this machine only; leave out --host")
    serving = ServerOptions(host=host, port=port, workers=workers)
    require_free_port(serving)
    plan, stop = ContestPlan(teams=TEAM_COUNT, users=60, days=4), DemoStop(phase)
    charter = _build_contest_file("Demo", plan, stop, mode="live")
    note("simulating the city; the first time takes longer, because kernels are compiled")
    write = partial(write_contest_data, model=CityPeople(), plan=plan, charter=charter)
    simulated = _serve_simulation(charter, write, serving, fresh_seed(), incidents=True)
    with delay_stop(), simulated as demonstration:
        demonstration.play_until(stop, lambda following: note(f"invented teams play the phase: {following}"))
        with stop_on_signal() as ended:
            _print_logins(demonstration)
            _wait_for_end(demonstration, ended)
    note("stopped; the demo has been deleted")


def _print_logins(shown: Demonstration) -> None:
    url = shown.stage.url
    typer.echo(f"The contest is at {url}/")
    typer.echo(f"It is in {_PHASE_TEXTS[str(shown.stop)]}\n")
    width = max(len(one.name) for one in shown.accounts)
    for one in shown.accounts:
        typer.echo(
            f"{one.role:<10} {one.name:<{width}}  password {one.password}  {url}/login?next={one.page}"
        )
    typer.echo("\nTo use two accounts at once, open a private window, or use localhost instead of 127.0.0.1.")
    for one in shown.accounts:
        if one.files is not None:
            typer.echo(f"Files that {one.role} can submit: {one.files}")
    typer.echo("Ctrl-C stops the demo and deletes these accounts and everything else.")


def _wait_for_end(shown: Demonstration, ended: threading.Event) -> None:
    """Wait for the end; in a terminal, Enter begins the next phase."""
    listens = sys.stdin.isatty()
    _prompt_next_phase(shown, listens)
    while not ended.wait(_LOOK_S):
        if listens and select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                listens = False
            elif not shown.is_over:
                note("the teams play the next phase")
                shown.play_next()
                typer.echo(f"It is in {_PHASE_TEXTS[str(shown.stop)]}")
                _prompt_next_phase(shown, listens)


def _prompt_next_phase(shown: Demonstration, listens: bool) -> None:
    if listens and not shown.is_over:
        typer.echo("Press Enter for the next phase.")


def _build_contest_file(name: str, plan: ContestPlan, stop: DemoStop, **rules: Any) -> ContestFile:
    """Return a contest of the first invented teams in the embedded city, whose phase `stop` is now."""
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
    """Serve a contest with invented teams, who have not begun; it is deleted after the block.

    Parameters
    ----------
    contest_file
        The contest that is served.
    write
        Writes its data to a new folder.
    serving
        How it is served.
    seed
        Seed of the teams' defences and attacks.
    incidents
        Whether some things go wrong (`plan_hand_ins`).
    database
        URL of an empty PostgreSQL database; by default SQLite.
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
        put(charter.schedule.anonymization_begin - timedelta(hours=1), False)
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


_STAGES = {"anonymization": "teams defend", "attack": "teams attack", "ceremony": "the judge scores"}


def rehearse(
    teams: Annotated[int, typer.Option("--teams", min=2, max=21, help="Number of teams.")] = 3,
    users: Annotated[int, typer.Option("--users", help="Virtual users per team.")] = 50,
    days: Annotated[int, typer.Option("--days", help="Days per user, half of them reference.")] = 4,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Number of judges.")] = 2,
    database: DatabaseOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a contest with invented teams through all phases, on a server started for it.

    The clock of the server is set by the command, so that weeks pass in minutes. Links, tokens, downloads and
    uploads go over HTTP, as with real teams. The contest is deleted at the end.

    Example:
      tracearena contest rehearse --teams 5 --users 100
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
    typer.echo(f"\n{teams} teams with {users:,} users finished all phases in {took:.0f} s")
