"""The queue: leases, fences, tries; at least once, and counted exactly once."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections
from tests.server.conftest import Held

from tracearena.server import clock
from tracearena.server.models import AuditEntry, Job, JobState, Team, Worker
from tracearena.server.store import queue


def _ignored(job: Job, error: str) -> None:
    """Nothing follows from these jobs."""


def _put(number: int, team: str | None = None) -> Job:
    return queue.enqueue("check", f"check/{number}", team=team and Team.objects.get(number=team))


def _run_out(taken: queue.JobLease) -> None:
    """Let a worker be thought dead."""
    Job.objects.filter(pk=taken.pk).update(lease_until=clock.machine_now() - timedelta(seconds=1))


def test_a_key_is_in_the_queue_once(held: Held) -> None:
    """However often it is put in."""
    assert _put(1) == _put(1)
    assert Job.objects.count() == 1


def test_a_job_is_not_taken_before_it_is_due(held: Held) -> None:
    """The contest's clock decides."""
    later = clock.now() + timedelta(hours=1)
    queue.enqueue("check", "check/1", due_at=later)
    assert queue.take_job("a") is None
    held.at(later)
    assert queue.take_job("a") is not None


def test_a_worker_whose_lease_ran_out_writes_nothing(held: Held) -> None:
    """The next one has a higher fence; the first is turned away with all that it found."""
    _put(1)
    first = queue.take_job("a")
    assert first is not None
    assert queue.take_job("b") is None
    assert queue.extend_lease(first)
    _run_out(first)
    assert queue.requeue_expired(_ignored) == 1
    second = queue.take_job("b")
    assert second is not None
    assert second.fence == first.fence + 1
    assert not queue.extend_lease(first)
    with pytest.raises(queue.LeaseLost), queue.finish_job(first):
        raise AssertionError("the block is not entered")
    assert not queue.return_job(first)
    queue.fail_job(first, "too late", _ignored)
    with queue.finish_job(second):
        pass
    assert Job.objects.get().state == JobState.DONE


def test_a_result_and_the_end_of_its_job_are_one(held: Held) -> None:
    """An error inside leaves the job where it was, and nothing written."""
    _put(1)
    taken = queue.take_job("a")
    assert taken is not None

    def stumble() -> None:
        with queue.finish_job(taken):
            Team.objects.filter(number="001").update(name="changed")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    assert Job.objects.get().state == JobState.RUNNING
    assert Team.objects.get(number="001").name == "001"


def test_three_tries_and_then_it_has_failed(held: Held) -> None:
    """With the last error and its aftermath, once."""
    _put(1)
    told: list[str] = []
    for number in range(queue.MOST_TRIES):
        taken = queue.take_job("a")
        assert taken is not None
        queue.fail_job(taken, f"error {number}", lambda job, error: told.append(error))
    assert queue.take_job("a") is None
    assert told == ["error 2"]
    job = Job.objects.get()
    assert (job.state, job.error, job.finished_at) == (JobState.FAILED, "error 2", clock.now())
    assert queue.requeue_failed(job)
    assert queue.take_job("a") is not None


def _begin() -> queue.JobLease:
    """Take a job and begin to work on it, as a worker does."""
    taken = queue.take_job("a")
    assert taken is not None
    now = clock.machine_now()
    Worker.objects.update_or_create(
        name="a", defaults={"doing": taken.key, "started_at": now, "seen_at": now}
    )
    return taken


def test_a_job_that_kills_three_workers_in_a_row_has_failed(held: Held) -> None:
    """A poison file: it is given to nobody any more, and the failure is the job's."""
    _put(1)
    told: list[str] = []
    for number in range(1, 4):
        assert _begin().fence == number
        assert queue.requeue_of_worker("a", lambda job, error: told.append(error)) == 1
    assert queue.take_job("a") is None
    assert told == ["3 workers in a row were lost over it"]
    job = Job.objects.get()
    assert (job.state, job.tries, job.losses) == (JobState.FAILED, 0, 3)
    assert queue.requeue_failed(job)
    assert _begin().fence == 4
    assert queue.requeue_of_worker("a", _ignored) == 1
    assert Job.objects.get().state == JobState.WAITING


def test_a_worker_that_dies_before_its_work_costs_no_job_anything(held: Held) -> None:
    """However often, as in a loop of crashes at the start."""
    _put(1)
    for _ in range(20):
        assert queue.take_job("a") is not None
        assert queue.requeue_of_worker("a", _ignored) == 1
    assert (Job.objects.get().state, Job.objects.get().losses) == (JobState.WAITING, 0)


def _lost() -> str:
    """Lose a worker over the job that is next."""
    key = _begin().key
    assert queue.requeue_of_worker("a", _ignored) == 1
    return key


@pytest.mark.slow
def test_a_worker_that_dies_over_every_job_is_to_blame_itself(held: Held) -> None:
    """Each job waits for the others, so no job loses three in a row; only ten in all are too many."""
    for number in range(3):
        _put(number, f"00{number + 1}")
    for _ in range(9):
        assert len({_lost() for _ in range(3)}) == 3
    assert set(Job.objects.values_list("state", "losses")) == {(JobState.WAITING, 9)}
    failed = Job.objects.get(key=_lost())
    assert (failed.state, failed.error) == (JobState.FAILED, "10 workers were lost over it")


def test_leases_run_by_the_clock_of_the_database(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge on a machine whose clock is an hour ahead takes nothing from the others."""
    _put(1)
    assert queue.take_job("a") is not None
    ahead = clock.machine_now() + timedelta(hours=1)
    monkeypatch.setattr(clock, "machine_now", lambda: ahead)
    assert queue.requeue_expired(_ignored) == 0


def test_what_was_given_back_or_withdrawn(held: Held) -> None:
    """Is there again, without blame; or gone, to be put in when it is due."""
    _put(1)
    taken = queue.take_job("a")
    assert taken is not None
    assert queue.return_job(taken)
    again = queue.take_job("b")
    assert again is not None
    assert Job.objects.get().tries == 0
    assert queue.withdraw_job(again)
    assert not Job.objects.exists()
    assert not AuditEntry.objects.filter(act="job failed").exists()


@pytest.mark.slow
def test_many_workers_at_once_take_every_job_once(held: Held) -> None:
    """No job is lost, none is taken twice, and no database is locked."""
    for number in range(40):
        _put(number, f"00{number % 3 + 1}")
    found: list[str] = []
    errors: list[Exception] = []

    def work(name: str) -> None:
        try:
            idle = 0
            while idle < 3:
                taken = queue.take_job(name)
                if taken is None:
                    idle += 1
                    continue
                with queue.finish_job(taken):
                    found.append(taken.key)
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work, args=(f"worker {number}",)) for number in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not errors
    assert sorted(found) == sorted(f"check/{number}" for number in range(40))
    assert not queue.find_open_jobs().exists()
