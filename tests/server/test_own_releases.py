"""What a team sees of its own published traces: crowds at once, losses when the tables are open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.test_public_pages import page
from tests.server.visitors import joined


@pytest.fixture
def database() -> None:
    """SQLite: what is published does not depend on the database."""


@pytest.mark.slow
def test_crowds_are_shown_once_published_and_losses_with_the_results(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unchanged traces lose nothing, whatever the pseudonyms; deleted ones are never published."""
    hands.without_children(monkeypatch)
    member: Any = joined(held, "001")
    other: Any = joined(held, "002")
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.defend(held, "002", tmp_path, "MRLH(0,0,1)")
    hands.judged(held)
    assert "Nothing of it is published yet." in page("/team/released/1", member)
    assert "/team/released/1" not in page("/team/traces/1", member)
    held.attack()
    hands.judged(held)
    text = page("/team/released/1", member)
    assert "After: 0% of the crowd would have to move" in text
    assert "only the judge knows" in text
    assert "/team/released/1" in page("/team/traces/1", member)
    assert "Nothing of it is published yet." in page("/team/released/1", other)
    held.results()
    hands.judged(held)
    assert "Where usefulness is lost: 0% in the whole city" in page("/team/released/1", member)
