"""Faults found in public judges, each as a test: a crash is no score, nothing is drawn twice, …"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held

from tracearena.contest.data import COMMITMENTS
from tracearena.errors import ParameterError
from tracearena.io import pwscup
from tracearena.server import results, submissions
from tracearena.server.judge import scoring, worker
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import AuditEntry, DataSet, Job, JobState, Score, State, Submission
from tracearena.server.sandbox.parent import ChildDied
from tracearena.server.store.crypto import seal
from tracearena.traces import ObfuscatedTraces


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    hands.without_children(monkeypatch)


def _released(held: Held, tmp_path: Path) -> None:
    """Go to the attack phase with team 001 as a target."""
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    hands.judged(held)
    held.attack()
    hands.judged(held)


def test_a_scorer_that_crashes_makes_no_score(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upload ends as a judge error with a reason after three tries, and the quota is given back."""

    def crash(*given: object, **named: object) -> float:
        raise ChildDied("exit", "secret words of the child")

    held.anonymization()
    monkeypatch.setattr(scoring, "score_upload", crash)
    submission = hands.defend(held, "001", tmp_path)
    assert submissions.count_used(submission.team, submission.quota) == 1
    assert hands.judged(held) == 3
    submission.refresh_from_db()
    assert (submission.state, submission.reason) == (State.ERROR, worker.FAILURE_REASON)
    assert submission.finished_at is not None
    assert submissions.count_used(submission.team, submission.quota) == 0
    assert not Score.objects.exists()
    job = Job.objects.get()
    assert (job.state, job.tries) == (JobState.FAILED, 3)
    assert "secret words" not in json.dumps([job.error, AuditEntry.objects.last().details])


