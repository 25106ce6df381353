"""The organiser's pages: how everything runs, who takes part, what was handed in, what was done."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db import transaction
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.contest import Role
from tracearena.errors import TracearenaError
from tracearena.pages.svg import activity_picture
from tracearena.server import clock
from tracearena.server.models import AuditEntry, Contest, Job, JobState, Submission, Team
from tracearena.server.operations import readiness
from tracearena.server.operations import status as standing
from tracearena.server.people import links, parties
from tracearena.server.people import teams as naming
from tracearena.server.refused import Refused, not_found
from tracearena.server.results import boards
from tracearena.server.site import lights
from tracearena.server.site.views.roles import for_organiser
from tracearena.server.store.audit_log import first_broken, log

_A_PAGE = 200
_HOURS = 48
_ERRORS = 10


@require_safe
@for_organiser
def status(request: Any) -> Any:
    """The control room: the queue, the judges, the disk, the backup, the clock, the last errors."""
    now = clock.now()
    lately = Submission.objects.filter(received_at__gte=now - timedelta(hours=_HOURS))
    arrivals = lately.order_by().values_list("received_at", flat=True)
    contest = Contest.now_held()
    about = {
        "status": standing.status(settings.CONTEST_FOLDER),
        "disk": shutil.disk_usage(settings.CONTEST_FOLDER.path),
        "failed": Job.objects.filter(state=JobState.FAILED).order_by("pk")[:_A_PAGE],
        "errors": Job.objects.exclude(error="").exclude(state=JobState.FAILED).order_by("-pk")[:_ERRORS],
        "waiting": Job.objects.filter(state__in=[JobState.WAITING, JobState.RUNNING]).order_by("due_at")[
            :_ERRORS
        ],
        "activity": activity_picture(arrivals, now, hours=_HOURS),
        "unmet": readiness.to_do(settings.CONTEST_FOLDER, contest, now),
    }
    return render(request, "organiser/status.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def teams(request: Any) -> Any:
    """Every team: who has come in, whether it defends itself, whom it attacks; or a name for another one."""
    if request.method != "POST":
        return _teams(request, None, None)
    try:
        team, secret = naming.add_by_judge(request.POST.get("name", "").strip(), request.user.username)
    except TracearenaError as error:
        return _teams(request, None, None, Refused(409, "team", str(error)))
    return _teams(request, team, secret)


@require_POST
@for_organiser
def reset(request: Any, number: str) -> Any:
    """Make a new link for a team that has lost the old one; the judge wraps the team's key for it."""
    team = Team.objects.filter(number=number, role=Role.TEAM).first()
    if team is None:
        raise not_found()
    with transaction.atomic():
        links.withdraw(team=team)
        secret = links.invitation_by_judge(team)
        log(request.user.username, "link renewed", team=number)
    return _teams(request, team, secret)


@require_safe
@for_organiser
def submissions(request: Any) -> Any:
    """What all teams have handed in, the last one first; of one team if that is asked for."""
    found = Submission.objects.select_related("team", "data_set__team").order_by("-pk")
    team = request.GET.get("team", "")
    if team:
        found = found.filter(team__number=team)
    about = {"page": _page(request, found), "team": team, "teams": _numbers(), "styles": parties.styles()}
    return render(request, "organiser/submissions.html", about)


@require_safe
@for_organiser
def audit_log(request: Any) -> Any:
    """Who did what, the last act first, and whether the log is whole."""
    about = {"page": _page(request, AuditEntry.objects.order_by("-pk")), "broken": first_broken()}
    return render(request, "organiser/log.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def publish(request: Any) -> Any:
    """Open the results: once, when all scores are there and the results phase has begun."""
    if request.method == "POST":
        _publish(request.user.username)
        return redirect("/board")
    return render(request, "organiser/publish.html", {"final": boards.final_snapshot()})


def _publish(who: str) -> None:
    contest, now = Contest.now_held(), clock.now()
    if now < contest.schedule.results_begin:
        begin = contest.schedule.results_begin.isoformat()
        message = gettext("The results open at %(begin)s at the earliest.") % {"begin": begin}
        raise Refused(409, "early", message)
    if boards.final_snapshot() is None:
        message = gettext("The judge is still scoring: publish when the final board is there.")
        raise Refused(409, "not-final", message)
    with transaction.atomic():
        if Contest.objects.filter(pk=contest.pk, published_at__isnull=True).update(published_at=now):
            log(who, "results published")


def _teams(request: Any, renewed: Team | None, secret: str | None, refused: Refused | None = None) -> Any:
    about = {"teams": lights.lights(), "styles": parties.styles(), "refused": refused, "given": request.POST}
    about["link"] = None if secret is None else request.build_absolute_uri(links.path_of(secret))
    about["renewed"] = None if renewed is None else parties.label_of(renewed)
    return render(request, "organiser/teams.html", about, status=refused.status if refused else 200)


def _numbers() -> list[str]:
    return list(Team.objects.filter(role=Role.TEAM).values_list("number", flat=True))


def _page(request: Any, found: Any) -> Any:
    return Paginator(found, _A_PAGE).get_page(request.GET.get("page"))
