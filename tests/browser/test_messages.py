"""Names, announcements, questions and links in a browser: what people click, and what a reload does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.looking import faults
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import Site, by_link, joined, organiser, served

pytestmark = pytest.mark.slow
CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture
def site(held: Held) -> Iterator[Site]:
    """The contest in its anonymization phase, served."""
    held.anonymization()
    with served(held) as site:
        yield site


def test_a_team_takes_a_name_and_the_organiser_corrects_it(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """Everybody sees it; a link that was sent stays good."""
    team, boss = page_of(site.url, joined(held, "001")), page_of(site.url, organiser(held))
    team.goto("/team")
    team.fill("main input[name=name]", "Paper Crans")
    team.click("text=Save the name")
    assert team.locator("h1").inner_text() == "Team 001 Paper Crans"
    boss.goto("/organiser/teams")
    boss.locator("tr", has_text="Paper Crans").locator("summary").click()
    boss.fill("tr:has-text('Paper Crans') input[name=name]", "Paper Cranes")
    boss.click("tr:has-text('Paper Crans') details button")
    visitor = page_of(site.url)
    visitor.goto("/")
    assert "001 Paper Cranes" in visitor.locator(".teams").inner_text()
    assert by_link(held.created.invitations["001"], "bob").get("/team").status_code == 200


def test_an_announcement_is_read_and_a_question_is_answered(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """From the team to the organiser and back, and to all."""
    team, boss = page_of(site.url, joined(held, "001")), page_of(site.url, organiser(held))
    boss.goto("/organiser/messages")
    boss.fill("form[action='/organiser/messages'] textarea", "Lunch is at noon.\nIn room 7.")
    boss.click("button:has-text('Announce')")
    team.goto("/team/questions")
    assert team.locator(".announcement").inner_text().startswith("Announcement, ")
    assert "Lunch is at noon.\nIn room 7." in team.locator(".announcement").inner_text()
    team.fill("main textarea", "May we use maps?")
    team.click("main form button")
    assert "No answer yet." in team.locator("main").inner_text()
    boss.goto("/organiser")
    boss.click("text=Messages (1)")
    boss.fill(".message textarea", "Yes.")
    boss.click("text=Answer to all")
    team.reload()
    assert "Answer: Yes." in team.locator(".message").inner_text()
    visitor = page_of(site.url)
    visitor.goto("/")
    assert "May we use maps?" in visitor.locator(".announcement").inner_text()
    visitor.click("text=All announcements")
    assert visitor.locator(".message").count() == 2


def test_a_deadline_is_moved_and_everybody_reads_why(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """In the reader's own time."""
    from tracearena.server.operations.schedule import move_point

    move_point("attack_end", SCHEDULE.results_begin, reason="The network was down", actor="test")
    page = page_of(site.url, timezone_id="Asia/Tokyo", locale="en-GB")
    page.goto("/rules")
    words = page.locator(".announcement").inner_text()
    assert "is now at 18 May 2026, 09:00 GMT+9. Reason: The network was down" in words


def test_what_is_shown_once_is_copied_and_made_once(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """Tokens and links: a button copies them, and a page that is loaded again makes no more."""
    from tracearena.server.models import Link, Token

    boss = page_of(site.url, organiser(held), permissions=CLIPBOARD)
    team = page_of(site.url, joined(held, "001"), permissions=CLIPBOARD)
    for page, address, act in (
        (boss, "/organiser/teams", "tr:has-text('002') >> text=New link"),
        (boss, "/organiser/people", "text=Make a link for an organiser"),
        (team, "/team/members", "text=Make a link for more members"),
    ):
        page.goto(address)
        page.click(act)
        made = Link.objects.count()
        page.click(".copy")
        page.wait_for_selector("text=Copied")
        assert page.evaluate("navigator.clipboard.readText()") == page.inner_text(".shown-once code")
        assert "/join#" in page.inner_text(".shown-once code")
        assert faults(page) == []
        page.reload()
        assert page.locator(".shown-once").count() == 0
        assert Link.objects.count() == made
    team.goto("/team/tokens")
    team.fill("input[name=label]", "laptop")
    team.click("text=Make a token")
    assert team.locator(".shown-once").count() == 1
    team.reload()
    assert team.locator(".shown-once").count() == 0
    assert Token.objects.count() == 1


def test_the_programs_of_get_started_are_copied_whole(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """As they are run: with their lines."""
    page = page_of(site.url, joined(held, "001"), permissions=CLIPBOARD)
    page.goto("/team/get-started")
    page.click("#defence-program .copy")
    page.wait_for_selector("text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[:2] == ["import numpy as np", "import pandas as pd"]
    assert 'pd.read_csv("orgtraces_team001_data01_IDP.csv")' in copied


def test_a_file_of_another_team_is_refused_in_the_form_and_the_same_file_costs_nothing(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """The sentence stands under the button; the second receipt is the first one."""
    from tracearena.server.models import Submission

    client = joined(held, "001")
    content = hands.obfuscated(held, "001", tmp_path)
    file = {"name": "anotraces_team002_data01_IDP.csv", "mimeType": "text/csv", "buffer": content}
    page = page_of(site.url, client, refused=409)
    page.goto("/team/uploads/obfuscated/1")
    page.set_input_files("#file", file)
    page.click("main form button")
    page.wait_for_selector(".said.refused")
    assert "another file than anotraces_team001_data01_IDP.csv" in page.inner_text(".said")
    for _ in range(2):
        page.goto("/team/uploads/obfuscated/1")
        page.set_input_files("#file", file | {"name": "anotraces_team001_data01_IDP.csv"})
        page.click("main form button")
        page.wait_for_url("**/team/submissions/*")
    assert "no upload was used up" in page.inner_text("main")
    assert Submission.objects.count() == 1
