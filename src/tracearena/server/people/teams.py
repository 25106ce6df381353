"""What an organiser does with teams: their names, and new links for them.

Every team's people are made with the contest, so its places are all there from the beginning; a team is
added by giving the next free place a name and a link.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import Charter
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Link, Member, Team, Token
from tracearena.server.models.people import folded
from tracearena.server.people import links
from tracearena.server.store.audit_log import log
from tracearena.server.store.sealing import unseal

_ACTOR = "command line"


def listed() -> list[dict[str, Any]]:
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


def add(name: str, judge_key: bytes) -> tuple[Team, str]:
    """Give the next free place a name; return the team and the secret of its new link."""
    with transaction.atomic():
        team = _named(name, _ACTOR)
        return team, _new_link(team, judge_key)


def add_by_judge(name: str, actor: str) -> tuple[Team, str]:
    """Do the same without the judge's key: the judge makes the link ready."""
    with transaction.atomic():
        team = _named(name, actor)
        links.withdraw(team=team)
        return team, links.invitation_by_judge(team)


def reset(number: str, judge_key: bytes, *, everything: bool) -> tuple[Team, str]:
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
        team = _places().filter(number=number).first()
        if team is None:
            numbers = ", ".join(_places().values_list("number", flat=True))
            raise ParameterError.of("team", number, f"one of {numbers}")
        if everything:
            Member.objects.filter(team=team).update(is_active=False, wrapped_key=None)
            Token.objects.filter(team=team, revoked_at__isnull=True).update(revoked_at=clock.now())
        secret = _new_link(team, judge_key)
        log(_ACTOR, "team reset", team=team.number, members=everything)
    return team, secret


def _places() -> Any:
    return Team.objects.filter(role="team").order_by("number")


def _named(name: str, actor: str) -> Team:
    free = _places().filter(members__isnull=True).select_for_update(of=("self",))
    team = next((one for one in free if one.name == one.number), None)
    if team is None:
        raise DataError(
            gettext(
                "every team has a name or members; teams are made with their people: "
                "`contest new --teams` says how many"
            )
        )
    _require_new_name(name, team)
    team.name = name
    team.save(update_fields=["name"])
    log(actor, "team added", team=team.number, name=name)
    return team


def _new_link(team: Team, judge_key: bytes) -> str:
    Link.objects.filter(team=team, withdrawn_at__isnull=True).update(withdrawn_at=clock.now())
    return links.invitation(team, unseal(judge_key, bytes(team.escrow)))


def _require_new_name(name: str, team: Team) -> None:
    """Refuse a name that the contest's file could not hold, or that another team has."""
    Charter(teams=int(team.number), names={team.number: name})
    if folded(name) in map(folded, Team.objects.exclude(pk=team.pk).values_list("name", flat=True)):
        raise ParameterError(gettext("a team is called %(name)s already") % {"name": repr(name)})
