"""Rows of which each names its columns itself, as the objects of JSON lines and GeoJSON do."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import FileError
from tracearena.formats.json_text import column
from tracearena.intake.columns import NAMES, roles
from tracearena.intake.tables import ROW

MOST_NAMES = 128
"""Names of columns in all; each costs a cell in every row, whichever row has it."""

_KEPT_NAMES = 64


class NamedRows:
    """Rows as they come, each with names of its own.

    The first 64 names are columns; later ones only if they can be a user, a time or a position.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self.numbers: list[int] = []
        """The number of each row in the file."""
        self._columns: dict[str, tuple[list[int], list[Any]]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Add one row with its number in the file."""
        at = len(self.numbers)
        self.numbers.append(number)
        for name, value in row.items():
            known = self._columns.get(name)
            if known is None:
                if not self._is_wanted(name):
                    continue
                known = self._columns[name] = ([], [])
            known[0].append(at)
            known[1].append(value)

    def _is_wanted(self, name: str) -> bool:
        if len(self._columns) < _KEPT_NAMES:
            return True
        if not roles([name], tuple(NAMES)):
            return False
        if len(self._columns) >= MOST_NAMES:
            problem = f"has more than {MOST_NAMES} names of columns that could be of use; it is refused"
            raise FileError.whole(self._path, problem, "too-wide")
        return True

    def frame(self) -> pl.DataFrame:
        """Return all rows, with nothing where a row has no such column."""
        height = len(self.numbers)
        made = [pl.Series(ROW, self.numbers, dtype=pl.Int64)]
        for name, (at, values) in self._columns.items():
            if name == ROW:
                continue
            given = column(name, values)
            if len(at) < height:
                given = pl.repeat(None, height, dtype=given.dtype, eager=True).scatter(at, given).alias(name)
            made.append(given)
        return pl.DataFrame(made)
