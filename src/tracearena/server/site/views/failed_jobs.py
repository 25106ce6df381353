"""The organiser decides on a job that has failed for good: once more, or without it."""

from __future__ import annotations

from typing import Any

from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from tracearena.errors import ParameterError
from tracearena.server.judging import failures
from tracearena.server.models import Job
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_organiser

_ACTS = {"again": failures.try_again, "aside": failures.set_aside}
_SHORTEST, _LONGEST = 3, 200


@require_POST
@for_organiser
def decide(request: Any, number: int) -> Any:
    """Give a failed job to the judge once more, or let the contest go on without it; with a reason."""
    job, act = Job.objects.filter(pk=number).first(), _ACTS.get(request.POST.get("act", ""))
    if job is None or act is None:
        raise not_found()
    reason = request.POST.get("reason", "").strip()
    if not _SHORTEST <= len(reason) <= _LONGEST:
        message = _("Say why, in %(shortest)s to %(longest)s characters: it goes into the audit log.")
        raise Refused(400, "reason", message % {"shortest": _SHORTEST, "longest": _LONGEST})
    try:
        act(job, request.user.username, reason)
    except ParameterError as error:
        raise Refused(409, "job", str(error)) from None
    return redirect("/organiser")
