"""How a contest stands: what waits, what failed, who works, what room is left."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from tracearena.contest import phase_at
from tracearena.server import clock
from tracearena.server.models import Contest, Job, JobState, Member, Submission, Team, Worker
from tracearena.server.store.database import shown
from tracearena.server.store.folder import Folder

SEEN_S = 60
"""A judge that has not been seen for so long does not work."""


def status(folder: Folder) -> dict[str, Any]:
    """Return everything an organiser looks at, as plain values for JSON."""
    contest, now = Contest.now_held(), clock.now()
    answer = phase_at(contest.schedule, now)
    return {
        "contest": contest.name,
        "clock": now.isoformat(),
        "clock_is_driven": clock.is_driven(),
        "clock_ahead_s": (now - clock.shown()).total_seconds(),
        "phase": None if answer.phase is None else answer.phase.value,
        "next_change": None if answer.next_change is None else answer.next_change.isoformat(),
        "teams": Team.objects.filter(role="team").count(),
        "members": Member.objects.filter(team__isnull=False, is_active=True).count(),
        "uploads": _counts(Submission.objects.all()),
        "queue": _queue(now),
        "last_error": _last_error(),
        "judges": [_judge(one) for one in Worker.objects.annotate(now=Now()).order_by("name")],
        "disk_free_bytes": shutil.disk_usage(folder.path).free,
        "backup_age_s": _age(contest.backed_up_at, now),
        "published": contest.published_at is not None,
        "database": shown(folder.read_secrets().database),
    }


def judge_is_away() -> bool:
    """Whether no judge has shown a sign of life within a minute."""
    return not Worker.objects.filter(seen_at__gte=Now() - timedelta(seconds=SEEN_S)).exists()


def _counts(rows: Any) -> dict[str, int]:
    return {row["state"]: row["n"] for row in rows.values("state").annotate(n=Count("pk")).order_by("state")}


def _queue(now: datetime) -> dict[str, Any]:
    due = Job.objects.filter(state=JobState.WAITING, due_at__lte=now).order_by("due_at").first()
    counts = _counts(Job.objects.all())
    return {state: counts.get(state, 0) for state in JobState.values} | {
        "oldest_s": 0.0 if due is None else (now - due.due_at).total_seconds()
    }


def _last_error() -> dict[str, Any] | None:
    job = Job.objects.exclude(error="").order_by("-finished_at", "-taken_at", "-pk").first()
    if job is None:
        return None
    at = job.finished_at or job.taken_at
    return {"job": job.key, "state": job.state, "error": job.error, "at": at and at.isoformat()}


def _judge(one: Any) -> dict[str, Any]:
    # Signs of life are dated by the database's clock, which all machines share and nobody drives.
    seen = (one.now - one.seen_at).total_seconds()
    return {
        "name": one.name,
        "works": seen < SEEN_S,
        "seen_s": seen,
        "doing": one.doing,
        "error": one.error,
        "missing_guards": one.missing_guards,
    }


def _age(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else (now - at).total_seconds()
