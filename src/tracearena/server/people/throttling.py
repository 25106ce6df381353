"""Login tries are limited by name and by address, however many come at once.

A try is counted before the password is looked at, by a conditional update; a login that succeeds gives it
back. Names that exist and names that do not are counted alike. Anyone who knows a name can use up its tries,
and one person can use up those of an address that a whole class shares. So tries from an address where the
owner of a name has logged in recently are counted apart, by name and address, and nobody locks an owner out.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from tracearena.server import clock
from tracearena.server.models import LoginTry
from tracearena.server.refused import Refused
from tracearena.server.settings import network_of

WINDOW = timedelta(minutes=15)
TRIES_A_NAME, TRIES_AN_ADDRESS = 10, 300
"""An address may be a class of thirty, whose members all forget their passwords."""
_FORGOTTEN = timedelta(days=1)
_KNOWN = timedelta(days=30)


def count_try(name: str, address: str) -> None:
    """Count a try; refuse it where there were too many of late."""
    LoginTry.objects.filter(since__lte=clock.now() - _FORGOTTEN).delete()
    if _is_known(name, address):
        is_allowed = _take(_name_at_home(name, address), TRIES_A_NAME)
    else:
        # The address first: nobody fills the table, or locks others out, beyond the tries of an address.
        is_allowed = _take(_place(address), TRIES_AN_ADDRESS) and _take(_who("name", name), TRIES_A_NAME)
    if not is_allowed:
        minutes = int(WINDOW.total_seconds()) // 60
        message = gettext("Too many logins have failed. Wait %(minutes)s minutes and try again.")
        raise Refused(429, "too-many-tries", message % {"minutes": minutes})


def forgive(name: str, address: str) -> None:
    """Take back what a login that succeeded has cost, and all failures that were counted with it."""
    if _is_known(name, address):
        LoginTry.objects.filter(who=_name_at_home(name, address)).update(failures=0)
    else:
        LoginTry.objects.filter(who=_who("name", name)).update(failures=0)
        LoginTry.objects.filter(who=_place(address), failures__gt=0).update(failures=F("failures") - 1)


def remember(name: str, address: str) -> None:
    """Keep in mind that the owner of a name comes from an address."""
    until = clock.now() + _KNOWN
    LoginTry.objects.update_or_create(who=_home(name, address), defaults={"since": until})


def _take(who: str, most: int) -> bool:
    now = clock.now()
    LoginTry.objects.get_or_create(who=who, defaults={"since": now})
    LoginTry.objects.filter(who=who, since__lte=now - WINDOW).update(failures=0, since=now)
    return bool(LoginTry.objects.filter(who=who, failures__lt=most).update(failures=F("failures") + 1))


def _is_known(name: str, address: str) -> bool:
    """Whether the owner of a name has logged in from an address recently."""
    return LoginTry.objects.filter(who=_home(name, address), since__gt=clock.now()).exists()


def _name_at_home(name: str, address: str) -> str:
    return _who("name at home", f"{name} {network_of(address)}")


def _home(name: str, address: str) -> str:
    return _who("home", f"{name} {network_of(address)}")


def _place(address: str) -> str:
    return _who("address", network_of(address))


def _who(kind: str, value: str) -> str:
    return salted_hmac("login try", f"{kind} {value}", algorithm="sha256").hexdigest()
