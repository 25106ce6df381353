"""Links that let people in: drawn here, shown once, stored as a hash.

The link of a team carries the team's private key, wrapped by the secret in the link: whoever redeems it
takes the key over under a password of their own.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet

from tracearena.server import clock
from tracearena.server.models import Contest, Link, LinkKind, Member, Team
from tracearena.server.store import jobs
from tracearena.server.store.keys import digest, new_secret, secret_key, wrap
from tracearena.server.store.sealing import seal

VALID = timedelta(hours=72)
PLACES = 10
"""How many members may come in by one invitation."""
PURPOSE = "link"


def organiser_link(member: Member | None = None) -> str:
    """Make a link by which one organiser comes in, and return its secret.

    With a member it gives that account a new password.
    """
    secret = new_secret()
    _store(LinkKind.ORGANISER, secret, places=1, member=member)
    return secret


def invitation(team: Team, private_key: bytes, member: Member | None = None) -> str:
    """Make a link by which members of a team come in, and return its secret.

    With a member it gives that one account a new password.
    """
    secret = new_secret()
    wrapped = wrap(private_key, secret_key(secret), PURPOSE)
    _store(LinkKind.INVITATION, secret, places=1 if member else PLACES, team=team, member=member,
           wrapped_key=wrapped)  # fmt: skip
    return secret


def invitation_by_judge(team: Team, member: Member | None = None) -> str:
    """Make a link whose key the judge wraps, inside the caller's transaction, and return its secret.

    Whoever asks for it does not have the team's key. The judge has it in escrow, and gets the secret
    sealed: from the database nobody can come in by this link.
    """
    secret = new_secret()
    link = _store(LinkKind.INVITATION, secret, places=1 if member else PLACES, team=team, member=member)
    sealed = seal(bytes.fromhex(settings.CONTEST_SECRETS.judge_public_key), secret.encode())
    jobs.enqueue("rewrap", f"rewrap/{link.pk}", {"link": link.pk, "sealed": sealed.hex()}, team=team)
    return secret


def usable(secret: str) -> Link | None:
    """Return the link of a secret, if it is still good; asking changes nothing."""
    return _usable().filter(digest=digest(secret)).first()


def take_place(link: Link) -> bool:
    """Use a link up by one person; two who come at once never share the last place."""
    return bool(_usable().filter(pk=link.pk).update(places=F("places") - 1))


def withdraw(**whose: Team | Member | None) -> int:
    """End all open links of a ``team``, which is None for organisers, or of one ``member``."""
    return _usable().filter(**whose).update(withdrawn_at=clock.now())


def base_url(given: str | None = None) -> str:
    """Return where browsers reach the contest; what is given is remembered for links that are made later.

    Parameters
    ----------
    given
        Such as ``https://contest.example.org``; what was given last if left out.
    """
    if given is not None:
        Contest.objects.filter(pk=1).update(base_url=given.rstrip("/"))
    return Contest.now_held().base_url


def path_of(link_secret: str) -> str:
    """Return the address of a link inside the site; the part after # never reaches a log.

    >>> path_of("abc")
    '/join#abc'
    """
    return f"/join#{link_secret}"


def _usable() -> QuerySet[Link]:
    return Link.objects.filter(Q(places__gt=0) & Q(withdrawn_at__isnull=True) & Q(expires_at__gt=clock.now()))


def _store(kind: str, secret: str, **about: Any) -> Link:
    now = clock.now()
    return Link.objects.create(
        kind=kind, digest=digest(secret), created_at=now, expires_at=now + VALID, **about
    )
