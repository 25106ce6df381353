"""What the judge has found out already, by the content of what it hangs on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracearena import __version__
from tracearena.arena.journal import Journal
from tracearena.contest.handout import file_digest

LEDGER = "scores.jsonl"


class Ledger:
    """Scores by the content of what they hang on, each on disk before the next is begun.

    Parameters
    ----------
    path
        The file, for its owner alone: scores are secret until the results open.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._journal = Journal(path, f"scores of tracearena {__version__}")
        self._digests: dict[Path, str] = {}

    def found(self, what: str, files: list[Path], settings: Any, find: Callable[[], Any]) -> Any:
        """Return what was found before of the same content, or find it and write it down."""
        known = self.known(what, files, settings)
        if known is not None:
            return known
        row = {"what": what, "found": find()}
        key = self._key(what, files, settings)
        self._journal.rows[key] = row
        self._journal.add(key, row)
        return row["found"]

    def known(self, what: str, files: list[Path], settings: Any) -> Any:
        """Return what was found before of the same content, None if nothing was."""
        return self._journal.rows.get(self._key(what, files, settings), {}).get("found")

    def _key(self, what: str, files: list[Path], settings: Any) -> str:
        digests = [self.digest(path) for path in files]
        return hashlib.sha256(json.dumps([what, digests, settings]).encode()).hexdigest()

    def settle(self) -> None:
        """Put the rows in one order: a run that was stopped finds them in another than one that was not."""
        self._journal.settle()

    def digest(self, path: Path) -> str:
        """Return SHA-256 of a file, computed once."""
        if path not in self._digests:
            self._digests[path] = file_digest(path)
        return self._digests[path]

    def forget(self, path: Path) -> None:
        """Forget the digest of a file that has changed."""
        self._digests.pop(path, None)
