"""The audit log: who did what, each entry bound to the one before by a hash."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from tracearena.contest.archive import BEGINNING, entry_digest
from tracearena.server import clock
from tracearena.server.models import AuditEntry, Contest

_PUBLIC_ACTS = (
    "contest made",
    "contest restored",
    "contest upgraded",
    "team added",
    "team renamed",
    "schedule moved",
    "extra time given",
    "clock set back",
    "phase closed",
    "receipts published",
    "data set closed",
    "data set released",
    "job failed",
    "job tried again",
    "job set aside",
    "result frozen",
    "results published",
    "ID tables opened",
    "re-scoring started",
    "re-scoring applied",
    "re-scoring cancelled",
    "ceremony opened",
    "archive asked for",
    "contest exported",
)
"""Acts that concern the result. Who has an account, and where backups lie, is nobody else's business."""


def log_act(actor: str, act: str, **details: Any) -> AuditEntry:
    """Write down an act; within a transaction it is written down if and only if the act took place."""
    with transaction.atomic():
        # The writer holds the contest's row: of two at once the second sees the first one's entry.
        Contest.objects.select_for_update().filter(pk=1).first()
        last = AuditEntry.objects.order_by("-pk").first()
        before = BEGINNING if last is None else last.sha256
        entry = AuditEntry(at=clock.now(), actor=actor, act=act, details=details, before=before)
        entry.sha256 = _hash_entry(entry)
        entry.save()
    return entry


def find_broken_entry() -> AuditEntry | None:
    """Return the first entry that does not follow from the one before, None if the log is whole."""
    before = BEGINNING
    for entry in AuditEntry.objects.iterator():
        if entry.before != before or entry.sha256 != _hash_entry(entry):
            return entry
        before = entry.sha256
    return None


def list_public_entries() -> list[dict[str, Any]]:
    """Return the log as anybody may read it: of acts that do not concern the result only time and hashes."""
    hidden = {"actor": "", "act": "", "details": None}
    return [
        _entry_values(entry) if entry.act in _PUBLIC_ACTS else _entry_values(entry) | hidden
        for entry in AuditEntry.objects.iterator()
    ]


def _entry_values(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(),
        "actor": entry.actor,
        "act": entry.act,
        "details": entry.details,
        "before": entry.before,
        "sha256": entry.sha256,
    }


def _hash_entry(entry: AuditEntry) -> str:
    return entry_digest(_entry_values(entry))
