"""Keys to the API: 256 random bits, shown once, stored as a hash, for one team, until they are revoked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from tracearena.server import clock
from tracearena.server.models import Member, Team, Token
from tracearena.server.store.audit_log import log
from tracearena.server.store.keys import digest, new_secret, secret_key, unwrap, wrap

PREFIX = "tracearena_"
"""Lets programs that look for leaked secrets know one."""
_PURPOSE = "token"
_SEEN_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True)
class Caller:
    """Who calls the API: a token that is good, and the secret by which it came."""

    token: Token
    secret: str = field(repr=False)

    @property
    def team(self) -> Team:
        """The team, which no request can change."""
        return self.token.team

    @property
    def team_key(self) -> bytes:
        """What opens the team's bundle."""
        return unwrap(bytes(self.token.wrapped_key), secret_key(self.secret), _PURPOSE)


def make(member: Member, label: str, private_key: bytes) -> str:
    """Make a token for the team of a member, and return its secret, which is shown once."""
    secret = PREFIX + new_secret()
    with transaction.atomic():
        token = Token.objects.create(
            team=member.team,
            member=member,
            label=label,
            digest=digest(secret),
            wrapped_key=wrap(private_key, secret_key(secret), _PURPOSE),
            created_at=clock.now(),
        )
        log(member.username, "token made", number=token.pk)
    return secret


def caller(secret: str) -> Caller | None:
    """Return who comes with a secret, None if it is no token or no longer one."""
    good = Q(member__isnull=True) | Q(member__is_active=True)
    token = Token.objects.select_related("team", "member").filter(
        good, digest=digest(secret), revoked_at__isnull=True
    ).first()  # fmt: skip
    if token is None:
        return None
    _note_use(token)
    return Caller(token, secret)


def revoke(member: Member, number: int) -> bool:
    """End a token of a member's team; False if it has none of this number."""
    good = Token.objects.filter(team=member.team, pk=number, revoked_at__isnull=True)
    with transaction.atomic():
        is_revoked = bool(good.update(revoked_at=clock.now()))
        if is_revoked:
            log(member.username, "token revoked", number=number)
    return is_revoked


def revoke_all(member: Member) -> int:
    """End all tokens that a member made."""
    return Token.objects.filter(member=member, revoked_at__isnull=True).update(revoked_at=clock.now())


def _note_use(token: Token) -> None:
    now = clock.now()
    # Not at every request: reading would otherwise wait for those who write.
    if token.last_used_at is None or now - token.last_used_at >= _SEEN_AGAIN:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
