"""Managing a contest that has a server: teams, phases, failed jobs, re-scoring, accounts and the clock.

The commands are ``tracearena contest team``, ``phase``, ``job``, ``rescore``, ``organiser``, ``member`` and
``clock``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption
from tracearena.cli.contest_new import parse_moment
from tracearena.cli.contest_server import (
    BaseUrlOption,
    ContestArgument,
    JudgeKeyOption,
    PassphraseFdOption,
    open_contest,
    print_link,
    read_contest_key,
)
from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note

if TYPE_CHECKING:
    from tracearena.server.models import Job, Member, Rescoring, Team


_ACTOR = "command line"
"""Who does it, for the audit log."""


def register_team(group: typer.Typer) -> None:
    """Add the group of commands."""
    teams = typer.Typer(
        help="List teams, name them, let them in.", no_args_is_help=True, rich_markup_mode=None
    )
    teams.command("add")(add_named_team)
    teams.command("list")(list_teams)
    teams.command("reset")(reset_team_links)
    group.add_typer(teams, name="team")


def add_named_team(
    folder: ContestArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the team calls itself.")],
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give the next free team a name and a link, which is shown once.

    The people of every team are made with the contest, so teams are as many as `contest new --teams`
    said. Free is a team that nobody has joined and that has no name.
    """
    open_contest(folder)
    from tracearena.server import accounts, teams

    base = accounts.update_base_url(base_url)
    _print_team_link(*teams.add_team(name, read_contest_key(folder, judge_key, passphrase_fd)), base, as_json)


