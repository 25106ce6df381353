"""Refusals and errors: as pages for people and, under /api/, in one shape for programs.

Also the words by which pages say what the database stores as fixed words.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from django.db import Error
from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext

from tracearena.errors import TracearenaError
from tracearena.i18n import mark_for_translation

API = "/api/"
FOR_TEAMS = "for-teams"
"""Code of a page that is there, for members of teams; who reads it has logged in."""
_FULL_WORDS = ("disk is full", "no space left on device", "disk full")
_LOG = logging.getLogger("tracearena.server")
_SENTENCES = {
    400: mark_for_translation("This request could not be understood."),
    403: mark_for_translation("This is not allowed."),
    404: mark_for_translation("There is nothing at this address, or you are not allowed to see it."),
    405: mark_for_translation("This cannot be done here."),
    413: mark_for_translation("This is too large."),
    429: mark_for_translation("Too many requests in a short time."),
    500: mark_for_translation(
        "Something went wrong on the server. The error was logged; try again in a minute."
    ),
}
_ADVICE = {
    400: mark_for_translation("Go back, reload the page, and try again."),
    403: mark_for_translation("Go back, or log in with an account that is allowed to do this."),
    404: mark_for_translation(
        "Check the address. You can see the pages of a team only when you are logged in."
    ),
    405: mark_for_translation("Go back and use the form on the page."),
    410: mark_for_translation("Ask the person who gave it to you for a new one."),
    413: mark_for_translation("The rules say how large a file may be."),
    429: mark_for_translation("Wait a few minutes; nothing is lost meanwhile."),
    500: mark_for_translation("If it happens again, tell the organiser what you did and when."),
    503: mark_for_translation("Reload the page in a minute; if that does not help, tell the organiser."),
}
"""What somebody can do, by status; a message that says it itself needs no more."""
_PHRASES = {
    400: mark_for_translation("Bad Request"),
    403: mark_for_translation("Forbidden"),
    404: mark_for_translation("Not Found"),
    405: mark_for_translation("Method Not Allowed"),
    408: mark_for_translation("Request Timeout"),
    409: mark_for_translation("Conflict"),
    410: mark_for_translation("Gone"),
    411: mark_for_translation("Length Required"),
    413: mark_for_translation("Request Entity Too Large"),
    429: mark_for_translation("Too Many Requests"),
    500: mark_for_translation("Internal Server Error"),
    503: mark_for_translation("Service Unavailable"),
    507: mark_for_translation("Insufficient Storage"),
}
"""What pages call the statuses that the server answers with."""


class ErrorMiddleware:
    """Turns what was refused into an answer, and gives errors under /api/ their one shape."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        if "\0" in request.path:  # nothing is called so, and PostgreSQL would not even be asked
            return render_error(request, 404)
        response = self._get_response(request)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        if not request.path.startswith(API) or response.status_code < 400 or is_json:
            return response
        shaped = render_error(request, response.status_code)
        for name, value in response.headers.items():
            if name not in ("Content-Type", "Content-Length"):
                shaped.headers[name] = value
        return shaped

    def process_exception(self, request: Any, exception: Exception) -> Any:
        """Answer a refusal, a full disk, a database that is away; leave everything else to Django."""
        if is_disk_full(exception):
            _LOG.error("the disk is full: %s", exception)
            exception = disk_full()
        elif is_database_failure(exception):
            _LOG.error("the database is away or damaged: %s", exception)
            exception = database_away()
        if isinstance(exception, RequestRefused):
            return render_refusal(request, exception)
        return None


def render_refusal(request: Any, refused: RequestRefused) -> Any:
    """Return the answer to a request that is refused."""
    if request.path.startswith(API):
        return JsonResponse(refused.to_dict(), status=refused.status)
    status = refused.status
    phrase = gettext(_PHRASES[status]) if status in _PHRASES else HTTPStatus(status).phrase
    advice = gettext(_ADVICE[status]) if status in _ADVICE and refused.code != FOR_TEAMS else ""
    about = {"status": status, "phrase": phrase, "message": refused.message, "advice": advice}
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and hasattr(request, "user"):
        with suppress(Error):
            return HttpResponse(render_to_string("error.html", about, request), status=status)
    # This page needs nothing but itself: neither the database nor a session may be there.
    return HttpResponse(render_to_string("broken.html", about), status=status)


def render_error(request: Any, status: int) -> Any:
    """Return an error by its status alone; it needs neither the database nor a session."""
    phrase = HTTPStatus(status).phrase
    message = gettext(_SENTENCES[status]) if status in _SENTENCES else f"{phrase}."
    return render_refusal(request, RequestRefused(status, phrase.lower().replace(" ", "-"), message))


def handle_bad_request(request: Any, exception: Exception) -> Any:
    """Answer 400."""
    return render_error(request, 400)


