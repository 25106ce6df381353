"""The dry run: what would come of it if the next phase began now, and nothing is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_public_pages import page
from tests.server.visitors import joined, organiser

from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.operations import backup
from tracearena.server.operations.next_phase import simulate_next_phase


@pytest.fixture
def database() -> None:
    """SQLite: what is told from rows does not depend on the database."""


def _told() -> dict[str, tuple[str, str]]:
    run = simulate_next_phase(Contest.get_current(), clock.now())
    return {one.label: (one.fate.value, one.words) for one in run.outcomes}


def test_before_the_anonymization_phase_it_names_who_has_not_come(held: Held) -> None:
    joined(held, "001")
    assert _told() == {
        "001": ("good", "can begin"),
        "002": ("bad", "nobody has joined"),
        "003": ("bad", "nobody has joined"),
    }


@pytest.mark.slow
def test_it_tells_what_would_be_published_invalid_missing_or_open(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the judge does it afterwards; a look changes no row."""
    hands.without_children(monkeypatch)
    boss = organiser(held)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.defend(held, "002", tmp_path, "MRLH(0,0,1)")
    hands.judged(held)
    text = page("/organiser/dry-run", boss)
    assert "If the attack phase began now" in text
    told = _told()
    assert [fate for fate, _ in told.values()] == ["good", "bad", "bad"]
    assert "would be published, by receipt 1" in told["001"][1]
    assert "would be invalid" in told["002"][1]
    assert "would be missing" in told["003"][1]
    assert "Draw the pseudonyms of 2 data sets" in text
    assert "Close 2 data sets" in text
    before = backup.hash_tables()
    hands.defend(held, "003", tmp_path)
    assert _told()["003"] == ("wait", "depends on an upload that the judge has not checked yet")
    assert before["contest_dataset"] == backup.hash_tables()["contest_dataset"]
    hands.judged(held)
    held.attack()
    hands.judged(held)
    assert _told() == {
        "001": ("bad", "no attack: all 4 would count as failed"),
        "002": ("bad", "no attack: all 6 would count as failed"),
        "003": ("bad", "no attack: all 4 would count as failed"),
    }
    hands.attack_table(held, "001", "003", tmp_path, right=5)
    assert _told()["001"] == ("wait", "1 of 4 attacks; 3 would count as failed")
    text = page("/organiser/dry-run", boss)
    assert "If the results were opened now" in text
    assert "Score 1 attack:" in text
    held.results()
    hands.judged(held)
    assert "no phase is left to end" in page("/organiser/dry-run", boss)
