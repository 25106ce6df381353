"""The judge's queue, in the database: what is put in with an upload is there if and only if the upload is.

A job is done at least once and counts exactly once. A worker that takes one holds it by a lease and prolongs
that while it works; a job whose worker is gone returns to the queue. Every taking raises the job's
fence, and a result is written in one transaction with the end of the job, by the holder of the last fence
alone: a worker that was thought dead writes nothing. Leases run by the clock of the database, which all
machines share.

A job may kill its worker, and a worker may be killed for reasons of its own. A worker that has to end
gives its job back, and one that was lost before it began its work leaves no trace on the job. Any other loss
is counted. Jobs that lost fewer workers come first; a job that lost three in a row, while no other job lost
one, has failed for good, and so has one that lost ten in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet
from django.db.models.functions import Now

from tracearena import __version__
from tracearena.contest import AttackKind
from tracearena.contest.file_judge import SCORER_VERSION
from tracearena.errors import TracearenaError
from tracearena.server import clock
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    Rescoring,
    Score,
    Submission,
    Team,
    UploadKind,
    Worker,
)

LEASE = timedelta(seconds=30)
MOST_TRIES = 3
"""A job that failed this often has failed for good."""
MOST_LOSSES_IN_A_ROW = 3
"""A job that lost this many workers, while no other job lost one, is what kills them."""
MOST_LOSSES = 10
"""A job that lost this many workers in all is not given to another one, whatever killed them."""
LONGEST_ERROR = 2_000

OPEN_STATES = (JobState.WAITING, JobState.RUNNING)


class LeaseLost(TracearenaError):
    """The job is another worker's by now: what was found is thrown away."""


@dataclass(frozen=True)
class JobLease:
    """A job in a worker's hands, by its fence."""

    pk: int
    kind: str
    key: str
    about: dict[str, Any]
    fence: int
    worker: str


FailureCallback = Callable[[Job, str], None]
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


def find_open_jobs(*kinds: str) -> QuerySet[Job]:
    """Return the jobs that are not finished, of some kinds or of all."""
    found = Job.objects.filter(state__in=OPEN_STATES)
    return found.filter(kind__in=kinds) if kinds else found


def take_job(worker: str) -> JobLease | None:
    """Take the next job that is due, None if there is none.

    The team with the fewest jobs in work comes first; among equals the one that has waited longest since
    its last turn; among its own jobs the oldest.
    """
    for pk in _order_due_jobs():
        with transaction.atomic():
            # Several look at once: the second goes on to the next job.
            found = Job.objects.select_for_update(skip_locked=True).filter(pk=pk, state=JobState.WAITING)
            job = found.first()
            if job is not None:
                lease = {"taken_at": Now(), "lease_until": Now() + LEASE, "worker": worker}
                fenced = Job.objects.filter(pk=job.pk, state=JobState.WAITING, fence=job.fence)
                if not fenced.update(state=JobState.RUNNING, fence=F("fence") + 1, **lease):
                    return None
                return JobLease(job.pk, job.kind, job.key, job.about, job.fence + 1, worker)
    return None


def extend_lease(taken: JobLease) -> bool:
    """Hold a job for another while; False if it is lost."""
    return bool(_find_lease_row(taken).update(lease_until=Now() + LEASE))


@contextmanager
def finish_job(taken: JobLease) -> Iterator[None]:
    """End a job in one transaction with what the block writes, or leave both undone.

    Raises
    ------
    LeaseLost
        If the job is not this worker's any more; nothing is written.
    """
    with transaction.atomic():
        if not _find_lease_row(taken).update(
            state=JobState.DONE, finished_at=clock.now(), lease_until=None, error=""
        ):
            raise LeaseLost(f"the job {taken.key} went to another worker")
        yield


def return_job(taken: JobLease) -> bool:
    """Return a job to the queue, undone and without blame."""
    return bool(_find_lease_row(taken).update(state=JobState.WAITING, lease_until=None, worker=""))


def withdraw_job(taken: JobLease) -> bool:
    """Take out a job that is not due after all, as when a phase was prolonged; it comes again when it is."""
    return bool(_find_lease_row(taken).delete()[0])


def fail_job(taken: JobLease, error: str, aftermath: FailureCallback) -> None:
    """Write down that a try has failed; after the last one the job has failed for good."""
    with transaction.atomic():
        if _find_lease_row(taken).update(
            state=JobState.WAITING, tries=F("tries") + 1, lease_until=None, error=error[:LONGEST_ERROR]
        ):
            job = Job.objects.get(pk=taken.pk)
            if job.tries >= MOST_TRIES:
                _fail_for_good(job, error, aftermath)


def requeue_expired(aftermath: FailureCallback) -> int:
    """Return jobs to the queue whose lease ran out."""
    late = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now())
    return _requeue(late, aftermath)


def requeue_of_worker(worker: str, aftermath: FailureCallback) -> int:
    """Return to the queue what a worker of this name held when it ended, for one that starts under it."""
    return _requeue(Job.objects.filter(state=JobState.RUNNING, worker=worker), aftermath)


def requeue_running() -> None:
    """Return every job to the queue, without blame, where nobody works: in a contest that was restored."""
    held = Job.objects.filter(state=JobState.RUNNING)
    held.update(state=JobState.WAITING, lease_until=None, worker="")


def requeue_failed(job: Job) -> bool:
    """Put a job that has failed for good into the queue once more, inside the caller's transaction."""
    failed = Job.objects.filter(pk=job.pk, state=JobState.FAILED)
    fresh = {"tries": 0, "losses": 0, "losses_in_a_row": 0, "finished_at": None}
    return bool(failed.update(state=JobState.WAITING, due_at=clock.now(), **fresh))


