"""How a contest stands, as Prometheus reads it: plain text, one number per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics(status: dict[str, Any]) -> str:
    """Return what `status` says as text in the format of Prometheus; nothing in it is a secret."""
    lines: list[str] = []
    for name, words, values in _gauges(status):
        lines += [f"# HELP tracearena_{name} {words}", f"# TYPE tracearena_{name} gauge"]
        lines += [f"tracearena_{name}{labels} {value}" for labels, value in values.items()]
    return "\n".join([*lines, ""])


def _gauges(status: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield name, meaning and numbers of every gauge; one that has no number yet is left out."""
    queue = dict(status["queue"])
    oldest = queue.pop("oldest_s")
    yield "jobs", "Jobs of the judges, by state.", _by("state", queue)
    yield "queue_age_seconds", "How long the oldest job that is due has waited.", {"": oldest}
    yield "uploads", "Uploads, by state.", _by("state", status["uploads"])
    yield (
        "judges",
        "Judges that have shown a sign of life within a minute.",
        {"": sum(one["works"] for one in status["judges"])},
    )
    yield (
        "judge_errors",
        "Judges whose last job failed.",
        {"": sum(bool(one["error"]) for one in status["judges"])},
    )
    yield "disk_free_bytes", "Bytes that are free where the contest lies.", {"": status["disk_free_bytes"]}
    if status["backup_age_s"] is not None:
        yield "backup_age_seconds", "Age of the last backup.", {"": status["backup_age_s"]}
    yield "members", "Members of teams who can log in.", {"": status["members"]}
    yield "published", "Whether the results are published.", {"": int(status["published"])}


def _by(label: str, counts: dict[str, int]) -> dict[str, float]:
    return {f'{{{label}="{name}"}}': count for name, count in counts.items()}
