"""What the client says of an upload: its state, and why, once."""

from __future__ import annotations

from typing import Any

from tracearena.cli.contest_client import _describe_defence, _format_team, _format_upload

UPLOAD: dict[str, Any] = {"id": 7, "kind": "obfuscated", "data_set": 1, "target": None, "state": "refused"}
RULES: dict[str, Any] = {"data_sets": 1, "utility_threshold": 0.7}
FIRST, SECOND = "bad.csv: row 5 (line 6): a number out of range", "bad.csv: row 7 (line 8): no number"


def test_every_row_that_is_wrong_is_said_once() -> None:
    """The first line of a verdict is the reason too, and is not repeated."""
    verdict = {"code": "range", "reason": f"{FIRST}\n{SECOND}", "faults": [], "more": 0}
    said = _format_upload(UPLOAD | {"verdict": verdict, "reason": FIRST}, RULES)
    assert [line.strip() for line in said.splitlines()[1:]] == [FIRST, SECOND]


def test_a_failure_of_the_judge_has_its_reason() -> None:
    """Without a verdict."""
    said = _format_upload(
        UPLOAD | {"state": "judge error", "verdict": None, "reason": "the judge failed"}, RULES
    )
    assert said.splitlines()[1:] == ["       the judge failed"]


def test_a_utility_below_the_threshold_is_called_not_valid() -> None:
    """Whoever stays there is not published, and should hear of it in time."""
    poor = {"utility": 0.25, "valid": False, "threshold": 0.7}
    assert _describe_defence(poor) == "utility 0.2500, NOT VALID: it must be at least 0.7"
    assert _describe_defence({"utility": 0.7, "valid": True, "threshold": 0.7}) == "utility 0.7000"
    assert _describe_defence({"utility": None, "valid": False, "threshold": 0.7}) == "no valid submission yet"


def test_a_team_without_a_name_of_its_own_is_called_once() -> None:
    assert _format_team({"team": "001", "name": "001"}) == "001"
    assert _format_team({"team": "001", "name": "Paper Cranes"}) == "001 Paper Cranes"
