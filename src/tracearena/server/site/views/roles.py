"""Who may see a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote

from django.shortcuts import redirect
from django.utils.translation import gettext

from tracearena.server.refused import FOR_TEAMS, Refused, not_found

View = Callable[..., Any]


def for_team(view: View) -> View:
    """Let members of a team in; visitors are asked to log in, organisers are told whose page it is."""
    return _guarded(view, lambda member: member.team is not None, _of_teams)


def for_organiser(view: View) -> View:
    """Let organisers in; visitors are asked to log in, for others there is nothing here."""
    return _guarded(view, lambda member: member.is_organiser)


def for_members(view: View) -> View:
    """Let everybody in who has an account."""
    return _guarded(view, lambda member: True)


def _of_teams() -> Refused:
    """Say whose page it is to an organiser, who knows that there are such pages."""
    return Refused(404, FOR_TEAMS, gettext("This page is a team's, and you belong to no team."))


def _guarded(view: View, may: Callable[[Any], bool], refused: Callable[[], Refused] = not_found) -> View:
    @wraps(view)
    def guarded(request: Any, *args: Any, **named: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"/login?next={quote(request.path)}")
        if not may(request.user):
            raise refused()
        return view(request, *args, **named)

    return guarded
