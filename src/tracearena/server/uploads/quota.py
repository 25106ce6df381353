"""Limits that hold however many come at once: a conditional update, never a count and then an insert."""

from __future__ import annotations

from django.db.models import F

from tracearena.server.models import DataSet, Quota, Team, UploadKind


def purpose(kind: str, data_set: DataSet, *, late: bool = False) -> str:
    """Return the name of a limit: uploads for one data set of one's own, or against one target.

    Late files do not count, and so have a limit of their own.
    """
    what = "obfuscated" if kind == UploadKind.OBFUSCATED else "attack"
    return f"{'late ' if late else ''}{what} {data_set}"


def take(team: Team, what: str, limit: int) -> bool:
    """Use a limit up by one, inside the caller's transaction; False if nothing is left."""
    Quota.objects.get_or_create(team=team, what=what)
    return bool(Quota.objects.filter(team=team, what=what, used__lt=limit).update(used=F("used") + 1))


def give_back(team: Team, what: str) -> None:
    """Give back what was taken in vain, as by a failure of the judge."""
    Quota.objects.filter(team=team, what=what, used__gt=0).update(used=F("used") - 1)


def used(team: Team, what: str) -> int:
    """Return how much of a limit is used up."""
    found = Quota.objects.filter(team=team, what=what).values_list("used", flat=True).first()
    return found or 0
