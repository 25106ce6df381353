"""Where two results differ: cell by cell, numbers up to rounding."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracearena.errors import shorten

_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]{1,3})?", re.ASCII)
SAME = 1e-12
"""Numbers closer than this are equal: the same sum, rounded on another machine."""


@dataclass(frozen=True)
class Finding:
    """One thing in an archive that is not as it must be.

    Attributes
    ----------
    what
        A fixed word: ``hash``, ``commitment``, ``release``, ``copy``, ``score``, ``unreadable``, …
    where
        The file and, where there is one, the row or the key.
    expected, found
        What the check gives, and what the archive has.
    """

    what: str
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: {self.where}: expected {self.expected}, found {self.found}"

    def to_dict(self) -> dict[str, str]:
        """Return the finding as plain values for JSON."""
        return {"what": self.what, "where": self.where, "expected": self.expected, "found": self.found}


def table_differences(what: str, name: str, expected: str, found: str) -> Iterator[Finding]:
    """Compare two CSV files; the rows count from 1 below the header."""
    try:
        wanted, got = (list(csv.reader(io.StringIO(text, newline=""))) for text in (expected, found))
    except csv.Error as error:
        yield Finding("unreadable", name, "a table", str(error))
        return
    if len(wanted) != len(got):
        yield Finding(what, name, f"{len(wanted) - 1} rows", f"{len(got) - 1} rows")
    header = wanted[0]
    for row, (mine, theirs) in enumerate(zip(wanted, got, strict=False)):
        if len(mine) != len(theirs):
            yield Finding(what, f"{name}, row {row}", f"{len(mine)} cells", f"{len(theirs)} cells")
            continue
        for column, cell, other in zip(header, mine, theirs, strict=True):
            if not same(_number(cell), _number(other)):
                key = f"{mine[0]} " if row else ""
                yield Finding(what, f"{name}, row {row} ({key}{column})", shorten(cell), shorten(other))


def value_differences(what: str, where: str, expected: Any, found: Any) -> Iterator[Finding]:
    """Compare two plain values of JSON, and name the place of every difference."""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        for key, value in expected.items():
            yield from value_differences(what, f"{where}, {key}", value, found[key])
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (mine, theirs) in enumerate(zip(expected, found, strict=True), 1):
            yield from value_differences(what, f"{where}, {number}", mine, theirs)
    elif not same(expected, found):
        yield Finding(what, where, shorten(str(expected)), shorten(str(found)))


def same(expected: Any, found: Any) -> bool:
    """Whether two values are equal, numbers up to `SAME`.

    >>> same(0.1 + 0.2, 0.3), same(1.0, True), same("1", 1.0)
    (True, False, False)
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, found)]
    if all(numbers):
        try:
            return math.isclose(expected, found, rel_tol=0, abs_tol=SAME)
        except OverflowError:  # a whole number beyond all decimals
            return bool(expected == found)
    return type(expected) is type(found) and bool(expected == found)


def _number(cell: str) -> str | float:
    """Return a cell as a number, if it is written as one; 001 is a team."""
    return float(cell) if _NUMBER.fullmatch(cell) else cell
