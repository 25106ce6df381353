"""People come in by a link, then by name and password; their team's key comes with them.

The key that opens a team's bundle is wrapped by each member's password. At a login it is wrapped anew: what
is wrapped stands in the session, what unwraps it in a second cookie of the browser, so that neither the
database nor one cookie alone opens anything.
"""

from __future__ import annotations

import base64
import unicodedata
from typing import Any

from django.conf import settings
from django.contrib.auth import login as django_login
from django.contrib.auth import logout as django_logout
from django.contrib.auth import password_validation, update_session_auth_hash
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from tracearena.server import clock
from tracearena.server.models import Link, LinkKind, Member
from tracearena.server.models.people import folded
from tracearena.server.people import links, throttling, tokens
from tracearena.server.refused import Refused
from tracearena.server.store.audit_log import log
from tracearena.server.store.keys import (
    new_secret,
    password_key,
    secret_key,
    unwrap,
    unwrap_by_password,
    wrap,
    wrap_by_password,
)
from tracearena.server.store.sealing import SealError

COOKIE = "unlock"
_IN_SESSION = "team key"
_PURPOSE = "login"
_LONGEST_NAME, _LONGEST_PASSWORD = 60, 1_000


def redeem(secret: str, name: str, password: str) -> tuple[Member, bytes | None]:
    """Make an account of a link, or give one a new password; return the member and the key of its team."""
    link = links.usable(secret)
    if link is None:
        raise Refused(
            410, "link", gettext("This link is not good, was used up, or has expired: ask for a new one.")
        )
    if link.kind == LinkKind.INVITATION and link.wrapped_key is None:
        raise Refused(503, "link", gettext("This link is still being prepared: try again in a minute."))
    member = _whose(link, name)
    _check_password(password, member)
    key = None
    if link.wrapped_key is not None:
        key = unwrap(bytes(link.wrapped_key), secret_key(secret), links.PURPOSE)
        member.wrapped_key = wrap_by_password(key, password)
    member.set_password(password)
    _save(member, link)
    return member, key


def _whose(link: Link, name: str) -> Member:
    """Return the account that a link is for, which has the name that is given, or a new one of that name."""
    if link.member is None:
        organiser = link.kind == LinkKind.ORGANISER
        return Member(
            username=_checked_name(name), created_at=clock.now(), team=link.team, is_organiser=organiser
        )
    if folded(name) != link.member.folded_name:
        said = gettext("This link gives an account of yours a new password: use the name of that account.")
        raise Refused(400, "name", said)
    return link.member


def _save(member: Member, link: Link) -> None:
    is_new = link.member is None
    try:
        with transaction.atomic():
            if not links.take_place(link):
                raise Refused(410, "link", gettext("This link was used up just now: ask for a new one."))
            member.save(update_fields=None if is_new else ["password", "wrapped_key"])
            whose = "organiser" if member.team is None else f"team {member.team.number}"
            log(member.username, "account made" if is_new else "password renewed by link", of=whose)
    except IntegrityError:
        raise Refused(409, "name-taken", gettext("Somebody has this name already: choose another.")) from None


def authenticate(name: str, password: str, address: str) -> tuple[Member, bytes | None]:
    """Return who logs in and the team's key; the same answer, and as much work, for every failure."""
    # PostgreSQL takes no zero byte, and nobody has one in a name.
    name = folded(name[: _LONGEST_NAME + 1]).replace("\0", "\ufffd")
    password = password[:_LONGEST_PASSWORD]
    throttling.count_try(name, address)
    member = Member.objects.select_related("team").filter(folded_name=name).first()
    right = _password_is_right(member, password)
    key = _team_key_of(member, password)
    if member is None or not right or not member.is_active or (key is None and member.team is not None):
        raise _wrong_login()
    throttling.forgive(name, address)
    return member, key


def _wrong_login() -> Refused:
    return Refused(403, "login", gettext("Name and password do not fit."))


def _password_is_right(member: Member | None, password: str) -> bool:
    if member is None:
        make_password(password)  # as much work as a check
        return False
    return member.check_password(password)


def _team_key_of(member: Member | None, password: str) -> bytes | None:
    if member is None or member.wrapped_key is None:
        password_key(password, bytes(16))  # as much work as unwrapping
        return None
    try:
        return unwrap_by_password(bytes(member.wrapped_key), password)
    except SealError:
        return None


def enter(request: Any, response: Any, member: Member, team_key: bytes | None) -> Any:
    """Log somebody in, under a new session; return the response with the cookie that unwraps the key."""
    request.session.flush()  # Django alone would keep the session of who logs in twice
    django_login(request, member)
    throttling.remember(member.folded_name, request.META["REMOTE_ADDR"])
    if team_key is not None:
        secret = new_secret()
        wrapped = wrap(team_key, secret_key(secret), _PURPOSE)
        request.session[_IN_SESSION] = base64.b64encode(wrapped).decode()
        response.set_cookie(
            COOKIE,
            secret,
            max_age=settings.SESSION_COOKIE_AGE,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )
    return response


def leave(request: Any, response: Any) -> Any:
    """Log out: the session is gone from the database, both cookies from the browser."""
    django_logout(request)
    response.delete_cookie(COOKIE, samesite="Strict")
    return response


def team_key(request: Any) -> bytes:
    """Return the key of the team that is logged in."""
    wrapped = request.session.get(_IN_SESSION, "")
    try:
        return unwrap(base64.b64decode(wrapped), secret_key(request.COOKIES.get(COOKIE, "")), _PURPOSE)
    except SealError:
        raise Refused(
            403,
            "locked",
            gettext("This browser cannot open your team's data any more: log out and in again."),
        ) from None


def change_password(request: Any, old: str, new: str) -> None:
    """Change the password of who is logged in; all other logins of theirs end, and all their tokens."""
    member, key = authenticate(request.user.username, old, request.META["REMOTE_ADDR"])
    _check_password(new, member)
    if key is not None:
        member.wrapped_key = wrap_by_password(key, new)
    before = member.password
    member.set_password(new)
    with transaction.atomic():
        # An organiser may have ended the old password while the new one was hashed.
        held = Member.objects.filter(pk=member.pk, password=before, is_active=True)
        if not held.update(password=member.password, wrapped_key=member.wrapped_key):
            raise _wrong_login()
        tokens.revoke_all(member)
        log(member.username, "password changed")
    update_session_auth_hash(request, member)


def _checked_name(name: str) -> str:
    name = unicodedata.normalize("NFKC", name).strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        said = gettext("A name has 1 to %(longest)s letters, digits, signs or spaces.")
        raise Refused(400, "name", said % {"longest": _LONGEST_NAME})
    return name


def _check_password(password: str, member: Member) -> None:
    if len(password) > _LONGEST_PASSWORD:
        said = gettext("A password has at most %(longest)s characters.")
        raise Refused(400, "password", said % {"longest": _LONGEST_PASSWORD})
    try:
        password_validation.validate_password(password, member)
    except ValidationError as error:
        raise Refused(400, "password", " ".join(error.messages)) from None
