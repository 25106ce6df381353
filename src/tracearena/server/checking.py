"""The first thing that happens to an upload: it is checked, and obfuscated traces get their utility."""

from __future__ import annotations

import logging

from tracearena.server import boards, clock, jobs, live_scores, scores
from tracearena.server.checked import Checked, Verdict
from tracearena.server.children import ChildDied, check_upload, score_checked
from tracearena.server.models import Contest, State, Submission, UploadKind
from tracearena.server.truths import Bench

COSTLY = ("memory", "cpu", "wall-clock")
"""Limits that a file makes a child reach; any other end of a child is a failure of the judge."""
_TRIES = 2

_log = logging.getLogger(__name__)


def check(taken: jobs.Taken, bench: Bench) -> None:
    """Check an upload; obfuscated traces are scored at once, attacks wait."""
    submission = _submission(taken)
    if submission.state != State.RECEIVED:
        with jobs.finishing(taken):
            return
    found = checked(submission, bench)
    if isinstance(found, Verdict):
        with jobs.finishing(taken):
            _move(submission, State.REFUSED, verdict=found.to_dict(), reason=found.reason.split("\n")[0])
    elif submission.kind == UploadKind.OBFUSCATED:
        utility = score_checked(found, bench.original(submission.data_set), Contest.now_held().rules)
        with jobs.finishing(taken):
            _move(submission, State.SCORED, utility=utility)
            scores.write(f"{scores.UTILITY}/{submission.pk}", utility, submission=submission)
            scores.settle_utility(submission.data_set)
            boards.forget()
    else:
        with jobs.finishing(taken):
            Submission.objects.filter(pk=submission.pk).update(state=State.CHECKED)
            live_scores.ask_for(submission)


def checked(submission: Submission, bench: Bench) -> Checked | Verdict:
    """Run the one checker on an upload; a file that no child survives, twice, is refused as too costly."""
    rules = Contest.now_held().rules
    content, frame = bench.upload(submission), bench.frame(submission)
    reason = ""
    for _ in range(_TRIES):
        try:
            return check_upload(
                content, frame, submission.kind, rules, file_name=submission.file_name  # type: ignore[arg-type]
            )
        except ChildDied as death:
            if death.reason not in COSTLY:
                raise
            _log.warning("upload %d: the child that read it ended: %s", submission.pk, death.reason)
            reason = death.reason
    return Verdict.too_costly(submission.file_name, reason)


def _submission(taken: jobs.Taken) -> Submission:
    return Submission.objects.select_related("team", "data_set__team").get(pk=taken.about["submission"])


def _move(submission: Submission, state: State, **more: object) -> None:
    moved = Submission.objects.filter(pk=submission.pk, state=State.RECEIVED)
    moved.update(state=state, finished_at=clock.now(), **more)
