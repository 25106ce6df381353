"""What an organiser does with people: let further organisers in, shut somebody out, give a new password.

Whoever is shut out has no login, no token and no link any more. A new password comes by a link that is good
for this one account; until it is used nobody can come in under that name.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.utils.translation import gettext

from tracearena.errors import DataError, ParameterError
from tracearena.server.models import Contest, Member
from tracearena.server.models.people import folded
from tracearena.server.people import links, tokens
from tracearena.server.store.audit_log import log
from tracearena.server.store.sealing import unseal


def listed(*, organisers: bool) -> list[dict[str, Any]]:
    """Return all organisers, or all members of teams: who they are, and whether they can come in."""
    found = Member.objects.filter(is_organiser=organisers).select_related("team")
    return [
        {
            "number": one.pk,
            "name": one.username,
            "team": None if one.team is None else one.team.number,
            "state": state(one),
            "last_login": one.last_login,
        }
        for one in found.order_by("team__number", "pk")
    ]


def state(member: Member) -> str:
    """Return ``in``, ``out``, or ``waits`` for somebody who was given a link for a new password."""
    if not member.is_active:
        return "out"
    return "in" if member.has_usable_password() else "waits"


def named(name: str, *, organiser: bool) -> Member:
    """Return the organiser, or the member of a team, of a name; case does not matter."""
    found = Member.objects.select_related("team").filter(folded_name=folded(name), is_organiser=organiser)
    member = found.first()
    if member is None:
        command = "organiser" if organiser else "member"
        raise ParameterError(f"nobody is called {name!r}; `contest {command} list` shows the names")
    return member


def add_organiser(actor: str) -> str:
    """Make a link by which one more organiser comes in, and return its secret."""
    with transaction.atomic():
        secret = links.organiser_link()
        log(actor, "organiser invited")
    return secret


def disable(member: Member, actor: str) -> None:
    """Shut somebody out, at once and for good, unless they are given a new password.

    Open links of the team, or of organisers, end too: the one who is shut out may have one.

    Raises
    ------
    DataError
        If nobody could organise the contest any more.
    """
    with transaction.atomic():
        _require_another_organiser(member)
        Member.objects.filter(pk=member.pk).update(is_active=False)
        _end_password(member)
        links.withdraw(team=member.team)
        log(actor, "shut out", **_about(member))


def reset(member: Member, actor: str, judge_key: bytes | None = None) -> str:
    """Make a link by which somebody gets a new password, and return its secret; the old password ends.

    Somebody who was shut out is let in again.

    Parameters
    ----------
    member
        Whose account it is.
    actor
        Who does it, for the audit log.
    judge_key
        The judge's private key, which opens the escrow of a team's key; without it the judge makes a
        link of a team's member ready itself.
    """
    with transaction.atomic():
        Member.objects.filter(pk=member.pk).update(is_active=True)
        _end_password(member)
        links.withdraw(member=member)
        log(actor, "new password", **_about(member))
        if member.team is None:
            return links.organiser_link(member)
        if judge_key is None:
            return links.invitation_by_judge(member.team, member)
        return links.invitation(member.team, unseal(judge_key, bytes(member.team.escrow)), member)


def _end_password(member: Member) -> None:
    """End a password, and with it the logins and tokens of its owner."""
    member.set_unusable_password()
    # Django binds every login to the password's hash.
    Member.objects.filter(pk=member.pk).update(password=member.password, wrapped_key=None)
    tokens.revoke_all(member)


def _require_another_organiser(member: Member) -> None:
    """Refuse to shut out the last organiser; of two who shut out each other at once the second is refused."""
    Contest.objects.select_for_update().get(pk=1)
    others = Member.objects.filter(is_organiser=True, is_active=True).exclude(pk=member.pk)
    if member.is_organiser and not others.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists():
        raise DataError(gettext("nobody else could organise the contest; let another organiser in first"))


def _about(member: Member) -> dict[str, Any]:
    return {"member": member.username, "of": "organisers" if member.team is None else member.team.number}
