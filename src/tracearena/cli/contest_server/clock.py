"""``tracearena contest clock``: what time it is for the contest, and the way back from a wrong one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli.contest_server.opening import ContestArgument, opened
from tracearena.errors import ParameterError


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(clock)


def clock(
    folder: ContestArgument,
    set_back: Annotated[
        bool, typer.Option("--set-back", help="Let the contest's time be what the clock shows now.")
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit log.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the contest's time next to this machine's clock, or set it back to that.

    The contest never goes behind the highest time that its judges have seen: where the clock is behind, the
    contest's time stands still. --set-back is for a clock that was ahead by mistake. It is refused once a
    phase was closed or the results were published by the wrong time.
    """
    opened(folder)
    from tracearena.server import clock as clocks
    from tracearena.server.operations.schedule import set_back as reset

    if set_back != (reason is not None):
        raise ParameterError("--set-back and --reason go together")
    if reason is not None:
        reset(reason=reason, actor="command line")
    now, shown = clocks.now(), clocks.shown()
    ahead_s = max((now - shown).total_seconds(), 0.0)
    if as_json:
        found = {"contest": now.isoformat(), "clock": shown.isoformat(), "ahead_s": ahead_s}
        typer.echo(json.dumps(found))
        return
    typer.echo(f"contest  {now.isoformat()}")
    typer.echo(f"clock    {shown.isoformat()}")
    if ahead_s:
        typer.echo(f"the contest's time stands still for {ahead_s:,.0f} s, until the clock has caught up")