def test_a_judge_error_can_be_tried_again(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the cause is out of the way the same file is scored; what has not failed is not tried again."""
    held.anonymization()
    with monkeypatch.context() as broken:
        broken.setattr(scoring, "score_upload", lambda *given: 1 / 0)
        submission = hands.defend(held, "001", tmp_path)
        hands.judged(held)
    job = Job.objects.get()
    worker.retry_job(job, "organiser", "disk repaired")
    hands.judged(held)
    submission.refresh_from_db()
    assert (submission.state, submission.utility) == (State.SCORED, 1.0)
    with pytest.raises(ParameterError, match="has not failed"):
        worker.retry_job(job, "organiser", "once more")


@pytest.mark.slow
def test_a_judge_error_gives_its_quota_back_once(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the judge fails on the same file, the other uploads of the team are paid for."""
    held.anonymization()
    other = hands.defend(held, "001", tmp_path)
    hands.judged(held)
    monkeypatch.setattr(scoring, "score_upload", lambda *given: 1 / 0)
    failing = hands.defend(held, "001", tmp_path)
    hands.judged(held)
    for _ in range(2):
        worker.retry_job(Job.objects.get(key=f"check/{failing.pk}"), "organiser", "once more")
        hands.judged(held)
    assert Submission.objects.get(pk=failing.pk).state == State.ERROR
    assert submissions.count_used(other.team, other.quota) == 1


def test_a_file_that_no_child_survives_is_refused(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a second child: that is a verdict on the file, and other files are judged as ever."""
    calls = []

    def starve(*given: object, **named: object) -> None:
        calls.append(given)
        raise ChildDied("memory")

    held.anonymization()
    with monkeypatch.context() as starving:
        starving.setattr(scoring, "check_upload", starve)
        poison = hands.defend(held, "001", tmp_path)
        hands.judged(held)
    poison.refresh_from_db()
    assert (poison.state, poison.verdict["code"], len(calls)) == (State.REFUSED, "too-costly", 2)
    assert submissions.count_used(poison.team, poison.quota) == 1
    other = hands.defend(held, "002", tmp_path)
    hands.judged(held)
    other.refresh_from_db()
    assert other.state == State.SCORED


def test_publication_does_not_wait_for_a_judge_error(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for open checks, and a failed one is not open."""
    held.anonymization()
    submission = hands.defend(held, "001", tmp_path)
    held.attack()
    with monkeypatch.context() as broken:
        broken.setattr(scoring, "score_upload", lambda *given: 1 / 0)
        hands.judged(held)
    submission.refresh_from_db()
    assert submission.state == State.ERROR
    closed = DataSet.objects.get(team__number="001")
    assert closed.closed_at is not None
    assert closed.released_at is None
    assert DataSet.objects.get(team__number="000").released_at is not None


@pytest.mark.slow
def test_a_rerun_draws_no_id_table_again(held: Held, tmp_path: Path) -> None:
    """The database forgets the release; the table on the disk, its commitment and the public file stay."""
    _released(held, tmp_path)
    path = JudgeFiles(held.folder, held.judge_private_key).secret_path(
        DataSet.objects.get(team__number="001")
    )
    files = [path, held.folder.everybody / "pubtraces_team001_data01_IDP.csv"]
    files.append(held.folder.everybody / COMMITMENTS)
    before = [file.read_bytes() for file in files]
    Job.objects.all().delete()
    DataSet.objects.update(released_at=None, closed_at=None, commitment="")
    hands.judged(held)
    assert [file.read_bytes() for file in files] == before
    assert DataSet.objects.get(team__number="001").commitment in before[-1].decode()


@pytest.mark.slow
def test_what_was_released_counts(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where another upload is scored between the drawing of the pseudonyms and the end of the job."""
    held.anonymization()
    hands.defend(held, "001", tmp_path, "PL(5,1)")
    released = hands.defend(held, "001", tmp_path)
    hands.judged(held)
    first = Submission.objects.order_by("pk").first()
    write = pwscup.write_anonymized

    def meanwhile(public: ObfuscatedTraces, path: Path) -> None:
        write(public, path)
        if "team001" in path.name:
            DataSet.objects.filter(team__number="001").update(counts=first, utility=0.5)

    monkeypatch.setattr(pwscup, "write_anonymized", meanwhile)
    held.attack()
    hands.judged(held)
    found = DataSet.objects.get(team__number="001")
    assert (found.counts_id, found.utility) == (released.pk, 1.0)
    assert Submission.objects.get(pk=released.pk).state == State.PUBLISHED


@pytest.mark.slow
def test_a_table_is_never_used_for_another_upload(held: Held, tmp_path: Path) -> None:
    """Where another upload counts now than the one that it was drawn for, the judge stops."""
    _released(held, tmp_path)
    other = hands.obfuscated(held, "001", tmp_path, "PL(4,1)")
    Job.objects.all().delete()
    DataSet.objects.update(released_at=None, closed_at=None)
    held.anonymization()
    hands.hand_in(held, "001", "obfuscated", other)
    hands.judged(held)
    counts = DataSet.objects.get(team__number="001")
    assert counts.utility is not None
    assert counts.utility < 1
    assert counts.utility >= 0.7
    held.attack()
    hands.judged(held)
    assert Job.objects.get(key="publish/001/1").state == JobState.FAILED
    assert DataSet.objects.get(team__number="001").released_at is None


@pytest.mark.slow
def test_every_score_is_that_of_its_own_file(held: Held, tmp_path: Path) -> None:
    """A file under the name of another is not scored in its place: the hash is looked at first."""
    _released(held, tmp_path)
    right = hands.attack_table(held, "002", "001", tmp_path, right=20)
    wrong = hands.attack_table(held, "002", "001", tmp_path, right=0)
    hands.judged(held)
    public = bytes.fromhex(held.folder.read_secrets().judge_public_key)
    swapped = hands.inferred_table(held, "001", tmp_path, right=20)
    held.folder.upload(wrong.sha256).write_bytes(seal(public, swapped))
    held.results()
    hands.judged(held)
    assert Submission.objects.get(pk=wrong.pk).state == State.ERROR
    assert not Score.objects.filter(submission=wrong).exists()
    assert Submission.objects.get(pk=right.pk).state == State.SCORED


@pytest.mark.slow
def test_no_result_while_a_score_is_missing(held: Held, tmp_path: Path) -> None:
    """A failed score holds the result up until it is tried again or set aside, by somebody with a name."""
    _released(held, tmp_path)
    attack = hands.attack_table(held, "002", "001", tmp_path, right=20)
    hands.judged(held)
    path = held.folder.upload(attack.sha256)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    held.results()
    hands.judged(held)
    assert scoring.find_missing_jobs() == [f"score/{attack.pk}"]
    assert results.find_final_snapshot() is None
    path.write_bytes(content)
    worker.retry_job(Job.objects.get(key=f"score/{attack.pk}"), "organiser", "the file is back")
    hands.judged(held)
    assert results.find_final_snapshot() is not None
    assert Score.objects.get(submission=attack).value == 0.0


@pytest.mark.slow
def test_n_a_never_ranks(held: Held, tmp_path: Path) -> None:
    """Who hands in nothing, or something invalid, has no privacy, and who attacks nobody has no place."""
    _released(held, tmp_path)
    held.results()
    hands.judged(held)
    snapshot = results.find_final_snapshot()
    assert snapshot is not None
    result = json.loads(bytes(snapshot.content))
    rows = {row["team"]: row for row in result["board"]}
    assert rows["002"]["utility"] is None
    assert rows["002"]["s_T_min"] == 0.0
    awards = {award["name"]: [place["team"] for place in award["places"]] for award in result["awards"]}
    assert awards["best-anonymization"] == ["001"]
    assert awards["best-reidentification"] == awards["best-trace-inference"] == []


def test_late_files_are_never_looked_at(held: Held, tmp_path: Path) -> None:
    """They are kept as they are, even if somebody puts in a job for them."""
    held.attack()
    submission = hands.defend(held, "001", tmp_path)
    Submission.objects.filter(pk=submission.pk).update(state=State.LATE)
    hands.judged(held)
    submission.refresh_from_db()
    assert (submission.state, submission.utility) == (State.LATE, None)
    assert DataSet.objects.get(team__number="001").counts is None
