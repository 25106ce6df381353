"""When the files of a contest came, by the judge's own list."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path

from tracearena.errors import Fault, FileError
from tracearena.files import read_bytes

ARRIVALS = "received.csv"


def read_arrivals(path: Path) -> dict[str, datetime] | None:
    """Read when files came (``file,received``), if somebody wrote it down."""
    if not path.is_file():
        return None
    text = read_bytes(path).decode("utf-8-sig", "replace")
    lines = list(csv.reader(io.StringIO(text, newline="")))
    if not lines or lines[0] != ["file", "received"]:
        raise FileError.whole(path, "the header is not file,received", "wrong-header")
    found: dict[str, datetime] = {}
    for row, cells in enumerate(lines[1:], 1):
        at = _moment(cells[1]) if len(cells) == 2 else None
        if at is None or cells[0] in found:
            problem = "it must be a file, once, and a time with its zone, such as 2026-05-15T08:59:00+09:00"
            raise FileError(path, [Fault(row, None, ",".join(cells), problem, "not-a-time")])
        found[cells[0]] = at
    return found


def _moment(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else at
