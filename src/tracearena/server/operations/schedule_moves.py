"""The organiser moves a point of the schedule: never behind what everybody has seen happen."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import Schedule
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Snapshot
from tracearena.server.store.audit_log import log

POINTS = tuple(Schedule.__dataclass_fields__)
_SHORTEST, _LONGEST = 3, 200


def move(point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
    """Move one point of the schedule, and write down who did it and why.

    What has begun or ended cannot be undone, and nothing can be made to have happened already: both the
    old and the new time must lie ahead. An end that has passed may still be put off while nothing has
    been published or scored by it.

    Parameters
    ----------
    point
        One of `POINTS`.
    to
        The new time, with its zone.
    reason
        For the audit log.
    actor
        Who moves it.
    """
    if point not in POINTS:
        raise ParameterError.of("point", point, f"one of {', '.join(POINTS)}")
    if not _SHORTEST <= len(reason.strip()) <= _LONGEST:
        raise ParameterError.of("reason", reason, f"a text of {_SHORTEST} to {_LONGEST} characters")
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        before = contest.schedule
        # First what can be moved at all: an order that does not fit would only hide that.
        _require_open(point, getattr(before, point))
        after = before.moved(point, to)
        _require_ahead(point, getattr(after, point))
        contest.schedule_values = after.to_dict()
        contest.save(update_fields=["schedule_values"])
        moved = {"from": before.to_dict()[point], "to": after.to_dict()[point]}
        log(actor, "schedule moved", point=point, reason=reason.strip(), **moved)
    return after


def movable(schedule: Schedule) -> list[str]:
    """Return the points that can be moved now: those that lie ahead first, then ends to be put off."""
    points = [point for point in POINTS if _why_closed(point, getattr(schedule, point)) is None]
    return sorted(points, key=lambda point: getattr(schedule, point) <= clock.now())


def _require_open(point: str, before: datetime) -> None:
    why = _why_closed(point, before)
    if why is not None:
        raise DataError(why)


def _why_closed(point: str, before: datetime) -> str | None:
    """Return why a point cannot be moved: it has passed, and something hangs on it."""
    if before > clock.now():
        return None
    if point.endswith("_begin"):
        said = gettext("%(point)s: has passed, %(at)s; what has begun is not taken back")
        return said % {"point": point, "at": before.isoformat()}
    if point == "anonymization_end" and DataSet.objects.filter(closed_at__isnull=False).exists():
        said = gettext("%(point)s: data sets are published already; their phase cannot go on")
        return said % {"point": point}
    if point == "attack_end" and Snapshot.objects.filter(name="final").exists():
        said = gettext("%(point)s: attacks are scored already; their phase cannot go on")
        return said % {"point": point}
    return None


def _require_ahead(point: str, after: datetime) -> None:
    now = clock.now()
    if after <= now:
        said = gettext("%(point)s: %(at)s is past, it is %(now)s; points are moved into the future")
        raise DataError(said % {"point": point, "at": after.isoformat(), "now": now.isoformat()})
