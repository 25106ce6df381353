"""``tracearena contest team``: who takes part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import JsonOption, note
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
    from tracearena.server.models import Team


def register(group: typer.Typer) -> None:
    """Add the group of commands."""
    teams = typer.Typer(
        help="List teams, name them, let them in.", no_args_is_help=True, rich_markup_mode=None
    )
    teams.command("add")(add)
    teams.command("list")(list_teams)
    teams.command("reset")(reset)
    group.add_typer(teams, name="team")


def add(
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
    opened(folder)
    from tracearena.server import accounts, teams

    base = accounts.base_url(base_url)
    _print_link(*teams.add(name, read_key(folder, judge_key, passphrase_fd)), base, as_json)


def list_teams(folder: ContestArgument, as_json: JsonOption = False) -> None:
    """List all teams: their members, how many links are open, how much was handed in."""
    opened(folder)
    from tracearena.server import teams

    found = teams.listed()
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


def reset(
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
    opened(folder)
    from tracearena.server import accounts, teams

    key, base = read_key(folder, judge_key, passphrase_fd), accounts.base_url(base_url)
    _print_link(*teams.reset(number, key, everything=members), base, as_json)


def _print_link(team: Team, secret: str, base: str, as_json: bool) -> None:
    print_link(f"team {team}", secret, base, as_json, number=team.number, name=team.name)
    if not as_json:
        note("links that this team was given before are void")
