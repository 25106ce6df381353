"""The live board: a few answers a day are scored on the users who are drawn for it."""

from __future__ import annotations

from tracearena.contest.commitments import live_day
from tracearena.server.judging.scoring import score_of
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Contest, Submission
from tracearena.server.store import jobs, scores
from tracearena.server.uploads import quota


def ask_for(submission: Submission) -> None:
    """Let an attack be scored for the live board, if there is one and the day's budget is not used up.

    Inside the caller's transaction; what is left is decided by a conditional update.
    """
    rules = Contest.now_held().rules
    if rules.mode != "live":
        return
    what = budget(submission)
    if quota.take(submission.team, what, rules.live_answers_a_day):
        about = {"submission": submission.pk, "quota": what}
        jobs.enqueue("live", f"{scores.LIVE}/{submission.pk}", about, team=submission.team)


def budget(submission: Submission) -> str:
    """Return the name of the limit of scored answers, of one target and the day on which they came."""
    return f"live {submission.data_set} {live_day(submission.received_at).isoformat()}"


def score_live(taken: jobs.Taken, bench: Bench) -> None:
    """Score an answer on the users of the live board."""
    submission = Submission.objects.select_related("team", "data_set__team").get(pk=taken.about["submission"])
    value = score_of(submission, bench, on_live_users=True)
    with jobs.finishing(taken):
        scores.write(f"{scores.LIVE}/{submission.pk}", value, submission=submission)
