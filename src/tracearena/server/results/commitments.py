"""The judge's promises as everybody can check them: hashes first, tables and salts when the results open."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from tracearena.contest.commitments import LISTS, signature_file
from tracearena.contest.data import COMMITMENTS, SALTS
from tracearena.server.store.folder import Folder


@dataclass(frozen=True)
class Promise:
    """The ID table of one data set.

    Attributes
    ----------
    table, live
        The names of its file and of that with the users of the live board; empty before they are opened,
        and where there is no such board.
    digest
        The published hash.
    salt
        What opens it; empty before the results.
    """

    table: str
    digest: str
    live: str = ""
    salt: str = ""

    @property
    def command(self) -> str:
        """What prints the hash in a shell, if the promise was kept."""
        return f"(echo {self.salt}; cat {' '.join(filter(None, (self.table, self.live)))}) | sha256sum"


def promises(folder: Folder, *, opened: bool) -> list[Promise]:
    """Return what was promised, and what opens it if that may be shown."""
    everybody = folder.everybody
    salts = _column(everybody / SALTS, "salt") if opened else {}
    return [
        Promise(table, digest, _live(everybody, table) if opened else "", salts.get(table, ""))
        for table, digest in sorted(_column(everybody / COMMITMENTS, "sha256").items())
    ]


def files(folder: Folder) -> list[str]:
    """Return the files that open the promises, and the two lists."""
    found = promises(folder, opened=True)
    kept = [name for one in found if one.salt for name in (one.table, one.live) if name]
    return [COMMITMENTS, SALTS, *kept] if kept else []


def receipt_lists(folder: Folder) -> list[str]:
    """Return the signed lists of receipts that are published, each with its signature."""
    lists = [folder.everybody / name for name in LISTS.values()]
    return [path.name for one in lists if one.is_file() for path in (one, signature_file(one))]


def _live(everybody: Path, table: str) -> str:
    name = "live" + table.removeprefix("ptable")
    return name if (everybody / name).is_file() else ""


def _column(path: Path, column: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row[column] for row in csv.DictReader(file)}
