"""Tables as text: which columns its first line names, and its rows, all at once or some after the others."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Self

import polars as pl

from tracearena.errors import FileError
from tracearena.files.io import require_columns
from tracearena.intake.columns import are_enough, missing
from tracearena.intake.delimited import length_rules, read_rows, split_header
from tracearena.intake.layout import AS_NAMED, ONE_USER, Layout
from tracearena.intake.report import Report

_SEPARATORS = ",;\t|"
_NEEDED = ("user", "time", "date", "lat", "lon")


def header_fields(line: str, layout: Layout = AS_NAMED) -> tuple[list[str], str]:
    """Split a header at the delimiter, or else at the one it holds most of; return names and delimiter.

    The columns of a table without a header are called by their numbers.
    """
    delimiter = layout.delimiter or max(_SEPARATORS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        names = [line]
    return (names if layout.header else [str(i) for i in range(1, len(names) + 1)]), delimiter


@dataclass(frozen=True)
class TextTable:
    """How the rows of a table are cut into columns, and which of them are read.

    Attributes
    ----------
    names, delimiter
        What the columns are called, and what stands between them.
    found
        The column of each role.
    numbers
        Columns that are numbers if all of their fields are, by their place.
    """

    path: str
    names: list[str]
    delimiter: str
    found: dict[str, str]
    numbers: tuple[str, ...]

    @classmethod
    def begun(
        cls,
        path: str | PathLike[str],
        data: bytes,
        report: Report,
        wanted: Sequence[str],
        layout: Layout,
    ) -> tuple[Self, bytes]:
        """Read the header at the begin of `data`, if there is one; return what follows it too."""
        header, rest = split_header(data)
        names, delimiter = header_fields(header, layout)
        require_columns(path, len(names))
        layout.require_columns(names, path)
        found = layout.roles(names, wanted)
        if not are_enough(found):
            raise FileError(path, missing(names, found, wanted, layout.header))
        if not layout.header:
            rest, report.header_lines = data, 0
        numbers = [
            _place(names, found[role]) for role in ("lat", "lon") if role in found and layout.decimal == "."
        ]
        return cls(str(path), names, delimiter, found, tuple(numbers)), rest

    @property
    def _kept(self) -> dict[str, str]:
        """Return the place of each role's column."""
        return {role: _place(self.names, column) for role, column in self.found.items() if column != ONE_USER}

    def read(self, data: bytes, *, as_text: bool = False) -> pl.DataFrame:
        """Read rows, numbered from 1, as they stand; numbers too are text if that is asked for."""
        columns = [f"column{i}" for i in range(len(self.names))]
        taken = list(dict.fromkeys(self._kept.values()))
        numbers = () if as_text else self.numbers
        return read_rows(self.path, data, columns, self.delimiter, quoted=True, numbers=numbers, taken=taken)

    def good(self, frame: pl.DataFrame, report: Report, row: str) -> pl.DataFrame:
        """Return the rows that have all fields they need; names are the file's, and `row` of the numbers."""
        kept = self._kept
        needed = {kept[role]: self.found[role] for role in _NEEDED if role in kept}
        good = report.sift(frame, length_rules(list(needed), ", ".join(needed.values())))
        named = (pl.col(kept[role]).alias(self.found[role]) for role in kept)
        return good.select(pl.col("row").alias(row), *named)


def _place(names: Sequence[str], column: str) -> str:
    return f"column{names.index(column)}"
