"""The first thing that happens to an upload: it is checked, and obfuscated traces get their utility."""

from __future__ import annotations

from typing import Any

from tracearena.server import clock
from tracearena.server.judging import live_scores
from tracearena.server.judging.scoring import checked, value_of
from tracearena.server.judging.truths import Bench
from tracearena.server.models import State, Submission, UploadKind
from tracearena.server.results import boards
from tracearena.server.sandbox.checked import Verdict
from tracearena.server.store import jobs, scores


def check(taken: jobs.Taken, bench: Bench) -> None:
    """Check an upload; obfuscated traces are scored at once, attacks wait."""
    submission = Submission.objects.select_related("team", "data_set__team").get(pk=taken.about["submission"])
    if submission.state != State.RECEIVED:
        with jobs.finishing(taken):
            return
    found = checked(submission, bench)
    if isinstance(found, Verdict):
        said = found.to_store()
        with jobs.finishing(taken):
            _move(submission, State.REFUSED, verdict=said, reason=said["reason"].partition("\n")[0])
    elif submission.kind == UploadKind.OBFUSCATED:
        utility = value_of(found, submission, bench)
        with jobs.finishing(taken):
            _move(submission, State.SCORED, utility=utility)
            scores.write(f"{scores.UTILITY}/{submission.pk}", utility, submission=submission)
            scores.settle_utility(submission.data_set)
            boards.forget()
    else:
        with jobs.finishing(taken):
            Submission.objects.filter(pk=submission.pk).update(state=State.CHECKED)
            live_scores.ask_for(submission)


def _move(submission: Submission, state: str, **more: Any) -> None:
    Submission.objects.filter(pk=submission.pk).update(state=state, finished_at=clock.now(), **more)
