"""Accounts, links, sessions, tokens of the API, and the limits of login tries.

People come in by a link, then by name and password. The key that opens a team's bundle is wrapped by each
member's password. At a login it is wrapped again: what is wrapped is kept in the session, what unwraps it in
a second cookie of the browser, so that neither the database nor one cookie alone opens anything. Links and
tokens are 256 random bits, shown once and stored as a hash.
"""

from __future__ import annotations

import base64
import secrets
import unicodedata
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import login as django_login
from django.contrib.auth import logout as django_logout
from django.contrib.auth import password_validation, update_session_auth_hash
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, Argon2PasswordHasher, make_password
from django.contrib.sessions.backends import db
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from tracearena.contest.contest_file import fold_name
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.errors import RequestRefused
from tracearena.server.models import Contest, Link, LinkKind, LoginTry, Member, Team, Token
from tracearena.server.settings import MEMORY_KIB, network_of
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import (
    SealError,
    derive_password_key,
    derive_secret_key,
    hash_secret,
    make_secret,
    seal,
    unseal,
    unwrap,
    unwrap_by_password,
    wrap,
    wrap_by_password,
)

KEY_COOKIE = "unlock"
_SESSION_FIELD = "team key"
_LOGIN_PURPOSE, LINK_PURPOSE, _TOKEN_PURPOSE = "login", "link", "token"
LINK_LIFETIME = timedelta(hours=72)
INVITATION_PLACES = 10
"""How many members may come in by one invitation."""
TOKEN_PREFIX = "tracearena_"
"""Lets programs that look for leaked secrets know one."""
_USE_INTERVAL = timedelta(minutes=1)
TRY_WINDOW = timedelta(minutes=15)
TRIES_A_NAME, TRIES_AN_ADDRESS = 10, 300
"""An address may be a class of thirty, whose members all forget their passwords."""
_TRY_LIFETIME = timedelta(days=1)
_HOME_LIFETIME = timedelta(days=30)
_LONGEST_NAME, _LONGEST_PASSWORD = 60, 1_000


def redeem_link(secret: str, name: str, password: str) -> tuple[Member, bytes | None]:
    """Make an account of a link, or give one a new password; return the member and the key of its team."""
    link = find_usable_link(secret)
    if link is None:
        raise RequestRefused(
            410,
            "link",
            gettext("This link is not valid, was already used, or has expired: ask for a new one."),
        )
    if link.kind == LinkKind.INVITATION and link.wrapped_key is None:
        raise RequestRefused(
            503, "link", gettext("This link is still being prepared: try again in a minute.")
        )
    member = _find_or_make_member(link, name)
    _check_password(password, member)
    key = None
    if link.wrapped_key is not None:
        key = unwrap(bytes(link.wrapped_key), derive_secret_key(secret), LINK_PURPOSE)
        member.wrapped_key = wrap_by_password(key, password)
    member.set_password(password)
    _save_member(member, link)
    return member, key


def _find_or_make_member(link: Link, name: str) -> Member:
    """Return the account that a link is for, which has the name that is given, or a new one of that name."""
    if link.member is not None:
        if fold_name(name) != link.member.folded_name:
            said = gettext(
                "This link sets a new password for your existing account: enter the name of that account."
            )
            raise RequestRefused(400, "name", said)
        return link.member
    name = unicodedata.normalize("NFKC", name).strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        said = gettext("A name must have 1 to %(longest)s letters, digits, punctuation marks or spaces.")
        raise RequestRefused(400, "name", said % {"longest": _LONGEST_NAME})
    is_organiser = link.kind == LinkKind.ORGANISER
    return Member(username=name, created_at=clock.now(), team=link.team, is_organiser=is_organiser)


def _save_member(member: Member, link: Link) -> None:
    is_new = link.member is None
    try:
        with transaction.atomic():
            if not use_link(link):
                raise RequestRefused(410, "link", gettext("This link was just used up: ask for a new one."))
            member.save(update_fields=None if is_new else ["password", "wrapped_key"])
            whose = "organiser" if member.team is None else f"team {member.team.number}"
            log_act(member.log_name, "account made" if is_new else "password renewed by link", of=whose)
    except IntegrityError:
        raise RequestRefused(
            409, "name-taken", gettext("This name is already taken. Choose another one.")
        ) from None


