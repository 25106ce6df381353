"""What holds for every page: security headers, trusted proxies, language, navigation and access.

Also what a team should do next, which its pages show at the top.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.shortcuts import redirect
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tracearena.contest import Gate, Phase, phase_at
from tracearena.server import announcements, clock, results, submissions
from tracearena.server.errors import API, FOR_TEAMS, RequestRefused, not_found
from tracearena.server.models import Contest, State, Submission, Team, UploadKind
from tracearena.server.operations.status import is_judge_away
from tracearena.server.settings import ENGLISH, LANGUAGES, is_loopback

GetResponse = Callable[[Any], Any]
View = Callable[..., Any]

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO")
_PROXY_HEADERS = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")
_USED_KEYS, _MOST_USED_KEYS, _LONGEST_KEY = "used form keys", 20, 32
LANGUAGE_COOKIE_S = 365 * 24 * 3600
"""How long a browser remembers which language was chosen."""


class SecurityHeadersMiddleware:
    """Puts the security headers on every answer, errors included; nothing is stored but static files."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self._get_response(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        if settings.CONTEST_ADDRESS.secure:
            response.headers["Strict-Transport-Security"] = "max-age=31536000"
        response.headers.setdefault("Cache-Control", "no-store")
        if request.method == "HEAD":
            # The body goes, its length stays in the headers.
            if response.streaming:
                response.streaming_content = []
            else:
                response.content = b""
        return response


class ProxyMiddleware:
    """Believes what a request says of its way here only if a trusted proxy brings it.

    A request is from this machine if it comes from loopback and no proxy has brought it.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        trusted = settings.CONTEST_ADDRESS.trusted_proxies
        is_brought = any(name in request.META for name in (*_FORWARDED, *_PROXY_HEADERS))
        request.is_from_this_machine = is_loopback(request.META["REMOTE_ADDR"]) and not is_brought
        said = {name: request.META.pop(name, "") for name in _FORWARDED}
        if request.META.get("REMOTE_ADDR") in trusted:
            # The client is the last address that is not a trusted proxy: earlier ones may be invented.
            hops = [hop.strip() for hop in said["HTTP_X_FORWARDED_FOR"].split(",")]
            unknown = (hop for hop in reversed(hops) if hop and hop not in trusted)
            request.META["REMOTE_ADDR"] = next(unknown, request.META["REMOTE_ADDR"])
            if said["HTTP_X_FORWARDED_PROTO"].strip().lower() == "https":
                request.environ["wsgi.url_scheme"] = "https"
        return self._get_response(request)


class LanguageMiddleware:
    """Answers in the language that was chosen by the form at the foot, or else in one the browser asks for.

    The API answers in English, whatever its caller speaks.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        if request.path.startswith((API, settings.STATIC_URL)):
            with translation.override(ENGLISH):
                return self._get_response(request)
        # A thread serves many: what it speaks ends with the request.
        with translation.override(translation.get_language_from_request(request)):
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def set_language_cookie(response: Any, language: str) -> Any:
    """Let the browser remember a language; a language without a catalogue changes nothing."""
    if language in dict(LANGUAGES):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            language,
            max_age=LANGUAGE_COOKIE_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


# What every page shows.


def add_page_context(request: Any) -> dict[str, Any]:
    """Return the values that all templates have."""
    contest = Contest.get_current()
    now = clock.now()
    member = request.user if request.user.is_authenticated else None
    published = results.is_published(contest, now)
    places = list_public_pages(request.path, published=published, informs=bool(contest.information))
    own_places = list_own_pages(member, request.path, published=published)
    team = None if member is None else member.team
    here = str(request.get_full_path())
    if request.method not in ("GET", "HEAD"):
        # The answer to a form is not shown again when the reader chooses another language.
        here = next((one.address for one in (*places, *own_places) if one.current), "/")
    return {
        "contest": contest,
        "now": now,
        "phase": phase_at(contest.schedule if team is None else contest.schedule_of(team.number), now),
        "phases": list(Phase),
        "closes_at": find_closing_time(contest, now),
        "clock_is_driven": clock.is_driven(),
        "clock_stands_still": clock.is_stopped(),
        "member": member,
        "places": places,
        "own_places": own_places,
        "languages": LANGUAGES,
        "path": request.path,
        "here": here,
        "announcement": announcements.find_latest(now),
        "judge_is_away": member is not None and is_judge_away(),
    }


