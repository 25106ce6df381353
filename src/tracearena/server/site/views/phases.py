"""The organiser moves a phase, and sees what must be true before the next one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from tracearena.contest import Role
from tracearena.errors import TracearenaError
from tracearena.pages.svg import timeline_picture
from tracearena.server import clock, wordings
from tracearena.server.models import Contest, Team
from tracearena.server.operations import readiness, schedule_moves
from tracearena.server.refused import Refused
from tracearena.server.site.views.public import schedule_points
from tracearena.server.site.views.roles import for_organiser


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def phases(request: Any) -> Any:
    """Show schedule and checklist, or move a point of the schedule with a reason."""
    if request.method != "POST":
        return _shown(request)
    try:
        _move(request)
    except Refused as refused:
        return _shown(request, refused)
    return redirect("/organiser/phases")


def _move(request: Any) -> None:
    given = request.POST
    point, reason, to = given.get("point", ""), given.get("reason", ""), _moment(given.get("to", ""))
    team, told = given.get("team", ""), {"reason": reason, "actor": request.user.username}
    try:
        if team:
            schedule_moves.give_time(team, point, to, **told)
        else:
            schedule_moves.move(point, to, **told)
    except TracearenaError as error:
        raise Refused(409, "not-moved", str(error)) from None


def _moment(text: str) -> datetime:
    """Read a time of the form, which is in UTC unless it says otherwise."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        message = _("The new time must be a date and a time, such as 2026-05-01T09:00.")
        raise Refused(400, "time", message) from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _shown(request: Any, refused: Refused | None = None) -> Any:
    contest, now = Contest.now_held(), clock.now()
    following = readiness.next_phase(contest, now)
    about = {
        "timeline": timeline_picture(contest.schedule, now),
        "points": schedule_points(),
        "movable": _movable(contest),
        "following": following,
        "teams": Team.objects.filter(role=Role.TEAM).values_list("number", flat=True),
        "checks": readiness.checklist(settings.CONTEST_FOLDER, contest, now),
        "refused": refused,
        "given": request.POST,
    }
    return render(request, "organiser/phases.html", about, status=refused.status if refused else 200)


def _movable(contest: Contest) -> list[tuple[str, str, datetime]]:
    """Return the words, the name and the time of every point that can be moved."""
    schedule = contest.schedule
    return [(wordings.point(name), name, getattr(schedule, name)) for name in schedule_moves.movable(contest)]
