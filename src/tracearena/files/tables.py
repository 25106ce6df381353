"""Small tables as CSV; large ones are written by the formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.files.whole import replacing


def csv_text(header: Sequence[str] | None, rows: Iterable[Iterable[Any]]) -> str:
    r"""Return a table as CSV: LF ends a line, quotes stand where a cell needs them, None is an empty cell.

    Parameters
    ----------
    header
        Names of the columns; None for a format without such a line.

    Examples
    --------
    >>> csv_text(["name", "share"], [["a, b", 0.5], ["c", None]])
    'name,share\n"a, b",0.5\nc,\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if header is not None:
        writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write_csv(path: str | PathLike[str], header: Sequence[str] | None, rows: Iterable[Iterable[Any]]) -> Path:
    """Write `csv_text` whole or not at all, and return the path."""
    content = csv_text(header, rows).encode()
    with replacing(path) as file:
        file.write(content)
    return Path(path)
