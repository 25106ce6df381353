"""Small tables as CSV; large ones are written by the formats."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tracearena.files.whole import replacing

_FORMULA = re.compile(r"(?![+-]\d[\d.]*(?:[eE][+-]?\d+)?\Z)'*[=+\-@\t\r].", re.ASCII | re.DOTALL)
"""How a text begins that a spreadsheet may take for a formula; numbers and single signs are none."""


def csv_text(header: Sequence[str] | None, rows: Iterable[Iterable[Any]], *, exact: bool = False) -> str:
    r"""Return a table as CSV: LF ends a line, quotes stand where a cell needs them, None is an empty cell.

    A text that a spreadsheet would take for a formula gets an apostrophe, which `csv_rows` takes away again.

    Parameters
    ----------
    header
        Names of the columns; None for a format without such a line.
    exact
        Whether texts stand as they are: for a file by which programs look up what stands in another one.

    Examples
    --------
    >>> csv_text(["name", "share"], [["a, b", 0.5], ["=1+1", None]])
    'name,share\n"a, b",0.5\n\'=1+1,\n'
    """
    written: list[str] = []
    # Python before 3.13 quotes a cell with CR or LF only if the end of a line has both.
    writer = csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n")
    lines = rows if header is None else itertools.chain([header], rows)
    writer.writerows(lines if exact else ([_harmless(cell) for cell in line] for line in lines))
    return "".join(f"{line[:-2]}\n" for line in written)


def csv_rows(text: str) -> list[list[str]]:
    """Return the cells of a table that `csv_text` wrote, its header first.

    >>> csv_rows(csv_text(["name"], [["=1+1"], ["-0.5"], ["'@x"]]))
    [['name'], ['=1+1'], ['-0.5'], ["'@x"]]
    """
    lines = csv.reader(io.StringIO(text, newline=""))
    return [[cell[cell[:1] == "'" and bool(_FORMULA.match(cell)) :] for cell in line] for line in lines]


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def write_csv(path: str | PathLike[str], header: Sequence[str] | None, rows: Iterable[Iterable[Any]]) -> Path:
    """Write `csv_text` whole or not at all, and return the path."""
    content = csv_text(header, rows).encode()
    with replacing(path) as file:
        file.write(content)
    return Path(path)
