"""T15 and T24: the stored copy of the board is always the board, and what is frozen stays as it is."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import Held

from tracearena.server import clock, results
from tracearena.server.judge import publish, scoring
from tracearena.server.models import Contest, RescoringState, Score, Snapshot
from tracearena.server.sandbox.messages import UploadArrays

TEAMS = ("001", "002", "003")


class Chance:
    """A judge whose scores are drawn, so that boards change at every event."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.random = random.Random(seed)
        hands.without_children(monkeypatch)
        for module, name in [
            (scoring, "score_arrays"),
            (scoring, "score_submission"),
            (scoring, "score_sealed_answer"),
        ]:
            monkeypatch.setattr(module, name, self.draw)
        # What is published is still read from the upload.
        monkeypatch.setattr(publish, "check_again", scoring.check_in_sandbox)
        monkeypatch.setattr(scoring, "check_in_sandbox", lambda *given: UploadArrays("obfuscated", b""))

    def draw(self, *given: Any, **named: Any) -> float:
        return round(self.random.random(), 3)


def _same() -> bool:
    """Whether the copy, read twice, is what the rows say."""
    rebuilt = results.encode_snapshot(results.build_result(results.build_current_board()))
    return results.read_organiser_board() == rebuilt == results.read_organiser_board()


def _rescored(held: Held, chance: Chance) -> None:
    """Score everything anew, and apply or cancel that."""
    made = scoring.start_rescoring("organiser", "a test")
    hands.judged(held)
    made.refresh_from_db()
    before = results.read_organiser_board()
    if chance.random.random() < 0.5:
        scoring.apply_rescoring(made, "organiser")
    else:
        scoring.cancel_rescoring(made, "organiser")
        assert results.read_organiser_board() == before


@pytest.mark.slow
def test_the_copy_of_the_board_is_the_board(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15: After each of twenty random events: uploads, publication, attacks, re-scorings."""
    _check_boards(held, tmp_path, monkeypatch, events=20)


@pytest.mark.long
def test_the_copy_is_the_board_after_a_hundred_events(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T15: The same."""
    _check_boards(held, tmp_path, monkeypatch, events=100)


def _check_boards(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: int) -> None:
    chance = Chance(monkeypatch, seed=15)
    contents = {team: hands.obfuscated(held, team, tmp_path) for team in TEAMS}
    held.anonymization()
    seen: tuple[set[bytes], set[bytes]] = (set(), set())
    for event in range(events):
        if event == events // 2:
            held.attack()
            monkeypatch.setattr(
                scoring, "check_in_sandbox", lambda *given: UploadArrays("inferred-table", b"")
            )
            hands.judged(held)
            held.results()
        elif event % 8 == 5:
            _rescored(held, chance)
        elif event < events // 2:
            team = chance.random.choice(TEAMS)
            hands.hand_in(held, team, "obfuscated", contents[team], limit=events)
            hands.judged(held)
        else:
            team, target = chance.random.sample(TEAMS, 2)
            kind = chance.random.choice(["inferred-table", "inferred-traces"])
            hands.hand_in(held, team, kind, b"drawn", target=target, limit=events)
            hands.judged(held)
        assert _same(), event
        seen[event >= events // 2].add(results.read_organiser_board())
    assert min(map(len, seen)) > events // 8, "boards changed in both phases"
    assert Score.objects.filter(key__startswith="final/").exists()


@pytest.mark.slow
def test_what_is_frozen_is_byte_equal_for_good(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T24: Whatever happens later: scores, re-scorings, a second result, the clock."""
    chance = Chance(monkeypatch, seed=24)
    held.anonymization()
    hands.hand_in(held, "001", "obfuscated", hands.obfuscated(held, "001", tmp_path))
    hands.judged(held)
    held.results()
    hands.judged(held)
    first = results.find_final_snapshot()
    assert first is not None
    content = bytes(first.content)
    shown = results.encode_snapshot(results.collect_public_board(Contest.get_current(), clock.now()))
    Score.objects.filter(key__startswith="sample/").update(value=0.123)
    results.invalidate_board()
    assert results.read_organiser_board() != content
    hands.judged(held)
    assert results.encode_snapshot(results.collect_public_board(Contest.get_current(), clock.now())) == shown
    made = scoring.start_rescoring("organiser", "other scores")
    hands.judged(held)
    made.refresh_from_db()
    assert made.state == RescoringState.COMPARED
    assert results.encode_snapshot(results.collect_public_board(Contest.get_current(), clock.now())) == shown
    chance.random.seed(1)
    scoring.apply_rescoring(made, "organiser")
    second = results.find_final_snapshot()
    assert second is not None
    assert second.name == "final 2"
    assert bytes(Snapshot.objects.get(name="final").content) == content
