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
_LISTED = 10
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
        The file and, where there is one, the row and the column, or the place in a JSON file.
    expected, found
        What the check gives, and what the archive has.
    """

    what: str
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: {self.where}: got {self.found}; expected {self.expected}"

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
                place = f"{name}, row {row} ({mine[0]}), column {column}" if row else f"{name}, header"
                shown = [text if _NUMBER.fullmatch(text) else plain(text) for text in (cell, other)]
                yield Finding(what, place, *shown)


def value_differences(what: str, where: str, expected: Any, found: Any) -> Iterator[Finding]:
    """Compare two plain values of JSON, and name the place of every difference."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key in expected and key in found:
                yield from value_differences(what, f"{where}, {key}", expected[key], found[key])
            else:
                mine, theirs = (plain(one[key]) if key in one else "no such key" for one in (expected, found))
                yield Finding(what, f"{where}, {key}", mine, theirs)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (mine, theirs) in enumerate(zip(expected, found, strict=True), 1):
            yield from value_differences(what, f"{where}, row {number}", mine, theirs)
    elif not same(expected, found):
        yield Finding(what, where, plain(expected), plain(found))


def plain(value: Any) -> str:
    """Return a plain value as a reader of a finding understands it, on one line.

    >>> [plain(value) for value in (0.5, "001", "", None, True, ["001", "002"], [], [{}, {}], {})]
    ['0.5', "'001'", 'nothing', 'nothing', 'true', "'001' and '002'", 'nothing', '2 rows', '0 keys']
    """
    if isinstance(value, dict):
        return f"{len(value)} keys"
    if isinstance(value, list):
        simple = not any(isinstance(one, dict | list) for one in value) and len(value) <= _LISTED
        return (" and ".join(map(plain, value)) or "nothing") if simple else f"{len(value)} rows"
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else shorten(str(value))


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
