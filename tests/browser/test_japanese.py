"""What a browser that asks for Japanese shows: its dates, its countdown, and nothing wider than a phone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.server.conftest import Held
from tests.server.visitors import browser, joined, organiser, served

from tracearena.contest import Schedule
from tracearena.server import clock

pytestmark = pytest.mark.slow
JAPAN = {"locale": "ja-JP", "timezone_id": "Asia/Tokyo"}
PHONE = {"width": 390, "height": 844}


def test_times_and_the_switch_of_languages(held: Held, page_of: Callable[..., Any]) -> None:
    """Dates as Japanese writes them; the form at the foot works without a script."""
    held.anonymization()
    with served(held) as site:
        page = page_of(site.url, **JAPAN)
        page.goto("/rules")
        assert page.locator(".phase time").inner_text() == "2026年5月9日 09:00 JST"
        assert page.locator(".phase time").get_attribute("title") == "2026年5月9日 00:00 UTC"
        assert page.locator("h1").inner_text() == "ルール"
        # What a script shows later, such as why a file is refused, is in the same zone.
        page.evaluate("document.querySelector('main').append('from 2026-05-09 00:00 UTC')")
        assert page.locator("main").inner_text().endswith("from 2026年5月9日 09:00 JST")
        plain = page_of(site.url, java_script_enabled=False, **JAPAN)
        plain.goto("/rules")
        plain.get_by_role("button", name="English").click()
        assert plain.url == f"{site.url}/rules"
        assert plain.locator("h1").inner_text() == "Rules"
        assert plain.locator("html").get_attribute("lang") == "en"


def test_what_is_left_is_said_in_the_readers_language(
    held: Held, page_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days have another name in each."""
    from tracearena.server.models import Contest

    schedule = Schedule.weeks(datetime.now(UTC) - timedelta(days=1), anonymization_days=4)
    Contest.objects.update(schedule_values=schedule.to_dict())
    monkeypatch.delenv(clock.VARIABLE)
    with served(held) as site:
        for locale, days in (("ja-JP", "2 日"), ("en-GB", "2 days")):
            page = page_of(site.url, locale=locale)
            page.goto("/")
            page.wait_for_function("() => document.querySelector('[role=timer]').textContent.includes(':')")
            assert page.locator("[role=timer]").inner_text().startswith(f"{days} 23:")


@pytest.mark.long
def test_no_japanese_page_is_wider_than_a_phone(held: Held, page_of: Callable[..., Any]) -> None:
    """390 pixels; a line may break between any two letters, but tables and pictures may not push it."""
    held.anonymization()
    clients = {
        browser(): ("/", "/rules", "/board", "/login", "/join"),
        joined(held, "001"): ("/team", "/team/data", "/team/tokens", "/team/traces/1", "/team/self-test"),
        organiser(held): ("/organiser", "/organiser/phases", "/organiser/teams", "/organiser/ceremony"),
    }
    with served(held) as site:
        for client, addresses in clients.items():
            page = page_of(site.url, client, viewport=PHONE, **JAPAN)
            for address in addresses:
                page.goto(address)
                assert page.locator("html").get_attribute("lang") == "ja"
                over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert over <= 0, address
