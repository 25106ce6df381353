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
    is put off only while nothing was published or scored by it.
    """
    opened(folder)
    from tracearena.contest import phase_at
    from tracearena.server import clock
    from tracearena.server.models import Contest
    from tracearena.server.operations.schedule_moves import move

    if point is not None:
        if to is None or reason is None:
            raise ParameterError(f"{point}: say when with --to, and why with --reason")
        move(point, moment(to, "--to"), reason=reason, actor="command line")
    elif to is not None or reason is not None:
        raise ParameterError("--to and --reason have no meaning without the point to move")
    schedule, now = Contest.now_held().schedule, clock.now()
    answer = phase_at(schedule, now).to_dict()
    if as_json:
        typer.echo(json.dumps({"clock": now.isoformat(), **answer, "schedule": schedule.to_dict()}))
        return
    _print(now.isoformat(), answer, schedule.to_dict())


def _print(now: str, answer: dict[str, Any], schedule: dict[str, str]) -> None:
    typer.echo(f"now                  {now}  {answer['phase'] or 'between two phases'}")
    for point, at in schedule.items():
        typer.echo(f"{point:<20} {at}{'  passed' if at <= now else ''}")
