"""What organisers tell everybody, what teams ask them, and the page that organisers write themselves.

Whatever somebody has written is shown as text; the page alone is Markdown, without HTML and pictures.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Announcement, Contest, Member, Question, Team
from tracearena.server.store.audit_log import log_act

SHOWN_FOR = timedelta(days=7)
"""How long every page shows the last announcement."""
LONGEST_TEXT = 2_000
LONGEST_PAGE = 50_000
MOST_OPEN_QUESTIONS = 20
"""Questions of one team that wait for an answer."""


def announce(text: str, actor: str) -> Announcement:
    """Tell everybody something."""
    clean = _check_text(text)
    with transaction.atomic():
        made = Announcement.objects.create(made_at=clock.now(), text=clean)
        log_act(actor, "announced", number=made.pk)
    return made


def announce_move(point: str, to: datetime, reason: str, team: str = "") -> Announcement:
    """Tell everybody that a point of the schedule was moved, inside the transaction that moves and logs it.

    Parameters
    ----------
    point
        Such as ``attack_end``.
    to
        When it is now.
    reason
        Why, in the organiser's words; may be empty.
    team
        The number of the team that has extra time; everybody's schedule is moved if left out.
    """
    whose = Team.objects.get(number=team) if team else None
    about = {"point": point, "moved_to": to, "team": whose}
    return Announcement.objects.create(made_at=clock.now(), text=clean_text(reason), **about)


def find_latest(now: datetime) -> Announcement | None:
    """Return the announcement that every page shows, None if the last one is an old one."""
    made = Announcement.objects.select_related("team", "question").first()
    return made if made is not None and now - made.made_at < SHOWN_FOR else None


def list_announcements() -> QuerySet[Announcement]:
    """Return all announcements, the last one first."""
    return Announcement.objects.select_related("team", "question")


def describe_announcement(made: Announcement) -> dict[str, Any]:
    """Return an announcement as plain values for JSON."""
    return {
        "id": made.pk,
        "made_at": made.made_at.isoformat(),
        "text": made.text,
        "question": None if made.question is None else made.question.text,
        "point": made.point or None,
        "moved_to": None if made.moved_to is None else made.moved_to.isoformat(),
        "team": None if made.team is None else made.team.number,
    }


# Questions of teams.


def ask(member: Member, text: str) -> Question:
    """Ask the organiser something, for the team of a member; what waits for an answer is not asked again."""
    asked = _check_text(text)
    with transaction.atomic():
        # Of two who ask at once, the second sees the first one's question.
        team = Team.objects.select_for_update().get(pk=member.team_id)
        if same := team.questions.filter(answered_at__isnull=True, text=asked).first():
            return same
        if team.questions.filter(answered_at__isnull=True).count() >= MOST_OPEN_QUESTIONS:
            said = gettext(
                "Your team has %(most)s unanswered questions, and more are not allowed. Wait for an answer "
                "before you ask again."
            )
            raise DataError(said % {"most": MOST_OPEN_QUESTIONS})
        return Question.objects.create(team=team, member=member, asked_at=clock.now(), text=asked)


def describe_question(asked: Question) -> dict[str, Any]:
    """Return a question and its answer as plain values for JSON."""
    return {
        "id": asked.pk,
        "asked_at": asked.asked_at.isoformat(),
        "text": asked.text,
        "answered_at": None if asked.answered_at is None else asked.answered_at.isoformat(),
        "answer": None if asked.answered_at is None else asked.answer,
        "for_all": asked.is_for_all,
    }


def answer(number: int, text: str, actor: str, *, for_all: bool) -> Question:
    """Answer a question, once: to its team alone, or as an announcement that does not say who asked."""
    answered = _check_text(text)
    with transaction.atomic():
        found = Question.objects.select_for_update().get(pk=number)
        if found.answered_at is not None:
            raise DataError(gettext("This question was already answered. Announce what you want to add."))
        found.answer, found.answered_at, found.is_for_all = answered, clock.now(), for_all
        found.save()
        log_act(actor, "question answered", number=number, for_all=for_all)
        if for_all:
            Announcement.objects.create(made_at=found.answered_at, text=answered, question=found)
    return found


def count_open_questions() -> int:
    """Return how many questions wait for an answer."""
    return Question.objects.filter(answered_at__isnull=True).count()


def count_new_answers(team: Team) -> int:
    """Return how many answers to questions of a team nobody of the team has looked at."""
    return _find_new_answers(team).count()


def mark_answers_seen(team: Team) -> None:
    """Keep that somebody of a team has looked at its answers."""
    _find_new_answers(team).update(is_seen=True)


def _find_new_answers(team: Team) -> QuerySet[Question]:
    return Question.objects.filter(team=team, answered_at__isnull=False, is_seen=False)


def clean_text(text: str) -> str:
    """Return a text of a form as it is stored."""
    # PostgreSQL refuses zero bytes, and browsers end lines with two characters.
    return text.replace("\0", "\ufffd").replace("\r\n", "\n").strip()


def _check_text(text: str) -> str:
    clean = clean_text(text)
    if not 1 <= len(clean) <= LONGEST_TEXT:
        said = gettext("Write 1 to %(longest)s characters.") % {"longest": LONGEST_TEXT}
        raise ParameterError(said)
    return clean


# The organiser's own page.


def write_information(text: str, actor: str) -> None:
    """Keep the page in Markdown; an empty text takes it away."""
    clean = clean_text(text)
    if len(clean) > LONGEST_PAGE:
        said = gettext("The page has at most %(longest)s characters.") % {"longest": LONGEST_PAGE}
        raise ParameterError(said)
    with transaction.atomic():
        Contest.objects.filter(pk=1).update(information=clean)
        log_act(actor, "page written", characters=len(clean))


@lru_cache(maxsize=4)
def render_information(text: str) -> str:
    """Return the page as HTML: what would be HTML in it is text, and its headings follow that of the site.

    >>> render_information("# Venue\\n<b>Room</b> 7")
    '<h2>Venue</h2>\\n<p>&lt;b&gt;Room&lt;/b&gt; 7</p>\\n'
    >>> render_information("[Mail](javascript:alert(1))")
    '<p>[Mail](javascript:alert(1))</p>\\n'
    """
    # Pictures would come from other sites, which the policy of every page refuses.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    found = parser.parse(text)
    for token in found:
        _adapt(token)
    return str(parser.renderer.render(found, parser.options, {}))


def _adapt(token: Token) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"
    elif token.type == "link_open":
        token.attrSet("rel", "noreferrer")
    for child in token.children or ():
        _adapt(child)