def _requeue(held: QuerySet[Job], aftermath: FailureCallback) -> int:
    returned = 0
    for job in held:
        with transaction.atomic():
            same = held.filter(pk=job.pk, fence=job.fence)
            if not same.update(state=JobState.WAITING, lease_until=None, worker=""):
                continue
            returned += 1
            # A worker says what it does when it begins to do it.
            if Worker.objects.filter(name=job.worker, doing=job.key).exists():
                _count_loss(job, aftermath)
    return returned


def _count_loss(job: Job, aftermath: FailureCallback) -> None:
    others = Job.objects.exclude(pk=job.pk).filter(lost_at__isnull=False)
    if job.lost_at is not None:
        others = others.filter(lost_at__gt=job.lost_at)
    in_a_row = 1 if job.lost_at is None or others.exists() else job.losses_in_a_row + 1
    losses = job.losses + 1
    Job.objects.filter(pk=job.pk).update(losses=losses, losses_in_a_row=in_a_row, lost_at=Now())
    if in_a_row >= MOST_LOSSES_IN_A_ROW:
        _fail_for_good(job, f"{in_a_row} workers in a row were lost over it", aftermath)
    elif losses >= MOST_LOSSES:
        _fail_for_good(job, f"{losses} workers were lost over it", aftermath)


def _fail_for_good(job: Job, error: str, aftermath: FailureCallback) -> None:
    Job.objects.filter(pk=job.pk).update(
        state=JobState.FAILED, finished_at=clock.now(), error=error[:LONGEST_ERROR]
    )
    aftermath(job, error)


def _find_lease_row(taken: JobLease) -> QuerySet[Job]:
    return Job.objects.filter(pk=taken.pk, state=JobState.RUNNING, fence=taken.fence)


def _order_due_jobs() -> list[int]:
    """Return the first due job of every team, in the order of their turns; jobs that lost workers wait."""
    due = Job.objects.filter(state=JobState.WAITING, due_at__lte=clock.now())
    fewest = due.order_by().values_list("team").annotate(Min("losses"))
    first: dict[int | None, tuple[int, int]] = {}
    for team, losses in fewest:
        oldest = due.filter(team=team, losses=losses).aggregate(pk=Min("pk"))["pk"]
        if oldest is not None:
            first[team] = losses, oldest
    working = Job.objects.filter(state=JobState.RUNNING)
    running = dict(working.order_by().values_list("team").annotate(Count("pk")))
    served = Job.objects.filter(taken_at__isnull=False)
    last = dict(served.order_by().values_list("team").annotate(Max("taken_at")))

    def turn(team: int | None) -> tuple[int, int, float, int]:
        (losses, pk), at = first[team], last.get(team)
        return losses, running.get(team, 0), 0.0 if at is None else at.timestamp(), pk

    return [first[team][1] for team in sorted(first, key=turn)]


# Scores as rows: what they are called, which of them count, and by which scorer they were made.


SCORER = f"tracearena {__version__}, scorer {SCORER_VERSION}"

UTILITY, FINAL, SAMPLE, LIVE, BEFORE = "utility", "final", "sample", "live", "before"
SCORE_KINDS = {
    UploadKind.OBFUSCATED: UTILITY,
    UploadKind.INFERRED_TABLE: AttackKind.REIDENTIFICATION.value,
    UploadKind.INFERRED_TRACES: AttackKind.TRACE_INFERENCE.value,
}
"""What is scored of an upload."""


def write_score(
    key: str,
    value: float,
    *,
    submission: Submission | None = None,
    sample: tuple[str, str, DataSet] | None = None,
    rescoring: Rescoring | None = None,
) -> Score:
    """Write a score down, of an upload or of a sample attack (its name, its kind, its target).

    It goes in once: the key is unique among the scores that count, and within a re-scoring.
    """
    if submission is not None:
        about: dict[str, Any] = {"submission": submission, "data_set": submission.data_set}
        about["kind"] = SCORE_KINDS[UploadKind(submission.kind)]
    elif sample is not None:
        about = dict(zip(("sample", "kind", "data_set"), sample, strict=True))
    else:
        raise TypeError("a score is that of an upload or of a sample attack")
    return Score.objects.create(
        key=key, value=value, scorer=SCORER, made_at=clock.now(), rescoring=rescoring, **about
    )


def find_counting_scores(*what: str) -> QuerySet[Score]:
    """Return the scores that count, of keys that begin so."""
    found = Score.objects.filter(rescoring__isnull=True).select_related("submission__team", "data_set__team")
    chosen = Score.objects.none()
    for one in what:
        chosen = chosen | found.filter(key__startswith=f"{one}/")
    return chosen.order_by("pk")


def find_counting_utilities() -> QuerySet[Score]:
    """Return the utilities of uploads that can count: of a closed data set, the one it was closed with."""
    is_open, is_chosen = Q(data_set__closed_at__isnull=True), Q(submission=F("data_set__counts"))
    return find_counting_scores(UTILITY).filter(is_open | is_chosen)


def make_sample_key(attack: str, data_set: DataSet) -> str:
    """Return the key of a sample attack's score."""
    return f"{SAMPLE}/{attack}/{data_set.team.number}/{data_set.number}"


def update_utility(data_set: DataSet) -> None:
    """Let the last valid upload count, the last one at all if none is valid, inside the caller's transaction.

    Once the data set is closed the upload that counts stays; only its utility may have been corrected.
    """
    own = DataSet.objects.select_for_update().get(pk=data_set.pk)
    found = find_counting_utilities().filter(data_set=own).order_by("-submission_id")
    rules = Contest.get_current().rules
    counting = rules.select_counting((score.submission, score.value) for score in found)
    if counting is not None:
        DataSet.objects.filter(pk=own.pk).update(counts=counting[0], utility=counting[1])
