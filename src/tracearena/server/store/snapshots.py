"""Boards as stored bytes: what is frozen stays as it is, whatever happens later."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tracearena.server import clock
from tracearena.server.models import Snapshot


def to_bytes(content: dict[str, Any]) -> bytes:
    """Return plain values as JSON in one way only: the same values are the same bytes."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()


def freeze(name: str, content: dict[str, Any]) -> Snapshot:
    """Store a board under a name; one that is there already stays."""
    return Snapshot.objects.get_or_create(name=name, defaults=_stored(content))[0]


def fill(copy: Snapshot, content: dict[str, Any]) -> None:
    """Put a board into a copy that is not frozen."""
    for name, value in _stored(content).items():
        setattr(copy, name, value)
    copy.save()


def content_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return what was stored as plain values."""
    return parsed(bytes(snapshot.content))


def parsed(content: bytes) -> dict[str, Any]:
    """Return what `to_bytes` wrote."""
    held: dict[str, Any] = json.loads(content)
    return held


def _stored(content: dict[str, Any]) -> dict[str, Any]:
    data = to_bytes(content)
    return {"made_at": clock.now(), "content": data, "sha256": hashlib.sha256(data).hexdigest()}
