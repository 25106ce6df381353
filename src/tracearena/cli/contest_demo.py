"""``tracearena contest serve --demo``: a contest in full swing, to look at it in every role."""

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
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tracearena.cli._app import unhurried
from tracearena.cli._contest_folder import DatabaseOption, require_extra
from tracearena.cli._output import JsonOption, SeedOption, chosen_seed, note
from tracearena.cli._reading import ReadingOptions
from tracearena.cli.contest_client import print_shown
from tracearena.cli.contest_new import People, create
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.contest import Charter, ContestPlan, Schedule
    from tracearena.server.operations.create import Created
    from tracearena.server.operations.demo import Bot, Demonstration, Stop
    from tracearena.server.processes.supervisor import Serving


_USERS, _DAYS = 60, 4
_LOOK_S = 0.2
_WORDS = {
    "anonymization": "the anonymization phase: teams hand in what they have hidden",
    "attack": "the attack phase: everybody attacks what the others have published",
    "ceremony": "the pause before the results: hold the ceremony as the organiser",
    "results": "the results: board, awards, and the judge's promises opened",
}


def show(host: str, port: int, workers: int, phase: str) -> None:
    """Hold a contest with invented teams up to a phase, say who can log in, and serve until told to stop."""
    from tracearena.server.operations.demo import Stop
    from tracearena.server.processes.supervisor import Serving, require_free
    from tracearena.server.settings import is_loopback

    if not is_loopback(host):
        raise ParameterError(f"--host {host}: a demo is for this machine alone; leave --host out")
    serving = Serving(host=host, port=port, workers=workers)
    require_free(serving)
    with unhurried(), tempfile.TemporaryDirectory(prefix="tracearena-demo-") as place:
        _held(Path(place), serving, Stop(phase))
    note("ended; nothing of the demo is left")


def _held(folder: Path, serving: Serving, stop: Stop) -> None:
    from tracearena.contest import ContestPlan, write_contest_data
    from tracearena.contest.contest_file import Neighbours
    from tracearena.engine import fresh_seed
    from tracearena.server.operations.demo import TEAMS, schedule_around
    from tracearena.server.processes.supervisor import served, until_signal
    from tracearena.server.settings import configure
    from tracearena.server.store.folder import Folder

    plan = ContestPlan(teams=TEAMS, users=_USERS, days=_DAYS)
    with driven(folder / "clock") as put, (folder / "log").open("wb") as log:
        schedule = schedule_around(stop, datetime.now(UTC).replace(microsecond=0))
        put(schedule.registration_begin)
        charter = charter_of("Demo", plan, schedule, mode="live")
        note("the city wakes up; the first time takes longer, for the kernels are compiled")
        links, key = made(
            folder / "contest",
            charter,
            lambda to: write_contest_data(to, Neighbours(), plan, charter=charter),
        )
        contest = Folder(folder / "contest")
        configure(contest)
        from tracearena.server.operations.demo import Demonstration, Stage

        with served(contest, key, serving, log=log) as url:
            stage = Stage(url=url, made=links, folder=folder, put=put, seed=fresh_seed())
            demonstration = Demonstration(stage)
            demonstration.go_to(stop, lambda following: note(f"invented teams play: {following}"))
            with until_signal() as ended:
                _say(demonstration, url)
                _wait(demonstration, ended)
            demonstration.close()


def _say(shown: Demonstration, url: str) -> None:
    typer.echo(f"The contest is at {url}/")
    typer.echo(f"It is in {_WORDS[str(shown.stop)]}\n")
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


def _wait(shown: Demonstration, ended: threading.Event) -> None:
    """Wait for the end; in a terminal, Enter goes on to the next phase."""
    listens = sys.stdin.isatty()
    _ask(shown, listens)
    while not ended.wait(_LOOK_S):
        if listens and select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                listens = False
            elif not shown.is_over:
                note("the teams play on")
                shown.go_on()
                typer.echo(f"It is in {_WORDS[str(shown.stop)]}")
                _ask(shown, listens)


def _ask(shown: Demonstration, listens: bool) -> None:
    if listens and not shown.is_over:
        typer.echo("Enter goes on to the next phase.")


# What contests with invented teams have in common: names, a clock that is driven, a key, a folder.


Put: TypeAlias = Callable[..., None]
"""Sets a driven clock: `put(at)`, or `put(at, runs=True)`."""


