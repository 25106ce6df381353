"""``tracearena contest organiser`` and ``member``: who has an account."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli.contest_server.opening import (
    BaseUrlOption,
    ContestArgument,
    JudgeKeyOption,
    PassphraseFdOption,
    opened,
    print_link,
    read_key,
)

if TYPE_CHECKING:
    from tracearena.server.models import Member

_ACTOR = "command line"
_STATES = {"in": "in", "waits": "has a link for a new password", "out": "shut out"}
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="As `list` shows it; case does not matter.")
]


def register(group: typer.Typer) -> None:
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
    opened(folder)
    from tracearena.server import accounts

    base = accounts.base_url(base_url)
    print_link("organiser", accounts.add_organiser(_ACTOR), base, as_json, name="organiser")


def list_organisers(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all organisers, and whether they can come in."""
    _list(folder, as_json, organisers=True)


def reset_organiser(
    folder: ContestArgument,
    name: NameArgument,
    base_url: BaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """End an organiser's password and logins, and make a link for a new password, which is shown once."""
    opened(folder)
    from tracearena.server import accounts

    member, base = accounts.named(name, organiser=True), accounts.base_url(base_url)
    secret = accounts.reset(member, _ACTOR)
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_organiser(folder: ContestArgument, name: NameArgument) -> None:
    """Shut an organiser out, and end open links for organisers. The last one stays."""
    opened(folder)
    from tracearena.server import accounts

    _disable(accounts.named(name, organiser=True))


def list_members(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all members of teams, and whether they can come in."""
    _list(folder, as_json, organisers=False)


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
    opened(folder)
    from tracearena.server import accounts

    member, base = accounts.named(name, organiser=False), accounts.base_url(base_url)
    secret = accounts.reset(member, _ACTOR, read_key(folder, judge_key, passphrase_fd))
    print_link(member.username, secret, base, as_json, name=member.username)


def disable_member(folder: ContestArgument, name: NameArgument) -> None:
    """Shut one member out: logins and tokens end, and so do open links of the team."""
    opened(folder)
    from tracearena.server import accounts

    _disable(accounts.named(name, organiser=False))


def _list(folder: ContestArgument, as_json: bool, *, organisers: bool) -> None:
    opened(folder)
    from tracearena.server import accounts

    found = accounts.listed(organisers=organisers)
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


def _disable(member: Member) -> None:
    from tracearena.server import accounts

    accounts.disable(member, _ACTOR)
    whose = "organisers" if member.team is None else f"team {member.team.number}"
    typer.echo(f"{member.username} is shut out; open links of {whose} are withdrawn")
