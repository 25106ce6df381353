"""A worker of the judge: puts in what is due, does one job after the other, and shows that it is alive.

What is due follows from the database and the clock alone, regardless of who asks and how often. When the
judge itself fails on a job, the upload gets a final state with a reason and its quota back, never a score.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import connections, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from tracearena.contest.commitments import refresh_at
from tracearena.errors import ParameterError
from tracearena.i18n import mark_for_translation
from tracearena.server import clock, results, submissions
from tracearena.server.judge import export, publish, scoring
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    Rescoring,
    RescoringState,
    Snapshot,
    State,
    Submission,
    Team,
    Worker,
)
from tracearena.server.operations.backup import BACKUP_KIND
from tracearena.server.sandbox.messages import describe_missing_guards
from tracearena.server.store import downloads, queue
from tracearena.server.store.audit_log import log_act

HEARTBEAT_S = 5.0
SWEEP_S = 2.0
IDLE_S = 0.5
WORKER_EXPIRY = timedelta(hours=1)
"""A worker that was not seen for this long is not listed any more."""
CLOCK_JUMP_MESSAGE = (
    "the clock of this machine has jumped; no phase is closed until the clock has been steady for a minute"
)
FAILURE_REASON = mark_for_translation(
    "The judge failed on this file. The file is not the cause, and no upload was used up. The organiser "
    "can see the failure."
)
_STATE_BEFORE = {"check": State.RECEIVED, "score": State.CHECKED}
"""How far an upload has come when a job of a kind begins."""
_LONGEST_LOGGED_ERROR = 200

JOB_FUNCTIONS: dict[str, Callable[[queue.JobLease, JudgeFiles], None]] = {
    "check": scoring.check_submission,
    "publish": publish.publish_data_set,
    "receipts": publish.publish_receipt_list,
    "sample": scoring.run_sample_attacks,
    "live": scoring.score_live,
    "score": scoring.score_final_attack,
    "sample score": scoring.score_sample_attacks,
    "final": scoring.freeze_final_result,
    "open": publish.reveal_tables,
    "rewrap": publish.rewrap_team_key,
    "rescore": scoring.recompute_score,
    "export": export.make_export_archive,
    BACKUP_KIND: export.make_backup,
}

_log = logging.getLogger(__name__)


def run_job(taken: queue.JobLease, bench: JudgeFiles) -> str:
    """Do one job, and return what went wrong, an empty text if nothing did.

    Whatever goes wrong is the judge's failure and no score: verdicts on files are results.
    """
    try:
        JOB_FUNCTIONS[taken.kind](taken, bench)
    except queue.LeaseLost as error:
        _log.warning("%s", error)
    except Exception as error:
        _log.exception("the job %s failed", taken.key)
        message = "".join(traceback.format_exception_only(error)).strip()
        queue.fail_job(taken, message, record_failure)
        return f"{taken.key}: {message}"
    return ""


def run_until_idle(bench: JudgeFiles, name: str) -> int:
    """Sweep and work until nothing is due, and return how many jobs were done."""
    publish.publish_signing_key(bench)
    done = 0
    while True:
        enqueue_due_jobs()
        before = done
        while (taken := queue.take_job(name)) is not None:
            run_job(taken, bench)
            done += 1
        if done == before:
            return done


class JudgeWorker:
    """A worker in a process of its own.

    Parameters
    ----------
    bench
        What it works with.
    name
        What it is called. No two processes at once have one name, on whatever machine, so what an earlier one
        held is free.
    grace_s
        Seconds for which a worker that is to end continues its job before it gives it back.
    """

    def __init__(self, bench: JudgeFiles, name: str, *, grace_s: float) -> None:
        self._grace_s = grace_s
        self.bench, self.name = bench, name
        self.ending = False
        self._taken: queue.JobLease | None = None
        self._leaps, self._is_steady = clock.LeapDetector(), True

    def stop(self) -> None:
        """Come to an end: the job in hand is finished, or given back if that takes too long."""
        self.ending = True

    def run(self) -> None:
        """Work until `stop` is called."""
        missing = describe_missing_guards()
        if missing:
            _log.warning("%s: %s", self.name, missing)
        publish.publish_signing_key(self.bench)
        # What the one before was doing when it was lost is known until its row is written over.
        queue.requeue_of_worker(self.name, record_failure)
        Worker.objects.filter(seen_at__lt=Now() - WORKER_EXPIRY).delete()
        fresh = {"started_at": Now(), "seen_at": Now(), "doing": "", "error": "", "missing_guards": missing}
        Worker.objects.update_or_create(name=self.name, defaults=fresh)
        heart = threading.Thread(target=self._send_heartbeats, daemon=True)
        heart.start()
        swept = float("-inf")
        while not self.ending:
            if time.monotonic() - swept >= SWEEP_S:
                self._run_safely(self._enqueue_due)
                swept = time.monotonic()
            if not self._run_safely(self._run_next_job):
                time.sleep(IDLE_S)
        Worker.objects.filter(name=self.name).delete()
        connections.close_all()

    def _enqueue_due(self) -> None:
        """Put in what is due, unless the machine's clock has just leapt."""
        is_steady = self._leaps.is_steady_now()
        if is_steady != self._is_steady:
            self._is_steady = is_steady
            problem = "" if is_steady else CLOCK_JUMP_MESSAGE
            _log.warning("%s: %s", self.name, problem or "the clock is steady again")
            self._update_status(error=problem)
        if is_steady:
            enqueue_due_jobs()

    def _run_next_job(self) -> bool:
        self._taken = taken = queue.take_job(self.name)
        if taken is None:
            return False
        try:
            self._update_status(doing=taken.key)
            _log.info("%s: %s", self.name, taken.key)
            error = run_job(taken, self.bench)
        finally:
            # Where not even the failure could be written down, the lease must run out.
            self._taken = None
        self._update_status(doing="", **({"error": error[: queue.LONGEST_ERROR]} if error else {}))
        return True

    def _run_safely(self, step: Callable[[], bool | None]) -> bool:
        """Go on whatever happens: a database that is away for a while comes back."""
        try:
            return bool(step())
        except Exception:
            _log.exception("%s could not go on", self.name)
            connections.close_all()
            return False

    def _send_heartbeats(self) -> None:
        """Prolong the lease and show a sign of life; end a worker that does not come to its end."""
        ending_at: float | None = None
        beaten = 0.0
        while True:
            time.sleep(IDLE_S)
            if self.ending:
                ending_at = ending_at or time.monotonic()
            try:
                if time.monotonic() - beaten >= HEARTBEAT_S:
                    beaten = time.monotonic()
                    self._update_status()
                    if (taken := self._taken) is not None:
                        queue.extend_lease(taken)
                if ending_at is not None and time.monotonic() - ending_at > self._grace_s:
                    if (taken := self._taken) is not None:
                        queue.return_job(taken)
                    os._exit(0)
            except Exception:
                _log.exception("%s could not show a sign of life", self.name)
                connections.close_all()

    def _update_status(self, **more: str) -> None:
        Worker.objects.filter(name=self.name).update(seen_at=Now(), **more)


