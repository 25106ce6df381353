"""When the attack phase is over: the last answer of every attacker is scored, and the result is frozen."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction

from tracearena.server import clock
from tracearena.server.judging.scoring import score_of
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Contest, Job, JobState, State, Submission, UploadKind
from tracearena.server.results import boards
from tracearena.server.store import jobs, scores
from tracearena.server.store.audit_log import log

BEFORE_THE_RESULT = ("check", "publish", "sample", "score", "sample score")
"""Kinds of jobs without which there is no result."""
_ATTACKS = (UploadKind.INFERRED_TABLE, UploadKind.INFERRED_TRACES)


def counting_attacks() -> Iterator[Submission]:
    """Yield the attacks that count: the last one of each attacker, target, data set and kind."""
    looked_at = Submission.objects.filter(kind__in=_ATTACKS, state__in=(State.CHECKED, State.SCORED))
    last: dict[tuple[int, int, str], Submission] = {}
    for submission in looked_at.select_related("team").order_by("pk"):
        last[submission.team_id, submission.data_set_id, submission.kind] = submission
    yield from last.values()


def score(taken: jobs.Taken, bench: Bench) -> None:
    """Score an attack on the users who decide."""
    submission = Submission.objects.select_related("team", "data_set__team").get(pk=taken.about["submission"])
    value = score_of(submission, bench)
    with jobs.finishing(taken):
        Submission.objects.filter(pk=submission.pk).update(state=State.SCORED, finished_at=clock.now())
        scores.write(f"{scores.FINAL}/{submission.pk}", value, submission=submission)
        boards.forget()


def missing() -> list[str]:
    """Return the jobs without which there is no result yet: open ones, and those that have failed."""
    wanted = Job.objects.filter(kind__in=BEFORE_THE_RESULT).exclude(state=JobState.DONE)
    # A file on which the judge failed at the check has its final state; it holds nobody up.
    failed_checks = wanted.filter(kind="check", state=JobState.FAILED).values("pk")
    return list(wanted.exclude(pk__in=failed_checks).order_by("pk").values_list("key", flat=True))


def freeze(taken: jobs.Taken, bench: Bench) -> None:
    """Freeze the result once every score is there."""
    if missing():
        jobs.withdraw(taken)
        return
    with jobs.finishing(taken):
        snapshot = boards.freeze_final()
        log("judge", "result frozen", sha256=snapshot.sha256)


def publish_when_due(contest: Contest) -> bool:
    """Publish the frozen result when the results open; True if that is now."""
    is_early = clock.now() < contest.schedule.results_begin
    if is_early or contest.published_at is not None or boards.final_snapshot() is None:
        return False
    with transaction.atomic():
        due = Contest.objects.filter(pk=contest.pk, published_at__isnull=True)
        is_now = bool(due.update(published_at=clock.now()))
        if is_now:
            log("judge", "results published")
    return is_now
