"""Managing a contest that has a server: teams, phases, what is said to teams, jobs, accounts and the clock.

The commands are ``tracearena contest team``, ``phase``, ``announce``, ``page``, ``job``, ``rescore``,
``organiser``, ``member`` and ``clock``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._output import JsonOption, add_group
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
from tracearena.errors import FileError, ParameterError
from tracearena.jobs.feedback import note

if TYPE_CHECKING:
    from tracearena.server.models import Job, Member, Rescoring
    from tracearena.server.teams import TeamLink


_ACTOR = "command line"
"""Who does it, for the audit log."""


def register_team(group: typer.Typer) -> None:
    """Add the group of commands."""
    add_group(
        group,
        "team",
        "List teams, name them, and make their links.",
        "tracearena contest team add friday 'Team Rocket'",
        {"add": add_named_team, "list": list_teams, "rename": rename_teams, "reset": reset_team_links},
    )


def add_named_team(
    folder: ContestArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the team.")],
    number: Annotated[
        str | None,
        typer.Option(
            "--team", help="Number of the free team, such as 004; its earlier link becomes invalid."
        ),
    ] = None,
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a free team a name, and print a link for its members, which is shown once.

    `contest new --teams` sets the number of teams, because the people of every team are made with the
    contest. A team is free if it has no name and no members. A team whose link may have been sent is
    given away only with --team; to name a team and keep its link, use `contest team rename`.

    Example:
      tracearena contest team add friday "Team Rocket"
    """
    open_contest(folder)
    from tracearena.server import accounts, teams

    key, base = read_contest_key(folder, judge_key, passphrase_fd), accounts.update_base_url(base_url)
    _print_team_link(teams.add_team(name, key, number), base, as_json)


def rename_teams(
    folder: ContestArgument,
    number: Annotated[str | None, typer.Argument(metavar="NUMBER", help="The team, such as 001.")] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The new name.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--names", help="CSV file of several names: columns team and name, or name alone."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Rename a team, or several teams from a file; links, members and uploads stay.

    Example:
      tracearena contest team rename friday 001 "Team Rocket"
    """
    open_contest(folder)
    from tracearena.contest.contest_file import read_team_names
    from tracearena.server import teams

    if file is not None:
        if number is not None:
            raise ParameterError(f"{file}: has the names; leave out NUMBER and NAME, or --names")
        names = read_team_names(file)
    elif number is None or name is None:
        raise ParameterError("give the NUMBER and the new NAME of a team, or --names FILE")
    else:
        names = {number: name}
    renamed = teams.rename_teams(names, _ACTOR)
    if as_json:
        typer.echo(json.dumps({team.number: team.name for team in renamed}))
        return
    for team in renamed:
        typer.echo(f"team {team}")


def list_teams(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all teams with their members, open links and uploads.

    Example:
      tracearena contest team list friday
    """
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
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="Number of the team, such as 001.")],
    members: Annotated[
        bool,
        typer.Option("--members", help="Also revoke its members and tokens, if its secrets were stolen."),
    ] = False,
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke the open links of a team, and print a new one, which is shown once.

    Example:
      tracearena contest team reset friday 001
    """
    open_contest(folder)
    from tracearena.server import accounts, teams

    key, base = read_contest_key(folder, judge_key, passphrase_fd), accounts.update_base_url(base_url)
    _print_team_link(teams.reset_team(number, key, everything=members), base, as_json)


def _print_team_link(made: TeamLink, base: str, as_json: bool) -> None:
    team = made.team
    print_link(f"team {team}", made.secret, base, as_json, number=team.number, name=team.name)
    if made.withdrawn:
        note(
            f"{made.withdrawn} earlier link{'s' * (made.withdrawn > 1)} of team {team.number} "
            f"{'are' if made.withdrawn > 1 else 'is'} no longer valid"
        )


def phase(
    folder: ContestArgument,
    point: Annotated[
        str | None,
        typer.Argument(metavar="POINT", help="Point to move, such as anonymization_end or attack_begin."),
    ] = None,
    team: Annotated[
        str | None,
        typer.Option("--team", help="Move an end for this team alone, such as 003, to give it extra time."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="New time of the point, such as 2026-05-15T09:00+09:00.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Reason, for the teams and the audit log.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the schedule, or move one point of it.

    A point can only be moved to a time in the future. A phase that has begun cannot be taken back. An end
    that has passed can be moved only until the judge closes the phase, one minute later. Extra time of one
    team must end before the next phase begins for everybody; the judge waits for it.

    Example:
      tracearena contest phase friday attack_end \\
          --to 2030-05-15T18:00+09:00 --reason "power failure"
    """
    open_contest(folder)
    from tracearena.contest import phase_at
    from tracearena.contest.phases import name_phase
    from tracearena.server import clock
    from tracearena.server.models import Contest
    from tracearena.server.operations.schedule import give_extra_time, move_point

    if point is not None:
        if to is None:
            raise ParameterError(f"{point}: --to (the new time) is required to move it")
        at, why = parse_moment(to, "--to"), {"reason": reason or "", "actor": _ACTOR}
        if team is None:
            move_point(point, at, **why)
        else:
            give_extra_time(team, point, at, **why)
    elif to is not None or reason is not None or team is not None:
        raise ParameterError("--team, --to and --reason need the point to move")
    contest, now = Contest.get_current(), clock.now()
    schedule = contest.schedule
    answer = phase_at(schedule, now).to_dict()
    if as_json:
        times = {"schedule": schedule.to_dict(), "extra_time": contest.extra_time}
        typer.echo(json.dumps({"clock": now.isoformat(), **answer, **times}))
        return
    shown = now.isoformat()
    typer.echo(f"now                  {shown}  {name_phase(answer)}")
    for name, moment in schedule.to_dict().items():
        typer.echo(f"{name:<20} {moment}{'  passed' if moment <= shown else ''}")
    for number, ends in sorted(contest.extra_time.items()):
        for end in sorted(ends):
            typer.echo(f"{end:<20} {getattr(contest.schedule_of(number), end).isoformat()}  team {number}")


KeyArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job, from `contest job list`.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Reason, for the audit log.")]


def register_job(group: typer.Typer) -> None:
    """Add the group of commands."""
    add_group(
        group,
        "job",
        "List the judge's failed jobs, run one again, or continue without it.",
        "tracearena contest job list friday",
        {"list": list_failed_jobs, "again": retry_failed_job, "set-aside": set_failed_job_aside},
    )


def list_failed_jobs(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List the jobs that have failed in every attempt, with their errors.

    Example:
      tracearena contest job list friday
    """
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
        typer.echo("no job has failed")


def retry_failed_job(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Run a failed job again, after you have removed the cause.

    Example:
      tracearena contest job again friday sample/002/1 --reason "disk full"
    """
    open_contest(folder)
    from tracearena.server.judge import worker

    worker.retry_job(_find_job(job), _ACTOR, _check_reason(reason))
    typer.echo(f"{job}: the judges will run it again")


def set_failed_job_aside(folder: ContestArgument, job: KeyArgument, reason: ReasonOption) -> None:
    """Continue the contest without the result of a failed job.

    Example:
      tracearena contest job set-aside friday sample/002/1 --reason "lost file"
    """
    open_contest(folder)
    from tracearena.server.judge import worker

    worker.set_job_aside(_find_job(job), _ACTOR, _check_reason(reason))
    typer.echo(f"{job}: the contest continues without it")


def _find_job(key: str) -> Job:
    from tracearena.server.models import Job

    found: Job | None = Job.objects.filter(key=key).first()
    if found is None:
        raise ParameterError(f"there is no job {key!a}; `contest job list` shows the failed jobs")
    return found


def _check_reason(reason: str) -> str:
    if not 1 <= len(reason.strip()) <= 200:
        raise ParameterError.of("--reason", reason, "a text of 1 to 200 characters")
    return reason.strip()


_SHOWN = 20


def register_rescore(group: typer.Typer) -> None:
    """Add the group of commands."""
    about = "Compute all scores again: start, show, apply or cancel."
    example = 'tracearena contest rescore start friday --reason "fixed a bug"'
    add_group(
        group, "rescore", about, example, {"start": start, "show": show, "apply": apply, "cancel": cancel}
    )


def start(
    folder: ContestArgument,
    reason: ReasonOption,
    as_json: JsonOption = False,
) -> None:
    """Compute every score again, separately from the current ones; nothing that is public changes.

    Example:
      tracearena contest rescore start friday --reason "fixed a bug"
    """
    open_contest(folder)
    from tracearena.server.judge import scoring

    _print_rescoring(scoring.start_rescoring(_ACTOR, _check_reason(reason)), as_json)


def show(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Show the progress of the last re-scoring, and which scores, ranks and awards it would change.

    Example:
      tracearena contest rescore show friday
    """
    open_contest(folder)
    _print_rescoring(_find_last_rescoring(), as_json)


def apply(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Replace the current scores by the new ones.

    Example:
      tracearena contest rescore apply friday
    """
    open_contest(folder)
    from tracearena.server.judge import scoring

    one = _find_last_rescoring()
    scoring.apply_rescoring(one, _ACTOR)
    _print_rescoring(one, as_json)


def cancel(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """Discard the new scores.

    Example:
      tracearena contest rescore cancel friday
    """
    open_contest(folder)
    from tracearena.server.judge import scoring

    one = _find_last_rescoring()
    scoring.cancel_rescoring(one, _ACTOR)
    _print_rescoring(one, as_json)


def _find_last_rescoring() -> Rescoring:
    from tracearena.server.models import Rescoring

    found: Rescoring | None = Rescoring.objects.order_by("-pk").first()
    if found is None:
        raise ParameterError("there is no re-scoring; `contest rescore start` begins one")
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
        typer.echo("the judges are working; `contest rescore show` shows the differences when they are done")
        return
    if one.state == "cancelled":
        typer.echo("all scores are unchanged")
        return
    typer.echo(f"{len(changed)} scores differ" if changed else "all scores are the same")
    _print_changes(changed)
    stay = "board and awards do not change"
    typer.echo(f"{len(result)} entries of board and awards change" if result else stay)
    _print_changes(result)


def _print_changes(changed: list[dict[str, Any]]) -> None:
    for found in changed[:_SHOWN]:
        typer.echo(f"{found['key']}: {_format_value(found['before'])} → {_format_value(found['after'])}")
    if len(changed) > _SHOWN:
        typer.echo(f"… and {len(changed) - _SHOWN} more; --json prints all")


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "none" if value in (None, "") else str(value)


_STATES = {"in": "active", "waits": "has a link for a new password", "out": "disabled"}
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the account, from `list`; case does not matter.")
]


def register_organiser(group: typer.Typer) -> None:
    """Add the group of commands."""
    add_group(
        group,
        "organiser",
        "Add and list organisers, reset their passwords, disable or delete their accounts.",
        "tracearena contest organiser add friday",
        {
            "add": add_organiser,
            "list": list_organisers,
            "reset": reset_organiser,
            "disable": disable_organiser,
            "delete": delete_organiser,
        },
    )


def register_member(group: typer.Typer) -> None:
    """Add the group of commands."""
    add_group(
        group,
        "member",
        "List members of teams, reset their passwords, disable or delete their accounts.",
        "tracearena contest member list friday",
        {
            "list": list_members,
            "reset": reset_member,
            "disable": disable_member,
            "delete": delete_member,
        },
    )


def add_organiser(
    folder: ContestArgument, base_url: BaseUrlOption = None, as_json: JsonOption = False
) -> None:
    """Print a link with which one more organiser can make an account; it is shown once.

    Example:
      tracearena contest organiser add friday
    """
    open_contest(folder)
    from tracearena.server import accounts

    base = accounts.update_base_url(base_url)
    print_link("organiser", accounts.add_organiser(_ACTOR), base, as_json, name="organiser")


def list_organisers(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all organisers, and whether they can log in.

    Example:
      tracearena contest organiser list friday
    """
    _list_accounts(folder, as_json, organisers=True)


def reset_organiser(
    folder: ContestArgument,
    name: NameArgument,
    base_url: BaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """End an organiser's password and sessions, and print a link for a new password, shown once.

    Example:
      tracearena contest organiser reset friday alice
    """
    open_contest(folder)
    from tracearena.server import accounts

    member, base = accounts.find_member(name, organiser=True), accounts.update_base_url(base_url)
    secret = accounts.reset_password(member, _ACTOR)
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_organiser(folder: ContestArgument, name: NameArgument) -> None:
    """Disable an organiser's account, and revoke open links for organisers.

    The last organiser cannot be disabled.

    Example:
      tracearena contest organiser disable friday alice
    """
    open_contest(folder)
    from tracearena.server import accounts

    _disable_account(accounts.find_member(name, organiser=True))


def list_members(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all members of teams, and whether they can log in.

    Example:
      tracearena contest member list friday
    """
    _list_accounts(folder, as_json, organisers=False)


def reset_member(
    folder: ContestArgument,
    name: NameArgument,
    base_url: BaseUrlOption = None,
    judge_key: JudgeKeyOption = None,
    passphrase_fd: PassphraseFdOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a member's password, sessions and tokens, and print a link for a new password, shown once.

    With that link a disabled member can log in again.

    Example:
      tracearena contest member reset friday bob
    """
    open_contest(folder)
    from tracearena.server import accounts

    member, base = accounts.find_member(name, organiser=False), accounts.update_base_url(base_url)
    secret = accounts.reset_password(member, _ACTOR, read_contest_key(folder, judge_key, passphrase_fd))
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_member(folder: ContestArgument, name: NameArgument) -> None:
    """Disable a member's account, end its sessions and tokens, and revoke open links of the team.

    Example:
      tracearena contest member disable friday bob
    """
    open_contest(folder)
    from tracearena.server import accounts

    _disable_account(accounts.find_member(name, organiser=False))


def delete_organiser(folder: ContestArgument, name: NameArgument) -> None:
    """Delete the account of an organiser and the person's name; the last one cannot be deleted.

    Example:
      tracearena contest organiser delete friday ann
    """
    open_contest(folder)
    from tracearena.server import accounts

    _delete_account(accounts.find_member(name, organiser=True))


def delete_member(folder: ContestArgument, name: NameArgument) -> None:
    """Delete the account of a member and the person's name; submissions stay with the team.

    Pages and exports show a substitute name from now on. The audit log has never contained the name. Backups
    made before still contain it.

    Example:
      tracearena contest member delete friday ann
    """
    open_contest(folder)
    from tracearena.server import accounts

    _delete_account(accounts.find_member(name, organiser=False))


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
        typer.echo("there are no accounts yet")


def _disable_account(member: Member) -> None:
    from tracearena.server import accounts

    accounts.shut_out_member(member, _ACTOR)
    group = "organisers" if member.team is None else f"team {member.team.number}"
    typer.echo(f"{member.username} is disabled; open links of {group} are revoked")


def _delete_account(member: Member) -> None:
    from tracearena.server import accounts

    name = member.username
    accounts.delete_member(member, _ACTOR)
    typer.echo(f"{name} is deleted and called {member.username} from now on")


def announce(
    folder: ContestArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text of the announcement.")],
) -> None:
    """Publish an announcement: every page shows it for a week, and the client with its status.

    Example:
      tracearena contest announce friday "The attack phase begins one hour later."
    """
    open_contest(folder)
    from tracearena.server import announcements

    announcements.announce(text, _ACTOR)
    typer.echo("announced; the page Announcements keeps it")


def page(
    folder: ContestArgument,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Markdown file; without it the current page is printed."),
    ] = None,
) -> None:
    """Write the page Information: venue, frequent questions, contact, privacy notice.

    The file is Markdown without HTML and pictures. An empty file removes the page.

    Example:
      tracearena contest page friday information.md
    """
    open_contest(folder)
    from tracearena.files import read_bytes
    from tracearena.server import announcements
    from tracearena.server.models import Contest

    if file is None:
        typer.echo(Contest.get_current().information, nl=False)
        return
    try:
        text = read_bytes(file, max_bytes=2**20).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError.whole(file, "is not UTF-8", "not-utf8") from None
    announcements.write_information(text, _ACTOR)
    typer.echo("the page Information is updated" if text.strip() else "the page Information is removed")


def clock(
    folder: ContestArgument,
    set_back: Annotated[
        bool,
        typer.Option("--set-back", help="Set the contest's time to what this machine's clock shows now."),
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Reason, for the audit log.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the contest's time and this machine's clock, or set the contest's time back to the clock.

    The contest's time never runs backwards: while the clock is behind the latest time that the judges have
    seen, the contest's time stops. Use --set-back after the clock was ahead by mistake. It is refused
    if a phase was closed or the results were published at the wrong time.

    Example:
      tracearena contest clock friday
    """
    open_contest(folder)
    from tracearena.server import clock
    from tracearena.server.operations.schedule import reset_clock

    if set_back != (reason is not None):
        raise ParameterError("--set-back and --reason must be used together")
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
        typer.echo(f"the contest's time stops for {ahead_s:,.0f} s, until the clock has caught up")
