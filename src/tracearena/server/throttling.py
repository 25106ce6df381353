"""Login tries are limited by name and by address, however many come at once.

A try is counted before the password is looked at, by a conditional update; a login that succeeds gives it
back. Names that exist and names that do not are counted alike.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from tracearena.server import clock
from tracearena.server.models import LoginTry
from tracearena.server.refused import Refused

WINDOW = timedelta(minutes=15)
TRIES_A_NAME, TRIES_AN_ADDRESS = 10, 50
_FORGOTTEN = timedelta(days=1)


def count_try(name: str, address: str) -> None:
    """Count a try; refuse it where there were too many of late."""
    LoginTry.objects.filter(since__lte=clock.now() - _FORGOTTEN).delete()
    # The address first: nobody fills the table, or locks others out, beyond the tries of an address.
    if not (_take(_who("address", address), TRIES_AN_ADDRESS) and _take(_who("name", name), TRIES_A_NAME)):
        minutes = int(WINDOW.total_seconds()) // 60
        message = gettext("Too many logins have failed. Wait %(minutes)s minutes and try again.")
        raise Refused(429, "too-many-tries", message % {"minutes": minutes})


def forgive(name: str, address: str) -> None:
    """Take back what a login that succeeded has cost, and all failures of its name."""
    LoginTry.objects.filter(who=_who("name", name)).update(failures=0)
    LoginTry.objects.filter(who=_who("address", address), failures__gt=0).update(failures=F("failures") - 1)


def _take(who: str, most: int) -> bool:
    now = clock.now()
    LoginTry.objects.get_or_create(who=who, defaults={"since": now})
    LoginTry.objects.filter(who=who, since__lte=now - WINDOW).update(failures=0, since=now)
    return bool(LoginTry.objects.filter(who=who, failures__lt=most).update(failures=F("failures") + 1))


def _who(kind: str, value: str) -> str:
    return salted_hmac("login try", f"{kind} {value}", algorithm="sha256").hexdigest()
