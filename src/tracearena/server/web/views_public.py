"""Pages for everybody: home, rules, board, results, past contests, login, and addresses for programs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header, url_has_allowed_host_and_scheme
from django.utils.translation import override
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.contest import Role
from tracearena.files import digest_values
from tracearena.pages.svg import read_stylesheet, timeline_picture
from tracearena.server import (
    accounts,
    clock,
    getting_started,
    own_results,
    past_contests,
    results,
    teams,
)
from tracearena.server.api import api
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.models import Contest, Team
from tracearena.server.operations import schedule, status
from tracearena.server.settings import ENGLISH
from tracearena.server.store import downloads
from tracearena.server.web.middleware import for_members, set_language_cookie

_STYLE_CACHE_S = 60


@require_safe
def show_home(request: Any) -> Any:
    """What the contest is, when what takes place, what to do now, who takes part."""
    contest, now = Contest.get_current(), clock.now()
    about = {
        "teams": [teams.label_party(team) for team in Team.objects.filter(role=Role.TEAM)],
        "styles": teams.build_party_styles(),
        "timeline": timeline_picture(contest.schedule, now),
        "published": results.is_published(contest, now),
        "threshold": contest.rules.utility_threshold,
    }
    return render(request, "home.html", about)


@require_safe
def show_rules(request: Any) -> Any:
    """The rules in plain sentences, and the schedule."""
    contest = Contest.get_current()
    about = {
        "chapters": _number_sentences(contest.rules.chapters()),
        "points": schedule.label_points(),
        "signing_key": contest.signing_key,
    }
    return render(request, "rules.html", about)


@require_safe
@gzip_page
def show_board_page(request: Any) -> Any:
    """What may be seen of the scores now, and nothing else."""
    contest, now = Contest.get_current(), clock.now()
    shown = results.collect_public_board(contest, now)
    published = results.is_published(contest, now) and shown["snapshot"] is not None
    at = (shown["snapshot"] or {}).get("refreshed_at")
    about = {
        "shown": shown,
        "drawn": results.draw_public_board(shown, contest.rules),
        "published": published,
        # A live board is refreshed, a final one is not.
        "refreshed_at": None if at is None else datetime.fromisoformat(at),
        "labels": teams.label_parties(shown["names"]),
        "styles": teams.build_party_styles(),
        "promises": results.read_table_commitments(settings.CONTEST_FOLDER, opened=published),
        "receipt_lists": results.find_receipt_lists(settings.CONTEST_FOLDER),
        "write_ups": own_results.label_write_ups(
            own_results.list_write_ups() if published else [], teams.label_parties(shown["names"])
        ),
    }
    return render(request, "board.html", about)


@require_safe
def send_board_numbers(request: Any, name: str) -> Any:
    """The numbers behind a table or a picture of the board, to save."""
    contest = Contest.get_current()
    # Programs read them: the same for everybody.
    with override(ENGLISH):
        drawn = results.draw_public_board(results.collect_public_board(contest, clock.now()), contest.rules)
        content = None if drawn is None else drawn.csv(name.removesuffix(".csv"))
    if content is None or not name.endswith(".csv"):
        raise not_found()
    return _send_csv(name, content)


def _send_csv(name: str, content: str) -> HttpResponse:
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition_header(True, name)
    return response


@require_safe
def send_opening_file(request: Any, name: str) -> Any:
    """A signed list of receipts, or a file that opens a promise of the judge once the results are open."""
    folder = settings.CONTEST_FOLDER
    is_open = results.is_published(Contest.get_current(), clock.now())
    if name not in results.find_receipt_lists(folder) + (
        results.list_commitment_files(folder) if is_open else []
    ):
        raise not_found()
    return downloads.send_public(request, name)


@require_safe
def send_picture_styles(request: Any) -> Any:
    """The stylesheet that pictures need; it is stored next to the code that draws them."""
    styles = read_stylesheet()
    tag = digest_values(styles)
    headers = {"Cache-Control": f"max-age={_STYLE_CACHE_S}, public", "ETag": f'"{tag}"'}
    return HttpResponse(styles, content_type="text/css; charset=utf-8", headers=headers)


def _number_sentences(chapters: list[tuple[str, list[str]]]) -> list[tuple[str, int, list[str]]]:
    """Number the sentences through all chapters, so that one can speak of rule 7.

    >>> _number_sentences([("Data", ["One.", "Two."]), ("Scores", ["Three."])])
    [('Data', 1, ['One.', 'Two.']), ('Scores', 3, ['Three.'])]
    """
    numbered, first = [], 1
    for heading, sentences in chapters:
        numbered.append((heading, first, sentences))
        first += len(sentences)
    return numbered


# Contests that are over.


@require_safe
def show_archive(request: Any) -> Any:
    """All past contests with their winners; for organisers also files that are not archives."""
    folder = settings.CONTEST_FOLDER
    is_organiser = request.user.is_authenticated and request.user.is_organiser
    about = {
        "past": past_contests.list_past_contests(folder),
        "unreadable": past_contests.find_unreadable_archives(folder) if is_organiser else [],
    }
    return render(request, "archive.html", about)


@require_safe
@gzip_page
def show_past_contest(request: Any, name: str) -> Any:
    """One past contest: awards, scores, pictures, and its archive."""
    past = _require_past_contest(name)
    described = downloads.describe_file(past_contests.find_archive_path(settings.CONTEST_FOLDER, past))
    return render(
        request,
        "archive/one.html",
        {"past": past, "drawn": past.drawn, "file": described, "write_ups": past.write_ups},
    )


@require_safe
def send_past_archive(request: Any, name: str) -> Any:
    """The archive of a past contest."""
    return downloads.send_file(
        request, past_contests.find_archive_path(settings.CONTEST_FOLDER, _require_past_contest(name))
    )


@require_safe
def send_past_numbers(request: Any, name: str, table: str) -> Any:
    """The numbers behind a table or a picture of a past contest, to save."""
    content = _require_past_contest(name).drawn.csv(table.removesuffix(".csv"))
    if content is None or not table.endswith(".csv"):
        raise not_found()
    return _send_csv(table, content)


def _require_past_contest(name: str) -> past_contests.PastContest:
    past = past_contests.find_past_contest(settings.CONTEST_FOLDER, name)
    if past is None:
        raise not_found()
    return past


# Logging in and out.


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def handle_join(request: Any) -> Any:
    """Make an account of a link; its secret stands behind the # and never in an address."""
    return _handle_account_form(request, "join.html", _join_member)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def handle_login(request: Any) -> Any:
    """Log in."""
    return _handle_account_form(request, "login.html", _log_in_member)


