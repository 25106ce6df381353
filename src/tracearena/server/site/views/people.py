"""The organiser lets further organisers in, shuts somebody out, and gives new passwords."""

from __future__ import annotations

from typing import Any

from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from tracearena.errors import DataError
from tracearena.server.models import Member
from tracearena.server.people import links, members
from tracearena.server.refused import Refused, not_found
from tracearena.server.site.views.roles import for_organiser


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def people(request: Any) -> Any:
    """Everybody who has an account; or a link for one more organiser."""
    secret = members.add_organiser(request.user.username) if request.method == "POST" else None
    return _shown(request, secret)


@require_POST
@for_organiser
def disable(request: Any, number: int) -> Any:
    """Shut somebody else out."""
    try:
        members.disable(_somebody_else(request, number), request.user.username)
    except DataError as error:
        raise Refused(409, "last-organiser", str(error)) from None
    return redirect("/organiser/people")


@require_POST
@for_organiser
def reset(request: Any, number: int) -> Any:
    """Make a link by which somebody else gets a new password."""
    member = _somebody_else(request, number)
    return _shown(request, members.reset(member, request.user.username), member)


def _somebody_else(request: Any, number: int) -> Member:
    member = Member.objects.select_related("team").filter(pk=number).first()
    if member is None:
        raise not_found()
    if member == request.user:
        message = gettext("This is your own account: change its password, or let another organiser do it.")
        raise Refused(409, "own-account", message)
    return member


def _shown(request: Any, secret: str | None, member: Member | None = None) -> Any:
    about = {
        "groups": [
            (gettext("Organisers"), members.listed(organisers=True)),
            (gettext("Members of teams"), members.listed(organisers=False)),
        ],
        "link": None if secret is None else request.build_absolute_uri(links.path_of(secret)),
        "renewed": member,
    }
    return render(request, "organiser/people.html", about)
