"""``tracearena contest status``: how a contest stands."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import typer

from tracearena.cli._console import JsonOption, in_words
from tracearena.cli.contest_server.opening import ContestArgument, opened


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(status)


def status(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show the clock, the phase, the judges' queue, the last error, the disk and the age of the backup."""
    contest = opened(folder)
    from tracearena.server.operations.schedule import status as standing

    found = standing(contest)
    if as_json:
        typer.echo(json.dumps(found))
        return
    for label, said in _lines(found):
        typer.echo(f"{label:<11}  {said}")


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    queue, error, backup = found["queue"], found["last_error"], found["backup_age_s"]
    driven = " (driven by hand)" if found["clock_is_driven"] else ""
    if found["clock_ahead_s"] > 1:
        driven += f", {_ago(found['clock_ahead_s'])} ahead of this machine's clock (`contest clock`)"
    until = f", until {found['next_change']}" if found["next_change"] else ""
    working = [judge for judge in found["judges"] if judge["works"]]
    return [
        ("contest", found["contest"]),
        ("clock", found["clock"] + driven),
        ("phase", (found["phase"] or "between two phases") + until),
        ("teams", f"{found['teams']}, with {found['members']} members"),
        ("uploads", in_words(found["uploads"])),
        ("queue", f"{queue['waiting']} wait, {queue['running']} run, {queue['failed']} failed; the oldest "
                  f"has waited {_ago(queue['oldest_s'])}"),
        ("last error", "none" if error is None else f"{error['job']} at {error['at']}: {error['error']}"),
        ("judges", f"{len(working)} work: " + ", ".join(f"{judge['name']} ({judge['doing'] or 'idle'})"
                                                        for judge in working) if working else "none works"),
        ("guards", _guards(working)),
        ("disk", f"{found['disk_free_bytes'] / 2**30:,.1f} GB free"),
        ("backup", "none yet" if backup is None else f"{_ago(backup)} old"),
        ("results", "published" if found["published"] else "not published"),
        ("database", found["database"]),
    ]  # fmt: skip


def _guards(working: list[dict[str, Any]]) -> str:
    """Say what the judges' kernels lack to guard against uploads that take a child over."""
    missing = [f"{judge['name']}: {judge['missing_guards']}" for judge in working if judge["missing_guards"]]
    return " ".join(missing) or ("all in place" if working else "unknown while no judge works")


def _ago(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
