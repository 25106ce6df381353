"""Links that let people in: drawn here, shown once, stored as a hash.

The link of a team carries the team's private key, wrapped by the secret in the link: whoever redeems it
takes the key over under a password of their own.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import F, Q, QuerySet

from tracearena.server import clock
from tracearena.server.models import Link, LinkKind, Team
from tracearena.server.store import jobs
from tracearena.server.store.keys import digest, new_secret, secret_key, wrap
from tracearena.server.store.sealing import seal

VALID = timedelta(hours=72)
PLACES = 10
"""How many members may come in by one invitation."""
PURPOSE = "link"


def organiser_link() -> str:
    """Make a link by which one organiser comes in, and return its secret."""
    secret = new_secret()
    _store(LinkKind.ORGANISER, secret, places=1)
    return secret


def invitation(team: Team, private_key: bytes, *, places: int = PLACES) -> str:
    """Make a link by which members of a team come in, and return its secret."""
    secret = new_secret()
    wrapped = wrap(private_key, secret_key(secret), PURPOSE)
    _store(LinkKind.INVITATION, secret, team=team, wrapped_key=wrapped, places=places)
    return secret


def invitation_by_judge(team: Team, *, places: int = PLACES) -> str:
    """Make a link whose key the judge wraps, inside the caller's transaction, and return its secret.

    Whoever asks for it does not have the team's key. The judge has it in escrow, and gets the secret
    sealed: from the database nobody can come in by this link.
    """
    secret = new_secret()
    link = _store(LinkKind.INVITATION, secret, team=team, places=places)
    sealed = seal(bytes.fromhex(settings.CONTEST_SECRETS.judge_public_key), secret.encode())
    jobs.enqueue("rewrap", f"rewrap/{link.pk}", {"link": link.pk, "sealed": sealed.hex()}, team=team)
    return secret


def usable(secret: str) -> Link | None:
    """Return the link of a secret, if it is still good; asking changes nothing."""
    return _usable().filter(digest=digest(secret)).first()


def take_place(link: Link) -> bool:
    """Use a link up by one person; two who come at once never share the last place."""
    return bool(_usable().filter(pk=link.pk).update(places=F("places") - 1))


def withdraw(team: Team) -> int:
    """End all open invitations of a team."""
    return _usable().filter(team=team).update(withdrawn_at=clock.now())


def path_of(link_secret: str) -> str:
    """Return the address of a link inside the site; the part after # never reaches a log.

    >>> path_of("abc")
    '/join#abc'
    """
    return f"/join#{link_secret}"


def _usable() -> QuerySet[Link]:
    return Link.objects.filter(Q(places__gt=0) & Q(withdrawn_at__isnull=True) & Q(expires_at__gt=clock.now()))


def _store(
    kind: str, secret: str, *, places: int, team: Team | None = None, wrapped_key: bytes | None = None
) -> Link:
    now = clock.now()
    return Link.objects.create(
        kind=kind,
        team=team,
        digest=digest(secret),
        wrapped_key=wrapped_key,
        places=places,
        created_at=now,
        expires_at=now + VALID,
    )
