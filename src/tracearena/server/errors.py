"""Errors as pages for people and, under /api/, in one shape for programs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext

from tracearena.i18n import marked
from tracearena.server.refused import (
    FOR_TEAMS,
    Refused,
    database_away,
    disk_full,
    is_database_trouble,
    is_disk_full,
    shape,
)

API = "/api/"
_OF_THE_BODY = ("Content-Type", "Content-Length")
_LOG = logging.getLogger("tracearena.server")
_SENTENCES = {
    400: marked("This request could not be understood."),
    403: marked("This is not allowed."),
    404: marked("There is nothing here, or nothing that you may see."),
    405: marked("This cannot be done here."),
    413: marked("This is too large."),
    429: marked("That was too often."),
    500: marked("Something went wrong on the server. It has been noted; try again in a minute."),
}
_ADVICE = {
    400: marked("Go back, load the page again, and retry."),
    403: marked("Go back, or log in as somebody who may."),
    404: marked("Look whether the address is right; pages of a team are for those who have logged in."),
    405: marked("Go back, and use the form of the page."),
    410: marked("Ask whoever gave it to you for a new one."),
    413: marked("The rules say how large a file may be."),
    429: marked("Wait a few minutes; nothing is lost meanwhile."),
    500: marked("If it happens again, tell the organiser what you did and when."),
    503: marked("Load the page again in a minute; if that does not help, tell the organiser."),
}
"""What somebody can do, by status; a message that says it itself needs no more."""
_PHRASES = {
    400: marked("Bad Request"),
    403: marked("Forbidden"),
    404: marked("Not Found"),
    405: marked("Method Not Allowed"),
    408: marked("Request Timeout"),
    409: marked("Conflict"),
    410: marked("Gone"),
    411: marked("Length Required"),
    413: marked("Request Entity Too Large"),
    429: marked("Too Many Requests"),
    500: marked("Internal Server Error"),
    503: marked("Service Unavailable"),
    507: marked("Insufficient Storage"),
}
"""What pages call the statuses that the server answers with."""


class Errors:
    """Turns what was refused into an answer, and gives errors under /api/ their one shape."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        if "\0" in request.path:  # nothing is called so, and PostgreSQL would not even be asked
            return answer(request, 404)
        response = self._get_response(request)
        if not request.path.startswith(API) or response.status_code < 400 or _is_json(response):
            return response
        shaped = answer(request, response.status_code)
        for name, value in response.headers.items():
            if name not in _OF_THE_BODY:
                shaped.headers[name] = value
        return shaped

    def process_exception(self, request: Any, exception: Exception) -> Any:
        """Answer a refusal, a full disk, a database that is away; leave everything else to Django."""
        if is_disk_full(exception):
            _LOG.error("the disk is full: %s", exception)
            exception = disk_full()
        elif is_database_trouble(exception):
            _LOG.error("the database is away or damaged: %s", exception)
            exception = database_away()
        if isinstance(exception, Refused):
            return refusal(request, exception)
        return None


def refusal(request: Any, refused: Refused) -> Any:
    """Return the answer to a request that is refused."""
    if request.path.startswith(API):
        return JsonResponse(refused.to_dict(), status=refused.status)
    return HttpResponse(_page(refused), status=refused.status)


def answer(request: Any, status: int) -> Any:
    """Return an error by its status alone; it needs neither the database nor a session."""
    phrase = HTTPStatus(status).phrase
    message = gettext(_SENTENCES[status]) if status in _SENTENCES else f"{phrase}."
    return refusal(request, Refused(status, phrase.lower().replace(" ", "-"), message))


def bad_request(request: Any, exception: Exception) -> Any:
    """Answer 400."""
    return answer(request, 400)


def forbidden(request: Any, exception: Exception) -> Any:
    """Answer 403."""
    return answer(request, 403)


def missing(request: Any, exception: Exception) -> Any:
    """Answer 404."""
    return answer(request, 404)


def broken(request: Any) -> Any:
    """Answer 500."""
    return answer(request, 500)


def forged(request: Any, reason: str = "") -> Any:
    """Answer a form that does not come from one of our pages."""
    message = gettext(
        "This form was too old or did not come from this site: go back, load the page again, and retry."
    )
    return refusal(request, Refused(403, "forged", message))


def as_json(code: str, status: int, message: str, **details: Any) -> Any:
    """Return an error of the API."""
    return JsonResponse(shape(code, message, **details), status=status)


def _is_json(response: Any) -> bool:
    return response.headers.get("Content-Type", "").startswith("application/json")


def _page(refused: Refused) -> str:
    """Return a page that needs nothing but itself: neither the database nor a session may be there."""
    status, message = refused.status, refused.message
    phrase = gettext(_PHRASES[status]) if status in _PHRASES else HTTPStatus(status).phrase
    helps = status in _ADVICE and refused.code != FOR_TEAMS
    advice = gettext(_ADVICE[status]) if helps else ""
    about = {"status": status, "phrase": phrase, "message": message, "advice": advice}
    return render_to_string("error.html", about)
