"""Teams: what an organiser does with them, and how pages call them and draw them.

Every team's people are made with the contest, so its places are all there from the beginning; a team is
added by giving the next free place a name and a link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import ContestFile, Role, Roster, Rules
from tracearena.errors import DataError, ParameterError
from tracearena.pages.contest_data import TeamStyle, assign_team_styles
from tracearena.server import accounts, clock, errors
from tracearena.server.models import Link, Member, Team, Token, fold_name
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import unseal

_ACTOR = "command line"


def describe_teams() -> list[dict[str, Any]]:
    """Return every team, with who has come in and what it handed in."""
    now = clock.now()
    return [
        {
            "number": team.number,
            "name": team.name,
            "role": team.role,
            "members": [
                member.username for member in team.members.filter(is_active=True).order_by("username")
            ],
            "open_links": team.links.filter(
                places__gt=0, withdrawn_at__isnull=True, expires_at__gt=now
            ).count(),
            "uploads": team.submissions.count(),
        }
        for team in Team.objects.order_by("number")
    ]


def add_team(name: str, judge_key: bytes) -> tuple[Team, str]:
    """Give the next free place a name; return the team and the secret of its new link."""
    with transaction.atomic():
        team = _name_next_team(name, _ACTOR)
        return team, _renew_link(team, judge_key)


def add_team_without_key(name: str, actor: str) -> tuple[Team, str]:
    """Do the same without the judge's key: the judge makes the link ready."""
    with transaction.atomic():
        team = _name_next_team(name, actor)
        accounts.withdraw_links(team=team)
        return team, accounts.request_invitation(team)


def reset_team(number: str, judge_key: bytes, *, everything: bool) -> tuple[Team, str]:
    """Withdraw the open links of a team and make a new one; return the team and the link's secret.

    Parameters
    ----------
    number
        The team's, such as ``"001"``.
    judge_key
        The judge's private key, which opens the escrow of the team's.
    everything
        Whether members and tokens lose their access too, for a team whose secrets were stolen.
    """
    with transaction.atomic():
        team = _find_teams().filter(number=number).first()
        if team is None:
            numbers = ", ".join(_find_teams().values_list("number", flat=True))
            raise ParameterError.of("team", number, f"one of {numbers}")
        if everything:
            Member.objects.filter(team=team).update(is_active=False, wrapped_key=None)
            Token.objects.filter(team=team, revoked_at__isnull=True).update(revoked_at=clock.now())
        secret = _renew_link(team, judge_key)
        log_act(_ACTOR, "team reset", team=team.number, members=everything)
    return team, secret


def _find_teams() -> Any:
    return Team.objects.filter(role="team").order_by("number")


def _name_next_team(name: str, actor: str) -> Team:
    free = _find_teams().filter(members__isnull=True).select_for_update(of=("self",))
    team = next((one for one in free if one.name == one.number), None)
    if team is None:
        raise DataError(
            gettext(
                "every team has a name or members; teams are made with their people: "
                "`contest new --teams` says how many"
            )
        )
    # The contest's file must be able to hold the name, and no other team may have it.
    ContestFile(teams=int(team.number), names={team.number: name})
    if fold_name(name) in map(fold_name, Team.objects.exclude(pk=team.pk).values_list("name", flat=True)):
        raise ParameterError(gettext("a team is called %(name)s already") % {"name": repr(name)})
    team.name = name
    team.save(update_fields=["name"])
    log_act(actor, "team added", team=team.number, name=name)
    return team


def _renew_link(team: Team, judge_key: bytes) -> str:
    Link.objects.filter(team=team, withdrawn_at__isnull=True).update(withdrawn_at=clock.now())
    return accounts.make_invitation(team, unseal(judge_key, bytes(team.escrow)))


# What pages call the parties, and how pictures draw them.


def format_label(number: str, name: str, role: str) -> str:
    """Return how a party is called: by its number, which nobody else has, and its name if it has one.

    >>> format_label("001", "Fog Bank", "team"), format_label("002", "002", "team")
    ('001 Fog Bank', '002')
    >>> format_label("000", "000", "pseudonymised")
    '000 pseudonymised'
    """
    known = errors.translate_role(role) if role != Role.TEAM and name == number else name
    return number if known == number else f"{number} {known}"


def label_parties(names: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what each number is called; `names` as `results.list_party_names` gives them."""
    return {one["team"]: format_label(one["team"], one["name"], one["role"]) for one in names}


def build_roster(names: Sequence[dict[str, Any]], rules: Rules) -> Roster:
    """Return everybody who can be on a board, by number."""
    by_role = {role: [one["team"] for one in names if one["role"] == role] for role in Role}
    extra = by_role[Role.PSEUDONYMISED]
    return Roster(
        teams=by_role[Role.TEAM], pseudonymised=extra[0] if extra else None, samples=rules.sample_attacks
    )


def build_party_styles() -> dict[str, TeamStyle]:
    """Return colour and marker of every team and of the pseudonymised one, by their labels.

    Teams come in the order of their numbers, so that each keeps its colour.
    """
    called = {role: [label_party(team) for team in Team.objects.filter(role=role)] for role in Role}
    extra = called[Role.PSEUDONYMISED]
    return assign_team_styles(Roster(teams=called[Role.TEAM], pseudonymised=extra[0] if extra else None))


def label_party(team: Team) -> str:
    """Return how a party is called."""
    return format_label(team.number, team.name, team.role)
