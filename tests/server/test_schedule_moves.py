"""The organiser moves points of the schedule, and never behind what everybody has seen happen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held

from tracearena.errors import DataError, ParameterError
from tracearena.server.models import AuditEntry, Contest, DataSet, State
from tracearena.server.operations.schedule import move_point
from tracearena.server.submissions import is_late_now

WHY = {"reason": "the network was down", "actor": "organiser"}


def test_a_moved_end_holds_at_once_and_stands_in_the_log(held: Held) -> None:
    """Who, why, from when to when."""
    held.at(SCHEDULE.anonymization_end)
    assert is_late_now("obfuscated")
    move_point("anonymization_end", SCHEDULE.anonymization_end + DAY / 2, **WHY)
    assert not is_late_now("obfuscated")
    last = AuditEntry.objects.last()
    assert (last.actor, last.act) == ("organiser", "schedule moved")
    assert last.details["reason"] == "the network was down"
    assert last.details["from"] == SCHEDULE.to_dict()["anonymization_end"]


def test_what_has_begun_or_is_past_is_not_changed(held: Held) -> None:
    """A begin that has passed stays; nothing is moved into the past; the log holds no act."""
    held.at(SCHEDULE.attack_begin + DAY)
    acts = AuditEntry.objects.count()
    for point, to in (
        ("attack_begin", SCHEDULE.attack_begin + 2 * DAY),
        ("attack_end", SCHEDULE.attack_begin + DAY / 2),
        ("attack_end", SCHEDULE.attack_begin + DAY),
    ):
        with pytest.raises(DataError):
            move_point(point, to, **WHY)
    with pytest.raises(ParameterError):
        move_point("attack_end", SCHEDULE.attack_end + DAY / 2, reason=" ", actor="organiser")
    assert Contest.get_current().schedule == SCHEDULE
    assert AuditEntry.objects.count() == acts


@pytest.mark.slow
def test_an_end_is_not_put_off_once_something_hangs_on_it(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of a phase whose data sets are released, nor that of one whose result is frozen."""
    hands.without_children(monkeypatch)
    held.anonymization()
    upload = hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    upload.refresh_from_db()
    assert upload.state == State.PUBLISHED
    with pytest.raises(DataError, match="the judge closed this phase"):
        move_point("anonymization_end", SCHEDULE.anonymization_end + DAY / 2, **WHY)
    with pytest.raises(DataError, match="the judge closed this phase"):
        move_point("anonymization_end", SCHEDULE.attack_end + DAY, **WHY)  # whatever else is wrong with it
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    with pytest.raises(DataError, match="the judge closed this phase"):
        move_point("attack_end", SCHEDULE.attack_end + DAY / 2, **WHY)


def test_a_phase_that_was_put_off_is_not_published(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge looks at the schedule as it stands, not as it was."""
    hands.without_children(monkeypatch)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    move_point("anonymization_end", SCHEDULE.anonymization_end + DAY / 2, **WHY)
    hands.judged(held)
    assert not DataSet.objects.filter(closed_at__isnull=False).exists()
    held.at(SCHEDULE.anonymization_end + DAY / 2)
    hands.judged(held)
    assert DataSet.objects.filter(released_at__isnull=False).count() == 2
