"""``tracearena contest serve --demo``: a contest in full swing, to look at it in every role."""

from __future__ import annotations

import select
import sys
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tracearena.cli._console import note
from tracearena.cli._stopping import unhurried
from tracearena.cli.contest_server.invented import charter_of, driven, made
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.server.operations.demo import Demonstration, Stop
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
