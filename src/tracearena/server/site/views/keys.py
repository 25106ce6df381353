"""A team's tokens and members."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from tracearena.server.models import Member, Token
from tracearena.server.people import accounts, links
from tracearena.server.people import tokens as api_tokens
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_team
from tracearena.server.store.audit_log import log

_LONGEST_LABEL = 60


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def tokens(request: Any) -> Any:
    """Show the team's tokens, or make one and show its secret this once."""
    secret = _new_token(request) if request.method == "POST" else None
    found = Token.objects.filter(team=request.user.team, revoked_at__isnull=True).select_related("member")
    return render(request, "team/tokens.html", {"tokens": found, "secret": secret})


@require_POST
@for_team
def revoke(request: Any, number: int) -> Any:
    """End a token."""
    if not api_tokens.revoke(request.user, number):
        raise not_found()
    return redirect("/team/tokens")


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def members(request: Any) -> Any:
    """Show who is in the team, or make a link for more and show it this once."""
    link = None
    if request.method == "POST":
        with transaction.atomic():
            secret = links.invitation(request.user.team, accounts.team_key(request))
            log(request.user.username, "members invited", team=request.user.team.number)
        link = request.build_absolute_uri(links.path_of(secret))
    found = Member.objects.filter(team=request.user.team, is_active=True).order_by("pk")
    return render(request, "team/members.html", {"members": found, "link": link})


def _new_token(request: Any) -> str:
    label = request.POST.get("label", "").strip()
    if not 1 <= len(label) <= _LONGEST_LABEL or not label.isprintable():
        message = gettext("A label has 1 to %(longest)s letters, digits, signs or spaces.")
        raise Refused(400, "label", message % {"longest": _LONGEST_LABEL})
    return api_tokens.make(request.user, label, accounts.team_key(request))
