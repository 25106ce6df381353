"""What is kept of a file that is refused: a verdict that every database takes."""

from __future__ import annotations

import pytest
from tests.server import hands
from tests.server.conftest import Held

from tracearena.server.models import State, Submission

BINARY = b"ID3\x00\x14\x00\x00\x00\x08\x00 a song"
EXCEL = b"PK\x03\x04\x14\x00\x00\x00\x08\x00[Content_Types].xml"


def test_a_workbook_is_called_by_its_name(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it."""
    hands.without_children(monkeypatch)
    held.anonymization()
    receipt = hands.hand_in(held, "001", "obfuscated", EXCEL)
    hands.judged(held)
    found = Submission.objects.get(pk=receipt.pk)
    assert found.verdict is not None
    assert (found.verdict["code"], "save the table as CSV" in found.reason) == ("no-table", True)


def test_a_binary_file_is_refused_whatever_the_database(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL has no place for its NUL bytes; the verdict spells them out."""
    hands.without_children(monkeypatch)
    held.anonymization()
    receipt = hands.hand_in(held, "001", "obfuscated", BINARY)
    hands.judged(held)
    found = Submission.objects.get(pk=receipt.pk)
    assert found.state == State.REFUSED
    assert found.verdict is not None
    assert found.verdict["code"] == "nul-byte"
    assert found.verdict["faults"][0]["value"].startswith(r"ID3\x00\x14\x00")
    assert "\0" not in found.verdict["reason"]
    assert found.reason == found.verdict["reason"]
