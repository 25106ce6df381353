"""The forms by which a team hands in files."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from tracearena.contest import Rules
from tracearena.server.models import Contest, DataSet, UploadKind
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_team
from tracearena.server.uploads import submitting
from tracearena.server.uploads.receiving import Receiving, cut_off
from tracearena.server.uploads.submitting import Errand

WHOLE = "yes"
"""Value of the field behind the file: it is there only if the form has come whole."""


def takes_a_file(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view as one whose form may bring a file; others take small forms alone."""
    view.takes_a_file = True  # type: ignore[attr-defined]
    return view


@takes_a_file
@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def obfuscated(request: Any, number: int) -> Any:
    """Hand in obfuscated traces of a data set of one's own."""
    data_set = submitting.own_data_set(request.user.team, number)
    return _form(request, UploadKind.OBFUSCATED, data_set)


@takes_a_file
@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def attack(request: Any, team: str, number: int, kind: str) -> Any:
    """Hand in an attack on a target."""
    if kind not in submitting.ATTACKS:
        raise not_found()
    return _form(request, kind, submitting.target(request.user.team, team, number))


def empty_form(rules: Rules) -> dict[str, Any]:
    """Return what a form for a file holds: a key of its own, so that it is handed in once."""
    most_mb = rules.largest_file_mb
    return {"key": uuid.uuid4().hex, "limit_mb": most_mb, "most_bytes": most_mb * 2**20, "whole": WHOLE}


def _form(request: Any, kind: str, data_set: DataSet) -> Any:
    given = request.POST
    team = request.user.team
    errand = Errand(team, request.user, kind, data_set, given.get("key", ""), "")
    submitting.check_gate(errand)
    if request.method != "POST":
        rules = Contest.now_held().rules
        about = {
            "errand": errand,
            "left": submitting.uploads_left(team, kind, data_set, rules),
            "is_late": submitting.is_late_now(kind, team.number),
        }
        return render(request, "team/upload.html", about | empty_form(rules))
    file = _file(request)
    name = submitting.harmless_name(file.name)
    key = submitting.checked_key(given.get("key", ""))
    found = submitting.hand_in(Errand(team, request.user, kind, data_set, key, name), file)
    return redirect(f"/team/submissions/{found.pk}")


def _file(request: Any) -> Receiving:
    """Return the file of the form, or say why there is none."""
    refusal = getattr(request, "refusal", None)
    if refusal is not None:
        raise refusal
    file = request.FILES.get("file")
    if file is None:
        raise Refused(400, "no-file", gettext("No file was chosen."))
    if request.POST.get("whole") != WHOLE:
        raise cut_off()
    return file