def handle_forbidden(request: Any, exception: Exception) -> Any:
    """Answer 403."""
    return render_error(request, 403)


def handle_not_found(request: Any, exception: Exception) -> Any:
    """Answer 404."""
    return render_error(request, 404)


def handle_server_error(request: Any) -> Any:
    """Answer 500."""
    return render_error(request, 500)


def handle_csrf_failure(request: Any, reason: str = "") -> Any:
    """Answer a form that does not come from one of our pages."""
    message = gettext(
        "This form is too old or did not come from this site. Go back, reload the page, and try again."
    )
    return render_refusal(request, RequestRefused(403, "forged", message))


def build_json_error(code: str, status: int, message: str, **details: Any) -> Any:
    """Return an error of the API."""
    return JsonResponse(format_error(code, message, **details), status=status)


class RequestRefused(TracearenaError):
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
        return format_error(self.code, self.message, **self.details)


def format_error(code: str, message: str, **details: Any) -> dict[str, Any]:
    """Return an error as plain values for JSON.

    >>> format_error("quota", "Nothing is left.", limit=20)
    {'error': {'code': 'quota', 'message': 'Nothing is left.', 'details': {'limit': 20}}}
    """
    return {"error": {"code": code, "message": message, "details": details}}


def disk_full() -> RequestRefused:
    """Say that nothing was kept because the disk is full."""
    return RequestRefused(
        507,
        "disk-full",
        gettext(
            "The disk of the server is full. Nothing of this request was kept and no upload was used up. "
            "Tell the organiser, and send it again later."
        ),
    )


def read_only() -> RequestRefused:
    """Say that nothing was kept because the disk cannot be written."""
    return RequestRefused(
        507,
        "read-only",
        gettext(
            "The server cannot write to its disk. Nothing of this request was kept and no upload was used "
            "up: tell the organiser, and send it again later."
        ),
    )


def database_away() -> RequestRefused:
    """Say that the database does not answer, and that nothing is lost by that."""
    return RequestRefused(
        503,
        "database-away",
        gettext(
            "The database of the server is not answering at the moment. What was received before is "
            "safe; this request was not carried out."
        ),
    )


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of the system or of a database says that there is no space left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    from django.db import DatabaseError

    return isinstance(error, DatabaseError) and any(word in str(error).lower() for word in _FULL_WORDS)


def is_database_failure(error: BaseException) -> bool:
    """Whether an error says that the database is away, damaged or busy, and nothing of our own is wrong."""
    from django.db import DatabaseError, InterfaceError, OperationalError

    # SQLite says that a page is damaged by the plain class; its subclasses have causes of their own.
    return isinstance(error, (InterfaceError, OperationalError)) or type(error) is DatabaseError


def not_found() -> RequestRefused:
    """Say the same of what is not there and of what is another team's."""
    return RequestRefused(
        404, "not-found", gettext("There is nothing at this address, or you are not allowed to see it.")
    )


# Fixed words of the database and of the schedule, as pages say them.


_STATE_WORDS = {
    "received": mark_for_translation("received"),
    "checked": mark_for_translation("checked"),
    "scored": mark_for_translation("scored"),
    "published": mark_for_translation("published"),
    "late": mark_for_translation("late"),
    "refused": mark_for_translation("refused"),
    "judge error": mark_for_translation("judge error"),
    "waiting": mark_for_translation("waiting"),
    "running": mark_for_translation("running"),
    "done": mark_for_translation("done"),
    "failed": mark_for_translation("failed"),
    "compared": mark_for_translation("compared"),
    "applied": mark_for_translation("applied"),
    "cancelled": mark_for_translation("cancelled"),
}
_KIND_WORDS = {
    "obfuscated": mark_for_translation("Obfuscated traces"),
    "inferred-table": mark_for_translation("Inferred ID table"),
    "inferred-traces": mark_for_translation("Inferred traces"),
}
_ROLE_WORDS = {
    "pseudonymised": mark_for_translation("pseudonymised"),
    "sample": mark_for_translation("sample"),
}
_POINT_WORDS = {
    "anonymization_begin": mark_for_translation("start of the anonymization"),
    "anonymization_end": mark_for_translation("end of the anonymization"),
    "attack_begin": mark_for_translation("start of the attacks"),
    "attack_end": mark_for_translation("end of the attacks"),
    "results_begin": mark_for_translation("opening of the results"),
}


def translate_state(word: str) -> str:
    """Say how far an upload, a job or a re-scoring has come."""
    return gettext(_STATE_WORDS[word])


def translate_kind(word: str) -> str:
    """Say what an upload is."""
    return gettext(_KIND_WORDS[word])


def translate_role(word: str) -> str:
    """Return a translated word for a party that is not a team."""
    return gettext(_ROLE_WORDS[word])


def translate_point(word: str) -> str:
    """Say which begin or end of the schedule it is."""
    return gettext(_POINT_WORDS[word])
