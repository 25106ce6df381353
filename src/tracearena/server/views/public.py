"""Pages for everybody: home, rules, board."""

from __future__ import annotations

from typing import Any

from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.contest import Role
from tracearena.server import boards, clock
from tracearena.server.models import Contest, Team


@require_safe
def home(request: Any) -> Any:
    """What the contest is, when what takes place, who takes part."""
    teams = Team.objects.filter(role=Role.TEAM)
    return render(request, "home.html", {"teams": teams, "points": schedule_points()})


@require_safe
def rules(request: Any) -> Any:
    """The rules in plain sentences, and the schedule."""
    sentences = Contest.now_held().rules.explain()
    return render(request, "rules.html", {"sentences": sentences, "points": schedule_points()})


@require_safe
def board(request: Any) -> Any:
    """What may be seen of the scores now, and nothing else."""
    return render(request, "board.html", {"board": boards.shown(Contest.now_held(), clock.now())})


def schedule_points() -> list[tuple[str, Any]]:
    """Return begin and end of each phase, by name."""
    schedule = Contest.now_held().schedule
    return [(name.replace("_", " "), getattr(schedule, name)) for name in schedule.to_dict()]