def authenticate(name: str, password: str, address: str) -> tuple[Member, bytes | None]:
    """Return who logs in and the team's key; the same answer, and as much work, for every failure."""
    # PostgreSQL does not accept zero bytes, and no name has one.
    name = fold_name(name[: _LONGEST_NAME + 1]).replace("\0", "\ufffd")
    password = password[:_LONGEST_PASSWORD]
    count_login_try(name, address)
    member = Member.objects.select_related("team").filter(folded_name=name).first()
    if member is None:
        make_password(password)  # as much work as a check
    right = member is not None and member.check_password(password)
    key = _unwrap_team_key(member, password)
    if member is None or not right or not member.is_active or (key is None and member.team is not None):
        raise _wrong_login()
    forgive_tries(name, address)
    return member, key


def _wrong_login() -> RequestRefused:
    return RequestRefused(403, "login", gettext("Name and password do not match."))


def _unwrap_team_key(member: Member | None, password: str) -> bytes | None:
    if member is None or member.wrapped_key is None:
        derive_password_key(password, bytes(16))  # as much work as unwrapping
        return None
    try:
        return unwrap_by_password(bytes(member.wrapped_key), password)
    except SealError:
        return None


def log_in(request: Any, response: Any, member: Member, team_key: bytes | None) -> Any:
    """Log somebody in, under a new session; return the response with the cookie that unwraps the key."""
    request.session.flush()  # Django alone would keep the session of who logs in twice
    django_login(request, member)
    remember_address(member.folded_name, request.META["REMOTE_ADDR"])
    if team_key is not None:
        secret = make_secret()
        wrapped = wrap(team_key, derive_secret_key(secret), _LOGIN_PURPOSE)
        request.session[_SESSION_FIELD] = base64.b64encode(wrapped).decode()
        response.set_cookie(
            KEY_COOKIE,
            secret,
            max_age=settings.SESSION_COOKIE_AGE,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Strict",
        )
    return response


def log_out(request: Any, response: Any) -> Any:
    """Log out: the session is gone from the database, both cookies from the browser."""
    django_logout(request)
    response.delete_cookie(KEY_COOKIE, samesite="Strict")
    return response


