"""What a file got wrong, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import polars as pl

from tracearena.errors import Fault, FileError, shorten
from tracearena.intake.local_time import LocalTime

SHOWN_EXAMPLES = 3
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class Dropped:
    """Rows left out for one reason.

    Attributes
    ----------
    reason
        A fixed phrase such as ``bad latitude``.
    count
        How many rows.
    examples
        The first of them: row number (from 1, header not counted), column and value.
    """

    reason: str
    count: int
    examples: tuple[tuple[int, str, str], ...] = ()

    def __str__(self) -> str:
        first = "; ".join(f"row {row}, {column} {shorten(value)}" for row, column, value in self.examples)
        return f"{self.reason}: {self.count:,}" + (f" (first: {first})" if first else "")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Rows for which `bad` holds are dropped for `reason`.

    `column` is shown as the example; several are named with ", " between.
    """

    reason: str
    bad: pl.Expr
    column: str


@dataclass
class Report:
    """What was read and what was not.

    Attributes
    ----------
    path, format
        The file, and what it was read as.
    rows
        Data rows in the file.
    header_lines
        Lines above the first of them.
    dropped
        What was left out and why, in the order of the checks.
    noticed
        Odd things that were kept: the same second twice for a user, users with one event, …
    clock
        Whose local time the instants are; None where that is not known.
    """

    path: str
    format: str
    rows: int = 0
    header_lines: int = 1
    dropped: list[Dropped] = field(default_factory=list)
    noticed: dict[str, int] = field(default_factory=dict)
    clock: LocalTime | None = None

    @property
    def dropped_rows(self) -> int:
        """How many rows were left out in all."""
        return sum(dropped.count for dropped in self.dropped)

    def sift(self, frame: pl.DataFrame, rules: Iterable[Rule]) -> pl.DataFrame:
        """Return the rows that break no rule; count each of the others under the first it breaks.

        The frame has a column ``row``, the number of the row in the file.
        """
        wanted = list(rules)
        broken = pl.coalesce(
            *[pl.when(rule.bad).then(pl.lit(i, pl.Int8)) for i, rule in enumerate(wanted)]
        ).alias("_broken")
        marks = frame.select(broken).to_series()
        if marks.null_count() == len(marks):
            return frame
        for i, rule in enumerate(wanted):
            bad = frame.filter(marks == i)
            if bad.height:
                self.dropped.append(Dropped(rule.reason, bad.height, _examples(bad, rule.column)))
        return frame.filter(marks.is_null())

    def refuse_if_nothing_is_left(self, frame: pl.DataFrame) -> None:
        """Raise when every row was dropped: then the fault is the file's, not a row's."""
        if frame.height:
            return
        if not self.dropped:
            raise FileError.whole(self.path, "holds no rows", "empty")
        faults = [
            Fault(row, column, value, dropped.reason, dropped.reason.replace(" ", "-"), self.header_lines)
            for dropped in self.dropped
            for row, column, value in dropped.examples
        ]
        raise FileError(self.path, faults, self.dropped_rows)

    def notice(self, what: str, count: int) -> None:
        """Count something odd that was kept."""
        if count:
            self.noticed[what] = self.noticed.get(what, 0) + int(count)

    def lines(self) -> list[str]:
        """Return the report as lines for people."""
        said = [] if self.clock is None or self.clock.was_asked_for else [str(self.clock)]
        return [
            *said,
            *(f"dropped, {dropped}" for dropped in self.dropped),
            *(f"noticed, {what}: {count:,}" for what, count in self.noticed.items()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        counts: dict[str, int] = {}
        for dropped in self.dropped:
            counts[dropped.reason] = counts.get(dropped.reason, 0) + dropped.count
        return {
            "file": self.path,
            "format": self.format,
            "rows": self.rows,
            "dropped": counts,
            "dropped_rows": self.dropped_rows,
            "examples": {
                dropped.reason: [
                    {"row": row, "column": column, "value": value} for row, column, value in dropped.examples
                ]
                for dropped in self.dropped
            },
            "noticed": dict(self.noticed),
            "times": None if self.clock is None else str(self.clock),
        }


def report_of(path: str | PathLike[str], format: str, rows: int) -> Report:
    """Make the report of a file whose reader refuses every fault, so that nothing was dropped."""
    return Report(str(path), format, rows)


def _examples(bad: pl.DataFrame, column: str) -> tuple[tuple[int, str, str], ...]:
    first = bad.head(SHOWN_EXAMPLES)
    parts = [pl.col(name).cast(pl.String, strict=False).fill_null("") for name in column.split(", ")]
    values = first.select(pl.concat_str(parts, separator=", ").str.slice(0, _SHOWN_CHARACTERS)).to_series()
    return tuple(zip(first["row"].to_list(), [column] * first.height, values.to_list(), strict=True))
