"""The judge's queue, in the database: what is put in with an upload is there if and only if the upload is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tracearena.server import clock
from tracearena.server.models import Job, Team


def enqueue(
    kind: str,
    key: str,
    about: dict[str, Any] | None = None,
    *,
    team: Team | None = None,
    due_at: datetime | None = None,
) -> Job:
    """Put in a job, inside the caller's transaction; one with the same key is there only once.

    Parameters
    ----------
    kind
        What is to be done.
    key
        What it is about, unique.
    about
        What the worker must know.
    team
        Whose turn it uses: teams take turns, however much one of them hands in.
    due_at
        Not before this; at once if left out.
    """
    now = clock.now()
    given = {"kind": kind, "about": about or {}, "team": team, "created_at": now, "due_at": due_at or now}
    return Job.objects.get_or_create(key=key, defaults=given)[0]