def enqueue_due_jobs() -> None:
    """Put in every job that is due, take back those of workers that are gone, close phases, freeze boards."""
    queue.requeue_expired(record_failure)
    clock.record_time()
    publish.close_ended_phases(Contest.get_current())
    contest = Contest.get_current()
    # An upload comes with its job; one without has come from a copy of the database.
    for submission in Submission.objects.filter(state=State.RECEIVED).select_related("team"):
        _enqueue_for_submission("check", submission)
    if publish.can_publish(contest):
        _enqueue_for_data_sets("publish", DataSet.objects.filter(closed_at__isnull=True))
    _enqueue_for_data_sets("sample", DataSet.objects.filter(released_at__isnull=False))
    if contest.rules.mode == "live":
        # The live board of the last refresh: a pure function of the scores made until then.
        at = refresh_at(contest.rules, clock.now())
        within = contest.schedule.attack_begin <= at <= contest.find_latest("attack_end")
        if within and not Snapshot.objects.filter(name=results.name_live_snapshot(at)).exists():
            results.freeze_live_board(at)
    if contest.attack_closed_at is not None:
        _enqueue_final_jobs()
    scoring.publish_when_due(contest)
    if results.is_published(Contest.get_current(), clock.now()) and results.find_final_snapshot() is not None:
        queue.enqueue("open", "open")
    for rescoring in Rescoring.objects.filter(state=RescoringState.RUNNING):
        scoring.compare_when_done(rescoring)
    downloads.write_public_texts(settings.CONTEST_FOLDER, contest)
    # Everybody's files as one archive, when no more of them are about to come.
    if not queue.find_open_jobs("publish", "open").exists():
        downloads.write_public_archives(settings.CONTEST_FOLDER)


