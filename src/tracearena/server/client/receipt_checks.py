"""Whether the judge's signed lists have every receipt that a team has kept."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracearena.contest.commitments import (
    LISTS,
    ListedReceipt,
    read_list,
    receipt_commitment,
    signature_file,
    signer_of,
)
from tracearena.errors import DataError
from tracearena.server.client.connection import Client
from tracearena.server.client.keeping import kept_receipts
from tracearena.server.client.transfers import download

LISTED, MISSING, OTHER, WAITING = "listed", "MISSING", "LISTED OTHERWISE", "its phase is not closed yet"


@dataclass(frozen=True)
class CheckedReceipt:
    """One receipt, and how it stands in the published list of its phase."""

    receipt: int
    state: str

    @property
    def is_wrong(self) -> bool:
        """Whether the list contradicts the receipt."""
        return self.state in (MISSING, OTHER)


def check_receipts(client: Client) -> list[CheckedReceipt]:
    """Hold every receipt that was kept of a contest against the signed lists of its server.

    Late uploads need not be listed: they do not count.
    """
    lists = _lists(client)
    return [
        CheckedReceipt(one["id"], _state(one, lists[_phase(one)]))
        for one in kept_receipts(client.url)
        if not one["late"]
    ]


def _phase(receipt: dict[str, Any]) -> str:
    return "anonymization" if receipt["target"] is None else "attack"


def _state(receipt: dict[str, Any], published: dict[int, ListedReceipt] | None) -> str:
    if published is None:
        return WAITING
    if receipt["id"] not in published:
        return MISSING
    commitment = receipt_commitment(receipt["sha256"], receipt["salt"])
    own = ListedReceipt(receipt["id"], receipt["received_at"], commitment)
    return LISTED if published[receipt["id"]] == own else OTHER


def _lists(client: Client) -> dict[str, dict[int, ListedReceipt] | None]:
    """Return the lists that are published, each signed by the key of the contest."""
    key, files = (
        client.get("contest")["signing_key"],
        {one["name"]: one for one in client.get("data")["files"]},
    )
    found: dict[str, dict[int, ListedReceipt] | None] = {}
    with tempfile.TemporaryDirectory() as place:
        for phase, name in LISTS.items():
            path = Path(place) / name
            if name not in files:
                found[phase] = None
                continue
            for file in (path, signature_file(path)):
                about = files[file.name]
                download(client, f"files/{file.name}", file, sha256=about["sha256"], size=about["size"])
            if signer_of(path) != key:
                raise DataError(f"{name} is signed by another key than the contest's, {key}")
            found[phase] = read_list(path)
    return found
