"""A whole contest by clicking alone: two teams, an organiser, a visitor. Only the clock is driven."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import PASSWORD, served

from tracearena.algorithms import catalogue
from tracearena.files.io import InMemoryFile as InMemory
from tracearena.io import pwscup
from tracearena.server import clock

pytestmark = pytest.mark.slow

TEAMS = {"001": "Fog Bank", "002": "Paper Cranes"}
RIGHT = {"001": 4, "002": 15}
"""About how many of the other team's people each team is right."""


def _join(page: Any, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()


def _make_team(boss: Any, number: str, name: str) -> str:
    """Let the organiser make a team in a place whose first link nobody used, and return its link."""
    boss.get_by_role("link", name="Teams").click()
    boss.get_by_label("Name", exact=True).fill(name)
    boss.get_by_label("Place").select_option(number)
    boss.get_by_role("button", name="Make the team").click()
    link: str = boss.locator(".note code").inner_text()
    return link


def _hand_in(page: Any, content: bytes) -> None:
    """Send a file by the form that is open, and come to its receipt."""
    page.get_by_label("File").set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Hand in").click()
    page.wait_for_url("**/team/submissions/*")


def _defend(page: Any, held: Held, tmp_path: Path) -> None:
    """Fetch one's traces, obfuscate them at home, hand them in, and see the gauge."""
    page.get_by_role("link", name="Data", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download your bundle").click()
    bundle = zipfile.ZipFile(io.BytesIO(Path(saved.value.path()).read_bytes()))
    name = next(name for name in bundle.namelist() if "orgtraces" in name)
    everybody = held.folder.everybody
    places, times = everybody / "info_region.csv", everybody / "info_time.csv"
    original = pwscup.read_traces(
        InMemory(name, bundle.read(name)), pwscup.read_places(places), pwscup.read_times(times)
    )
    made = tmp_path / "mine.csv"
    pwscup.write_obfuscated(catalogue.create("PL(4,1)", "obfuscator").transform(original, seed=1), made)
    page.locator("nav.own a").first.click()
    page.locator(".todo a.button").click()
    _hand_in(page, made.read_bytes())
    hands.judged(held)
    page.wait_for_selector("#state .picture svg")


def _attack(page: Any, held: Held, tmp_path: Path, team: str, target: str) -> None:
    """Hand in who is who in the other team."""
    page.get_by_role("link", name="Targets", exact=True).click()
    row = page.get_by_role("row").filter(has_text=TEAMS[target])
    with page.expect_download():
        row.get_by_role("link", name="anonymized").click()
    row.get_by_role("link", name="hand in").first.click()
    _hand_in(page, hands.inferred_table(held, target, tmp_path, right=RIGHT[team]))


def _move(boss: Any, held: Held, point: str) -> None:
    """Let the organiser put a point of the schedule to the next minute; let it pass, and the judge work."""
    at = clock.now() + timedelta(minutes=1)
    boss.get_by_role("link", name="Phases").click()
    boss.locator("select[name=point]").select_option(point)
    boss.get_by_label("New time").fill(at.strftime("%Y-%m-%dT%H:%M"))
    boss.get_by_label("Reason").last.fill("everybody is ready")
    boss.get_by_role("button", name="Move").click()
    assert boss.locator(".refused").count() == 0
    held.at(at)
    hands.judged(held)


def _hold_ceremony(boss: Any) -> None:
    """Open everything, step by step, by one key."""
    boss.get_by_role("link", name="Ceremony").click()
    boss.get_by_role("button", name="Open the ceremony").click()
    boss.wait_for_selector("body.ceremony")
    closed = boss.locator(".cell:not(.opened), .step.closed, [data-last][hidden]")
    for _ in range(200):
        boss.keyboard.press("ArrowRight")
        if closed.count() == 0:
            break
    assert closed.count() == 0
    assert boss.locator(".scene.award:not([hidden])").count() == 1
    boss.get_by_role("link", name="End").click()


@pytest.mark.long
def test_a_whole_contest_by_clicking(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_of: Callable[..., Any]
) -> None:
    """Links, data, uploads, gauges, phases, attacks, ceremony, awards; not one address is typed but links."""
    hands.without_children(monkeypatch)
    held = holding(teams=2)
    with served(held) as site:
        boss, visitor = page_of(site.url), page_of(site.url)
        pages = {team: page_of(site.url) for team in TEAMS}
        _join(boss, f"/join#{held.created.organiser}", "Olga")
        links = {team: _make_team(boss, team, name) for team, name in TEAMS.items()}
        hands.judged(held)
        held.at(SCHEDULE.anonymization_begin)
        for team, page in pages.items():
            _join(page, links[team], f"member of {team}")
            assert TEAMS[team] in page.locator("h1").inner_text()
            _defend(page, held, tmp_path)
        _move(boss, held, "anonymization_end")
        _move(boss, held, "attack_begin")
        for team, other in zip(TEAMS, reversed(TEAMS), strict=True):
            _attack(pages[team], held, tmp_path, team, other)
        hands.judged(held)
        _move(boss, held, "attack_end")
        _hold_ceremony(boss)
        _move(boss, held, "results_begin")
        visitor.goto("/")
        visitor.get_by_role("link", name="Results", exact=True).click()
        awards = visitor.locator(".awards li").all_inner_texts()
    assert len(awards) == 3
    won = next(one for one in awards if "re-identification" in one)
    assert "002 Paper Cranes" in won
    assert "Fog Bank" not in won
