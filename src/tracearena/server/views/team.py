"""A team's pages: what to do, its data, its submissions, its targets."""

from __future__ import annotations

from typing import Any

from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.server import accounts, downloads, standing
from tracearena.server.models import Submission
from tracearena.server.refused import not_found
from tracearena.server.views.roles import for_members, for_team


@require_safe
@for_team
def start(request: Any) -> Any:
    """Own data sets with their utility, and what can be done now."""
    return render(request, "team/start.html", {"data_sets": standing.data_sets(request.user.team)})


@require_safe
@for_team
def data(request: Any) -> Any:
    """What can be downloaded."""
    files = [downloads.described(path) for path in downloads.public_files()]
    return render(request, "team/data.html", {"files": files})


@require_safe
@for_team
def bundle(request: Any) -> Any:
    """The team's own traces."""
    return downloads.send_bundle(request, request.user.team, accounts.team_key(request))


@require_safe
@for_members
def public_file(request: Any, name: str) -> Any:
    """One of everybody's files."""
    return downloads.send_public(request, name)


@require_safe
@for_team
def submissions(request: Any) -> Any:
    """Everything the team has handed in, the last one first."""
    found = Submission.objects.filter(team=request.user.team).select_related("data_set__team")
    return render(request, "team/submissions.html", {"submissions": found})


@require_safe
@for_team
def submission(request: Any, number: int) -> Any:
    """One upload: its receipt, its state, what the checker said."""
    found = Submission.objects.filter(team=request.user.team, pk=number).select_related("data_set__team")
    if not found:
        raise not_found()
    return render(request, "team/submission.html", {"submission": found[0]})


@require_safe
@for_team
def targets(request: Any) -> Any:
    """Whom the team may attack, and how many uploads are left for each."""
    return render(request, "team/targets.html", {"targets": standing.targets(request.user.team)})
