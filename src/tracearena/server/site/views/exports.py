"""The organiser has the judge make the archive of a contest that is over, and fetches it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from tracearena.errors import TracearenaError
from tracearena.server.judging import exporting
from tracearena.server.judging.export import require_over
from tracearena.server.models import Contest, Job, JobState
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_organiser
from tracearena.server.store import downloads


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def exports(request: Any) -> Any:
    """Show the archives that were made, or have one made."""
    if request.method != "POST":
        return _shown(request)
    try:
        exporting.ask_for(request.user.username, for_everybody=request.POST.get("for") == "everybody")
    except TracearenaError as error:
        return _shown(request, Refused(409, "export", str(error)))
    return redirect("/organiser/export")


@require_safe
@for_organiser
def download(request: Any, name: str) -> Any:
    """An archive that the judge made."""
    path = next((path for path in exporting.made(settings.CONTEST_FOLDER) if path.name == name), None)
    if path is None:
        raise not_found()
    return downloads.send_file(request, path)


def _shown(request: Any, refused: Refused | None = None) -> Any:
    contest, made = Contest.now_held(), exporting.made(settings.CONTEST_FOLDER)
    about = {
        "made": [downloads.described(path) for path in made],
        "is_being_made": exporting.is_being_made(),
        "failed": Job.objects.filter(kind=exporting.KIND, state=JobState.FAILED).exists(),
        "not_yet": _why_not(contest),
        "is_real": contest.people == "real",
        "refused": refused,
    }
    return render(request, "organiser/export.html", about, status=refused.status if refused else 200)


def _why_not(contest: Contest) -> str:
    """Return why there can be no archive now, an empty text if there can."""
    try:
        require_over(contest)
    except TracearenaError as error:
        return str(error)
    return ""
