"""The status of a contest, for people and for Prometheus."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from tracearena.contest import phase_at
from tracearena.server import clock
from tracearena.server.models import (
    Contest,
    Job,
    JobState,
    Member,
    Submission,
    Team,
    Worker,
)
from tracearena.server.store.database import format_database_url
from tracearena.server.store.folder import Folder

ALIVE_S = 60
"""A judge that has not been seen for this long does not work."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def collect_status(folder: Folder) -> dict[str, Any]:
    """Return everything an organiser looks at, as plain values for JSON."""
    contest, now = Contest.get_current(), clock.now()
    answer = phase_at(contest.schedule, now)
    due = Job.objects.filter(state=JobState.WAITING, due_at__lte=now).order_by("due_at").first()
    counts = _count_states(Job.objects.all())
    waiting: dict[str, float] = {state: counts.get(state, 0) for state in JobState.values}
    waiting["oldest_s"] = 0.0 if due is None else (now - due.due_at).total_seconds()
    judges = []
    for one in Worker.objects.annotate(now=Now()).order_by("name"):
        # Signs of life are dated by the database's clock, which all machines share and nobody drives.
        seen_s = (one.now - one.seen_at).total_seconds()
        about = {"name": one.name, "works": seen_s < ALIVE_S, "seen_s": seen_s, "doing": one.doing}
        judges.append({**about, "error": one.error, "missing_guards": one.missing_guards})
    backup = contest.backed_up_at
    return {
        "contest": contest.name,
        "clock": now.isoformat(),
        "clock_is_driven": clock.is_driven(),
        "clock_ahead_s": (now - clock.read_clock()).total_seconds(),
        "phase": None if answer.phase is None else answer.phase.value,
        "obfuscated": answer.obfuscated.value,
        "next_change": None if answer.next_change is None else answer.next_change.isoformat(),
        "teams": Team.objects.filter(role="team").count(),
        "members": Member.objects.filter(team__isnull=False, is_active=True).count(),
        "uploads": _count_states(Submission.objects.all()),
        "queue": waiting,
        "last_error": _find_last_error(),
        "judges": judges,
        "disk_free_bytes": shutil.disk_usage(folder.path).free,
        "backup_age_s": None if backup is None else (now - backup).total_seconds(),
        "published": contest.published_at is not None,
        "database": format_database_url(folder.read_secrets().database),
    }


def is_judge_away() -> bool:
    """Whether no judge has shown a sign of life within a minute."""
    return not Worker.objects.filter(seen_at__gte=Now() - timedelta(seconds=ALIVE_S)).exists()


def _count_states(rows: Any) -> dict[str, int]:
    return {row["state"]: row["n"] for row in rows.values("state").annotate(n=Count("pk")).order_by("state")}


def _find_last_error() -> dict[str, Any] | None:
    job = Job.objects.exclude(error="").order_by("-finished_at", "-taken_at", "-pk").first()
    if job is None:
        return None
    at = job.finished_at or job.taken_at
    return {"job": job.key, "state": job.state, "error": job.error, "at": at and at.isoformat()}


def format_metrics(status: dict[str, Any]) -> str:
    """Return what `collect_status` says as text in the format of Prometheus; nothing in it is a secret."""
    lines: list[str] = []
    for name, words, values in _list_gauges(status):
        lines += [f"# HELP tracearena_{name} {words}", f"# TYPE tracearena_{name} gauge"]
        lines += [f"tracearena_{name}{labels} {value}" for labels, value in values.items()]
    return "\n".join([*lines, ""])


def _list_gauges(status: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield name, meaning and numbers of every gauge; one that has no number yet is left out."""
    queue = dict(status["queue"])
    oldest = queue.pop("oldest_s")
    yield "jobs", "Jobs of the judges, by state.", _label_counts("state", queue)
    yield "queue_age_seconds", "How long the oldest job that is due has waited.", {"": oldest}
    yield "uploads", "Uploads, by state.", _label_counts("state", status["uploads"])
    working = sum(one["works"] for one in status["judges"])
    yield "judges", "Judges that have responded within a minute.", {"": working}
    failing = sum(bool(one["error"]) for one in status["judges"])
    yield "judge_errors", "Judges whose last job failed.", {"": failing}
    yield "disk_free_bytes", "Free bytes on the disk of the contest.", {"": status["disk_free_bytes"]}
    if status["backup_age_s"] is not None:
        yield "backup_age_seconds", "Age of the last backup.", {"": status["backup_age_s"]}
    yield "members", "Members of teams who can log in.", {"": status["members"]}
    yield "published", "Whether the results are published.", {"": int(status["published"])}


def _label_counts(label: str, counts: dict[str, int]) -> dict[str, float]:
    return {f'{{{label}="{name}"}}': count for name, count in counts.items()}
