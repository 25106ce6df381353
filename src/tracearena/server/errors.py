"""Errors as pages for people and, under /api/, in one shape for programs."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext

from tracearena.errors import TracearenaError
from tracearena.i18n import marked

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


# What the server does not do, and why: one error for pages and API alike.


FOR_TEAMS = "for-teams"
"""Code of a page that is there, for members of teams; who reads it has logged in."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_WORDS = ("disk is full", "no space left on device", "disk full")


class Refused(TracearenaError):
    """A request that is not carried out.

    Parameters
    ----------
    status
        The status of the answer, by HTTP.
    code
        A fixed word, for programs.
    message
        The same for people, with what to do.
    details
        Further plain values, for programs.
    """

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details

    def to_dict(self) -> dict[str, Any]:
        """Return the one shape of every error of the API."""
        return shape(self.code, self.message, **self.details)


def shape(code: str, message: str, **details: Any) -> dict[str, Any]:
    """Return an error as plain values for JSON.

    >>> shape("quota", "Nothing is left.", limit=20)
    {'error': {'code': 'quota', 'message': 'Nothing is left.', 'details': {'limit': 20}}}
    """
    return {"error": {"code": code, "message": message, "details": details}}


def disk_full() -> Refused:
    """Say that nothing was kept because the disk is full."""
    return Refused(
        507,
        "disk-full",
        gettext(
            "The disk of the server is full. Nothing of this request was kept and no upload was used up: "
            "tell the organiser, and send it again later."
        ),
    )


def read_only() -> Refused:
    """Say that nothing was kept because the disk cannot be written."""
    return Refused(
        507,
        "read-only",
        gettext(
            "The server cannot write to its disk. Nothing of this request was kept and no upload was used "
            "up: tell the organiser, and send it again later."
        ),
    )


def database_away() -> Refused:
    """Say that the database does not answer, and that nothing is lost by that."""
    return Refused(
        503,
        "database-away",
        gettext(
            "The database of the server does not answer at the moment. What was received before is safe; "
            "this request was not carried out."
        ),
    )


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of the system or of a database says that there is no space left."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    from django.db import DatabaseError

    return isinstance(error, DatabaseError) and any(word in str(error).lower() for word in _FULL_WORDS)


def is_database_trouble(error: BaseException) -> bool:
    """Whether an error says that the database is away, damaged or busy, and nothing of our own is wrong."""
    from django.db import DatabaseError, InterfaceError, OperationalError

    # SQLite says that a page is damaged by the plain class; its subclasses have causes of their own.
    return isinstance(error, (InterfaceError, OperationalError)) or type(error) is DatabaseError


def not_found() -> Refused:
    """Say the same of what is not there and of what is another team's."""
    return Refused(404, "not-found", gettext("There is nothing here, or nothing that you may see."))


# Fixed words of the database and of the schedule, as pages say them.


_STATES = {
    "received": marked("received"),
    "checked": marked("checked"),
    "scored": marked("scored"),
    "published": marked("published"),
    "late": marked("late"),
    "refused": marked("refused"),
    "judge error": marked("judge error"),
    "waiting": marked("waiting"),
    "running": marked("running"),
    "done": marked("done"),
    "failed": marked("failed"),
    "compared": marked("compared"),
    "applied": marked("applied"),
    "cancelled": marked("cancelled"),
}
_KINDS = {
    "obfuscated": marked("Obfuscated traces"),
    "inferred-table": marked("Inferred ID table"),
    "inferred-traces": marked("Inferred traces"),
}
_ROLES = {"pseudonymised": marked("pseudonymised"), "sample": marked("sample")}
_POINTS = {
    "registration_begin": marked("registration begin"),
    "registration_end": marked("registration end"),
    "anonymization_begin": marked("anonymization begin"),
    "anonymization_end": marked("anonymization end"),
    "attack_begin": marked("attack begin"),
    "attack_end": marked("attack end"),
    "results_begin": marked("results begin"),
}


def state(word: str) -> str:
    """Say how far an upload, a job or a re-scoring has come."""
    return gettext(_STATES[word])


def kind(word: str) -> str:
    """Say what an upload is."""
    return gettext(_KINDS[word])


def role(word: str) -> str:
    """Say what a party is that is no team."""
    return gettext(_ROLES[word])


def point(word: str) -> str:
    """Say which begin or end of the schedule it is."""
    return gettext(_POINTS[word])