def list_teams(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all teams: their members, how many links are open, how much was handed in."""
    open_contest(folder)
    from tracearena.server import teams

    found = teams.describe_teams()
    if as_json:
        typer.echo(json.dumps(found))
        return
    width = max(4, *(len(team["name"]) for team in found))
    typer.echo(f"{'no.':<4}  {'name':<{width}}  {'role':<13}  links  uploads  members")
    for team in found:
        members = ", ".join(team["members"]) or "–"
        typer.echo(
            f"{team['number']:<4}  {team['name']:<{width}}  {team['role']:<13}  {team['open_links']:>5}  "
            f"{team['uploads']:>7}  {members}"
        )


def reset_team_links(
    folder: ContestArgument,
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="The team, such as 001.")],
    members: Annotated[
        bool,
        typer.Option("--members", help="Shut out its members and tokens too: its secrets were stolen."),
    ] = False,
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Withdraw a team's open links and make a new one, which is shown once."""
    open_contest(folder)
    from tracearena.server import accounts, teams

    key, base = read_contest_key(folder, judge_key, passphrase_fd), accounts.update_base_url(base_url)
    _print_team_link(*teams.reset_team(number, key, everything=members), base, as_json)


def _print_team_link(team: Team, secret: str, base: str, as_json: bool) -> None:
    print_link(f"team {team}", secret, base, as_json, number=team.number, name=team.name)
    if not as_json:
        note("links that this team was given before are void")


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
    open_contest(folder)
    from tracearena.contest import phase_at
    from tracearena.server import clock
    from tracearena.server.models import Contest
    from tracearena.server.operations.schedule import give_extra_time, move_point

    if point is not None:
        if to is None or reason is None:
            raise ParameterError(f"{point}: say when with --to, and why with --reason")
        at, why = parse_moment(to, "--to"), {"reason": reason, "actor": _ACTOR}
        if team is None:
            move_point(point, at, **why)
        else:
            give_extra_time(team, point, at, **why)
    elif to is not None or reason is not None or team is not None:
        raise ParameterError("--team, --to and --reason have no meaning without the point to move")
    contest, now = Contest.get_current(), clock.now()
    schedule = contest.schedule
    answer = phase_at(schedule, now).to_dict()
    if as_json:
        times = {"schedule": schedule.to_dict(), "extra_time": contest.extra_time}
        typer.echo(json.dumps({"clock": now.isoformat(), **answer, **times}))
        return
    shown = now.isoformat()
    typer.echo(f"now                  {shown}  {answer['phase'] or 'between two phases'}")
    for name, moment in schedule.to_dict().items():
        typer.echo(f"{name:<20} {moment}{'  passed' if moment <= shown else ''}")
    for number, ends in sorted(contest.extra_time.items()):
        for end in sorted(ends):
            typer.echo(f"{end:<20} {getattr(contest.schedule_of(number), end).isoformat()}  team {number}")


KeyArgument = Annotated[str, typer.Argument(metavar="JOB", help="As `contest job list` shows it.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the audit log.")]


def register_job(group: typer.Typer) -> None:
    """Add the group of commands."""
    failed = typer.Typer(
        help="What the judge failed at: list it, try it again, or go on without it.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    failed.command("list")(list_failed_jobs)
    failed.command("again")(retry_failed_job)
    failed.command("set-aside")(set_failed_job_aside)
    group.add_typer(failed, name="job")


def list_failed_jobs(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List the jobs that have failed for good, and why."""
    open_contest(folder)
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


def retry_failed_job(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Give a failed job to the judges once more, when the cause is out of the way."""
    open_contest(folder)
    from tracearena.server.judge import worker

    worker.retry_job(_find_job(job), _ACTOR, _check_reason(reason))
    typer.echo(f"{job}: the judges try it again")


def set_failed_job_aside(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Let the contest go on without what a failed job should have found."""
    open_contest(folder)
    from tracearena.server.judge import worker

    worker.set_job_aside(_find_job(job), _ACTOR, _check_reason(reason))
    typer.echo(f"{job}: the contest goes on without it")


def _find_job(key: str) -> Job:
    from tracearena.server.models import Job

    found: Job | None = Job.objects.filter(key=key).first()
    if found is None:
        raise ParameterError(f"there is no job {key!a}; `contest job list` shows what has failed")
    return found


def _check_reason(reason: str) -> str:
    if not 1 <= len(reason.strip()) <= 200:
        raise ParameterError.of("--reason", reason, "a text of 1 to 200 characters")
    return reason.strip()


_SHOWN = 20


def register_rescore(group: typer.Typer) -> None:
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
    reason: ReasonOption,
    as_json: JsonOption = False,
) -> None:
    """Let the judges make every score anew, beside those that count; nothing that is shown changes."""
    open_contest(folder)
    from tracearena.server.judge import scoring

    _print_rescoring(scoring.start_rescoring(_ACTOR, _check_reason(reason)), as_json)


def show(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show how far the last re-scoring is, and what it changes: scores, board and awards."""
    open_contest(folder)
    _print_rescoring(_find_last_rescoring(), as_json)


def apply(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Let the new scores count."""
    open_contest(folder)
    from tracearena.server.judge import scoring

    one = _find_last_rescoring()
    scoring.apply_rescoring(one, _ACTOR)
    _print_rescoring(one, as_json)


def cancel(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Leave all scores as they are."""
    open_contest(folder)
    from tracearena.server.judge import scoring

    one = _find_last_rescoring()
    scoring.cancel_rescoring(one, _ACTOR)
    _print_rescoring(one, as_json)


def _find_last_rescoring() -> Rescoring:
    from tracearena.server.models import Rescoring

    found: Rescoring | None = Rescoring.objects.order_by("-pk").first()
    if found is None:
        raise ParameterError("nothing has been scored anew; `contest rescore start` begins")
    return found


def _print_rescoring(one: Rescoring, as_json: bool) -> None:
    from tracearena.server.judge import scoring

    one.refresh_from_db()
    is_compared = one.state != "running"
    changed = [found.to_dict() for found in scoring.compare_scores(one)] if is_compared else []
    result = [found.to_dict() for found in scoring.compare_results(one)] if is_compared else []
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
    _print_changes(changed)
    stay = "board and awards stay as they are"
    typer.echo(f"{len(result)} places of board and awards change" if result else stay)
    _print_changes(result)


def _print_changes(changed: list[dict[str, Any]]) -> None:
    for found in changed[:_SHOWN]:
        typer.echo(f"{found['key']}: {_format_value(found['before'])} → {_format_value(found['after'])}")
    if len(changed) > _SHOWN:
        typer.echo(f"… and {len(changed) - _SHOWN} more; --json has all")


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "none" if value in (None, "") else str(value)


_STATES = {"in": "in", "waits": "has a link for a new password", "out": "shut out"}
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="As `list` shows it; case does not matter.")
]


def register_account(group: typer.Typer) -> None:
    """Add both groups of commands."""
    organisers = typer.Typer(
        help="Let organisers in, list them, give them new passwords, shut them out.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    organisers.command("add")(add_organiser)
    organisers.command("list")(list_organisers)
    organisers.command("reset")(reset_organiser)
    organisers.command("disable")(disable_organiser)
    group.add_typer(organisers, name="organiser")
    members = typer.Typer(
        help="List members of teams, give them new passwords, shut them out.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    members.command("list")(list_members)
    members.command("reset")(reset_member)
    members.command("disable")(disable_member)
    group.add_typer(members, name="member")


def add_organiser(
    folder: ContestArgument, base_url: BaseUrlOption = None, as_json: JsonOption = False
) -> None:
    """Make a link by which one more organiser comes in; it is shown once."""
    open_contest(folder)
    from tracearena.server import accounts

    base = accounts.update_base_url(base_url)
    print_link("organiser", accounts.add_organiser(_ACTOR), base, as_json, name="organiser")


def list_organisers(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all organisers, and whether they can come in."""
    _list_accounts(folder, as_json, organisers=True)


def reset_organiser(
    folder: ContestArgument,
    name: NameArgument,
    base_url: BaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """End an organiser's password and logins, and make a link for a new password, which is shown once."""
    open_contest(folder)
    from tracearena.server import accounts

    member, base = accounts.find_member(name, organiser=True), accounts.update_base_url(base_url)
    secret = accounts.reset_password(member, _ACTOR)
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_organiser(folder: ContestArgument, name: NameArgument) -> None:
    """Shut an organiser out, and end open links for organisers. The last one stays."""
    open_contest(folder)
    from tracearena.server import accounts

    _disable_account(accounts.find_member(name, organiser=True))


def list_members(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all members of teams, and whether they can come in."""
    _list_accounts(folder, as_json, organisers=False)


def reset_member(
    folder: ContestArgument,
    name: NameArgument,
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a member's password, logins and tokens, and make a link for a new password, which is shown once.

    A member who was shut out is let in again by it.
    """
    open_contest(folder)
    from tracearena.server import accounts

    member, base = accounts.find_member(name, organiser=False), accounts.update_base_url(base_url)
    secret = accounts.reset_password(member, _ACTOR, read_contest_key(folder, judge_key, passphrase_fd))
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_member(folder: ContestArgument, name: NameArgument) -> None:
    """Shut one member out: logins and tokens end, and so do open links of the team."""
    open_contest(folder)
    from tracearena.server import accounts

    _disable_account(accounts.find_member(name, organiser=False))


def _list_accounts(folder: ContestArgument, as_json: bool, *, organisers: bool) -> None:
    open_contest(folder)
    from tracearena.server import accounts

    found = accounts.describe_members(organisers=organisers)
    for one in found:
        del one["number"]
        one["last_login"] = one["last_login"] and one["last_login"].isoformat(timespec="seconds")
    if as_json:
        typer.echo(json.dumps(found))
        return
    width = max([4, *(len(one["name"]) for one in found)])
    for one in found:
        team, last = one["team"] or "–", one["last_login"] or "never"
        typer.echo(f"{one['name']:<{width}}  {team:<4}  {_STATES[one['state']]}, last login {last}")
    if not found:
        typer.echo("nobody yet")


def _disable_account(member: Member) -> None:
    from tracearena.server import accounts

    accounts.shut_out_member(member, _ACTOR)
    whose = "organisers" if member.team is None else f"team {member.team.number}"
    typer.echo(f"{member.username} is shut out; open links of {whose} are withdrawn")


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
    open_contest(folder)
    from tracearena.server import clock
    from tracearena.server.operations.schedule import reset_clock

    if set_back != (reason is not None):
        raise ParameterError("--set-back and --reason go together")
    if reason is not None:
        reset_clock(reason=reason, actor=_ACTOR)
    now, shown = clock.now(), clock.read_clock()
    ahead_s = max((now - shown).total_seconds(), 0.0)
    if as_json:
        found = {"contest": now.isoformat(), "clock": shown.isoformat(), "ahead_s": ahead_s}
        typer.echo(json.dumps(found))
        return
    typer.echo(f"contest  {now.isoformat()}")
    typer.echo(f"clock    {shown.isoformat()}")
    if ahead_s:
        typer.echo(f"the contest's time stands still for {ahead_s:,.0f} s, until the clock has caught up")
