"""The scripts of the house: times in the reader's own zone, what is left of a phase, the ceremony."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.browser.looking import faults
from tests.server.conftest import Held
from tests.server.test_public_pages import played, with_nasty_names
from tests.server.visitors import browser, joined, organiser, served

from tracearena.contest import Schedule
from tracearena.server import clock

pytestmark = pytest.mark.slow
NARROW = {"width": 320, "height": 640}
PUBLIC = ("/", "/rules", "/board", "/archive", "/login", "/join", "/api", "/nothing")
ORGANISERS = tuple(
    f"/organiser{one}"
    for one in (
        "",
        "/phases",
        "/dry-run",
        "/teams",
        "/submissions",
        "/rescoring",
        "/ceremony",
        "/publish",
        "/export",
        "/log",
    )
)


def _words(page: Any, selector: str) -> list[str]:
    """Return the words of drawn elements."""
    found: list[str] = page.locator(selector).evaluate_all("all => all.map(one => one.textContent)")
    return found


def test_times_stand_in_the_readers_own_zone(held: Held, page_of: Callable[..., Any]) -> None:
    """With those of the server as a hint; the drawn ones too."""
    held.anonymization()
    with served(held) as site:
        page = page_of(site.url, timezone_id="Asia/Tokyo", locale="en-GB")
        page.goto("/")
        strip = page.locator(".phase time")
        assert strip.inner_text() == "9 May 2026, 09:00 GMT+9"
        assert strip.get_attribute("title") == "9 May 2026, 00:00 UTC"
        assert set(_words(page, 'text[data-part="hour"]')) == {"09:00"}
        assert page.locator("[role=timer]").inner_text() == "6 days"


def test_without_a_script_everything_stands_there_in_utc(held: Held, page_of: Callable[..., Any]) -> None:
    """Nothing waits for a script to be read."""
    held.anonymization()
    with served(held) as site:
        page = page_of(site.url, java_script_enabled=False, timezone_id="Asia/Tokyo")
        page.goto("/")
        assert page.locator(".phase time").inner_text() == "9 May 2026, 00:00 UTC"


def test_what_is_left_ticks_by_the_clock_of_the_server(
    held: Held, page_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clock is not set by hand."""
    from tracearena.server.models import Contest

    now = datetime.now(UTC)
    schedule = Schedule.weeks(now - timedelta(days=1), anonymization_days=1 + 2 / 24)
    Contest.objects.update(schedule_values=schedule.to_dict())
    monkeypatch.delenv(clock.VARIABLE)
    with served(held) as site:
        page = page_of(site.url)
        page.goto("/")
        timer = page.locator("[role=timer]")
        first = timer.inner_text()
        assert re.fullmatch(r"01:\d\d:\d\d|02:00:00", first)
        later = "before => document.querySelector('[role=timer]').textContent < before"
        page.wait_for_function(later, arg=first)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_small_phone(held: Held, page_of: Callable[..., Any], scheme: str) -> None:
    """320 pixels, with names that want more room, and not a word on the console."""
    with_nasty_names()
    boss = organiser(held)
    with served(held) as site:
        for client, addresses in ((browser(), PUBLIC), (boss, ORGANISERS)):
            page = page_of(site.url, client, viewport=NARROW, color_scheme=scheme, refused=404)
            for address in addresses:
                page.goto(address)
                over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert over <= 0, address


def test_the_results_are_not_wider_either_and_print_without_the_house(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_of: Callable[..., Any]
) -> None:
    """On paper there is no navigation."""
    with_nasty_names()
    joined(held, "001")
    played(held, tmp_path, monkeypatch)
    with served(held) as site:
        page = page_of(site.url, viewport=NARROW)
        page.goto("/board")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.locator("header nav").first.is_visible()
        page.emulate_media(media="print")
        assert not page.locator("header nav").first.is_visible()
        assert page.locator("figure").first.is_visible()


def test_the_ceremony_opens_everything_by_keys_without_a_network(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_of: Callable[..., Any]
) -> None:
    """Row by row, or one cell at a time; the minimum beside a target falls, and comes to what counts."""
    boss = organiser(held)
    played(held, tmp_path, monkeypatch, until="frozen")
    with served(held) as site:
        page = page_of(site.url, boss)
        page.goto("/organiser/ceremony")
        page.click("main form button")
        page.wait_for_selector("body.ceremony")
        final = _words(page, "section:nth-of-type(2) .least")
        page.context.set_offline(True)
        assert page.locator(".scene:not([hidden])").count() == 1
        _check_minima_fall(page)
        page.keyboard.press("End")
        after = page.locator(".cell.closed, .step.closed, .sum.closed, [data-last][hidden]")
        assert after.count() == 0
        page.keyboard.press("Home")
        assert page.locator(".cell.opened").count() == 0
        for _ in range(1 + 4):
            page.keyboard.press("ArrowRight")
        assert _words(page, ".matrix:not([hidden]) .least") == final
        page.keyboard.press("End")
        assert faults(page) == []


def _check_minima_fall(page: Any) -> None:
    """Open the cells of the first matrix one by one."""
    page.keyboard.press("ArrowRight")
    cells = page.locator(".matrix:not([hidden]) .cell")
    row, least = None, 1.0
    for opened in range(1, cells.count() + 1):
        page.keyboard.press("ArrowDown")
        assert page.locator(".matrix:not([hidden]) .cell.opened").count() == opened
        cell = page.locator(f'.matrix:not([hidden]) .cell[data-order="{opened}"]')
        now = cell.get_attribute("data-row")
        told = float(_words(page, f'.matrix:not([hidden]) .least[data-row="{now}"]')[0])
        score = float(cell.get_attribute("data-score") or 1)
        least = min(score, least) if now == row else min(1.0, score)
        assert told == pytest.approx(least, abs=0.0006)
        row = now
    page.keyboard.press("ArrowLeft")
    assert page.locator(".matrix:not([hidden]) .cell.opened").count() == cells.count() - 1
