"""What every page knows: the contest, its phase and time, and who is looking."""

from __future__ import annotations

from typing import Any

from tracearena.contest import phase_at
from tracearena.server import clock
from tracearena.server.models import Contest


def everywhere(request: Any) -> dict[str, Any]:
    """Return the values that all templates have."""
    contest = Contest.now_held()
    now = clock.now()
    return {
        "contest": contest,
        "now": now,
        "phase": phase_at(contest.schedule, now),
        "clock_is_driven": clock.is_driven(),
        "member": request.user if request.user.is_authenticated else None,
    }
