"""``tracearena contest rehearse``: invented teams play a whole contest against a server."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, chosen_seed, note
from tracearena.cli._reading import ReadingOptions
from tracearena.cli.contest_server.client import print_shown
from tracearena.cli.contest_server.invented import Put, charter_of, driven, made
from tracearena.cli.contest_server.opening import DatabaseOption, require_extra
from tracearena.cli.contest_server.people import People

if TYPE_CHECKING:
    from tracearena.contest import Charter, Schedule
    from tracearena.server.operations.create import Created
    from tracearena.server.operations.demo import Bot

_MOMENT = timedelta(minutes=1)


def register(group: typer.Typer) -> None:
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
            board = _held(folder, charter, links, key, used, workers, put)
    took = time.monotonic() - begun
    if as_json:
        typer.echo(json.dumps({"seed": used, "seconds": took, "board": board}))
        return
    print_shown(board)
    typer.echo(f"\n{teams} teams with {users:,} users went through all phases in {took:.0f} s")


def _held(
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
