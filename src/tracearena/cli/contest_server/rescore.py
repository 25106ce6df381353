"""``tracearena contest rescore``: all scores made anew, compared, then applied or cancelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli.contest_server.opening import ContestArgument, opened
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.server.models import Rescoring

_ACTOR = "command line"
_SHOWN = 20


def register(group: typer.Typer) -> None:
    """Add the group of commands."""
    staged = typer.Typer(
        help="Score everything again: start, show, apply or cancel.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (start, show, apply, cancel):
        staged.command()(command)
    group.add_typer(staged, name="rescore")


def start(
    folder: ContestArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit log.")],
    as_json: JsonOption = False,
) -> None:
    """Let the judges make every score anew, beside those that count; nothing that is shown changes."""
    opened(folder)
    from tracearena.server.judge import rescore

    if not 1 <= len(reason.strip()) <= 200:
        raise ParameterError.of("--reason", reason, "a text of 1 to 200 characters")
    _tell(rescore.start(_ACTOR, reason.strip()), as_json)


def show(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show how far the last re-scoring is, and what it changes: scores, board and awards."""
    opened(folder)
    _tell(_last(), as_json)


def apply(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Let the new scores count."""
    opened(folder)
    from tracearena.server.judge import rescore

    one = _last()
    rescore.apply(one, _ACTOR)
    _tell(one, as_json)


def cancel(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Leave all scores as they are."""
    opened(folder)
    from tracearena.server.judge import rescore

    one = _last()
    rescore.cancel(one, _ACTOR)
    _tell(one, as_json)


def _last() -> Rescoring:
    from tracearena.server.models import Rescoring

    found: Rescoring | None = Rescoring.objects.order_by("-pk").first()
    if found is None:
        raise ParameterError("nothing has been scored anew; `contest rescore start` begins")
    return found


def _tell(one: Rescoring, as_json: bool) -> None:
    from tracearena.server.judge import rescore

    one.refresh_from_db()
    is_compared = one.state != "running"
    changed = [found.to_dict() for found in rescore.differences(one)] if is_compared else []
    result = [found.to_dict() for found in rescore.result_differences(one)] if is_compared else []
    if as_json:
        about = {"number": one.pk, "state": one.state, "reason": one.reason}
        typer.echo(json.dumps(about | {"changed": changed, "result": result}))
        return
    typer.echo(f"re-scoring {one.pk}: {one.state}")
    if one.state == "running":
        typer.echo("the judges are at work; `contest rescore show` tells when all is compared")
        return
    if one.state == "cancelled":
        typer.echo("all scores are as they were")
        return
    typer.echo(f"{len(changed)} scores come out otherwise" if changed else "every score comes out the same")
    _list(changed)
    stay = "board and awards stay as they are"
    typer.echo(f"{len(result)} places of board and awards change" if result else stay)
    _list(result)


def _list(changed: list[dict[str, Any]]) -> None:
    for found in changed[:_SHOWN]:
        typer.echo(f"{found['key']}: {_said(found['before'])} → {_said(found['after'])}")
    if len(changed) > _SHOWN:
        typer.echo(f"… and {len(changed) - _SHOWN} more; --json has all")


def _said(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "none" if value in (None, "") else str(value)
