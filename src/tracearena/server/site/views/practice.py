"""The page that says how a team tests itself: in sealed mode nobody else tells it how good it is."""

from __future__ import annotations

import shlex
from typing import Any

from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.contest import Role
from tracearena.contest.data import official
from tracearena.server.models import Contest, Team
from tracearena.server.site.practice_commands import lessons
from tracearena.server.site.views.roles import for_team

FOLDER = "contest-data"


@require_safe
@for_team
def self_test(request: Any) -> Any:
    """Which commands fetch, defend, attack, check and score, with the names of this contest's files."""
    team, rules = request.user.team.number, Contest.now_held().rules
    sample = Team.objects.filter(role=Role.SAMPLE).first()
    client = "tracearena contest client"
    about = {
        "sample": sample,
        "folder": FOLDER,
        "fetch": [
            f"{client} login {shlex.quote(request.build_absolute_uri('/').rstrip('/'))}",
            f"{client} data --to {FOLDER}",
            f"cd {FOLDER}",
        ],
        "lessons": [] if sample is None else lessons(team, sample.number, 1, rules),
        "own": [
            f"{client} check {official('anotraces', int(team), 1)} --data .",
            f"{client} submit {official('anotraces', int(team), 1)}",
            f"{client} watch",
        ],
    }
    return render(request, "team/self_test.html", about)