def charter_of(name: str, plan: ContestPlan, schedule: Schedule, **rules: Any) -> Charter:
    """Return a contest of the first teams of the cast, on people of the embedded city."""
    from dataclasses import replace

    from tracearena.contest import Charter, DataSource
    from tracearena.contest.sample_teams import players

    return Charter(
        name=name,
        teams=plan.teams,
        rules=replace(plan.rules(), **rules),
        schedule=schedule,
        names={f"{number:03d}": player.name for number, player in enumerate(players(plan.teams), 1)},
        data=DataSource(),
    )


@contextmanager
def driven(path: Path) -> Iterator[Put]:
    """Drive the clock of everything that is started inside."""
    from tracearena.server import clock

    clock.set_driven(path, datetime.now(UTC))
    os.environ[clock.VARIABLE] = str(path)
    try:
        yield lambda at, runs=False: clock.set_driven(path, at, runs=runs)
    finally:
        del os.environ[clock.VARIABLE]


def made(
    folder: Path, charter: Charter, write: Callable[[Path], object], database: str | None = None
) -> tuple[Created, bytes]:
    """Make a contest whose data somebody writes to a folder; return its links and the judge's key."""
    from tracearena.server.operations.create import out_of_sight
    from tracearena.server.store.crypto import read_judge_key
    from tracearena.server.store.database import require_empty

    require_empty(database)
    key = folder.with_name("judge-key")
    with out_of_sight() as place:
        write(place / "contest")
        links = create(folder, place / "contest", key, None, charter, database=database)
    return links, read_judge_key(key)


# ``tracearena contest rehearse``: invented teams play a whole contest against a server.


_MOMENT = timedelta(minutes=1)


def register_rehearse(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(rehearse)


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

    from tracearena.contest import ContestPlan, Schedule

    used, begun = chosen_seed(seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tracearena-rehearsal-") as place:
        folder = Path(place)
        with driven(folder / "clock") as put:
            begin = datetime.now(UTC).replace(microsecond=0)
            plan = ContestPlan(teams=teams, users=users, days=days)
            charter = charter_of("Rehearsal", plan, Schedule.weeks(begin))
            people = People(ReadingOptions(), seed=used)
            links, key = made(folder / "contest", charter, partial(people.write, charter=charter), database)
            board = _run_phases(folder, charter, links, key, used, workers, put)
    took = time.monotonic() - begun
    if as_json:
        typer.echo(json.dumps({"seed": used, "seconds": took, "board": board}))
        return
    print_shown(board)
    typer.echo(f"\n{teams} teams with {users:,} users went through all phases in {took:.0f} s")


def _run_phases(
    folder: Path, charter: Charter, links: Created, key: bytes, seed: int, workers: int, put: Put
) -> dict[str, Any]:
    """Go through all phases; return what the board shows at the end."""
    from tracearena.server.operations import demo
    from tracearena.server.processes.supervisor import Serving, free_port, served
    from tracearena.server.store.folder import Folder

    schedule: Schedule = charter.schedule  # type: ignore[assignment]
    put(schedule.anonymization_begin + _MOMENT)
    serving = Serving(port=free_port(), workers=workers)
    with (
        open(folder / "log", "wb") as log,
        served(Folder(folder / "contest"), key, serving, log=log) as url,
    ):
        playing = [_bot(url, number, secret, folder, seed) for number, secret in links.invitations.items()]
        note("teams defend")
        for bot in playing:
            bot.fetch()
            bot.defend()
        demo.wait_for("the judge's check", lambda: demo.all_checked(playing))
        put(schedule.attack_begin + _MOMENT)
        demo.wait_for("the release", lambda: demo.all_released(playing))
        note("everybody attacks")
        for bot in playing:
            bot.fetch()
            for target in bot.client.get("targets"):
                bot.attack(target)
        demo.wait_for("the judge's check", lambda: demo.all_checked(playing))
        put(schedule.results_begin + _MOMENT)
        note("the judge scores")
        client = playing[0].client
        demo.wait_for("the result", lambda: client.get("board")["snapshot"] is not None)
        board: dict[str, Any] = client.get("board")
        for bot in playing:
            bot.client.close()
    return board


def _bot(url: str, number: str, secret: str, folder: Path, seed: int) -> Bot:
    from tracearena.contest.sample_teams import CAST
    from tracearena.server.client import Client
    from tracearena.server.operations.demo import Bot, joined

    player = CAST[int(number) - 1]
    token = joined(url, secret, player.name)
    own = folder / f"team{number}"
    return Bot(number=number, player=player, client=Client(url, token), folder=own, seed=seed)
