"""The organiser's pages: what the server does, who takes part, what was handed in, what was done."""

from __future__ import annotations

import shutil
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Max
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.contest import Role
from tracearena.server import boards, clock, links
from tracearena.server.audit_log import first_broken, log
from tracearena.server.models import AuditEntry, Contest, Job, JobState, Submission, Team, Worker
from tracearena.server.refused import Refused, not_found
from tracearena.server.views.public import schedule_points
from tracearena.server.views.roles import for_organiser

_A_PAGE = 200


@require_safe
@for_organiser
def status(request: Any) -> Any:
    """The queue, the judges, the disk, the last errors."""
    waiting = Job.objects.filter(state__in=[JobState.WAITING, JobState.RUNNING])
    about = {
        "queue": Job.objects.values("kind", "state").annotate(jobs=Count("pk")).order_by("kind", "state"),
        "oldest": waiting.order_by("created_at").first(),
        "workers": Worker.objects.order_by("name"),
        "failed": Job.objects.exclude(error="").order_by("-pk")[:10],
        "disk": shutil.disk_usage(settings.CONTEST_FOLDER.path),
    }
    return render(request, "organiser/status.html", about)


@require_safe
@for_organiser
def teams(request: Any) -> Any:
    """Every team: who has joined, when it last handed something in."""
    return _teams(request, None, None)


@require_POST
@for_organiser
def reset(request: Any, number: str) -> Any:
    """Make a new link for a team that has lost the old one; the judge wraps the team's key for it."""
    team = Team.objects.filter(number=number, role=Role.TEAM).first()
    if team is None:
        raise not_found()
    with transaction.atomic():
        links.withdraw(team)
        secret = links.invitation_by_judge(team)
        log(request.user.username, "link renewed", team=number)
    return _teams(request, team, request.build_absolute_uri(links.path_of(secret)))


@require_safe
@for_organiser
def submissions(request: Any) -> Any:
    """What all teams have handed in, the last one first."""
    found = Submission.objects.select_related("team", "data_set__team").order_by("-pk")
    return render(request, "organiser/submissions.html", {"page": _page(request, found)})


@require_safe
@for_organiser
def phases(request: Any) -> Any:
    """The schedule; it is moved on the command line, with a reason."""
    return render(request, "organiser/phases.html", {"points": schedule_points()})


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
        raise Refused(409, "early", f"The results open at {begin} at the earliest.")
    if boards.final_snapshot() is None:
        raise Refused(409, "not-final", "The judge is still scoring: publish when the final board is there.")
    with transaction.atomic():
        if Contest.objects.filter(pk=contest.pk, published_at__isnull=True).update(published_at=now):
            log(who, "results published")


def _teams(request: Any, renewed: Team | None, link: str | None) -> Any:
    found = Team.objects.filter(role=Role.TEAM).annotate(
        people=Count("members", distinct=True), last_upload=Max("submissions__received_at")
    )
    return render(request, "organiser/teams.html", {"teams": found, "renewed": renewed, "link": link})


def _page(request: Any, found: Any) -> Any:
    return Paginator(found, _A_PAGE).get_page(request.GET.get("page"))
