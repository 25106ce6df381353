"""The audit log: who did what, each entry bound to the one before by a hash."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import transaction

from tracearena.server import clock
from tracearena.server.models import AuditEntry, Contest

_BEGINNING = 64 * "0"


def log(actor: str, act: str, **details: Any) -> AuditEntry:
    """Write down an act; within a transaction it is written down if and only if the act took place."""
    with transaction.atomic():
        # Whoever writes holds the contest's row: of two at once the second sees the first one's entry.
        Contest.objects.select_for_update().filter(pk=1).first()
        last = AuditEntry.objects.order_by("-pk").first()
        before = _BEGINNING if last is None else last.sha256
        entry = AuditEntry(at=clock.now(), actor=actor, act=act, details=details, before=before)
        entry.sha256 = _digest(entry)
        entry.save()
    return entry


def first_broken() -> AuditEntry | None:
    """Return the first entry that does not follow from the one before, None if the log is whole."""
    before = _BEGINNING
    for entry in AuditEntry.objects.iterator():
        if entry.before != before or entry.sha256 != _digest(entry):
            return entry
        before = entry.sha256
    return None


def _digest(entry: AuditEntry) -> str:
    said = [entry.before, entry.at.isoformat(), entry.actor, entry.act, entry.details]
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
