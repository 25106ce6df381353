"""Rows of events and of GPS points alike: whose, when and where, read from whatever columns hold it.

Both kinds of tables have their ids, times and coordinates read here, and what cannot be read is
called the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.intake import times
from tracearena.intake.columns import INSTANTS, MAPS, names_utc, plain_name
from tracearena.intake.degrees import SWAPPED, Doubts, doubts, no_degrees
from tracearena.intake.ids import LONGEST_ID, NUL, identifiers
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Report, Rule

_DECIMAL_COMMA = re.compile(r"-?\d{1,3},\d+")
_UNREAD = "unparsable time"
_LOCAL = (
    "x and y beside times that count from the start of a record: metres and seconds of a map of its own look "
    "like this, and nothing says that these are degrees"
)


@dataclass(frozen=True)
class Rows:
    """Rows by role, as they stand in a file and as they are read.

    Attributes
    ----------
    frame
        The columns as they stand, under the names of their roles, with ``row``; ``user`` as ids. Beside
        them ``_at`` (seconds or milliseconds since 1970), ``_offset`` (seconds from UTC to local time,
        null where no zone is named), and where there are coordinates ``_lat`` and ``_lon``.
    names
        What the file calls the columns.
    are_instants
        Whether the times are numbers of instants.
    time_format
        How times are written, where that was said.
    """

    frame: pl.DataFrame
    names: Mapping[str, str]
    are_instants: bool
    time_format: str | None = None

    def rule(self, reason: str, bad: pl.Expr, role: str, allowed: str = "") -> Rule:
        """Return the rule that drops rows for what stands in the column of a role."""
        problem = f"{reason}: {allowed}" if allowed else reason
        return Rule(reason=reason, bad=bad, column=role, problem=problem, shown=self.names.get(role, role))

    def who(self) -> list[Rule]:
        """Return the rules for ids."""
        rules = [self.rule("missing fields", pl.col("user").is_null(), "user", "every row must name a user")]
        for role in ("user", "venue"):
            if self.frame.schema.get(role) == pl.String:
                long = pl.col(role).str.len_chars() > LONGEST_ID
                rules.append(self.rule("overlong id", long, role, f"at most {LONGEST_ID} letters"))
        for role in ("user", "venue", "trajectory"):
            if self.frame.schema.get(role) == pl.String:
                # Arrays of text end at it, so that two ids would be one.
                nul = pl.col(role).str.contains(NUL, literal=True)
                rules.append(self.rule("id with a NUL", nul, role, "ids must be letters without U+0000"))
        return rules

    def when(self) -> list[Rule]:
        """Return the rule for times."""
        return [self.rule(_UNREAD, pl.col("_at").is_null(), "time", _accepted(self.time_format))]

    def where(self) -> list[Rule]:
        """Return the rules for coordinates."""
        if "_lat" not in self.frame.columns:
            return []
        lat, lon = pl.col("_lat"), pl.col("_lon")
        swapped = (lat.abs() > 90) & (lat.abs() <= 180) & (lon.abs() <= 90)
        return [
            Rule(reason="swapped", bad=swapped, column="lat, lon", problem=SWAPPED),
            self.rule("bad latitude", ~lat.is_between(-90, 90).fill_null(False), "lat",
                      f"must be a number from -90 to 90{self._advice('lat')}"),
            self.rule("bad longitude", ~lon.is_between(-180, 180).fill_null(False), "lon",
                      f"must be a number from -180 to 180{self._advice('lon')}"),
        ]  # fmt: skip

    def _advice(self, role: str) -> str:
        """Name the option for decimal commas where there are some."""
        column = self.frame[role]
        first = column.drop_nulls().first() if column.dtype == pl.String else None
        has_comma = isinstance(first, str) and _DECIMAL_COMMA.fullmatch(first.strip())
        return "; decimal commas are read with --decimal , (decimal=',')" if has_comma else ""


def parsed_rows(
    raw: pl.DataFrame,
    report: Report,
    *,
    unit: times.Unit,
    layout: Layout = AS_NAMED,
    names: Mapping[str, str] | None = None,
    first_times: pl.Series | None = None,
) -> Rows:
    """Read ids, times and coordinates of rows; refuse a file whose coordinates are no degrees.

    Of rows that are a part of a file, `first_times` are its first ones, which tell how all are written; the
    report is told what speaks against degrees, for all parts together to decide.
    """
    called = dict(names or {})
    are_utc = names_utc(called.get("time", ""))
    read = times.parse(raw["time"], unit=unit, style=layout.time_format, like=first_times, are_utc=are_utc)
    parsed = {"user": identifiers(raw["user"]), "_at": read.at, "_offset": read.offset_s}
    if "lat" in raw.columns:
        latitude, longitude = (_degrees(raw[role], layout.decimal) for role in ("lat", "lon"))
        parsed |= {"_lat": latitude, "_lon": longitude}
    rows = Rows(raw.with_columns(**parsed), called, read.are_instants, layout.time_format)
    if "lat" in raw.columns:
        found = _doubts(rows, report, layout)
        if first_times is None:
            found.refuse()
        report.doubts += found
    return rows


def sifted(rows: Rows, report: Report, rules: list[Rule]) -> pl.DataFrame:
    """Return the rows that break no rule; a file of which no time or nothing else is read is refused."""
    kept = report.sift(rows.frame, rules)
    refuse_unread_times(report, rows.names.get("time", "time"), rows.time_format)
    report.refuse_if_nothing_is_left(kept.height)
    report.user_order = kept["user"].unique(maintain_order=True)
    return kept


def refuse_unread_times(report: Report, column: str, time_format: str | None) -> None:
    """Refuse a file of which no time can be read, and say what helps."""
    unread = report.dropped.get(_UNREAD, 0)
    if not unread or unread < report.rows:
        return
    value = next(example.fault.value for example in report.examples if example.reason == _UNREAD)
    cure = times.advice((value or "").strip()) if time_format is None else _accepted(time_format)
    raise FileError(report.path, [Fault(None, column, value, f"no time can be read; {cure}", "time")])


def _accepted(time_format: str | None) -> str:
    if time_format is not None:
        return f"time_format = {time_format!r} is how they must be written"
    return f"accepted are {times.ACCEPTED}"


def _degrees(column: pl.Series, decimal: str) -> pl.Series:
    if column.dtype != pl.String:
        if decimal != ".":
            raise ParameterError(f"decimal: the column {column.name!r} holds numbers already, no text")
        numbers = column.cast(pl.Float64)
        return numbers.fill_nan(None)
    text = column.str.strip_chars()
    if decimal == ",":
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _doubts(rows: Rows, report: Report, layout: Layout) -> Doubts:
    """Return what speaks against degrees; refuse what a map of its own would look like."""
    names = rows.names
    by_maps = all(plain_name(names.get(role, "")) in MAPS for role in ("lat", "lon"))
    of_maps = by_maps and not {"lat", "lon"} & set(layout.columns)
    given = rows.frame.filter(pl.col("_lat").is_not_null()) if of_maps and rows.are_instants else None
    found = doubts(rows.frame, names, report.path, report.header_lines, of_maps=of_maps)
    if given is not None and given.height and plain_name(names["time"]) != INSTANTS:
        said = f"lng={names['lon']},lat={names['lat']},time={names['time']}"
        problem = f"{_LOCAL}; if they are degrees and instants, --columns {said} says so"
        found.refuse()
        fault = no_degrees(given, names, problem, "no-degrees", report.header_lines)
        raise FileError(report.path, [fault], given.height)
    return found
