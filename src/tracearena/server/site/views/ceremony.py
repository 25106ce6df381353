"""The ceremony: the frozen result, closed, for the organiser to open before an audience.

Before the results are published it is asked for by a form, and that is written down: nobody sees the
sealed board by accident, or unnoticed.
"""

from __future__ import annotations

from typing import Any

from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from tracearena.server.models import Contest
from tracearena.server.refused import Refused
from tracearena.server.results import boards, drawn_board
from tracearena.server.site.views.roles import for_organiser
from tracearena.server.store.audit_log import log


@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
@for_organiser
def ceremony(request: Any) -> Any:
    """Say what is about to be shown, or show it."""
    final = boards.final_snapshot()
    if request.method != "POST":
        return render(request, "organiser/ceremony_door.html", {"final": final})
    if final is None:
        message = _("The judge is still scoring: the ceremony can begin when the final board is there.")
        raise Refused(409, "not-final", message)
    log(request.user.username, "ceremony opened", sha256=final.sha256)
    drawn = drawn_board.drawn_snapshot(final, Contest.now_held().rules)
    about = {"drawn": drawn, "matrices": drawn_board.closed_matrices(drawn)}
    return render(request, "organiser/ceremony.html", about)
