"""The schedule of a contest, as the organiser moves it, and its time.

A point of the schedule moves only into the future: what everybody has seen happen is not taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from tracearena.contest import Role, Schedule
from tracearena.contest.phases import ENDS
from tracearena.errors import DataError, ParameterError
from tracearena.pages.html import format_utc
from tracearena.server import announcements, clock, results
from tracearena.server.errors import translate_point
from tracearena.server.models import (
    Contest,
    Team,
)
from tracearena.server.store.audit_log import log_act

POINTS = tuple(Schedule.__dataclass_fields__)
_SHORTEST_REASON, _LONGEST_REASON = 3, 200
_NOW_DELAY = timedelta(seconds=10)
_FINAL_TIMES = ("anonymization_closed_at", "attack_closed_at", "published_at")


def move_point(point: str, to: datetime, *, actor: str, reason: str = "") -> Schedule:
    """Move one point of the schedule, write down who did it and why, and announce it.

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
        Announced with the move, and written to the audit log; it may be left out.
    actor
        Who moves it.
    """
    _check_move(point, POINTS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        before = contest.schedule
        # First what can be moved at all: an order that does not fit would only hide that.
        _require_movable(contest, point)
        _require_future(point, to)
        after = _change_schedule(contest, point, to)
        contest.schedule_values = after.to_dict()
        contest.save(update_fields=["schedule_values"])
        moved = {"from": before.to_dict()[point], "to": after.to_dict()[point]}
        _record_move(actor, "schedule moved", reason, point=point, **moved)
        announcements.announce_move(point, getattr(after, point), reason)
    return after


def move_to_now(point: str, *, actor: str, reason: str = "") -> Schedule:
    """Let a point of the schedule come at once, a few seconds from now.

    Not in this very moment: an upload that arrives after the new end must find it in the database.
    """
    if point == "results_begin" and results.find_final_snapshot() is None:
        raise DataError(_("The judge is still scoring: publish when the final board is ready."))
    if point == "attack_begin" and not Contest.get_current().is_release_ready():
        raise DataError(
            _(
                "The judge is still preparing the targets: the attack phase can begin when all of them "
                "are ready."
            )
        )
    return move_point(point, clock.now() + _NOW_DELAY, actor=actor, reason=reason)


def _change_schedule(contest: Contest, point: str, to: datetime) -> Schedule:
    """Return the schedule with one point at another time; say in words what it must stay between."""
    try:
        after = contest.schedule.with_time(point, to)
    except ParameterError:
        at, times = POINTS.index(point), contest.schedule
        # What begins right after an end moves with it, and so does a pause that it is put off beyond.
        is_linked = point.endswith("_end") and to > getattr(times, POINTS[at + 1])
        about = {"point": translate_point(point), "to": format_utc(to)}
        for side, other in (("earlier", at - 1), ("later", at + 1 + is_linked)):
            if 0 <= other < len(POINTS):
                name = POINTS[other]
                about[side] = f"{translate_point(name)} ({format_utc(getattr(times, name))})"
        if "later" not in about:
            said = _("The %(point)s cannot be at %(to)s: it must be after the %(earlier)s.")
        elif "earlier" not in about:
            said = _("The %(point)s cannot be at %(to)s: it must be before the %(later)s.")
        else:
            said = _(
                "The %(point)s cannot be at %(to)s: it must be after the %(earlier)s and before the "
                "%(later)s."
            )
        raise DataError(said % about) from None
    for team, ends in contest.extra_time.items():
        try:
            after.with_extra_time(ends)
        except ParameterError:
            about = {"point": translate_point(point), "to": format_utc(to), "team": team}
            said = _("The %(point)s cannot be at %(to)s: team %(team)s has extra time that ends later.")
            raise DataError(said % about) from None
    return after


def _record_move(actor: str, act: str, reason: str, **details: Any) -> None:
    """Write down that the schedule has changed, and why if a reason was given."""
    why = {"reason": reason.strip()} if reason.strip() else {}
    log_act(actor, act, **details, **why)


def give_extra_time(team: str, point: str, to: datetime, *, actor: str, reason: str = "") -> Schedule:
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
        Announced with the move, and written to the audit log; it may be left out.
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
        about = {
            "point": translate_point(point),
            "end": format_utc(end),
            "next": translate_point(following),
            "begin": format_utc(begin),
        }
        if to <= end:
            raise DataError(_("Everybody has until %(end)s; extra time must end later.") % about)
        if to > begin:
            said = _("Extra time must end before the %(next)s at %(begin)s: move that to a later time first.")
            raise DataError(said % about)
        before = getattr(contest.schedule_of(team), point)
        contest.extra_time.setdefault(team, {})[point] = to.astimezone(UTC).isoformat()
        contest.save(update_fields=["extra_time"])
        after = contest.schedule_of(team)
        moved = {"from": before.isoformat(), "to": getattr(after, point).isoformat()}
        _record_move(actor, "extra time given", reason, team=team, point=point, **moved)
        announcements.announce_move(point, getattr(after, point), reason, team)
    return after


def label_points() -> list[tuple[str, Any]]:
    """Return begin and end of each phase, by name, and what comes later for one team."""
    contest = Contest.get_current()
    points = [(translate_point(name), getattr(contest.schedule, name)) for name in contest.schedule.to_dict()]
    for team, ends in sorted(contest.extra_time.items()):
        own = contest.schedule_of(team)
        about = _("%(point)s for team %(team)s, which has extra time")
        points += [
            (about % {"point": translate_point(name), "team": team}, getattr(own, name))
            for name in sorted(ends)
        ]
    return points


def find_next_point(contest: Contest, now: datetime) -> str | None:
    """Return the point of the schedule that can come at once: the one after the last that has passed."""
    return next((point for point in POINTS if getattr(contest.schedule, point) > now), None)


def list_movable_points(contest: Contest) -> list[str]:
    """Return the points that can be moved now: those that lie ahead first, then ends to be put off."""
    points = [point for point in POINTS if _explain_closed(contest, point) is None]
    now, schedule = clock.now(), contest.schedule
    return sorted(points, key=lambda point: getattr(schedule, point) <= now)


def _check_move(point: str, points: Sequence[str], reason: str) -> None:
    if point not in points:
        raise ParameterError.of("point", point, f"one of {', '.join(points)}")
    if len(reason.strip()) > _LONGEST_REASON:
        raise ParameterError.of("reason", reason, f"a text of up to {_LONGEST_REASON} characters, or none")


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
        said = _("The %(point)s was at %(at)s, and what has begun cannot be undone.")
        return said % {"point": translate_point(point), "at": format_utc(before)}
    closed_at = {
        "anonymization_end": contest.anonymization_closed_at,
        "attack_end": contest.attack_closed_at,
    }.get(point)
    if closed_at is not None:
        said = _(
            "The %(point)s has passed, and the judge closed this phase at %(at)s: it cannot be extended."
        )
        return said % {"point": translate_point(point), "at": format_utc(closed_at)}
    return None


def _require_future(point: str, after: datetime) -> None:
    now = clock.now()
    if after <= now:
        said = _("The %(point)s cannot be at %(at)s, which is in the past: it is now %(now)s.")
        about = {"point": translate_point(point), "at": format_utc(after), "now": format_utc(now)}
        raise DataError(said % about)


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
                    "%(point)s is %(at)s, but it is now %(now)s: what happened while the clock was wrong "
                    "cannot be undone; restore a backup from before"
                )
                raise DataError(said % {"point": point, "at": at.isoformat(), "now": shown.isoformat()})
        Contest.objects.filter(pk=1).update(seen_at=shown)
        clock.clear_time_cache()
        moved = {"from": seen.isoformat(), "to": shown.isoformat()}
        log_act(actor, "clock set back", reason=reason.strip(), **moved)
    return shown
