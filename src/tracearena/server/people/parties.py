"""What the parties of a contest are called on pages, and how they look in every picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracearena.contest import Role, Roster, Rules
from tracearena.pages.team_styles import TeamStyle, team_styles
from tracearena.server import wordings
from tracearena.server.models import Team


def label(number: str, name: str, role: str) -> str:
    """Return how a party is called: by its number, which nobody else has, and its name if it has one.

    >>> label("001", "Fog Bank", "team"), label("002", "002", "team"), label("000", "000", "pseudonymised")
    ('001 Fog Bank', '002', '000 pseudonymised')
    """
    known = wordings.role(role) if role != Role.TEAM and name == number else name
    return number if known == number else f"{number} {known}"


def labels(names: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what each number is called; `names` as `boards.shown` gives them."""
    return {one["team"]: label(one["team"], one["name"], one["role"]) for one in names}


def roster(names: Sequence[dict[str, Any]], rules: Rules) -> Roster:
    """Return everybody who can be on a board, by number."""
    by_role = {role: [one["team"] for one in names if one["role"] == role] for role in Role}
    extra = by_role[Role.PSEUDONYMISED]
    return Roster(
        teams=by_role[Role.TEAM], pseudonymised=extra[0] if extra else None, samples=rules.sample_attacks
    )


def styles() -> dict[str, TeamStyle]:
    """Return colour and marker of every team and of the pseudonymised one, by their labels."""
    called = {role: [label_of(team) for team in Team.objects.filter(role=role)] for role in Role}
    extra = called[Role.PSEUDONYMISED]
    return team_styles(Roster(teams=called[Role.TEAM], pseudonymised=extra[0] if extra else None))


def label_of(team: Team) -> str:
    """Return how a party is called."""
    return label(team.number, team.name, team.role)