def _enqueue_final_jobs() -> None:
    """Put in the scores that decide and, when all of them are there, the final result."""
    if not queue.find_open_jobs("check").exists():
        for submission in scoring.find_counting_attacks():
            _enqueue_for_submission("score", submission)
        done = Job.objects.filter(kind="sample", state=JobState.DONE).values_list("about", flat=True)
        attacked = DataSet.objects.filter(pk__in=[about["data_set"] for about in done])
        _enqueue_for_data_sets("sample score", attacked)
    if scoring.find_missing_jobs() or results.find_final_snapshot() is not None:
        return
    if not DataSet.objects.filter(closed_at__isnull=True).exists():
        queue.enqueue("final", "final")


def _enqueue_for_submission(kind: str, submission: Submission) -> None:
    queue.enqueue(kind, f"{kind}/{submission.pk}", {"submission": submission.pk}, team=submission.team)


def _enqueue_for_data_sets(kind: str, data_sets: QuerySet[DataSet]) -> None:
    for data_set in data_sets.select_related("team"):
        queue.enqueue(kind, f"{kind}/{data_set}", {"data_set": data_set.pk})


def record_failure(job: Job, error: str) -> None:
    """Write down a job that has failed for good, inside the transaction that ends it."""
    log_act("judge", "job failed", job=job.key, error=error.strip()[:_LONGEST_LOGGED_ERROR])
    if job.kind in _STATE_BEFORE:
        submission = Submission.objects.select_related("team").get(pk=job.about["submission"])
        own = Submission.objects.filter(pk=submission.pk, state=_STATE_BEFORE[job.kind])
        # What is given back is forgotten: a file that fails again after another try gives nothing twice.
        if own.update(state=State.ERROR, reason=FAILURE_REASON, finished_at=clock.now(), quota=""):
            submissions.return_quota(submission.team, submission.quota)
    elif job.kind == "live":
        submissions.return_quota(Team.objects.get(pk=job.team_id), job.about["quota"])


def retry_job(job: Job, actor: str, reason: str) -> None:
    """Give a failed job to the judge once more, as when the cause is out of the way."""
    with transaction.atomic():
        if not queue.requeue_failed(job):
            said = gettext("the job %(job)s has not failed; there is nothing to try again")
            raise ParameterError(said % {"job": job.key})
        if job.kind in _STATE_BEFORE:
            own = Submission.objects.filter(pk=job.about["submission"], state=State.ERROR)
            own.update(state=_STATE_BEFORE[job.kind], reason="", finished_at=None)
        elif job.kind == "live":
            # What the failure gave back is used up once more: no day has more answers than the rules say.
            most = Contest.get_current().rules.live_answers_a_day
            if not submissions.take_quota(Team.objects.get(pk=job.team_id), job.about["quota"], most):
                said = gettext(
                    "the day's answers are used up by other uploads, so %(job)s cannot be tried again; "
                    "set it aside"
                )
                raise ParameterError(said % {"job": job.key})
        log_act(actor, "job tried again", job=job.key, reason=reason)


def set_job_aside(job: Job, actor: str, reason: str) -> None:
    """Let the contest go on without what a failed job should have found."""
    if job.kind == "publish":
        said = gettext("%(job)s cannot be set aside, because it decides what can be attacked; try it again")
        raise ParameterError(said % {"job": job.key})
    with transaction.atomic():
        failed = Job.objects.filter(pk=job.pk, state=JobState.FAILED)
        if not failed.update(state=JobState.DONE):
            said = gettext("the job %(job)s has not failed; it cannot be set aside")
            raise ParameterError(said % {"job": job.key})
        log_act(actor, "job set aside", job=job.key, reason=reason)
