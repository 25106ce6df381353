"""When the files of a contest came, by the judge's own list."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tracearena.errors import Fault, FileError
from tracearena.files import read_bytes

ARRIVALS = "received.csv"
HEADER = ("file", "received", "receipt")
_RECEIPT = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


@dataclass(frozen=True, order=True)
class Arrival:
    """When a file came; of two the one with the larger receipt came last, or the one that came later.

    Attributes
    ----------
    receipt
        The number of its receipt, from a server; 0 where nobody numbered the files.
    at
        The time by the judge's clock.
    """

    receipt: int
    at: datetime


def read_arrivals(path: Path) -> dict[str, Arrival] | None:
    """Read when files came (``file,received`` and, from a server, ``receipt``), if somebody wrote it down."""
    if not path.is_file():
        return None
    text = read_bytes(path).decode("utf-8-sig", "replace")
    lines = list(csv.reader(io.StringIO(text, newline="")))
    header = lines[0] if lines else []
    if header not in (list(HEADER), list(HEADER[:2])):
        raise FileError.whole(
            path, "the header is not file,received or file,received,receipt", "wrong-header"
        )
    found: dict[str, Arrival] = {}
    for row, cells in enumerate(lines[1:], 1):
        arrival = _arrival(cells) if len(cells) == len(header) else None
        if arrival is None or cells[0] in found:
            problem = "it must be a file, once, and a time with its zone, such as 2026-05-15T08:59:00+09:00"
            problem += ", then the number of its receipt" if len(header) == len(HEADER) else ""
            raise FileError(path, [Fault(row, None, ",".join(cells), problem, "not-a-time")])
        found[cells[0]] = arrival
    return found


def _arrival(cells: list[str]) -> Arrival | None:
    at = _moment(cells[1])
    if at is None or len(cells) == 2:
        return None if at is None else Arrival(0, at)
    return Arrival(int(cells[2]), at) if _RECEIPT.fullmatch(cells[2]) else None


def _moment(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else at
