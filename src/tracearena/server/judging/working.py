"""One worker of the judge: takes what is due, does it, and shows that it is alive."""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from datetime import timedelta

from django.db import connections
from django.db.models.functions import Now

from tracearena.server import clock
from tracearena.server.judging import (
    checking,
    exporting,
    final_scores,
    live_scores,
    opening,
    publication,
    receipt_lists,
    rescoring,
    rewrapping,
    sample_work,
)
from tracearena.server.judging.failures import written_down
from tracearena.server.judging.sweeping import sweep
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Worker
from tracearena.server.sandbox.child_side import missing_guards
from tracearena.server.store import jobs

BEAT_S = 5.0
SWEEP_S = 2.0
IDLE_S = 0.5
FORGOTTEN = timedelta(hours=1)
"""A worker that was not seen for this long is not listed any more."""
LEAPT = "the clock of this machine has leapt; no phase is closed until it has been steady for a minute"

WORK: dict[str, Callable[[jobs.Taken, Bench], None]] = {
    "check": checking.check,
    "publish": publication.publish,
    "receipts": receipt_lists.publish,
    "sample": sample_work.attack,
    "live": live_scores.score_live,
    "score": final_scores.score,
    "sample score": sample_work.score,
    "final": final_scores.freeze,
    "open": opening.open_tables,
    "rewrap": rewrapping.rewrap,
    "rescore": rescoring.rescore,
    "export": exporting.make,
}

_log = logging.getLogger(__name__)


def do(taken: jobs.Taken, bench: Bench) -> str:
    """Do one job, and return what went wrong, an empty text if nothing did.

    Whatever goes wrong is the judge's failure and no score: verdicts on files are results.
    """
    try:
        WORK[taken.kind](taken, bench)
    except jobs.LeaseLost as error:
        _log.warning("%s", error)
    except Exception as error:
        _log.exception("the job %s failed", taken.key)
        told = "".join(traceback.format_exception_only(error)).strip()
        jobs.fail(taken, told, written_down)
        return f"{taken.key}: {told}"
    return ""


def work_off(bench: Bench, name: str) -> int:
    """Sweep and work until nothing is due, and return how many jobs were done."""
    receipt_lists.publish_key(bench)
    done = 0
    while True:
        sweep()
        before = done
        while (taken := jobs.take(name)) is not None:
            do(taken, bench)
            done += 1
        if done == before:
            return done


class Working:
    """A worker in a process of its own.

    Parameters
    ----------
    bench
        What it works with.
    name
        What it is called. No two processes at once have one name, on whatever machine, so what an earlier one
        held is free.
    grace_s
        Seconds that a worker that is to end goes on with its job before it gives it back.
    """

    def __init__(self, bench: Bench, name: str, *, grace_s: float) -> None:
        self._grace_s = grace_s
        self.bench, self.name = bench, name
        self.ending = False
        self._taken: jobs.Taken | None = None
        self._leaps, self._is_steady = clock.LeapDetector(), True

    def end(self) -> None:
        """Come to an end: the job in hand is finished, or given back if that takes too long."""
        self.ending = True

    def run(self) -> None:
        """Work until `end` is called."""
        missing = missing_guards()
        if missing:
            _log.warning("%s: %s", self.name, missing)
        receipt_lists.publish_key(self.bench)
        # What the one before was doing when it was lost is known until its row is written over.
        jobs.take_back_of(self.name, written_down)
        Worker.objects.filter(seen_at__lt=Now() - FORGOTTEN).delete()
        fresh = {"started_at": Now(), "seen_at": Now(), "doing": "", "error": "", "missing_guards": missing}
        Worker.objects.update_or_create(name=self.name, defaults=fresh)
        heart = threading.Thread(target=self._beat, daemon=True)
        heart.start()
        swept = float("-inf")
        while not self.ending:
            if time.monotonic() - swept >= SWEEP_S:
                self._safely(self._look)
                swept = time.monotonic()
            if not self._safely(self._one):
                time.sleep(IDLE_S)
        Worker.objects.filter(name=self.name).delete()
        connections.close_all()

    def _look(self) -> None:
        """Put in what is due, unless the machine's clock has just leapt."""
        is_steady = self._leaps.is_steady_now()
        if is_steady != self._is_steady:
            self._is_steady = is_steady
            _log.warning("%s: %s", self.name, "the clock is steady again" if is_steady else LEAPT)
            self._show(error="" if is_steady else LEAPT)
        if is_steady:
            sweep()

    def _one(self) -> bool:
        self._taken = taken = jobs.take(self.name)
        if taken is None:
            return False
        try:
            self._show(doing=taken.key)
            _log.info("%s: %s", self.name, taken.key)
            error = do(taken, self.bench)
        finally:
            # Where not even the failure could be written down, the lease must run out.
            self._taken = None
        self._show(doing="", **({"error": error[: jobs.LONGEST_ERROR]} if error else {}))
        return True

    def _safely(self, step: Callable[[], bool | None]) -> bool:
        """Go on whatever happens: a database that is away for a while comes back."""
        try:
            return bool(step())
        except Exception:
            _log.exception("%s could not go on", self.name)
            connections.close_all()
            return False

    def _beat(self) -> None:
        """Prolong the lease and show a sign of life; end a worker that does not come to its end."""
        told_at: float | None = None
        beaten = 0.0
        while True:
            time.sleep(IDLE_S)
            if self.ending:
                told_at = told_at or time.monotonic()
            try:
                if time.monotonic() - beaten >= BEAT_S:
                    beaten = time.monotonic()
                    self._show()
                    if (taken := self._taken) is not None:
                        jobs.prolong(taken)
                if told_at is not None and time.monotonic() - told_at > self._grace_s:
                    if (taken := self._taken) is not None:
                        jobs.give_back(taken)
                    os._exit(0)
            except Exception:
                _log.exception("%s could not show a sign of life", self.name)
                connections.close_all()

    def _show(self, **more: str) -> None:
        Worker.objects.filter(name=self.name).update(seen_at=Now(), **more)
