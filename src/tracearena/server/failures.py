"""What follows when the judge itself fails: a final state with a reason, the quota back, never a score."""

from __future__ import annotations

from tracearena.server import clock, quota
from tracearena.server.audit_log import log
from tracearena.server.models import Job, State, Submission

REASON = "The judge failed on this file, not the file before the judge; it costs nothing. The organiser knows."
_UNFINISHED = (State.RECEIVED, State.CHECKED)


def written_down(job: Job, error: str) -> None:
    """Write down a job that has failed for good, inside the transaction that ends it."""
    log("judge", "job failed", job=job.key, error=error.strip().rpartition("\n")[2][:200])
    number = job.about.get("submission")
    if number is None or job.kind not in ("check", "score"):
        return
    submission = Submission.objects.select_related("team").get(pk=number)
    own = Submission.objects.filter(pk=number, state__in=_UNFINISHED)
    if own.update(state=State.ERROR, reason=REASON, finished_at=clock.now()) and submission.quota:
        quota.give_back(submission.team, submission.quota)
