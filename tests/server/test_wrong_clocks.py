"""M2: a clock that goes back reopens nothing, one that leaps ahead closes nothing, and both can be mended."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction
from tests.command_line import tracearena
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import Program, by_form, joined, program, token

from tracearena.contest import verify_archive
from tracearena.errors import DataError
from tracearena.server import clock, results
from tracearena.server.judge import publish, scoring
from tracearena.server.judge.export import export_contest
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import AuditEntry, Contest, DataSet, Score, State, Submission
from tracearena.server.operations.schedule import reset_clock
from tracearena.server.submissions import is_late_now
from tracearena.server.uploads import UploadStream

MS = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    hands.without_children(monkeypatch)


def _attacked(held: Held, tmp_path: Path) -> None:
    """Go to the middle of the attack phase, with one target and one attack that finds a quarter."""
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.attack()
    hands.judged(held)
    hands.attack_table(held, "002", "001", tmp_path, right=5)
    hands.judged(held)


@pytest.mark.slow
def test_a_clock_that_goes_back_reopens_nothing(held: Held, tmp_path: Path) -> None:
    """The opened ID table, handed in as an attack, is late on form and API, and changes no result."""
    member = joined(held, "003")
    caller = Program(token(member))
    _attacked(held, tmp_path)
    held.results()
    hands.judged(held)
    table = hands.inferred_table(held, "001", tmp_path, right=20)
    result = results.find_final_snapshot()
    held.attack()
    assert caller.get("phase").json()["attacks"] == "late"
    assert is_late_now("inferred-table")
    shown = tracearena("contest", "phase", held.folder.path, "--json")
    assert json.loads(shown.out)["attacks"] == "late"
    path = "attack/001/1/inferred-table"
    receipt = caller.upload(path, table, "by-API").json()
    assert receipt.get("late") is True, receipt
    assert receipt["received_at"] >= SCHEDULE.attack_end.isoformat()
    by_form(member, path, table, "by-form")
    assert set(Submission.objects.filter(team__number="003").values_list("state", flat=True)) == {State.LATE}
    hands.judged(held)
    made = scoring.start_rescoring("organiser", "somebody asks")
    hands.judged(held)
    made.refresh_from_db()
    scoring.apply_rescoring(made, "organiser")
    last = results.find_final_snapshot()
    assert last is not None
    assert result is not None
    assert bytes(last.content) == bytes(result.content)
    export_contest(JudgeFiles(held.folder, held.judge_private_key), tmp_path / "friday.zip")
    assert verify_archive(tmp_path / "friday.zip").findings == ()


@pytest.mark.slow
def test_attacks_are_late_once_the_phase_is_closed_whatever_the_clock_says(
    held: Held, tmp_path: Path
) -> None:
    """Even where the contest's time was lost with everything but the fact that it is closed."""
    caller = program(held, "003")
    _attacked(held, tmp_path)
    held.at(SCHEDULE.attack_end)
    hands.judged(held)
    Contest.objects.update(seen_at=None)
    clock.clear_time_cache()
    held.attack()
    receipt = caller.upload("attack/001/1/inferred-table", b"table", "k").json()
    assert (receipt["late"], receipt["received_at"]) == (True, SCHEDULE.attack_end.isoformat())


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["anonymization", "attack"])
def test_what_is_written_down_too_late_says_so_on_its_receipt(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """The last byte came in time, and before the row was written the judge had closed the phase."""
    caller = program(held, "003")
    if phase == "attack":
        _attacked(held, tmp_path)
    end = getattr(SCHEDULE, f"{phase}_end")
    held.at(end - MS)
    finish = UploadStream.finish

    def slowly(self: UploadStream) -> None:
        finish(self)
        assert self.arrived_at == end - MS
        held.at(end + timedelta(minutes=2))
        hands.judged(held)

    monkeypatch.setattr(UploadStream, "finish", slowly)
    path = "obfuscated/1" if phase == "anonymization" else "attack/001/1/inferred-table"
    receipt = caller.upload(path, b"rows", "k").json()
    assert receipt["late"] is True
    assert receipt["received_at"] == (end + timedelta(minutes=2)).isoformat()


@pytest.mark.slow
def test_the_judge_waits_for_an_upload_that_is_being_written_down(held: Held, tmp_path: Path) -> None:
    """A phase is closed after the commit, so what is in by then counts."""
    _attacked(held, tmp_path)
    held.at(SCHEDULE.attack_end)
    holds, order = threading.Event(), []

    def write() -> None:
        with transaction.atomic():
            DataSet.objects.select_for_update().get(team__number="001")
            holds.set()
            threading.Event().wait(0.5)
            order.append("written")
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    holds.wait()
    publish.close_ended_phases(Contest.get_current())
    order.append("closed")
    writer.join()
    assert order == ["written", "closed"]
    assert Contest.get_current().attack_closed_at == SCHEDULE.attack_end


@pytest.mark.slow
def test_the_last_upload_is_that_of_the_largest_receipt(held: Held, tmp_path: Path) -> None:
    """For the server and for who verifies, though the clock went back between the two."""
    _attacked(held, tmp_path)
    last = hands.attack_table(held, "002", "001", tmp_path, right=15)
    Submission.objects.filter(pk=last.pk).update(received_at=SCHEDULE.attack_begin)
    hands.judged(held)
    held.results()
    hands.judged(held)
    assert Score.objects.get(key=f"final/{last.pk}").value == 0.25
    export_contest(JudgeFiles(held.folder, held.judge_private_key), tmp_path / "friday.zip")
    assert verify_archive(tmp_path / "friday.zip").findings == ()


def test_a_leap_counts_once_it_has_lasted_for_a_minute() -> None:
    """A second in another year changes nothing; a clock that was wrong and is corrected is believed later."""
    leaps = clock.LeapDetector()
    year = 365 * 86_400.0
    assert leaps.is_steady(1_000.0, 0.0)
    assert leaps.is_steady(1_030.0, 2.0), "a clock that is corrected by less than a minute"
    assert not leaps.is_steady(1_004.0 + year, 4.0)
    assert leaps.is_steady(1_034.0, 6.0), "back again"
    for steady_s in range(8, 68, 2):
        assert not leaps.is_steady(1_028.0 - year + steady_s, float(steady_s))
    assert leaps.is_steady(1_028.0 - year + 68, 68.0)


def test_a_time_that_was_too_high_can_be_set_back(held: Held) -> None:
    """While nothing was closed by it; with a reason, in the audit log."""
    held.anonymization()
    clock.record_time()
    right = clock.read_clock()
    held.at(SCHEDULE.anonymization_end - SECOND)
    clock.record_time()
    held.at(right)
    assert clock.now() == SCHEDULE.anonymization_end - SECOND
    done = tracearena("contest", "clock", held.folder.path, "--set-back", "--reason", "the clock was wrong")
    assert (done.status, done.out.splitlines()[0]) == (0, f"contest  {right.isoformat()}")
    clock.clear_time_cache()
    assert clock.now() == right
    last = AuditEntry.objects.last()
    assert (last.act, last.details["reason"]) == ("clock set back", "the clock was wrong")
    with pytest.raises(DataError, match="is not ahead"):
        reset_clock(reason="once more", actor="organiser")


def test_a_judge_that_has_just_read_the_time_does_not_undo_its_being_set_back(held: Held) -> None:
    """It neither writes the higher time down again, nor closes a phase by it."""
    held.at(SCHEDULE.anonymization_end + timedelta(minutes=5))
    clock.record_time()
    high = clock.now()
    right = SCHEDULE.anonymization_end - DAY
    held.at(right)
    assert clock.now() == high
    # Set back by another process, of which this one has not read yet.
    Contest.objects.update(seen_at=right)
    clock.record_time()
    assert Contest.get_current().seen_at == right
    publish.close_ended_phases(Contest.get_current())
    assert Contest.get_current().anonymization_closed_at is None
    assert clock.now() == right


@pytest.mark.slow
def test_what_was_closed_by_a_wrong_clock_is_not_set_back(held: Held, tmp_path: Path) -> None:
    """Everybody has seen it; the sentence says what is left to do."""
    _attacked(held, tmp_path)
    held.at(SCHEDULE.attack_end + DAY)
    hands.judged(held)
    held.attack()
    with pytest.raises(DataError, match=r"attack_closed_at is .* restore a backup"):
        reset_clock(reason="the clock was wrong", actor="organiser")
    assert clock.now() == SCHEDULE.attack_end + DAY


def test_a_judge_whose_clock_has_leapt_closes_nothing(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so in the control room, and goes on when the clock is steady."""
    from tracearena.server.judge import worker as working
    from tracearena.server.models import Worker
    from tracearena.server.operations.status import collect_status

    held.at(SCHEDULE.anonymization_end)
    steady: list[Any] = [False, False, True]
    monkeypatch.setattr(clock.LeapDetector, "is_steady_now", lambda self: steady.pop(0))
    Worker.objects.create(name="judge 1", started_at=clock.now(), seen_at=clock.now())
    worker = working.JudgeWorker(JudgeFiles(held.folder, held.judge_private_key), "judge 1", grace_s=10)
    for _ in range(2):
        worker._enqueue_due()
        assert Contest.get_current().anonymization_closed_at is None
        assert "has jumped" in collect_status(held.folder)["judges"][0]["error"]
    worker._enqueue_due()
    assert Contest.get_current().anonymization_closed_at is not None
    assert collect_status(held.folder)["judges"][0]["error"] == ""
