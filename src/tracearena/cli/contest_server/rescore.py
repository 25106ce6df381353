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
        help="Score everything anew: start, show, apply or cancel.",
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
    from tracearena.server.judging import rescoring

    if not 1 <= len(reason.strip()) <= 200:
        raise ParameterError.of("--reason", reason, "a text of 1 to 200 characters")
    _tell(rescoring.start(_ACTOR, reason.strip()), as_json)


def show(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show how far the last re-scoring is, and which scores come out otherwise."""
    opened(folder)
    _tell(_last(), as_json)


def apply(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Let the new scores count."""
    opened(folder)
    from tracearena.server.judging import rescoring

    one = _last()
    rescoring.apply(one, _ACTOR)
    _tell(one, as_json)


def cancel(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Leave all scores as they are."""
    opened(folder)
    from tracearena.server.judging import rescoring

    one = _last()
    rescoring.cancel(one, _ACTOR)
    _tell(one, as_json)


def _last() -> Rescoring:
    from tracearena.server.models import Rescoring

    found: Rescoring | None = Rescoring.objects.order_by("-pk").first()
    if found is None:
        raise ParameterError("nothing has been scored anew; `contest rescore start` begins")
    return found


def _tell(one: Rescoring, as_json: bool) -> None:
    from tracearena.server.judging import rescoring

    one.refresh_from_db()
    changed = [found.to_dict() for found in rescoring.differences(one)] if one.state != "running" else []
    if as_json:
        typer.echo(
            json.dumps({"number": one.pk, "state": one.state, "reason": one.reason, "changed": changed})
        )
        return
    typer.echo(f"re-scoring {one.pk}: {one.state}")
    if one.state == "running":
        typer.echo("the judges are at work; `contest rescore show` tells when all is compared")
        return
    typer.echo(f"{len(changed)} scores come out otherwise" if changed else "every score comes out the same")
    for found in changed[:_SHOWN]:
        typer.echo(f"{found['key']}: {_said(found['before'])} → {_said(found['after'])}")
    if len(changed) > _SHOWN:
        typer.echo(f"… and {len(changed) - _SHOWN} more; --json has all")


def _said(value: Any) -> str:
    return "none" if value is None else f"{value:.6f}"
