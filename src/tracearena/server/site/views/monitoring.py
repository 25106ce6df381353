"""Addresses for other programs that watch the server: whether it works, and how the contest stands."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from tracearena.server.models import Contest
from tracearena.server.operations.metrics import CONTENT_TYPE, metrics
from tracearena.server.operations.status import status
from tracearena.server.refused import not_found

_PLAIN = "text/plain; charset=utf-8"


@require_safe
def health(request: Any) -> Any:
    """Whether the web and its database work: 200 or 503, and a word; for load balancers and systemd."""
    try:
        works = Contest.objects.filter(pk=1).exists()
    except Error:
        works = False
    return HttpResponse("ok\n" if works else "no database\n", _PLAIN, status=200 if works else 503)


@require_safe
def numbers(request: Any) -> Any:
    """How the contest stands, for Prometheus on this machine and for organisers; others find nothing."""
    if not request.is_from_this_machine and not getattr(request.user, "is_organiser", False):
        raise not_found()
    return HttpResponse(metrics(status(settings.CONTEST_FOLDER)), CONTENT_TYPE)
