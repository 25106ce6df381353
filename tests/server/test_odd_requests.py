"""Requests that no page of ours sends: each gets a sentence, on every database, and never a 500."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held
from tests.server.visitors import PASSWORD, browser, organiser, program

from tracearena.server.models import State, Submission

HUGE = "9" * 40


@pytest.mark.parametrize("name", ["a\0b", "\0", "x" * 10_000, "=HYPERLINK("])
def test_a_login_by_a_name_that_is_none_is_refused(held: Held, name: str) -> None:
    """PostgreSQL takes no zero byte in a text, SQLite does."""
    assert browser().post("/login", {"name": name, "password": PASSWORD}).status_code == 403


@pytest.mark.parametrize("number", ["%00", "a%00b", "%ED%A0%80", "0", HUGE])
def test_a_target_that_is_none_is_404(held: Held, number: str) -> None:
    """Whatever stands in its place."""
    caller, chair = program(held, "001"), organiser(held)
    held.attack()
    assert caller.upload(f"attack/{number}/1/inferred-table", b"x", "key").status_code == 404
    assert caller.upload(f"attack/002/{HUGE}/inferred-table", b"x", "key").status_code in (404, 422)
    assert chair.post(f"/organiser/teams/{number}/reset").status_code == 404


def test_numbers_beyond_every_column_are_404(held: Held) -> None:
    """And a list after such a number is empty."""
    held.anonymization()
    caller = program(held, "001")
    assert caller.get(f"submissions/{HUGE}").status_code == 404
    assert caller.upload(f"obfuscated/{HUGE}", b"x", "key").status_code == 404
    assert caller.get(f"submissions?after={HUGE}").json() == []
    assert caller.get(f"submissions?after=-{HUGE}").json() == []


def test_every_verdict_can_be_written_down(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with zero bytes or halves of letters in it is refused, and is no error of the judge."""
    hands.without_children(monkeypatch)
    held.anonymization()
    good = hands.obfuscated(held, "001", tmp_path)
    spoilt = [
        good.replace(b"\n", b"\n" + odd, 2) for odd in (b"\0", b"\xed\xa0\x80", b"\xff\xfe", b"\x1b[2J")
    ]
    for content in [*spoilt, *(b"\0" * 100, b"reg_id\n\0\n", b"reg_id\n\xed\xa0\x80\n")]:
        hands.hand_in(held, "001", "obfuscated", content)
    hands.judged(held)
    states = set(Submission.objects.values_list("state", flat=True))
    assert states == {State.REFUSED}
