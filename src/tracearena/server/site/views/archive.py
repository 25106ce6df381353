"""Contests that are over, for everybody: what their archives in the folder tell."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from tracearena.server.refused import not_found
from tracearena.server.results import past_contests
from tracearena.server.results.past_contests import PastContest
from tracearena.server.store import downloads


@require_safe
def archive(request: Any) -> Any:
    """All past contests with those who won; for organisers also what is no archive."""
    folder, member = settings.CONTEST_FOLDER, request.user
    is_boss = member.is_authenticated and member.is_organiser
    about = {
        "past": past_contests.past_contests(folder),
        "unreadable": past_contests.unreadable(folder) if is_boss else [],
    }
    return render(request, "archive.html", about)


@require_safe
@gzip_page
def one(request: Any, name: str) -> Any:
    """One past contest: awards, scores, pictures, and its archive."""
    past = _found(name)
    described = downloads.described(past_contests.path_of(settings.CONTEST_FOLDER, past))
    return render(request, "archive/one.html", {"past": past, "drawn": past.drawn, "file": described})


@require_safe
def download(request: Any, name: str) -> Any:
    """The archive of a past contest."""
    return downloads.send_file(request, past_contests.path_of(settings.CONTEST_FOLDER, _found(name)))


@require_safe
def numbers(request: Any, name: str, table: str) -> Any:
    """The numbers behind a table or a picture of a past contest, to save."""
    content = _found(name).drawn.csv(table.removesuffix(".csv"))
    if content is None or not table.endswith(".csv"):
        raise not_found()
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition_header(True, table)
    return response


def _found(name: str) -> PastContest:
    past = past_contests.past_contest(settings.CONTEST_FOLDER, name)
    if past is None:
        raise not_found()
    return past
