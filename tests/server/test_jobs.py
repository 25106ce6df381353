"""The queue: leases, fences, tries; at least once, and counted exactly once."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connections
from tests.server.conftest import Held

from tracearena.server import clock
from tracearena.server.models import AuditEntry, Job, JobState, Team
from tracearena.server.store import jobs


def _ignored(job: Job, error: str) -> None:
    """Nothing follows from these jobs."""


def _put(number: int, team: str | None = None) -> Job:
    return jobs.enqueue("check", f"check/{number}", team=team and Team.objects.get(number=team))


def _run_out(taken: jobs.Taken) -> None:
    """Let a worker be thought dead."""
    Job.objects.filter(pk=taken.pk).update(lease_until=clock.machine_now() - timedelta(seconds=1))


def test_a_key_is_in_the_queue_once(held: Held) -> None:
    """However often it is put in."""
    assert _put(1) == _put(1)
    assert Job.objects.count() == 1


def test_a_job_is_not_taken_before_it_is_due(held: Held) -> None:
    """The contest's clock decides."""
    later = clock.now() + timedelta(hours=1)
    jobs.enqueue("check", "check/1", due_at=later)
    assert jobs.take("a") is None
    held.at(later)
    assert jobs.take("a") is not None


def test_a_worker_whose_lease_ran_out_writes_nothing(held: Held) -> None:
    """The next one has a higher fence; the first is turned away with all that it found."""
    _put(1)
    first = jobs.take("a")
    assert first is not None
    assert jobs.take("b") is None
    assert jobs.prolong(first)
    _run_out(first)
    assert jobs.take_back_expired(_ignored) == 1
    second = jobs.take("b")
    assert second is not None
    assert second.fence == first.fence + 1
    assert not jobs.prolong(first)
    with pytest.raises(jobs.LeaseLost), jobs.finishing(first):
        raise AssertionError("the block is not entered")
    assert not jobs.give_back(first)
    jobs.fail(first, "too late", _ignored)
    with jobs.finishing(second):
        pass
    assert Job.objects.get().state == JobState.DONE


def test_a_result_and_the_end_of_its_job_are_one(held: Held) -> None:
    """An error inside leaves the job where it was, and nothing written."""
    _put(1)
    taken = jobs.take("a")
    assert taken is not None

    def stumble() -> None:
        with jobs.finishing(taken):
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
    for number in range(jobs.MOST_TRIES):
        taken = jobs.take("a")
        assert taken is not None
        jobs.fail(taken, f"error {number}", lambda job, error: told.append(error))
    assert jobs.take("a") is None
    assert told == ["error 2"]
    job = Job.objects.get()
    assert (job.state, job.error, job.finished_at) == (JobState.FAILED, "error 2", clock.now())
    assert jobs.try_again(job)
    assert jobs.take("a") is not None


def test_a_lost_worker_is_no_failed_try(held: Held) -> None:
    """But a job over which ten workers were lost is given to nobody any more."""
    _put(1)
    told: list[str] = []
    for number in range(1, jobs.MOST_TAKINGS + 1):
        taken = jobs.take("a")
        assert taken is not None
        assert taken.fence == number
        assert jobs.take_back_of("a", lambda job, error: told.append(error)) == 1
    assert jobs.take("a") is None
    assert told == ["10 workers were lost over it"]
    assert Job.objects.get().tries == 0


def test_what_was_given_back_or_withdrawn(held: Held) -> None:
    """Is there again, without blame; or gone, to be put in when it is due."""
    _put(1)
    taken = jobs.take("a")
    assert taken is not None
    assert jobs.give_back(taken)
    again = jobs.take("b")
    assert again is not None
    assert Job.objects.get().tries == 0
    assert jobs.withdraw(again)
    assert not Job.objects.exists()
    assert not AuditEntry.objects.filter(act="job failed").exists()


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
                taken = jobs.take(name)
                if taken is None:
                    idle += 1
                    continue
                with jobs.finishing(taken):
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
    assert not jobs.open_jobs().exists()
