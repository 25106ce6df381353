"""Pages of announcements, questions and the organiser's own text: for everybody, teams and organisers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.errors import TracearenaError
from tracearena.server import announcements
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.models import Contest, Question
from tracearena.server.web.middleware import for_organiser, for_team


@require_safe
def show_announcements(request: Any) -> Any:
    """Everything that the organiser has announced, the last one first."""
    return render(request, "announcements.html", {"announcements": announcements.list_announcements()})


@require_safe
def show_information(request: Any) -> Any:
    """The page that the organiser has written, if there is one."""
    text = Contest.get_current().information
    if not text:
        raise not_found()
    # Its maker escapes whatever would be HTML.
    about = {"text": mark_safe(announcements.render_information(text))}
    return render(request, "information.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def show_questions(request: Any) -> Any:
    """What the team has asked, with the answers; or one more question."""
    if request.method != "POST":
        return _render_questions(request)
    return _act_on_form(
        request,
        lambda text: announcements.ask(request.user, text),
        "/team/questions",
        _render_questions,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_messages(request: Any) -> Any:
    """Announcements and questions, those without an answer first; or one more announcement."""
    if request.method != "POST":
        return _render_messages(request)
    return _act_on_form(
        request,
        lambda text: announcements.announce(text, request.user.log_name),
        "/organiser/messages",
        _render_messages,
    )


@require_POST
@for_organiser
def handle_answer(request: Any, number: int) -> Any:
    """Answer a question, to its team alone or to all."""
    if not Question.objects.filter(pk=number).exists():
        raise not_found()
    for_all, actor = request.POST.get("for") == "all", request.user.log_name
    return _act_on_form(
        request,
        lambda text: announcements.answer(number, text, actor, for_all=for_all),
        "/organiser/messages",
        lambda asked, refused: _render_messages(asked, refused, answering=number),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def edit_information(request: Any) -> Any:
    """The organiser's own page as Markdown, to be written."""
    if request.method != "POST":
        return render(request, "organiser/information.html", {"text": Contest.get_current().information})
    try:
        announcements.write_information(request.POST.get("text", ""), request.user.log_name)
    except TracearenaError as error:
        refused = RequestRefused(400, "text", str(error))
        said = {"text": request.POST.get("text", ""), "refused": refused}
        return render(request, "organiser/information.html", said, status=refused.status)
    return redirect("/information" if Contest.get_current().information else "/organiser/messages")


def _act_on_form(request: Any, act: Callable[[str], Any], after: str, show: Callable[..., Any]) -> Any:
    """Do what a form with one text says and go on; what is refused is said above it, and the text stays."""
    try:
        act(request.POST.get("text", ""))
    except TracearenaError as error:
        return show(request, RequestRefused(400, "text", str(error)))
    return redirect(after)


def _render_questions(request: Any, refused: RequestRefused | None = None) -> Any:
    asked = list(Question.objects.filter(team=request.user.team).select_related("member"))
    announcements.mark_answers_seen(request.user.team)
    about = {
        "questions": asked,
        "longest": announcements.LONGEST_TEXT,
        "given": request.POST,
        "refused": refused,
    }
    return render(request, "team/questions.html", about, status=refused.status if refused else 200)


def _render_messages(
    request: Any, refused: RequestRefused | None = None, *, answering: int | None = None
) -> Any:
    asked = Question.objects.select_related("team", "member")
    about = {
        "waiting": asked.filter(answered_at__isnull=True).order_by("pk"),
        "answered": asked.filter(answered_at__isnull=False),
        "announcements": announcements.list_announcements(),
        "longest": announcements.LONGEST_TEXT,
        "given": request.POST,
        "refused": refused,
        "answering": answering,
    }
    return render(request, "organiser/messages.html", about, status=refused.status if refused else 200)
