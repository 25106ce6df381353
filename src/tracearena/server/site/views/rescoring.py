"""The organiser has all scores made anew, compares them with those that count, and decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.errors import TracearenaError
from tracearena.server.judging import rescoring
from tracearena.server.models import Rescoring
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_organiser
from tracearena.server.store import jobs

_SHOWN = 200
_SHORTEST, _LONGEST = 3, 200


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def rescorings(request: Any) -> Any:
    """All re-scorings, or the start of another one."""
    refused = None
    if request.method == "POST":
        try:
            return redirect(f"/organiser/rescoring/{_started(request).pk}")
        except Refused as problem:
            refused = problem
    about = {"rescorings": Rescoring.objects.order_by("-pk"), "refused": refused, "given": request.POST}
    return render(request, "organiser/rescorings.html", about, status=refused.status if refused else 200)


@require_safe
@for_organiser
def one(request: Any, number: int) -> Any:
    """One re-scoring: how far it is, and what came out otherwise."""
    return _shown(request, _found(number))


@require_POST
@for_organiser
def apply(request: Any, number: int) -> Any:
    """Let the new scores count."""
    return _decided(request, number, rescoring.apply)


@require_POST
@for_organiser
def cancel(request: Any, number: int) -> Any:
    """Leave all as it was."""
    return _decided(request, number, rescoring.cancel)


def _started(request: Any) -> Rescoring:
    reason = request.POST.get("reason", "").strip()
    if not _SHORTEST <= len(reason) <= _LONGEST:
        message = _("Say why, in %(shortest)s to %(longest)s characters: it goes into the audit log.")
        raise Refused(400, "reason", message % {"shortest": _SHORTEST, "longest": _LONGEST})
    try:
        return rescoring.start(request.user.username, reason)
    except TracearenaError as error:
        raise Refused(409, "rescoring", str(error)) from None


def _decided(request: Any, number: int, act: Callable[[Rescoring, str], None]) -> Any:
    found = _found(number)
    try:
        act(found, request.user.username)
    except TracearenaError as error:
        return _shown(request, _found(number), Refused(409, "rescoring", str(error)))
    return redirect(f"/organiser/rescoring/{number}")


def _shown(request: Any, found: Rescoring, refused: Refused | None = None) -> Any:
    changed = rescoring.differences(found)
    own = f"rescore/{found.pk}/"
    about = {
        "rescoring": found,
        # While it runs, a score that is not there yet is no difference.
        "differences": [one for one in changed if found.state != "running" or one.after is not None][:_SHOWN],
        "more": max(0, len(changed) - _SHOWN),
        "failed": sum(one.after is None for one in changed),
        "left": jobs.open_jobs("rescore").filter(key__startswith=own).count(),
        "result": [] if found.state == "running" else rescoring.result_differences(found),
        "refused": refused,
    }
    return render(request, "organiser/rescoring.html", about, status=refused.status if refused else 200)


def _found(number: int) -> Rescoring:
    found = Rescoring.objects.filter(pk=number).first()
    if found is None:
        raise not_found()
    return found