@require_POST
def handle_logout(request: Any) -> Any:
    """Log out."""
    return accounts.log_out(request, redirect("/"))


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def handle_password(request: Any) -> Any:
    """Change one's password."""
    return _handle_account_form(request, "password.html", _change_password)


def _handle_account_form(request: Any, template: str, act: Callable[[Any], Any]) -> Any:
    """Show a form, or act on it; what is refused is said above the form."""
    if request.method != "POST":
        return render(request, template, {"next": _find_next_page(request)})
    try:
        return act(request)
    except RequestRefused as refused:
        said = {"refused": refused, "name": request.POST.get("name", ""), "next": _find_next_page(request)}
        return render(request, template, said, status=refused.status)


@sensitive_variables()
def _join_member(request: Any) -> Any:
    given = request.POST
    secret = given.get("secret", "").strip().rpartition("#")[2]
    member, key = accounts.redeem_link(secret, given.get("name", ""), given.get("password", ""))
    return accounts.log_in(request, redirect(_find_start_page(member)), member, key)


@sensitive_variables()
def _log_in_member(request: Any) -> Any:
    given = request.POST
    address = request.META["REMOTE_ADDR"]
    member, key = accounts.authenticate(given.get("name", ""), given.get("password", ""), address)
    return accounts.log_in(
        request, redirect(_find_next_page(request) or _find_start_page(member)), member, key
    )


@sensitive_variables()
def _change_password(request: Any) -> Any:
    accounts.change_password(request, request.POST.get("old", ""), request.POST.get("password", ""))
    return redirect(_find_start_page(request.user))


def _find_start_page(member: Any) -> str:
    return "/organiser" if member.is_organiser else "/team"


def _find_next_page(request: Any) -> str:
    """Return where to go after the login, if that is a page of ours."""
    return require_own_page(request.POST.get("next", request.GET.get("next", "")))


def require_own_page(wanted: str) -> str:
    """Return an address that a form names if it is on this site, else nothing."""
    return wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else ""


@require_POST
def choose_language(request: Any) -> Any:
    """Remember a language, and go back to the page where it was chosen."""
    back = require_own_page(request.POST.get("next", "")) or "/"
    return set_language_cookie(redirect(back), request.POST.get("language", ""))


@require_safe
def send_wheel(request: Any, name: str) -> Any:
    """The wheel of tracearena that the organiser gave, for pip, which does not log in."""
    folder = settings.CONTEST_FOLDER
    if name != getting_started.find_wheel(folder):
        raise not_found()
    return downloads.send_file(request, folder.wheels / name)


@require_safe
def show_api(request: Any) -> Any:
    """Every route of the API with what it takes and gives."""
    described = api.get_openapi_schema()
    routes = [
        {"path": path, "method": method.upper(), **about}
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    return render(request, "api.html", {"routes": routes, "url": request.build_absolute_uri("/api/v1")})


@require_safe
def report_health(request: Any) -> Any:
    """Whether the web and its database work: 200 or 503, and a word; for load balancers and systemd."""
    try:
        works = Contest.objects.filter(pk=1).exists()
    except Error:
        works = False
    words = "ok\n" if works else "no database\n"
    return HttpResponse(words, "text/plain; charset=utf-8", status=200 if works else 503)


@require_safe
def report_metrics(request: Any) -> Any:
    """How the contest stands, for Prometheus on this machine and for organisers; others find nothing."""
    if not request.is_from_this_machine and not getattr(request.user, "is_organiser", False):
        raise not_found()
    return HttpResponse(
        status.format_metrics(status.collect_status(settings.CONTEST_FOLDER)), status.CONTENT_TYPE
    )
