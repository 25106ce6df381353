"""The organiser moves points of the schedule, and never behind what everybody has seen happen."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import joined, organiser, program

from tracearena.errors import DataError, ParameterError
from tracearena.server import clock
from tracearena.server.models import Announcement, AuditEntry, Contest, DataSet, State
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
        move_point("attack_end", SCHEDULE.attack_end + DAY / 2, reason="x" * 201, actor="organiser")
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


def test_what_comes_next_can_come_now(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds from now, when what it needs is there; announced, with the reason where one was given."""
    hands.without_children(monkeypatch)
    held.anonymization()
    boss = organiser(held)

    def press(point: str, **more: str) -> str:
        answer = boss.post("/organiser/phases", {"now": point, **more})
        assert answer.status_code in (302, 409)
        return "" if answer.status_code == 302 else answer.content.decode()

    def offered() -> str:
        found = re.search(r'name="now" value="(\w+)"', boss.get("/organiser/phases").content.decode())
        assert found is not None
        return found[1]

    assert offered() == "anonymization_end"
    assert not press("anonymization_end", reason="everybody is ready")
    end = Contest.get_current().schedule.anonymization_end
    assert end == clock.now() + timedelta(seconds=10)
    assert AuditEntry.objects.last().details["reason"] == "everybody is ready"
    assert [one.text for one in Announcement.objects.all()] == ["everybody is ready"]
    held.at(end)
    assert "still preparing the targets" in press("attack_begin")
    hands.judged(held)
    assert offered() == "attack_begin"
    assert not press("attack_begin")
    assert "reason" not in AuditEntry.objects.last().details
    assert [one.text for one in Announcement.objects.all()] == ["", "everybody is ready"]
    assert "Reason:" not in boss.get("/").content.decode()
    held.at(Contest.get_current().schedule.attack_begin)
    assert not press("attack_end")
    held.at(Contest.get_current().schedule.attack_end)
    assert "still scoring" in press("results_begin")
    hands.judged(held)
    assert boss.post("/organiser/publish").status_code == 302
    held.at(Contest.get_current().schedule.results_begin)
    hands.judged(held)
    assert Contest.get_current().published_at is not None


def test_all_targets_of_a_release_appear_at_once(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the judge has one data set left, nobody sees, fetches or attacks the others."""
    hands.without_children(monkeypatch)
    client, member = program(held, "003"), joined(held, "001")
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    everything = len(client.get("targets").json())
    assert everything == 3
    DataSet.objects.filter(team__number="002").update(closed_at=None, released_at=None)
    assert client.get("targets").json() == []
    assert not [one for one in client.get("data").json()["files"] if "pubtraces" in one["name"]]
    assert client.upload("attack/001/1/inferred-table", b"table", "k").status_code == 409
    assert "the judge is preparing the targets" in member.get("/team").content.decode()


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
