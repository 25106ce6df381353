"""T45: every page, for every role, in every phase; the pages are those that the site itself names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.looking import WIDE, faults
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.routes import filled, pages
from tests.server.test_public_pages import with_nasty_names
from tests.server.visitors import browser, joined, organiser, served, token

from tracearena.contest import Role
from tracearena.server import announcements
from tracearena.server.judge import export
from tracearena.server.models import Member

pytestmark = pytest.mark.slow

VALUES = {
    "number": ("1", "2"),
    "team": ("002",),
    "kind": ("inferred-table", "inferred-traces"),
    "name": ("test-contest.zip",),
    "table": ("board.csv",),
}
NOT_PAGES = {
    "/archive/<str:name>/download",
    "/archive/<str:name>/numbers/<str:table>",
    "/organiser/export/<str:name>",
    "/board/numbers/<str:name>",
    "/board/opened/<str:name>",
    "/files/<str:name>",
    "/health",
    "/language",
    "/logout",
    "/metrics",
    "/organiser/backup",
    "/organiser/jobs/<int:number>",
    "/organiser/people/<int:number>/delete",
    "/organiser/people/<int:number>/disable",
    "/organiser/people/<int:number>/reset",
    "/organiser/questions/<int:number>",
    "/organiser/rescoring/<int:number>/apply",
    "/organiser/rescoring/<int:number>/cancel",
    "/organiser/teams/<str:number>/name",
    "/organiser/teams/<str:number>/reset",
    "/organiser/teams/own-names",
    "/static/pictures.css",
    "/team/data/bundle",
    "/team/data/everybody",
    "/team/name",
    "/team/submissions/<int:number>/state",
    "/team/tokens/<int:number>/revoke",
    "/team/traces/<int:number>/events",
    "/wheels/<str:name>",
}
"""Files to save, numbers for scripts, and what a form is sent to."""
NASTY = '<img src=x onerror=alert(1)>"=HYPERLINK('
_SAME = re.compile(r'(?:csrfmiddlewaretoken|name="key")[^>]*|<time.*?</time>')
"""What is another in every answer, and looks the same."""


def _phases(held: Held, tmp_path: Path) -> Iterator[str]:
    """Move a contest through its phases, with something in every list and something wrong everywhere."""
    announcements.write_information(f"# Venue\n\n{NASTY}\n\n| a | b |\n|---|---|\n| 1 | 2 |", "test")
    announcements.announce(NASTY, "test")
    for text in ("May we?", NASTY):
        announcements.ask(Member.objects.filter(team__number="001")[0], text)
    announcements.answer(1, NASTY, "test", for_all=True)
    yield "before the start"
    held.anonymization()
    yield "anonymization, nothing handed in"
    hands.defend(held, "001", tmp_path)
    hands.hand_in(held, "001", "obfuscated", b"reg_id\nfive\n")
    for team in ("002", "003"):
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    yield "anonymization"
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    yield "pause"
    held.attack()
    hands.attack_table(held, "001", "002", tmp_path, right=15)
    hands.attack_traces(held, "002", "001", tmp_path)
    hands.judged(held)
    yield "attack"
    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    _rescored(held)
    yield "frozen"
    held.results()
    hands.judged(held)
    _archived(held)
    yield "results"


def _archived(held: Held) -> None:
    """Let the judge make an archive, which takes only names that a team can have been given."""
    from tracearena.server.models import Team

    Team.objects.filter(number="003").update(name="W" * 60)
    export.request_export("organiser", for_everybody=True)
    hands.judged(held)


def _rescored(held: Held) -> None:
    """Start a re-scoring, let the judge finish it, and break a job."""
    from tracearena.server.judge import scoring
    from tracearena.server.models import Job, JobState
    from tracearena.server.store import queue

    scoring.start_rescoring("organiser", NASTY)
    hands.judged(held)
    queue.enqueue("check", "check/999", {"submission": 999})
    Job.objects.filter(key="check/999").update(state=JobState.FAILED, error=f"DataError: {NASTY}")


def _roles(held: Held) -> dict[str, Any]:
    from tracearena.server.models import Team

    with_nasty_names()
    Team.objects.filter(role=Role.SAMPLE).update(name=NASTY)
    member = joined(held, "001", NASTY[:50])
    token(member, NASTY[:50])
    return {"visitor": browser(), "team": member, "organiser": organiser(held)}


def _html(client: Any, address: str) -> str | None:
    """Return a page as the site gives it, None where there is none for this role in this phase."""
    answer = client.get(address)
    if answer.streaming:
        answer.close()
    is_page = answer.status_code == 200 and answer.headers.get("Content-Type", "").startswith("text/html")
    return answer.content.decode() if is_page else None


def _is_new(html: str, role: str, known: set[tuple[str, str]]) -> bool:
    """Whether nobody in this role has looked at such a page; what stands above it is looked at on home."""
    main = (role, _SAME.sub("", html.partition("<main")[2].partition("</main>")[0]))
    is_new = main not in known or "<h1><bdi>" in main[1]
    known.add(main)
    return is_new


@pytest.mark.parametrize("looks", ["once", pytest.param("whenever it differs", marks=pytest.mark.long)])
def test_every_page_for_everybody_in_every_phase(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_of: Callable[..., Any], looks: str
) -> None:
    """0 console errors, 0 foreign requests, 0 refusals of the policy, axe-core 0 findings, 320 px wide.

    Somebody looks at each page once, when it is first there, and everybody at home; in a long test
    everybody looks at each page whenever it has changed.
    """
    hands.without_children(monkeypatch)
    roles = _roles(held)
    wrong: list[str] = []
    seen: set[str] = set()
    known: set[tuple[str, str]] = set()
    homes = {(role, "/") for role in roles}
    patterns = [pattern for pattern in pages() if pattern not in NOT_PAGES]
    addresses = [(address, pattern) for pattern in patterns for address in filled(pattern, VALUES)]
    with served(held) as site:
        opened = {
            role: page_of(site.url, client, viewport=WIDE, refused=404) for role, client in roles.items()
        }
        for role, page in opened.items():
            page.goto("/nothing")
            assert page.locator("header nav a").count() > 0
            wrong += [f"error page for {role}: {one}" for one in faults(page)]
        for phase in _phases(held, tmp_path):
            for role, client in roles.items():
                for address, pattern in addresses:
                    if looks == "once" and pattern in seen and (role, pattern) not in homes:
                        continue
                    html = _html(client, address)
                    if html is None:
                        continue
                    seen.add(pattern)
                    homes.discard((role, pattern))
                    if looks == "once" or _is_new(html, role, known):
                        opened[role].goto(address)
                        found = faults(opened[role])
                        wrong += [f"{address} for {role}, {phase}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)
    assert set(pages()) - seen == NOT_PAGES, "a page that was never shown: give its pattern a value above"
