"""Who may see a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote

from django.shortcuts import redirect

from tracearena.server.refused import not_found

View = Callable[..., Any]


def for_team(view: View) -> View:
    """Let members of a team in; visitors are asked to log in, for others there is nothing here."""
    return _guarded(view, lambda member: member.team is not None)


def for_organiser(view: View) -> View:
    """Let organisers in; visitors are asked to log in, for others there is nothing here."""
    return _guarded(view, lambda member: member.is_organiser)


def for_members(view: View) -> View:
    """Let everybody in who has an account."""
    return _guarded(view, lambda member: True)


def _guarded(view: View, may: Callable[[Any], bool]) -> View:
    @wraps(view)
    def guarded(request: Any, *args: Any, **named: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"/login?next={quote(request.path)}")
        if not may(request.user):
            raise not_found()
        return view(request, *args, **named)

    return guarded