def read_team_key(request: Any) -> bytes:
    """Return the key of the team that is logged in."""
    wrapped = request.session.get(_SESSION_FIELD, "")
    try:
        return unwrap(
            base64.b64decode(wrapped), derive_secret_key(request.COOKIES.get(KEY_COOKIE, "")), _LOGIN_PURPOSE
        )
    except SealError:
        raise RequestRefused(
            403,
            "locked",
            gettext("This browser can no longer open the data of your team: log out and log in again."),
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
        revoke_tokens(member)
        log_act(member.log_name, "password changed")
    update_session_auth_hash(request, member)


def _check_password(password: str, member: Member) -> None:
    if len(password) > _LONGEST_PASSWORD:
        said = gettext("A password can have at most %(longest)s characters.")
        raise RequestRefused(400, "password", said % {"longest": _LONGEST_PASSWORD})
    try:
        password_validation.validate_password(password, member)
    except ValidationError as error:
        raise RequestRefused(400, "password", " ".join(error.messages)) from None


# What an organiser does with accounts.


def describe_members(*, organisers: bool) -> list[dict[str, Any]]:
    """Return all organisers, or all members of teams: who they are, and whether they can come in."""
    found = Member.objects.filter(is_organiser=organisers).select_related("team")
    return [
        {
            "number": one.pk,
            "name": one.username,
            "team": None if one.team is None else one.team.number,
            "state": describe_access(one),
            "last_login": one.last_login,
        }
        for one in found.order_by("team__number", "pk")
    ]


def describe_access(member: Member) -> str:
    """Return ``in``, ``out``, or ``waits`` for somebody who was given a link for a new password."""
    if not member.is_active:
        return "out"
    return "in" if member.has_usable_password() else "waits"


def find_member(name: str, *, organiser: bool) -> Member:
    """Return the organiser, or the member of a team, of a name; case does not matter."""
    found = Member.objects.select_related("team").filter(folded_name=fold_name(name), is_organiser=organiser)
    member = found.first()
    if member is None:
        command = "organiser" if organiser else "member"
        raise ParameterError(f"there is no {command} {name!r}; `contest {command} list` shows the names")
    return member


def add_organiser(actor: str) -> str:
    """Make a link by which one more organiser comes in, and return its secret."""
    with transaction.atomic():
        secret = make_organiser_link()
        log_act(actor, "organiser invited")
    return secret


def shut_out_member(member: Member, actor: str) -> None:
    """Shut somebody out, at once and for good, unless they are given a new password.

    Open links of the team, or of organisers, end too: the one who is shut out may have one.

    Raises
    ------
    DataError
        If nobody could organise the contest any more.
    """
    with transaction.atomic():
        # Of two organisers who shut out each other at once, the second is refused.
        Contest.objects.select_for_update().get(pk=1)
        others = Member.objects.filter(is_organiser=True, is_active=True).exclude(pk=member.pk)
        if member.is_organiser and not others.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists():
            raise DataError(
                gettext("no other organiser could run the contest; let another organiser join first")
            )
        Member.objects.filter(pk=member.pk).update(is_active=False)
        _end_password(member)
        withdraw_links(team=member.team)
        log_act(actor, "shut out", **_describe_member(member))


def delete_member(member: Member, actor: str) -> None:
    """Shut somebody out for good, and replace the name; what they handed in stays their team's.

    The audit log calls people by numbers, so nothing in it changes.

    Raises
    ------
    DataError
        If nobody could organise the contest any more.
    """
    with transaction.atomic():
        shut_out_member(member, actor)
        # Nobody can have taken this name to keep a person from being deleted.
        member.username = f"deleted-{secrets.token_hex(4)}"
        member.is_active, member.last_login = False, None
        member.save(update_fields=["username", "folded_name", "is_active", "last_login"])
        Token.objects.filter(member=member).update(label="deleted")
        log_act(actor, "person deleted", **_describe_member(member))


def reset_password(member: Member, actor: str, judge_key: bytes | None = None) -> str:
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
        withdraw_links(member=member)
        log_act(actor, "new password", **_describe_member(member))
        if member.team is None:
            return make_organiser_link(member)
        if judge_key is None:
            return request_invitation(member.team, member)
        return make_invitation(member.team, unseal(judge_key, bytes(member.team.escrow)), member)


def _end_password(member: Member) -> None:
    """End a password, and with it the logins and tokens of its owner."""
    member.set_unusable_password()
    # Django binds every login to the password's hash.
    Member.objects.filter(pk=member.pk).update(password=member.password, wrapped_key=None)
    revoke_tokens(member)


def _describe_member(member: Member) -> dict[str, Any]:
    return {"member": member.log_name, "of": "organisers" if member.team is None else member.team.number}


# Links.


def make_organiser_link(member: Member | None = None) -> str:
    """Make a link by which one organiser comes in, and return its secret.

    With a member it gives that account a new password.
    """
    secret = make_secret()
    _store_link(LinkKind.ORGANISER, secret, places=1, member=member)
    return secret


def make_invitation(team: Team, private_key: bytes, member: Member | None = None) -> str:
    """Make a link by which members of a team come in, and return its secret.

    With a member it gives that one account a new password.
    """
    secret = make_secret()
    wrapped = wrap(private_key, derive_secret_key(secret), LINK_PURPOSE)
    _store_invitation(secret, team, member, wrapped_key=wrapped)
    return secret


def request_invitation(team: Team, member: Member | None = None) -> str:
    """Make a link whose key the judge wraps, inside the caller's transaction, and return its secret.

    The caller does not have the team's key. The judge has it in escrow, and gets the secret sealed: nobody
    can come in by this link from what the database holds.
    """
    secret = make_secret()
    link = _store_invitation(secret, team, member)
    sealed = seal(bytes.fromhex(settings.CONTEST_SECRETS.judge_public_key), secret.encode())
    queue.enqueue("rewrap", f"rewrap/{link.pk}", {"link": link.pk, "sealed": sealed.hex()}, team=team)
    return secret


def find_usable_link(secret: str) -> Link | None:
    """Return the link of a secret, if it is still good; asking changes nothing."""
    return find_open_links().filter(digest=hash_secret(secret)).first()


def use_link(link: Link) -> bool:
    """Use a link up by one person; two who come at once never share the last place."""
    return bool(find_open_links().filter(pk=link.pk).update(places=F("places") - 1))


def withdraw_links(**whose: Team | Member | None) -> int:
    """End all open links of a ``team``, which is None for organisers, or of one ``member``; say how many."""
    return find_open_links(**whose).update(withdrawn_at=clock.now())


def update_base_url(given: str | None = None) -> str:
    """Return where browsers reach the contest; what is given is remembered for links that are made later.

    Parameters
    ----------
    given
        Such as ``https://contest.example.org``; what was given last if left out.
    """
    if given is not None:
        Contest.objects.filter(pk=1).update(base_url=given.rstrip("/"))
    return Contest.get_current().base_url


def build_link_path(link_secret: str) -> str:
    """Return the address of a link inside the site; the part after # never reaches a log.

    >>> build_link_path("abc")
    '/join#abc'
    """
    return f"/join#{link_secret}"


def find_open_links(**whose: Team | Member | None) -> QuerySet[Link]:
    """Return the links that are still good: all of them, those of a ``team`` or of one ``member``."""
    now = clock.now()
    return Link.objects.filter(places__gt=0, withdrawn_at__isnull=True, expires_at__gt=now, **whose)


def _store_invitation(secret: str, team: Team, member: Member | None, **more: bytes) -> Link:
    places = 1 if member else INVITATION_PLACES
    return _store_link(LinkKind.INVITATION, secret, places=places, team=team, member=member, **more)


def _store_link(kind: str, secret: str, **about: Any) -> Link:
    now = clock.now()
    return Link.objects.create(
        kind=kind, digest=hash_secret(secret), created_at=now, expires_at=now + LINK_LIFETIME, **about
    )


# Passwords and sessions as Django stores them.


class Argon2(Argon2PasswordHasher):
    """Argon2id as OWASP recommends it for servers: 19 MiB, two passes, one lane."""

    memory_cost = MEMORY_KIB
    time_cost = 2
    parallelism = 1


class SessionStore(db.SessionStore):
    """Django's sessions in the database, under the hash of their key, so that the row opens nothing."""

    def exists(self, session_key: str) -> bool:
        """Whether there is a session of this key."""
        return super().exists(_hash_session_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row of this session."""
        row = super().create_model_instance(data)
        row.session_key = _hash_session_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Remove a session, by default this one."""
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key=_hash_session_key(key)).delete()

    def _get_session_from_db(self) -> Any:
        try:
            return self.model.objects.get(
                session_key=_hash_session_key(self.session_key or ""), expire_date__gt=timezone.now()
            )
        except self.model.DoesNotExist:
            self._session_key = None
            return None


def _hash_session_key(session_key: str) -> str:
    return hash_secret(session_key)[:40]  # Django's column holds 40 hexadecimal digits: 160 bits


# Accounts that a demonstration gives away.


@dataclass(frozen=True)
class DemoAccount:
    """An account that is given away: whose it is, how one logs in, where one begins.

    Attributes
    ----------
    files
        Where files to hand in lie; None for an organiser.
    """

    role: str
    name: str
    password: str = field(repr=False)
    page: str
    files: Path | None = None


def make_demo_account(role: str, page: str, files: Path | None = None) -> DemoAccount:
    """Draw an account: neither its name nor its password is known before."""
    name = f"{role.replace(' ', '-')}-{secrets.token_hex(2)}"
    return DemoAccount(role, name, secrets.token_urlsafe(12), page, files)


# Tokens of the API.


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
        return unwrap(bytes(self.token.wrapped_key), derive_secret_key(self.secret), _TOKEN_PURPOSE)


def make_token(member: Member, label: str, private_key: bytes) -> str:
    """Make a token for the team of a member, and return its secret, which is shown once."""
    secret = TOKEN_PREFIX + make_secret()
    with transaction.atomic():
        token = Token.objects.create(
            team=member.team,
            member=member,
            label=label,
            digest=hash_secret(secret),
            wrapped_key=wrap(private_key, derive_secret_key(secret), _TOKEN_PURPOSE),
            created_at=clock.now(),
        )
        log_act(member.log_name, "token made", number=token.pk)
    return secret


def find_caller(secret: str) -> Caller | None:
    """Return who comes with a secret, None if it is no token or no longer one."""
    good = Q(member__isnull=True) | Q(member__is_active=True)
    token = Token.objects.select_related("team", "member").filter(
        good, digest=hash_secret(secret), revoked_at__isnull=True
    ).first()  # fmt: skip
    if token is None:
        return None
    now = clock.now()
    # Not at every request: reading would otherwise wait for those who write.
    if token.last_used_at is None or now - token.last_used_at >= _USE_INTERVAL:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return Caller(token, secret)


def revoke_token(member: Member, number: int) -> bool:
    """End a token of a member's team; False if it has none of this number."""
    good = Token.objects.filter(team=member.team, pk=number, revoked_at__isnull=True)
    with transaction.atomic():
        is_revoked = bool(good.update(revoked_at=clock.now()))
        if is_revoked:
            log_act(member.log_name, "token revoked", number=number)
    return is_revoked


def revoke_tokens(member: Member) -> int:
    """End all tokens that a member made."""
    return Token.objects.filter(member=member, revoked_at__isnull=True).update(revoked_at=clock.now())


# Login tries are limited by name and by address, also if many come at once.


def count_login_try(name: str, address: str) -> None:
    """Count a try; refuse it where there were too many recently."""
    LoginTry.objects.filter(since__lte=clock.now() - _TRY_LIFETIME).delete()
    if _is_known_address(name, address):
        is_allowed = _use_try(_hash_name_at_home(name, address), TRIES_A_NAME)
    else:
        # The address first: nobody fills the table, or locks others out, beyond the tries of an address.
        is_allowed = _use_try(_hash_address(address), TRIES_AN_ADDRESS) and _use_try(
            _hash_kind("name", name), TRIES_A_NAME
        )
    if not is_allowed:
        minutes = int(TRY_WINDOW.total_seconds()) // 60
        message = gettext("Too many logins have failed. Wait %(minutes)s minutes and try again.")
        raise RequestRefused(429, "too-many-tries", message % {"minutes": minutes})


def forgive_tries(name: str, address: str) -> None:
    """Take back what a login that succeeded has cost, and all failures that were counted with it."""
    if _is_known_address(name, address):
        LoginTry.objects.filter(who=_hash_name_at_home(name, address)).update(failures=0)
    else:
        LoginTry.objects.filter(who=_hash_kind("name", name)).update(failures=0)
        LoginTry.objects.filter(who=_hash_address(address), failures__gt=0).update(failures=F("failures") - 1)


def remember_address(name: str, address: str) -> None:
    """Keep in mind that the owner of a name comes from an address."""
    until = clock.now() + _HOME_LIFETIME
    LoginTry.objects.update_or_create(who=_hash_home(name, address), defaults={"since": until})


def _use_try(who: str, most: int) -> bool:
    now = clock.now()
    LoginTry.objects.get_or_create(who=who, defaults={"since": now})
    LoginTry.objects.filter(who=who, since__lte=now - TRY_WINDOW).update(failures=0, since=now)
    return bool(LoginTry.objects.filter(who=who, failures__lt=most).update(failures=F("failures") + 1))


def _is_known_address(name: str, address: str) -> bool:
    """Whether the owner of a name has logged in from an address recently."""
    return LoginTry.objects.filter(who=_hash_home(name, address), since__gt=clock.now()).exists()


def _hash_name_at_home(name: str, address: str) -> str:
    return _hash_kind("name at home", f"{name} {network_of(address)}")


def _hash_home(name: str, address: str) -> str:
    return _hash_kind("home", f"{name} {network_of(address)}")


def _hash_address(address: str) -> str:
    return _hash_kind("address", network_of(address))


def _hash_kind(kind: str, value: str) -> str:
    return salted_hmac("login try", f"{kind} {value}", algorithm="sha256").hexdigest()
