"""The end of a phase as a stored fact: what is in the database by then counts, what comes later is late.

An upload that came in time may be written down later, if the disk or the database is slow. The judge waits
for a minute, then closes the phase. Upload and judge meet at the rows of the data sets: an upload is either
in before the phase is closed, and counts, or finds it closed, and its receipt says that it is late.
"""

from __future__ import annotations

from django.db import transaction

from tracearena.server import clock
from tracearena.server.models import Contest, DataSet
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log

PHASES = ("anonymization", "attack")


def close_when_over(contest: Contest) -> None:
    """Close every phase that is over and not closed yet."""
    for phase in PHASES:
        if _is_to_close(contest, phase):
            _close(phase)


def _close(phase: str) -> None:
    with transaction.atomic():
        # The contest's row first, as everybody takes it who takes data sets after it. An upload holds the row
        # of its data set until it is in: who has all these rows has seen every upload before.
        contest = Contest.objects.select_for_update().get(pk=1)
        list(DataSet.objects.select_for_update().order_by("pk"))
        # The organiser may have put the end off meanwhile, or the contest's time back.
        clock.forget()
        if _is_to_close(contest, phase):
            now = clock.now()
            Contest.objects.filter(pk=1).update(**{f"{phase}_closed_at": now, "seen_at": now})
            jobs.enqueue("receipts", f"receipts/{phase}", {"phase": phase})
            log("judge", "phase closed", phase=phase)
    clock.forget()


def _is_to_close(contest: Contest, phase: str) -> bool:
    is_closed = getattr(contest, f"{phase}_closed_at") is not None
    return not is_closed and clock.is_over(contest.last(f"{phase}_end"))
