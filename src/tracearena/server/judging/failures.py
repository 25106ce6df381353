"""What follows when the judge itself fails: a final state with a reason, the quota back, never a score."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext

from tracearena.errors import ParameterError
from tracearena.i18n import marked
from tracearena.server import clock
from tracearena.server.models import Contest, Job, JobState, State, Submission, Team
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log
from tracearena.server.uploads import quota

REASON = marked(
    "The judge failed on this file; the file is not to blame, and it costs nothing. The organiser knows."
)
_BEFORE = {"check": State.RECEIVED, "score": State.CHECKED}
"""How far an upload has come when a job of a kind begins."""
_LONGEST = 200


def written_down(job: Job, error: str) -> None:
    """Write down a job that has failed for good, inside the transaction that ends it."""
    log("judge", "job failed", job=job.key, error=error.strip()[:_LONGEST])
    if job.kind in _BEFORE:
        submission = Submission.objects.select_related("team").get(pk=job.about["submission"])
        own = Submission.objects.filter(pk=submission.pk, state=_BEFORE[job.kind])
        # What is given back is forgotten: a file that fails again after another try gives nothing twice.
        if own.update(state=State.ERROR, reason=REASON, finished_at=clock.now(), quota=""):
            quota.give_back(submission.team, submission.quota)
    elif job.kind == "live":
        quota.give_back(Team.objects.get(pk=job.team_id), job.about["quota"])


def try_again(job: Job, actor: str, reason: str) -> None:
    """Give a failed job to the judge once more, as when the cause is out of the way."""
    with transaction.atomic():
        if not jobs.try_again(job):
            said = gettext("the job %(job)s has not failed; there is nothing to try again")
            raise ParameterError(said % {"job": job.key})
        if job.kind in _BEFORE:
            own = Submission.objects.filter(pk=job.about["submission"], state=State.ERROR)
            own.update(state=_BEFORE[job.kind], reason="", finished_at=None)
        elif job.kind == "live":
            _take_again(job)
        log(actor, "job tried again", job=job.key, reason=reason)


def _take_again(job: Job) -> None:
    """Use up once more what the failure gave back: no day has more answers than the rules say."""
    most = Contest.now_held().rules.live_answers_a_day
    if not quota.take(Team.objects.get(pk=job.team_id), job.about["quota"], most):
        said = gettext("other answers have used up what %(job)s gave back; set it aside")
        raise ParameterError(said % {"job": job.key})


def set_aside(job: Job, actor: str, reason: str) -> None:
    """Let the contest go on without what a failed job should have found."""
    if job.kind == "publish":
        said = gettext("without %(job)s nobody knows what to attack; try it again")
        raise ParameterError(said % {"job": job.key})
    with transaction.atomic():
        failed = Job.objects.filter(pk=job.pk, state=JobState.FAILED)
        if not failed.update(state=JobState.DONE):
            said = gettext("the job %(job)s has not failed; it cannot be set aside")
            raise ParameterError(said % {"job": job.key})
        log(actor, "job set aside", job=job.key, reason=reason)
