"""The organiser sees what would come of it if the next phase began now."""

from __future__ import annotations

from typing import Any

from django.shortcuts import render
from django.views.decorators.http import require_safe

from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.operations import dry_run
from tracearena.server.people import parties
from tracearena.server.site.views.roles import for_organiser


@require_safe
@for_organiser
def rehearsed(request: Any) -> Any:
    """What would be published, invalid or missing, and what the judge would do; nothing is done."""
    run = dry_run.dry_run(Contest.now_held(), clock.now())
    return render(request, "organiser/dry_run.html", {"run": run, "styles": parties.styles()})
