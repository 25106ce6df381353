"""Errors as pages for people and, under /api/, in one shape for programs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from tracearena.server.refused import Refused, database_away, disk_full, is_disk_full, shape

API = "/api/"
_LOG = logging.getLogger("tracearena.server")
_SENTENCES = {
    400: "This request could not be understood.",
    403: "This is not allowed.",
    404: "There is nothing here, or nothing that you may see.",
    405: "This cannot be done here.",
    413: "This is too large.",
    429: "That was too often.",
    500: "Something went wrong on the server. It has been noted; try again in a minute.",
}
_ADVICE = {
    400: gettext_lazy("Go back, load the page again, and retry."),
    403: gettext_lazy("Go back, or log in as somebody who may."),
    404: gettext_lazy("Look whether the address is right; pages of a team are for those who have logged in."),
    405: gettext_lazy("Go back, and use the form of the page."),
    410: gettext_lazy("Ask whoever gave it to you for a new one."),
    413: gettext_lazy("The rules say how large a file may be."),
    429: gettext_lazy("Wait a few minutes; nothing is lost meanwhile."),
    500: gettext_lazy("If it happens again, tell the organiser what you did and when."),
    503: gettext_lazy("Load the page again in a minute; if that does not help, tell the organiser."),
}
"""What somebody can do, by status; a message that says it itself needs no more."""


class Errors:
    """Turns what was refused into an answer, and gives errors under /api/ their one shape."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self._get_response(request)
        if not request.path.startswith(API) or response.status_code < 400 or _is_json(response):
            return response
        shaped = answer(request, response.status_code)
        if "Allow" in response.headers:
            shaped.headers["Allow"] = response.headers["Allow"]
        return shaped

    def process_exception(self, request: Any, exception: Exception) -> Any:
        """Answer a refusal, a full disk, a database that is away; leave everything else to Django."""
        if is_disk_full(exception):
            _LOG.error("the disk is full: %s", exception)
            exception = disk_full()
        elif isinstance(exception, (InterfaceError, OperationalError)):
            _LOG.error("the database is away: %s", exception)
            exception = database_away()
        if isinstance(exception, Refused):
            return refusal(request, exception)
        return None


def refusal(request: Any, refused: Refused) -> Any:
    """Return the answer to a request that is refused."""
    if request.path.startswith(API):
        return JsonResponse(refused.to_dict(), status=refused.status)
    return HttpResponse(_page(refused.status, refused.message), status=refused.status)


def answer(request: Any, status: int) -> Any:
    """Return an error by its status alone; it needs neither the database nor a session."""
    phrase = HTTPStatus(status).phrase
    message = _SENTENCES.get(status, f"{phrase}.")
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
    message = "This form was too old or did not come from this site: go back, load the page again, and retry."
    return refusal(request, Refused(403, "forged", message))


def as_json(code: str, status: int, message: str, **details: Any) -> Any:
    """Return an error of the API."""
    return JsonResponse(shape(code, message, **details), status=status)


def _is_json(response: Any) -> bool:
    return response.headers.get("Content-Type", "").startswith("application/json")


def _page(status: int, message: str) -> str:
    """Return a page that needs nothing but itself: neither the database nor a session may be there."""
    phrase = HTTPStatus(status).phrase
    about = {"status": status, "phrase": phrase, "message": message, "advice": _ADVICE.get(status, "")}
    return render_to_string("error.html", about)
