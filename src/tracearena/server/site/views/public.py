"""Pages for everybody: home, rules, board and results."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext, override
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from tracearena.contest import Role
from tracearena.pages.svg import stylesheet, timeline_picture
from tracearena.server import clock, wordings
from tracearena.server.models import Contest, Team
from tracearena.server.people import parties
from tracearena.server.refused import not_found
from tracearena.server.results import boards, commitments, drawn_board
from tracearena.server.settings import ENGLISH
from tracearena.server.store import downloads

_KEPT_S = 60


@require_safe
def home(request: Any) -> Any:
    """What the contest is, when what takes place, what to do now, who takes part."""
    contest, now = Contest.now_held(), clock.now()
    about = {
        "teams": [parties.label_of(team) for team in Team.objects.filter(role=Role.TEAM)],
        "styles": parties.styles(),
        "timeline": timeline_picture(contest.schedule, now),
        "published": boards.is_published(contest, now),
        "threshold": contest.rules.utility_threshold,
    }
    return render(request, "home.html", about)


@require_safe
def rules(request: Any) -> Any:
    """The rules in plain sentences, and the schedule."""
    contest = Contest.now_held()
    about = {
        "chapters": _numbered(contest.rules.chapters()),
        "points": schedule_points(),
        "signing_key": contest.signing_key,
    }
    return render(request, "rules.html", about)


@require_safe
@gzip_page
def board(request: Any) -> Any:
    """What may be seen of the scores now, and nothing else."""
    contest, now = Contest.now_held(), clock.now()
    shown = boards.shown(contest, now)
    published = boards.is_published(contest, now) and shown["snapshot"] is not None
    about = {
        "shown": shown,
        "drawn": drawn_board.drawn(shown, contest.rules),
        "published": published,
        "refreshed_at": _refreshed_at(shown["snapshot"]),
        "labels": parties.labels(shown["names"]),
        "styles": parties.styles(),
        "promises": commitments.promises(settings.CONTEST_FOLDER, opened=published),
        "receipt_lists": commitments.receipt_lists(settings.CONTEST_FOLDER),
    }
    return render(request, "board.html", about)


@require_safe
def board_numbers(request: Any, name: str) -> Any:
    """The numbers behind a table or a picture of the board, to save."""
    contest = Contest.now_held()
    # Programs read them: the same for everybody.
    with override(ENGLISH):
        drawn = drawn_board.drawn(boards.shown(contest, clock.now()), contest.rules)
        content = None if drawn is None else drawn.csv(name.removesuffix(".csv"))
    if content is None or not name.endswith(".csv"):
        raise not_found()
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition_header(True, name)
    return response


@require_safe
def opened(request: Any, name: str) -> Any:
    """A signed list of receipts, or a file that opens a promise of the judge once the results are open."""
    folder = settings.CONTEST_FOLDER
    is_open = boards.is_published(Contest.now_held(), clock.now())
    if name not in commitments.receipt_lists(folder) + (commitments.files(folder) if is_open else []):
        raise not_found()
    return downloads.send_public(request, name)


@require_safe
def pictures(request: Any) -> Any:
    """The rules of style that pictures need; they lie beside the code that draws them."""
    rules_of_style = stylesheet()
    tag = hashlib.sha256(rules_of_style.encode()).hexdigest()
    headers = {"Cache-Control": f"max-age={_KEPT_S}, public", "ETag": f'"{tag}"'}
    return HttpResponse(rules_of_style, content_type="text/css; charset=utf-8", headers=headers)


def schedule_points() -> list[tuple[str, Any]]:
    """Return begin and end of each phase, by name, and what comes later for one team."""
    contest = Contest.now_held()
    points = [(wordings.point(name), getattr(contest.schedule, name)) for name in contest.schedule.to_dict()]
    for team, ends in sorted(contest.extra_time.items()):
        own = contest.schedule_of(team)
        about = gettext("%(point)s of team %(team)s, which has extra time")
        points += [
            (about % {"point": wordings.point(name), "team": team}, getattr(own, name))
            for name in sorted(ends)
        ]
    return points


def _refreshed_at(snapshot: dict[str, Any] | None) -> datetime | None:
    """Return when a live board was made; a final one is not refreshed."""
    at = (snapshot or {}).get("refreshed_at")
    return None if at is None else datetime.fromisoformat(at)


def _numbered(chapters: list[tuple[str, list[str]]]) -> list[tuple[str, int, list[str]]]:
    """Number the sentences through all chapters, so that one can speak of rule 7.

    >>> _numbered([("Data", ["One.", "Two."]), ("Scores", ["Three."])])
    [('Data', 1, ['One.', 'Two.']), ('Scores', 3, ['Three.'])]
    """
    told, first = [], 1
    for heading, sentences in chapters:
        told.append((heading, first, sentences))
        first += len(sentences)
    return told
