"""Errors as pages for people and, under /api/, in one shape for programs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string

from tracearena.server.refused import Refused, disk_full, is_disk_full, shape

API = "/api/"
_OF_THE_BODY = ("Content-Type", "Content-Length")
_LOG = logging.getLogger("tracearena.server")
_SENTENCES = {
    400: "This request could not be understood.",
    403: "This is not allowed.",
    404: "There is nothing here, or nothing that you may see.",
    405: "This cannot be done here.",
    413: "This is too large.",
    500: "Something went wrong on the server. It has been noted; try again in a minute.",
}


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
        """Answer a refusal, or a disk that is full; leave everything else to Django."""
        if is_disk_full(exception):
            _LOG.error("the disk is full: %s", exception)
            exception = disk_full()
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
    return render_to_string("error.html", {"status": status, "message": message})
