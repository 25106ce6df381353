"""What every page knows: the contest, its phase and time, who is looking, and where one can go."""

from __future__ import annotations

from typing import Any

from tracearena.contest import Phase, Schedule, phase_at
from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.operations.status import judge_is_away
from tracearena.server.results import boards
from tracearena.server.settings import LANGUAGES
from tracearena.server.site import navigation


def everywhere(request: Any) -> dict[str, Any]:
    """Return the values that all templates have."""
    contest = Contest.now_held()
    now = clock.now()
    member = request.user if request.user.is_authenticated else None
    published = boards.is_published(contest, now)
    places = navigation.everywhere(request.path, published=published)
    own_places = navigation.own(member, request.path)
    return {
        "contest": contest,
        "now": now,
        "phase": phase_at(_schedule_for(contest, member), now),
        "phases": list(Phase),
        "clock_is_driven": clock.is_driven(),
        "clock_stands_still": clock.stands_still(),
        "member": member,
        "places": places,
        "own_places": own_places,
        "languages": LANGUAGES,
        "path": request.path,
        "here": _here(request, [*places, *own_places]),
        "judge_is_away": member is not None and judge_is_away(),
    }


def _schedule_for(contest: Contest, member: Any) -> Schedule:
    """Return the schedule of who is looking: a team may have more time than the others."""
    team = None if member is None else member.team
    return contest.schedule if team is None else contest.schedule_of(team.number)


def _here(request: Any, places: list[navigation.Entry]) -> str:
    """Return where a reader who chooses another language goes on: an answer to a form is not shown twice."""
    if request.method in ("GET", "HEAD"):
        return str(request.get_full_path())
    return next((one.address for one in places if one.current), "/")
