"""``tracearena contest phase``: when what takes place, and moving it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli.contest_server.chartering import moment
from tracearena.cli.contest_server.opening import ContestArgument, opened
from tracearena.errors import ParameterError


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(phase)


def phase(
    folder: ContestArgument,
    point: Annotated[
        str | None,
        typer.Argument(metavar="[POINT]", help="What to move, such as anonymization_end or attack_begin."),
    ] = None,
    team: Annotated[
        str | None,
        typer.Option("--team", help="Put an end off for this team alone, such as 003: it has extra time."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="When it is to be, such as 2026-05-15T09:00+09:00.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why, for the audit log and the teams.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the schedule, or move one point of it.

    A point is moved into the future only. What has begun is not taken back, and an end that has passed
    is put off only until the judge closes the phase, a minute later. Extra time of one team ends before
    the next phase begins for everybody; the judge waits for it.
    """
    opened(folder)
    from tracearena.contest import phase_at
    from tracearena.server import clock
    from tracearena.server.models import Contest
    from tracearena.server.operations.schedule import give_time, move

    if point is not None:
        if to is None or reason is None:
            raise ParameterError(f"{point}: say when with --to, and why with --reason")
        at, why = moment(to, "--to"), {"reason": reason, "actor": "command line"}
        if team is None:
            move(point, at, **why)
        else:
            give_time(team, point, at, **why)
    elif to is not None or reason is not None or team is not None:
        raise ParameterError("--team, --to and --reason have no meaning without the point to move")
    contest, now = Contest.now_held(), clock.now()
    schedule = contest.schedule
    answer = phase_at(schedule, now).to_dict()
    if as_json:
        told = {"schedule": schedule.to_dict(), "extra_time": contest.extra_time}
        typer.echo(json.dumps({"clock": now.isoformat(), **answer, **told}))
        return
    _print(now.isoformat(), answer, schedule.to_dict())
    for number, ends in sorted(contest.extra_time.items()):
        for end in sorted(ends):
            typer.echo(f"{end:<20} {getattr(contest.schedule_of(number), end).isoformat()}  team {number}")


def _print(now: str, answer: dict[str, Any], schedule: dict[str, str]) -> None:
    typer.echo(f"now                  {now}  {answer['phase'] or 'between two phases'}")
    for point, at in schedule.items():
        typer.echo(f"{point:<20} {at}{'  passed' if at <= now else ''}")