def find_closing_time(contest: Contest, now: datetime) -> datetime | None:
    """Return when the judge closes the phase that has ended and is not closed yet; None if there is none."""
    for closed_at, point in (
        (contest.attack_closed_at, "attack_end"),
        (contest.anonymization_closed_at, "anonymization_end"),
    ):
        end = contest.find_latest(point)
        if end <= now:
            return None if closed_at else clock.find_closing_time(end)
    return None


class NavigationEntry(NamedTuple):
    """A link: its words, its address, and what `aria-current` says of it, nothing if one is elsewhere."""

    label: str
    address: str
    current: str


def list_public_pages(path: str, *, published: bool, informs: bool) -> list[NavigationEntry]:
    """Return the pages that are for everybody; that of the organiser's own text if it `informs`."""
    places = [
        (_("Home"), "/"),
        *([(_("Information"), "/information")] if informs else []),
        (_("Rules"), "/rules"),
        (_("Results") if published else _("Board"), "/board"),
        (_("Archive"), "/archive"),
    ]
    return [_make_entry(label, address, path) for label, address in places]


def list_own_pages(member: Any, path: str, *, published: bool) -> list[NavigationEntry]:
    """Return the pages of a member's own part of the site; none for visitors."""
    if member is None:
        return []
    if member.is_organiser:
        places = [
            (_("Control room"), "/organiser"),
            (_("Phases"), "/organiser/phases"),
            (_("Dry run"), "/organiser/dry-run"),
            (_("Teams"), "/organiser/teams"),
            (_label_messages(announcements.count_open_questions()), "/organiser/messages"),
            (_("People"), "/organiser/people"),
            (_("Submissions"), "/organiser/submissions"),
            (_("Re-scoring"), "/organiser/rescoring"),
            (_("Ceremony"), "/organiser/ceremony"),
            (_("Publish"), "/organiser/publish"),
            (_("Export"), "/organiser/export"),
            (_("Log"), "/organiser/log"),
        ]
    else:
        places = [
            (_("Team %(number)s") % {"number": member.team.number}, "/team"),
            *([(_("Your results"), "/team/results")] if published else []),
            (_("Get started"), "/team/get-started"),
            (_("Data"), "/team/data"),
            (_("Targets"), "/team/targets"),
            (_("Submissions"), "/team/submissions"),
            (_("Tokens"), "/team/tokens"),
            (_("Members"), "/team/members"),
            (_label_questions(announcements.count_new_answers(member.team)), "/team/questions"),
        ]
    return [_make_entry(label, address, path) for label, address in places]


def _label_messages(waiting: int) -> str:
    return _("Messages (%(waiting)s)") % {"waiting": waiting} if waiting else _("Messages")


def _label_questions(answered: int) -> str:
    return _("Questions (%(answered)s)") % {"answered": answered} if answered else _("Questions")


def _make_entry(label: str, address: str, path: str) -> NavigationEntry:
    """Mark the page that is shown, and the place that a page further down belongs to.

    >>> _make_entry("Submissions", "/team/submissions", "/team/submissions/7").current
    'true'
    """
    further = address.count("/") > 1 and path.startswith(f"{address}/")
    return NavigationEntry(label, address, "page" if path == address else "true" if further else "")


# What a team should do next: a function of its state and the clock.


@dataclass(frozen=True)
class NextStep:
    """What to do.

    Attributes
    ----------
    sentence
        For a person.
    address, action
        The page where it is done, and what its link says.
    until
        When something changes; None once the results are open.
    is_begin
        Whether something begins then, and nothing ends.
    is_done
        Whether nothing has to be done now.
    """

    sentence: str
    address: str
    action: str
    until: datetime | None = None
    is_done: bool = False
    is_begin: bool = False


def find_next_step(team: Team) -> NextStep:
    """Return what a team should do now."""
    contest, now = Contest.get_current(), clock.now()
    schedule = contest.schedule_of(team.number)
    phase = phase_at(schedule, now)
    if phase.obfuscated is Gate.EARLY:
        sentence = _(
            "Download your data and practise: you can hand in obfuscated traces when the phase begins."
        )
        return NextStep(
            sentence, "/team/data", _("Download the data"), schedule.anonymization_begin, is_begin=True
        )
    if phase.obfuscated is Gate.OPEN:
        steps = [
            _advise_data_set(team, one, schedule.anonymization_end)
            for one in submissions.describe_data_sets(team)
        ]
        return next((step for step in steps if not step.is_done), steps[0])
    if phase.attacks is Gate.EARLY:
        sentence = _("Nothing to do: the judge gets the targets ready, then the attack phase begins.")
        return NextStep(
            sentence, "/team/self-test", _("Practise attacks"), schedule.attack_begin, True, is_begin=True
        )
    if phase.attacks is Gate.OPEN and not contest.is_release_ready():
        sentence = _(
            "Wait a moment: the judge is preparing the targets; all of them appear at the same time."
        )
        return NextStep(sentence, "/team/self-test", _("Practise attacks"), schedule.attack_end, True)
    if phase.attacks is Gate.OPEN:
        return _advise_attack(team, schedule.attack_end)
    if results.is_published(contest, now):
        return NextStep(_("The results are out."), "/team/results", _("See your results"), None, True)
    sentence = _("Nothing to do: everything is handed in, and the results come next.")
    until = schedule.results_begin if phase.next_change else None
    return NextStep(sentence, "/team/submissions", _("See what you handed in"), until, True, is_begin=True)


