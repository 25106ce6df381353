"""How much a visitor has to fetch for a page."""

from __future__ import annotations

import re

import pytest
from tests.server.conftest import Held
from tests.server.large_board import TEAMS, publish
from tests.server.visitors import browser

MOST_BYTES = 300_000


@pytest.fixture
def database() -> None:
    """SQLite: what a page weighs does not depend on the database."""


def weight(address: str) -> int:
    """Return the bytes of a page and of all that it names, as they cross the line."""
    page = browser(headers={"Accept-Encoding": "gzip"}).get(address)
    assert page.status_code == 200
    text = browser().get(address).content.decode()
    total = len(page.content)
    for name in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', text)):
        answer = browser(headers={"Accept-Encoding": "gzip"}).get(name)
        total += len(answer.getvalue())
        if answer.streaming:
            answer.close()
    return total


@pytest.mark.slow
def test_the_board_of_fifty_teams_is_no_heavier_than_a_page_may_be(held: Held) -> None:
    """5,000 attacks in two matrices, with their numbers, below 300 kB."""
    publish(held)
    assert browser().get("/board").content.decode().count('class="cell') >= 2 * TEAMS * (TEAMS - 1)
    assert weight("/board") < MOST_BYTES
