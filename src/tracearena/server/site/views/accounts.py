"""Coming in by a link, logging in and out, changing a password."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from tracearena.server.people import accounts
from tracearena.server.refused import Refused
from tracearena.server.site.views.roles import for_members


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: Any) -> Any:
    """Make an account of a link; its secret stands behind the # and never in an address."""
    return _form(request, "join.html", _join)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: Any) -> Any:
    """Log in."""
    return _form(request, "login.html", _login)


@require_POST
def logout(request: Any) -> Any:
    """Log out."""
    return accounts.leave(request, redirect("/"))


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def password(request: Any) -> Any:
    """Change one's password."""
    return _form(request, "password.html", _password)


def _form(request: Any, template: str, act: Callable[[Any], Any]) -> Any:
    """Show a form, or act on it; what is refused is said above the form."""
    if request.method != "POST":
        return render(request, template, {"next": _next(request)})
    try:
        return act(request)
    except Refused as refused:
        said = {"refused": refused, "name": request.POST.get("name", ""), "next": _next(request)}
        return render(request, template, said, status=refused.status)


@sensitive_variables()
def _join(request: Any) -> Any:
    given = request.POST
    secret = given.get("secret", "").strip().rpartition("#")[2]
    member, key = accounts.redeem(secret, given.get("name", ""), given.get("password", ""))
    return accounts.enter(request, redirect(_start(member)), member, key)


@sensitive_variables()
def _login(request: Any) -> Any:
    given = request.POST
    address = request.META["REMOTE_ADDR"]
    member, key = accounts.authenticate(given.get("name", ""), given.get("password", ""), address)
    return accounts.enter(request, redirect(_next(request) or _start(member)), member, key)


@sensitive_variables()
def _password(request: Any) -> Any:
    accounts.change_password(request, request.POST.get("old", ""), request.POST.get("password", ""))
    return redirect(_start(request.user))


def _start(member: Any) -> str:
    return "/organiser" if member.is_organiser else "/team"


def _next(request: Any) -> str:
    """Return where to go after the login, if that is a page of ours."""
    return own_page(request.POST.get("next", request.GET.get("next", "")))


def own_page(wanted: str) -> str:
    """Return an address that a form names if it is on this site, else nothing."""
    return wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else ""