def _advise_data_set(team: Team, one: dict[str, Any], until: datetime) -> NextStep:
    """Return what to do about one data set: hand something in, mend it, wait, or be content."""
    number = one["number"]
    named = {**one, "data_set": Contest.get_current().rules.name_data_set(number)}
    own = Submission.objects.filter(team=team, kind=UploadKind.OBFUSCATED, data_set__number=number)
    last = own.exclude(state=State.LATE).order_by("-pk").first()
    upload, again = f"/team/uploads/obfuscated/{number}", _("Hand in obfuscated traces")
    if last is None:
        sentence = _("Hand in obfuscated traces for your %(data_set)s: you have not handed in any yet.")
        return NextStep(sentence % named, upload, again, until)
    receipt = f"/team/submissions/{last.pk}"
    if last.state == State.RECEIVED:
        sentence = _("Wait a moment: the judge is looking at your upload for your %(data_set)s.")
        return NextStep(sentence % named, receipt, _("See the receipt"), until)
    if one["utility"] is None:
        sentence = _("See why your upload for your %(data_set)s was not accepted, and hand it in again.")
        return NextStep(sentence % named, receipt, _("See what is wrong"), until)
    if not one["valid"]:
        sentence = _(
            "Hand in more useful traces for your %(data_set)s: their utility is below %(threshold)s."
        )
        return NextStep(sentence % named, upload, again, until)
    sentence = _("What you handed in is valid; you may hand in something better.")
    return NextStep(sentence, upload, again, until, True)


def _advise_attack(team: Team, until: datetime) -> NextStep:
    targets = submissions.describe_attack_progress(team)
    left = sum(one["is_open"] for one in targets)
    if left:
        sentence = ngettext(
            "Attack %(count)s more target: your inferred ID table or your inferred traces are missing.",
            "Attack %(count)s more targets: your inferred ID tables or your inferred traces are missing.",
            left,
        )
        return NextStep(sentence % {"count": left}, "/team/targets", _("See the targets"), until)
    sentence = _(
        "All done: you have handed in both attacks on every target. You can still hand in better ones."
    )
    return NextStep(sentence, "/team/targets", _("See the targets"), until, True)


# Forms whose answer shows something once: loaded again, they do nothing a second time.


def make_form_key() -> str:
    """Return a key for the forms of a page, which is good for one of them, once."""
    return secrets.token_hex(8)


def is_repeated(request: Any) -> bool:
    """Whether a form was sent before, as when its answer is loaded again; one without a key never was."""
    key = request.POST.get("key", "")
    used: list[str] = request.session.get(_USED_KEYS, [])
    if key in used:
        return True
    if key:
        request.session[_USED_KEYS] = [*used, key[:_LONGEST_KEY]][-_MOST_USED_KEYS:]
    return False


# Who may see a page.


def for_team(view: View) -> View:
    """Let members of a team in; visitors are asked to log in, organisers get a page that explains."""

    def refuse_organiser() -> RequestRefused:
        return RequestRefused(404, FOR_TEAMS, _("This page belongs to a team, and you are in no team."))

    return _guard_view(view, lambda member: member.team is not None, refuse_organiser)


def for_organiser(view: View) -> View:
    """Let organisers in; visitors are asked to log in, for others there is nothing here."""
    return _guard_view(view, lambda member: member.is_organiser)


def for_members(view: View) -> View:
    """Let everybody in who has an account."""
    return _guard_view(view, lambda member: True)


def _guard_view(
    view: View, may: Callable[[Any], bool], refused: Callable[[], RequestRefused] = not_found
) -> View:
    @wraps(view)
    def guarded(request: Any, *args: Any, **named: Any) -> Any:
        if not request.user.is_authenticated:
            return redirect(f"/login?next={quote(request.path)}")
        if not may(request.user):
            raise refused()
        return view(request, *args, **named)

    return guarded
