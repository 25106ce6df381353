"""``tracearena contest failed``: what the judge could not do, to be tried again or set aside."""

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

KeyArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job, as `failed list` names it.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the audit log.")]


def register(group: typer.Typer) -> None:
    """Add the group of commands."""
    failed = typer.Typer(
        help="What the judge could not do: list it, try it again, set it aside.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    failed.command("list")(list_)
    failed.command()(again)
    failed.command()(aside)
    group.add_typer(failed, name="failed")


def list_(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List the jobs on which the judge failed for good, and why; a result waits for all but checks."""
    opened(folder)
    from tracearena.server.models import Job, JobState

    found = list(Job.objects.filter(state=JobState.FAILED).order_by("pk"))
    if as_json:
        typer.echo(json.dumps([{"job": one.key, "tries": one.tries, "error": one.error} for one in found]))
        return
    if not found:
        typer.echo("nothing has failed")
    for one in found:
        last = one.error.strip().rpartition("\n")[2]
        typer.echo(f"{one.key}  after {one.tries} tries: {last}")


def again(folder: ContestArgument, key: KeyArgument, reason: ReasonOption) -> None:
    """Give a failed job to the judge once more, as when the cause is out of the way."""
    job = _job(folder, key)
    from tracearena.server import failures

    failures.try_again(job, _ACTOR, _checked(reason))
    typer.echo(f"{key} is in the queue again")


def aside(folder: ContestArgument, key: KeyArgument, reason: ReasonOption) -> None:
    """Let the contest go on without what a failed job should have found."""
    job = _job(folder, key)
    from tracearena.server import failures

    failures.set_aside(job, _ACTOR, _checked(reason))
    typer.echo(f"{key} is set aside")


def _job(folder: ContestArgument, key: str) -> Job:
    opened(folder)
    from tracearena.server.models import Job

    found: Job | None = Job.objects.filter(key=key).first()
    if found is None:
        raise ParameterError(f"there is no job {key!r}; `contest failed list` names those that have failed")
    return found


def _checked(reason: str) -> str:
    if not 1 <= len(reason.strip()) <= _LONGEST:
        raise ParameterError.of("--reason", reason, f"a text of 1 to {_LONGEST} characters")
    return reason.strip()
