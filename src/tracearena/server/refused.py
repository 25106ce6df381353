"""What the server does not do, and why: one error for pages and API alike."""

from __future__ import annotations

import errno
from typing import Any

from django.utils.translation import gettext

from tracearena.errors import TracearenaError

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
