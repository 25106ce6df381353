"""A team's pages: what to do next, what it handed in, whom it may attack."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.contest import phase_at
from tracearena.pages.svg import gauge_picture
from tracearena.server import clock
from tracearena.server.models import Contest, Submission
from tracearena.server.refused import not_found
from tracearena.server.results import boards
from tracearena.server.site.next_step import next_step
from tracearena.server.site.views.roles import for_team
from tracearena.server.uploads import attack_progress, standing, strips

_A_PAGE = 100


@require_safe
@for_team
def start(request: Any) -> Any:
    """What to do next and until when, own data sets with their utility, targets that are open."""
    team, contest, now = request.user.team, Contest.now_held(), clock.now()
    targets = attack_progress.targets(team)
    about = {
        "step": next_step(team),
        "has_extra_time": phase_at(contest.schedule_of(team.number), now) != phase_at(contest.schedule, now),
        "data_sets": [
            one | {"gauge": gauge_picture(one["utility"], contest.rules, name=f"gauge-{one['number']}")}
            for one in standing.data_sets(team)
        ],
        "targets": targets,
        "open": sum(one["is_open"] for one in targets),
    }
    return render(request, "team/start.html", about)


@require_safe
@for_team
def submissions(request: Any) -> Any:
    """Everything the team has handed in, the last one first."""
    page = Paginator(_own(request), _A_PAGE).get_page(request.GET.get("page"))
    published = _is_published()
    for one in page.object_list:
        one.steps = strips.strip(one, published=published)
    return render(request, "team/submissions.html", {"submissions": page.object_list, "page": page})


@require_safe
@for_team
def submission(request: Any, number: int) -> Any:
    """One upload: its receipt, its state, what the checker said."""
    found = _one(request, number)
    about = {
        "submission": found,
        "steps": strips.strip(found, published=_is_published()),
        "settled": strips.is_settled(found),
        "gauge": gauge_picture(found.utility, Contest.now_held().rules),
    }
    return render(request, "team/submission.html", about)


@require_safe
@for_team
def submission_state(request: Any, number: int) -> Any:
    """How far one upload has come, for a page that waits for it."""
    found = _one(request, number)
    return JsonResponse({"state": found.state, "settled": strips.is_settled(found)})


@require_safe
@for_team
def targets(request: Any) -> Any:
    """Whom the team may attack, what it handed in against each, and what it may still hand in."""
    team, published = request.user.team, _is_published()
    found = attack_progress.targets(team)
    for attack in (attack for one in found for attack in one["attacks"] if attack["last"]):
        attack["steps"] = strips.strip(attack["last"], published=published)
    return render(request, "team/targets.html", {"targets": found})


def _own(request: Any) -> Any:
    return Submission.objects.filter(team=request.user.team).select_related("data_set__team", "member")


def _one(request: Any, number: int) -> Submission:
    found = _own(request).filter(pk=number).first()
    if found is None:
        raise not_found()
    return found


def _is_published() -> bool:
    return boards.is_published(Contest.now_held(), clock.now())
