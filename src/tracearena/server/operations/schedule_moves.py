"""The organiser moves a point of the schedule: never behind what everybody has seen happen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.utils.translation import gettext

from tracearena.contest import Role, Schedule
from tracearena.contest.phases import ENDS
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Contest, Team
from tracearena.server.store.audit_log import log

POINTS = tuple(Schedule.__dataclass_fields__)
_SHORTEST, _LONGEST = 3, 200


def move(point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
    """Move one point of the schedule, and write down who did it and why.

    What has begun or ended cannot be undone, and nothing can be made to have happened already: both the
    old and the new time must lie ahead. An end that has passed may still be put off until the judge closes
    the phase, a minute later.

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
    _check(point, POINTS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        before = contest.schedule
        # First what can be moved at all: an order that does not fit would only hide that.
        _require_open(contest, point)
        after = before.moved(point, to)
        _require_ahead(point, getattr(after, point))
        for ends in contest.extra_time.values():
            after.extended(ends)
        contest.schedule_values = after.to_dict()
        contest.save(update_fields=["schedule_values"])
        moved = {"from": before.to_dict()[point], "to": after.to_dict()[point]}
        log(actor, "schedule moved", point=point, reason=reason.strip(), **moved)
    return after


def give_time(team: str, point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
    """Let a phase end later for one team than for the others, and return the schedule of that team.

    The judge closes the phase for everybody when the last team has come to its end, so that has to be before
    the next phase begins.

    Parameters
    ----------
    team
        Its number, such as ``"003"``.
    point
        One of `ENDS`.
    to
        The new time, with its zone; later than everybody's.
    reason
        For the audit log.
    actor
        Who gives it.
    """
    _check(point, ENDS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        numbers = list(Team.objects.filter(role=Role.TEAM).values_list("number", flat=True))
        if team not in numbers:
            raise ParameterError.of("team", team, f"one of {', '.join(numbers)}")
        _require_open(contest, point)
        _require_ahead(point, to)
        _require_between(contest.schedule, point, to)
        before = getattr(contest.schedule_of(team), point)
        contest.extra_time.setdefault(team, {})[point] = to.astimezone(UTC).isoformat()
        contest.save(update_fields=["extra_time"])
        after = contest.schedule_of(team)
        moved = {"from": before.isoformat(), "to": getattr(after, point).isoformat()}
        log(actor, "extra time given", team=team, point=point, reason=reason.strip(), **moved)
    return after


def movable(contest: Contest) -> list[str]:
    """Return the points that can be moved now: those that lie ahead first, then ends to be put off."""
    points = [point for point in POINTS if _why_closed(contest, point) is None]
    now, schedule = clock.now(), contest.schedule
    return sorted(points, key=lambda point: getattr(schedule, point) <= now)


def _check(point: str, points: Sequence[str], reason: str) -> None:
    if point not in points:
        raise ParameterError.of("point", point, f"one of {', '.join(points)}")
    if not _SHORTEST <= len(reason.strip()) <= _LONGEST:
        raise ParameterError.of("reason", reason, f"a text of {_SHORTEST} to {_LONGEST} characters")


def _require_between(schedule: Schedule, point: str, to: datetime) -> None:
    """Refuse extra time that is none, or that runs into the next phase."""
    following = POINTS[POINTS.index(point) + 1]
    end, begin = getattr(schedule, point), getattr(schedule, following)
    about = {"point": point, "end": end.isoformat(), "next": following, "begin": begin.isoformat()}
    if to <= end:
        raise DataError(gettext("%(point)s: everybody has until %(end)s; extra time ends later") % about)
    if to > begin:
        said = gettext("%(point)s: the next phase begins at %(begin)s; move %(next)s to a later time first")
        raise DataError(said % about)


def _require_open(contest: Contest, point: str) -> None:
    why = _why_closed(contest, point)
    if why is not None:
        raise DataError(why)


def _why_closed(contest: Contest, point: str) -> str | None:
    """Return why a point cannot be moved: it has passed, and something hangs on it."""
    before = getattr(contest.schedule, point)
    if before > clock.now():
        return None
    if point.endswith("_begin"):
        said = gettext("%(point)s: has passed, %(at)s; what has begun is not taken back")
        return said % {"point": point, "at": before.isoformat()}
    closed_at = {
        "anonymization_end": contest.anonymization_closed_at,
        "attack_end": contest.attack_closed_at,
    }.get(point)
    if closed_at is not None:
        said = gettext("%(point)s: the judge closed this phase on %(at)s; it cannot go on")
        return said % {"point": point, "at": closed_at.isoformat()}
    return None


def _require_ahead(point: str, after: datetime) -> None:
    now = clock.now()
    if after <= now:
        said = gettext("%(point)s: %(at)s is past, it is %(now)s; points are moved into the future")
        raise DataError(said % {"point": point, "at": after.isoformat(), "now": now.isoformat()})
