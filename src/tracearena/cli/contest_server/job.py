"""``tracearena contest job``: what the judge failed at, to be tried again or set aside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli.contest_server.opening import ContestArgument, opened
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.server.models import Job

_ACTOR = "command line"
_LONGEST = 200

KeyArgument = Annotated[str, typer.Argument(metavar="JOB", help="As `contest job list` shows it.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the audit log.")]


def register(group: typer.Typer) -> None:
    """Add the group of commands."""
    failed = typer.Typer(
        help="What the judge failed at: list it, try it again, or go on without it.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    failed.command("list")(list_failed)
    failed.command("again")(again)
    failed.command("set-aside")(set_aside)
    group.add_typer(failed, name="job")


def list_failed(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List the jobs that have failed for good, and why."""
    opened(folder)
    from tracearena.server.models import Job, JobState

    found = Job.objects.filter(state=JobState.FAILED).order_by("pk")
    listed = [{"job": job.key, "tries": job.tries, "error": job.error} for job in found]
    if as_json:
        typer.echo(json.dumps(listed))
        return
    for one in listed:
        typer.echo(f"{one['job']}: {one['error']}")
    if not listed:
        typer.echo("nothing has failed")


def again(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Give a failed job to the judges once more, when the cause is out of the way."""
    opened(folder)
    from tracearena.server.judge import worker

    worker.try_again(_named(job), _ACTOR, _checked(reason))
    typer.echo(f"{job}: the judges try it again")


def set_aside(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Let the contest go on without what a failed job should have found."""
    opened(folder)
    from tracearena.server.judge import worker

    worker.set_aside(_named(job), _ACTOR, _checked(reason))
    typer.echo(f"{job}: the contest goes on without it")


def _named(key: str) -> Job:
    from tracearena.server.models import Job

    found: Job | None = Job.objects.filter(key=key).first()
    if found is None:
        raise ParameterError(f"there is no job {key!a}; `contest job list` shows what has failed")
    return found


def _checked(reason: str) -> str:
    if not 1 <= len(reason.strip()) <= _LONGEST:
        raise ParameterError.of("--reason", reason, f"a text of 1 to {_LONGEST} characters")
    return reason.strip()
