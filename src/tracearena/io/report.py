"""Reports of the problems of a file, for events and for GPS points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from tracearena.errors import Fault, FileError, ParameterError, shorten
from tracearena.io.fields.coordinates import CoordinateDoubts
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.time import LocalTime

if TYPE_CHECKING:
    import polars as pl

    from tracearena.io.suggestions import SampleSize
    from tracearena.traces import ObfuscatedTraces

SHOWN_EXAMPLES = 3
_SHOWN_CHARACTERS = 100
AnyTraces = TypeVar("AnyTraces", bound="Traces | GpsTraces | ObfuscatedTraces", covariant=True)


@dataclass(frozen=True)
class Example:
    """A row that was left out, or that was unusual and kept.

    Attributes
    ----------
    reason
        A fixed phrase such as ``bad latitude``, under which the report counts it.
    path
        The file: the one that was read, or one of those in a folder or archive.
    fault
        Row number (from 1, without the header), column, value, and the problem.
    """

    reason: str
    path: str
    fault: Fault

    def describe(self, of: str | None = None) -> str:
        """Return the example as part of a sentence; the file is named unless it is `of`."""
        fault = self.fault
        where = "" if self.path == of else f"{self.path}: "
        if fault.problem.startswith(self.reason):  # the reason is printed before it already
            return f"{where}row {fault.row}, {fault.column} {shorten(fault.value or '')}"
        return f"{where}{fault}"


@dataclass(frozen=True, kw_only=True)
class DropRule:
    """Rows for which `bad` holds are dropped for `reason`.

    `column` is shown as the example; several are named with ", " between. `problem` says more than
    the reason, where there is more to say, and `shown` what the file calls the column.
    """

    reason: str
    bad: pl.Expr
    column: str
    problem: str = ""
    shown: str = ""


@dataclass
class Report:
    """The rows that were read, dropped and noticed in a file.

    Attributes
    ----------
    path, format
        The file and its format.
    rows
        Data rows in the file; points of GPS files.
    header_lines
        Lines above the first row; None if rows are not lines, as in JSON.
    strict
        Whether dropping a row is an error.
    dropped
        Number of dropped rows by reason, in the order of the checks.
    noticed
        Unusual rows that were kept: the same second twice for a user, users with one event, …
    examples
        The first rows of each kind.
    clock
        The zone of the local times; None if it is not known, or if there are no instants.
    timezone
        The zone that the caller named for GPS points.
    unzoned
        Number of times of GPS points without a zone.
    all_unzoned
        Whether no time in the file has a zone, including those of dropped rows.
    assumed
        How times were interpreted if nothing defines their meaning; otherwise empty.
    doubts
        Reasons why coordinates may not be degrees.
    sampled
        Number of people that were read, and of all people, if a sample was read.
    user_order
        The users in the order of their first rows; None if the format has no rows of users.
    """

    path: str
    format: str
    rows: int = 0
    header_lines: int | None = 1
    strict: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    noticed: dict[str, int] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    clock: LocalTime | None = None
    timezone: str | None = None
    unzoned: int = 0
    all_unzoned: bool = False
    assumed: str = ""
    doubts: CoordinateDoubts = field(default_factory=CoordinateDoubts)
    sampled: SampleSize | None = None
    user_order: pl.Series | None = None

    @property
    def dropped_rows(self) -> int:
        """Number of all dropped rows."""
        return sum(self.dropped.values())

    def drop(self, reason: str, count: int = 1, *faults: Fault, path: str | None = None) -> None:
        """Count dropped rows, and keep the first faults as examples."""
        if self.strict and faults:
            raise FileError(path or self.path, [faults[0]])
        self._show(reason, faults, path, self.dropped)
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + int(count)

    def notice(self, reason: str, count: int = 1, *faults: Fault, path: str | None = None) -> None:
        """Count unusual rows that were kept."""
        self._show(reason, faults, path, self.noticed)
        if count:
            self.noticed[reason] = self.noticed.get(reason, 0) + int(count)

    def drop_fault(self, fault: Fault, count: int = 1, *, path: str | None = None) -> None:
        """Count dropped rows under the code of their fault."""
        self.drop(fault.code.replace("-", " "), count, fault, path=path)

    def notice_fault(self, fault: Fault, count: int = 1, *, path: str | None = None) -> None:
        """Count unusual rows that were kept under the code of the fault."""
        self.notice(fault.code.replace("-", " "), count, fault, path=path)

    def _show(self, reason: str, faults: Iterable[Fault], path: str | None, counts: dict[str, int]) -> None:
        if counts.get(reason, 0) >= SHOWN_EXAMPLES:
            return
        known = sum(example.reason == reason for example in self.examples)
        for fault in list(faults)[: max(SHOWN_EXAMPLES - known, 0)]:
            self.examples.append(Example(reason, path or self.path, fault))

    def sift(self, frame: pl.DataFrame, rules: Iterable[DropRule]) -> pl.DataFrame:
        """Return the rows that break no rule; count each other row under the first rule it breaks.

        The frame has a column ``row``, the number of the row in the file.
        """
        import polars as pl

        wanted = list(rules)
        broken = pl.coalesce(
            *[pl.when(rule.bad).then(pl.lit(i, pl.Int8)) for i, rule in enumerate(wanted)]
        ).alias("_broken")
        marks = frame.select(broken).to_series()
        if marks.null_count() == len(marks):
            return frame
        for i, rule in enumerate(wanted):
            bad = frame.filter(marks == i)
            if not bad.height:
                continue
            first = bad.head(SHOWN_EXAMPLES)
            parts = [
                pl.col(name).cast(pl.String, strict=False).fill_null("") for name in rule.column.split(", ")
            ]
            values = first.select(pl.concat_str(parts, separator=", ").str.slice(0, _SHOWN_CHARACTERS))
            column, problem = rule.shown or rule.column, rule.problem or rule.reason
            faults = [
                Fault(row, column, value, problem, rule.reason.replace(" ", "-"), self.header_lines)
                for row, value in zip(first["row"].to_list(), values.to_series().to_list(), strict=True)
            ]
            self.drop(rule.reason, bad.height, *faults)
        return frame.filter(marks.is_null())

    def refuse_if_nothing_is_left(self, left: int, nothing: str = "has no rows", code: str = "empty") -> None:
        """Raise an error if every row was dropped, because the whole file is then wrong."""
        if left:
            return
        if not self.dropped:
            raise FileError.whole(self.path, nothing, code)
        self.refuse_losses()

    def refuse_losses(self) -> None:
        """Raise an error if a row was dropped."""
        if self.dropped:
            faults = [example.fault for example in self.examples if example.reason in self.dropped]
            whole = Fault(None, None, None, f"rows were dropped: {', '.join(self.dropped)}", "left-out")
            raise FileError(self.path, faults or [whole], self.dropped_rows)

    def add(self, other: Report) -> None:
        """Add the report of a later part of the same input."""
        for example in other.examples:
            self._show(example.reason, [example.fault], example.path, {})
        for reason, count in other.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count
        for reason, count in other.noticed.items():
            self.noticed[reason] = self.noticed.get(reason, 0) + count
        self.doubts += other.doubts

    def lines(self) -> list[str]:
        """Return the report as lines of text; none if there is nothing to report."""
        said = [] if self.clock is None or self.clock.was_asked_for else [str(self.clock)]
        said += [f"{self.path}: {self.assumed}"] if self.assumed else []
        said += [f"{self.path}: {self.sampled}"] if self.sampled else []
        said += [f"dropped, {self._line(reason, count)}" for reason, count in self.dropped.items()]
        return said + [f"noticed, {self._line(reason, count)}" for reason, count in self.noticed.items()]

    def _line(self, reason: str, count: int) -> str:
        first = "; ".join(example.describe() for example in self.examples_of(reason))
        return f"{reason}: {count:,}" + (f" (first: {first})" if first else "")

    def examples_of(self, reason: str) -> list[Example]:
        """Return the first rows that were dropped or noticed for a reason."""
        return [example for example in self.examples if example.reason == reason]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return {
            "file": self.path,
            "format": self.format,
            "rows": self.rows,
            "dropped": dict(self.dropped),
            "dropped_rows": self.dropped_rows,
            "examples": {
                reason: [self._plain(example) for example in self.examples_of(reason)]
                for reason in self.dropped
            },
            "noticed": dict(self.noticed),
            "times": self.assumed or None if self.clock is None else str(self.clock),
        }

    def _plain(self, example: Example) -> dict[str, Any]:
        fault = example.fault
        place = {} if example.path == self.path else {"file": example.path}
        return place | {"row": fault.row, "column": fault.column, "value": fault.value}


class Reading(NamedTuple, Generic[AnyTraces]):
    """Traces with the report of the problems of their files.

    Unpacks as a pair: ``traces, report = read(path)``.
    """

    traces: AnyTraces
    report: Report

    def as_events(self) -> Reading[Traces]:
        """Return the reading if it has events at places; raise an error for GPS points."""
        if isinstance(self.traces, Traces):
            return Reading(self.traces, self.report)
        raise ParameterError(
            f"{self.report.path}: has GPS points, which are not at places: put them on a grid, such "
            "as --grid 32x32 (grid='32x32')"
        )

    def as_points(self) -> Reading[GpsTraces]:
        """Return the reading if it has GPS points; raise an error for events at places."""
        if isinstance(self.traces, GpsTraces):
            return Reading(self.traces, self.report)
        raise ParameterError(f"{self.report.path}: has events at places; GPS points are needed here")
