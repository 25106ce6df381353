"""The schedule of a contest, as the organiser moves it, and its time.

A point of the schedule moves only into the future: what everybody has seen happen is not taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from tracearena.contest import Role, Schedule
from tracearena.contest.phases import ENDS
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.errors import translate_point
from tracearena.server.models import (
    Contest,
    Team,
)
from tracearena.server.store.audit_log import log_act

POINTS = tuple(Schedule.__dataclass_fields__)
_SHORTEST_REASON, _LONGEST_REASON = 3, 200
_FINAL_TIMES = ("anonymization_closed_at", "attack_closed_at", "published_at")


def move_point(point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
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
    _check_move(point, POINTS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        before = contest.schedule
        # First what can be moved at all: an order that does not fit would only hide that.
        _require_movable(contest, point)
        after = before.with_time(point, to)
        _require_future(point, getattr(after, point))
        for ends in contest.extra_time.values():
            after.with_extra_time(ends)
        contest.schedule_values = after.to_dict()
        contest.save(update_fields=["schedule_values"])
        moved = {"from": before.to_dict()[point], "to": after.to_dict()[point]}
        log_act(actor, "schedule moved", point=point, reason=reason.strip(), **moved)
    return after


def give_extra_time(team: str, point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
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
    _check_move(point, ENDS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        numbers = list(Team.objects.filter(role=Role.TEAM).values_list("number", flat=True))
        if team not in numbers:
            raise ParameterError.of("team", team, f"one of {', '.join(numbers)}")
        _require_movable(contest, point)
        _require_future(point, to)
        following = POINTS[POINTS.index(point) + 1]
        end, begin = getattr(contest.schedule, point), getattr(contest.schedule, following)
        about = {"point": point, "end": end.isoformat(), "next": following, "begin": begin.isoformat()}
        if to <= end:
            raise DataError(_("%(point)s: everybody has until %(end)s; extra time ends later") % about)
        if to > begin:
            said = _("%(point)s: the next phase begins at %(begin)s; move %(next)s to a later time first")
            raise DataError(said % about)
        before = getattr(contest.schedule_of(team), point)
        contest.extra_time.setdefault(team, {})[point] = to.astimezone(UTC).isoformat()
        contest.save(update_fields=["extra_time"])
        after = contest.schedule_of(team)
        moved = {"from": before.isoformat(), "to": getattr(after, point).isoformat()}
        log_act(actor, "extra time given", team=team, point=point, reason=reason.strip(), **moved)
    return after


def label_points() -> list[tuple[str, Any]]:
    """Return begin and end of each phase, by name, and what comes later for one team."""
    contest = Contest.get_current()
    points = [(translate_point(name), getattr(contest.schedule, name)) for name in contest.schedule.to_dict()]
    for team, ends in sorted(contest.extra_time.items()):
        own = contest.schedule_of(team)
        about = _("%(point)s of team %(team)s, which has extra time")
        points += [
            (about % {"point": translate_point(name), "team": team}, getattr(own, name))
            for name in sorted(ends)
        ]
    return points


def list_movable_points(contest: Contest) -> list[str]:
    """Return the points that can be moved now: those that lie ahead first, then ends to be put off."""
    points = [point for point in POINTS if _explain_closed(contest, point) is None]
    now, schedule = clock.now(), contest.schedule
    return sorted(points, key=lambda point: getattr(schedule, point) <= now)


def _check_move(point: str, points: Sequence[str], reason: str) -> None:
    if point not in points:
        raise ParameterError.of("point", point, f"one of {', '.join(points)}")
    _check_reason(reason)


def _check_reason(reason: str) -> None:
    if not _SHORTEST_REASON <= len(reason.strip()) <= _LONGEST_REASON:
        wanted = f"a text of {_SHORTEST_REASON} to {_LONGEST_REASON} characters"
        raise ParameterError.of("reason", reason, wanted)


def _require_movable(contest: Contest, point: str) -> None:
    why = _explain_closed(contest, point)
    if why is not None:
        raise DataError(why)


def _explain_closed(contest: Contest, point: str) -> str | None:
    """Return why a point cannot be moved: it has passed, and something hangs on it."""
    before = getattr(contest.schedule, point)
    if before > clock.now():
        return None
    if point.endswith("_begin"):
        said = _("%(point)s: has passed, %(at)s; what has begun is not taken back")
        return said % {"point": point, "at": before.isoformat()}
    closed_at = {
        "anonymization_end": contest.anonymization_closed_at,
        "attack_end": contest.attack_closed_at,
    }.get(point)
    if closed_at is not None:
        said = _("%(point)s: the judge closed this phase on %(at)s; it cannot go on")
        return said % {"point": point, "at": closed_at.isoformat()}
    return None


def _require_future(point: str, after: datetime) -> None:
    now = clock.now()
    if after <= now:
        said = _("%(point)s: %(at)s is past, it is %(now)s; points are moved into the future")
        raise DataError(said % {"point": point, "at": after.isoformat(), "now": now.isoformat()})


def reset_clock(*, reason: str, actor: str) -> datetime:
    """Let the contest's time be what the clock shows, where it is ahead of it, and return that.

    What was closed or published by the wrong time was seen by everybody and cannot be taken back: then a
    backup from before is the only way.

    Parameters
    ----------
    reason
        For the audit log.
    actor
        Who sets it back.
    """
    _check_reason(reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        shown, seen = clock.read_clock(), contest.seen_at
        if seen is None or seen <= shown:
            said = _("the contest's time is not ahead of the clock, which shows %(now)s")
            raise DataError(said % {"now": shown.isoformat()})
        for point in _FINAL_TIMES:
            at = getattr(contest, point)
            if at is not None and at > shown:
                said = _(
                    "%(point)s is %(at)s, and it is %(now)s: what was done by a wrong clock is not taken "
                    "back; restore a backup from before"
                )
                raise DataError(said % {"point": point, "at": at.isoformat(), "now": shown.isoformat()})
        Contest.objects.filter(pk=1).update(seen_at=shown)
        clock.clear_time_cache()
        moved = {"from": seen.isoformat(), "to": shown.isoformat()}
        log_act(actor, "clock set back", reason=reason.strip(), **moved)
    return shown
