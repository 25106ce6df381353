"""The judge's queue, in the database: what is put in with an upload is there if and only if the upload is.

A job is done at least once and counts exactly once. Whoever takes one holds it by a lease and prolongs
that while it works; a job whose worker is gone returns to the queue. Every taking raises the job's
fence, and a result is written in one transaction with the end of the job, by the holder of the last fence
alone: a worker that was thought dead writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Min, QuerySet

from tracearena.errors import TracearenaError
from tracearena.server import clock
from tracearena.server.models import Job, JobState, Team

LEASE = timedelta(seconds=30)
MOST_TRIES = 3
"""A job that failed so often has failed for good."""
MOST_TAKINGS = 10
"""A job whose workers were lost so often is not given to another one: it may be what kills them."""
LONGEST_ERROR = 2_000

OPEN = (JobState.WAITING, JobState.RUNNING)


class LeaseLost(TracearenaError):
    """The job is another worker's by now: what was found is thrown away."""


@dataclass(frozen=True)
class Taken:
    """A job in a worker's hands, by its fence."""

    pk: int
    kind: str
    key: str
    about: dict[str, Any]
    fence: int
    worker: str


Aftermath = Callable[[Job, str], None]
"""Writes down what follows from a job that has failed for good, within the same transaction."""


def enqueue(
    kind: str,
    key: str,
    about: dict[str, Any] | None = None,
    *,
    team: Team | None = None,
    due_at: datetime | None = None,
) -> Job:
    """Put in a job, inside the caller's transaction; one with the same key is there only once.

    Parameters
    ----------
    kind
        What is to be done.
    key
        What it is about, unique.
    about
        What the worker must know.
    team
        Whose turn it uses: teams take turns, however much one of them hands in.
    due_at
        Not before this; at once if left out.
    """
    now = clock.now()
    given = {"kind": kind, "about": about or {}, "team": team, "created_at": now, "due_at": due_at or now}
    return Job.objects.get_or_create(key=key, defaults=given)[0]


def open_jobs(*kinds: str) -> QuerySet[Job]:
    """Return the jobs that are not finished, of some kinds or of all."""
    found = Job.objects.filter(state__in=OPEN)
    return found.filter(kind__in=kinds) if kinds else found


def take(worker: str) -> Taken | None:
    """Take the next job that is due, None if there is none.

    The team with the fewest jobs in work comes first; among equals the one that has waited longest since
    its last turn; among its own jobs the oldest.
    """
    for pk in _in_turn():
        with transaction.atomic():
            # Several look at once: whoever comes second goes on to the next.
            found = Job.objects.select_for_update(skip_locked=True).filter(pk=pk, state=JobState.WAITING)
            job = found.first()
            if job is not None:
                return _give(job, worker)
    return None


def prolong(taken: Taken) -> bool:
    """Hold a job for another while; False if it is lost."""
    return bool(_held(taken).update(lease_until=clock.machine_now() + LEASE))


@contextmanager
def finishing(taken: Taken) -> Iterator[None]:
    """End a job in one transaction with what the block writes, or leave both undone.

    Raises
    ------
    LeaseLost
        If the job is not this worker's any more; nothing is written.
    """
    with transaction.atomic():
        if not _held(taken).update(state=JobState.DONE, finished_at=clock.now(), lease_until=None, error=""):
            raise LeaseLost(f"the job {taken.key} went to another worker")
        yield


def give_back(taken: Taken) -> bool:
    """Return a job to the queue, undone and without blame."""
    return bool(_held(taken).update(state=JobState.WAITING, lease_until=None, worker=""))


def withdraw(taken: Taken) -> bool:
    """Take out a job that is not due after all, as when a phase was prolonged; it comes again when it is."""
    return bool(_held(taken).delete()[0])


def fail(taken: Taken, error: str, aftermath: Aftermath) -> None:
    """Write down that a try has failed; after the last one the job has failed for good."""
    with transaction.atomic():
        if _held(taken).update(
            state=JobState.WAITING, tries=F("tries") + 1, lease_until=None, error=error[:LONGEST_ERROR]
        ):
            job = Job.objects.get(pk=taken.pk)
            if job.tries >= MOST_TRIES:
                _end(job, error, aftermath)


def take_back_expired(aftermath: Aftermath) -> int:
    """Return jobs to the queue whose lease ran out."""
    late = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=clock.machine_now())
    return _take_back(late, aftermath)


def take_back_of(worker: str, aftermath: Aftermath) -> int:
    """Return to the queue what a worker of this name held when it ended, for one that starts under it."""
    return _take_back(Job.objects.filter(state=JobState.RUNNING, worker=worker), aftermath)


def try_again(job: Job) -> bool:
    """Put a job that has failed for good into the queue once more, inside the caller's transaction."""
    failed = Job.objects.filter(pk=job.pk, state=JobState.FAILED)
    return bool(failed.update(state=JobState.WAITING, tries=0, finished_at=None, due_at=clock.now()))


def _take_back(held: QuerySet[Job], aftermath: Aftermath) -> int:
    returned = 0
    for job in held:
        with transaction.atomic():
            same = held.filter(pk=job.pk, fence=job.fence)
            if not same.update(state=JobState.WAITING, lease_until=None, worker=""):
                continue
            returned += 1
            if job.fence >= MOST_TAKINGS:
                _end(job, f"{job.fence} workers were lost over it", aftermath)
    return returned


def _end(job: Job, error: str, aftermath: Aftermath) -> None:
    Job.objects.filter(pk=job.pk).update(
        state=JobState.FAILED, finished_at=clock.now(), error=error[:LONGEST_ERROR]
    )
    aftermath(job, error)


def _held(taken: Taken) -> QuerySet[Job]:
    return Job.objects.filter(pk=taken.pk, state=JobState.RUNNING, fence=taken.fence)


def _in_turn() -> list[int]:
    """Return the first due job of every team, in the order of their turns."""
    due = Job.objects.filter(state=JobState.WAITING, due_at__lte=clock.now())
    first = dict(due.order_by().values_list("team").annotate(Min("pk")))
    working = Job.objects.filter(state=JobState.RUNNING)
    running = dict(working.order_by().values_list("team").annotate(Count("pk")))
    served = Job.objects.filter(taken_at__isnull=False)
    last = dict(served.order_by().values_list("team").annotate(Max("taken_at")))

    def turn(team: int | None) -> tuple[int, float, int]:
        at = last.get(team)
        return running.get(team, 0), 0.0 if at is None else at.timestamp(), first[team]

    return [first[team] for team in sorted(first, key=turn)]


def _give(job: Job, worker: str) -> Taken | None:
    now = clock.machine_now()
    given = {"taken_at": now, "lease_until": now + LEASE, "worker": worker, "fence": F("fence") + 1}
    fenced = Job.objects.filter(pk=job.pk, state=JobState.WAITING, fence=job.fence)
    if not fenced.update(state=JobState.RUNNING, **given):
        return None
    return Taken(job.pk, job.kind, job.key, job.about, job.fence + 1, worker)
