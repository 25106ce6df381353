"""The audit log of a contest on a server: entries bound to each other by hashes, so that a gap shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracearena.contest.archive import read_json
from tracearena.errors import FileError

BEGINNING = 64 * "0"
"""What the first entry has in the place of the hash of the one before."""
FIELDS = ("at", "actor", "act", "details", "before", "sha256")


def entry_digest(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry, that of the one before included."""
    said = [entry[name] for name in ("before", "at", "actor", "act", "details")]
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def first_broken(entries: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the position of the first entry that does not follow from the one before, None if all do.

    An entry whose details are left out, since they are nobody else's business, has its hash still.
    """
    before = BEGINNING
    for position, entry in enumerate(entries):
        is_whole = entry["details"] is not None
        if entry["before"] != before or (is_whole and entry_digest(entry) != entry["sha256"]):
            return position
        before = entry["sha256"]
    return None


def read_audit_log(path: Path) -> list[dict[str, Any]]:
    """Read the log of an archive."""
    if not path.is_file():
        raise FileError.whole(path, "is not there, and belongs to a contest on a server", "missing")
    found = read_json(path)
    if not isinstance(found, list) or not all(
        isinstance(entry, dict) and sorted(entry) == sorted(FIELDS) for entry in found
    ):
        raise FileError.whole(path, "is not an audit log", "not-a-log")
    return found
