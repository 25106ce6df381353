"""Rows of events and of GPS points: read users, times and coordinates from columns of any type.

Both kinds of tables use these functions, so they have the same names for problems.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.io.fields import times
from tracearena.io.fields.columns import (
    INSTANTS,
    LONGEST_ID,
    MAPS,
    NUL,
    POINTS,
    convert_ids,
    is_utc_name,
    number_ids,
    simplify_name,
)
from tracearena.io.fields.coordinates import (
    SWAPPED,
    CoordinateDoubts,
    build_degrees_fault,
    find_coordinate_doubts,
)
from tracearena.io.options import AS_NAMED, Choices, Layout
from tracearena.io.report import DropRule, Report
from tracearena.io.tables import select_by_role
from tracearena.traces import Places
from tracearena.traces import time as zones
from tracearena.traces.clock import DAY_S
from tracearena.traces.row_table import arrange_rows
from tracearena.traces.time import (
    AS_WRITTEN,
    BY_OFFSETS,
    IN_UTC,
    UNKNOWN,
    LocalTime,
    build_chosen_local_time,
    guess_local_time,
    merge_zone_cells,
)

_DECIMAL_COMMA = re.compile(r"-?\d{1,3},\d+")
_UNREAD = "unparsable time"
_LOCAL = (
    "x and y with times that count from the start of the recording: these may be metres and seconds on a "
    "private map instead of degrees"
)
NO_POINT = ("holds no point", "no-points")
NO_EVENT = ("holds no rows", "empty")
"""What is said of a table without points or events, and the code of that fault."""


@dataclass(frozen=True)
class Rows:
    """Rows by role, as they stand in a file and as they are read.

    Attributes
    ----------
    frame
        The columns as they stand, under the names of their roles, with ``row``; ``user`` as ids. Next to
        them ``_at`` (seconds or milliseconds since 1970), ``_offset`` (seconds from UTC to local time,
        null where no zone is named), and where there are coordinates ``_lat`` and ``_lon``.
    names
        What the file calls the columns.
    are_instants
        Whether the times are numbers of instants.
    time_format
        How times are written, where that was said.
    is_whole
        Whether these are all rows of the file, so that it can be judged by them.
    """

    frame: pl.DataFrame
    names: Mapping[str, str]
    are_instants: bool
    time_format: str | None = None
    is_whole: bool = True

    def rule(self, reason: str, bad: pl.Expr, role: str, allowed: str = "") -> DropRule:
        """Return the rule that drops rows for what stands in the column of a role."""
        problem = f"{reason}: {allowed}" if allowed else reason
        return DropRule(
            reason=reason, bad=bad, column=role, problem=problem, shown=self.names.get(role, role)
        )

    def who(self) -> list[DropRule]:
        """Return the rules for ids."""
        rules = [self.rule("missing fields", pl.col("user").is_null(), "user", "every row must name a user")]
        for role in ("user", "venue"):
            if self.frame.schema.get(role) == pl.String:
                long = pl.col(role).str.len_chars() > LONGEST_ID
                rules.append(self.rule("overlong id", long, role, f"at most {LONGEST_ID} letters"))
        for role in ("user", "venue", "trajectory"):
            ids = self.frame.get_column(role, default=None)
            if ids is None or ids.dtype != pl.String:
                continue
            # Arrays of text end at it, so that two ids would be one; each run of one id is looked at once.
            runs = ids.filter(ids.ne_missing(ids.shift()))
            if runs.str.contains(NUL, literal=True).any():
                nul = pl.col(role).str.contains(NUL, literal=True)
                rules.append(self.rule("id with a NUL", nul, role, "ids must not contain U+0000"))
        return rules

    def when(self) -> list[DropRule]:
        """Return the rule for times."""
        return [
            self.rule(_UNREAD, pl.col("_at").is_null(), "time", _describe_accepted_times(self.time_format))
        ]

    def where(self) -> list[DropRule]:
        """Return the rules for coordinates."""
        if "_lat" not in self.frame.columns:
            return []
        lat, lon = pl.col("_lat"), pl.col("_lon")
        swapped = (lat.abs() > 90) & (lat.abs() <= 180) & (lon.abs() <= 90)
        return [
            DropRule(reason="swapped", bad=swapped, column="lat, lon", problem=SWAPPED),
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
        return "; for decimal commas use --decimal , (decimal=',')" if has_comma else ""


def parse_table_rows(
    raw: pl.DataFrame,
    report: Report,
    wanted: Sequence[str],
    layout: Layout = AS_NAMED,
    first_times: pl.Series | None = None,
) -> Rows:
    """Read rows under any of the known names, of points in milliseconds and of events in seconds."""
    given, names = select_by_role(raw, report, wanted, layout)
    report.rows = report.rows or given.height
    report.refuse_if_nothing_is_left(given.height, *(NO_POINT if wanted == POINTS else NO_EVENT))
    unit: times.Unit = "ms" if wanted == POINTS else "s"
    return parse_rows(given, report, unit=unit, layout=layout, names=names, first_times=first_times)


def parse_rows(
    raw: pl.DataFrame,
    report: Report,
    *,
    unit: times.Unit,
    layout: Layout = AS_NAMED,
    names: Mapping[str, str] | None = None,
    first_times: pl.Series | None = None,
) -> Rows:
    """Read ids, times and coordinates of rows; refuse a file whose coordinates are not degrees.

    Of rows that are a part of a file, `first_times` are its first ones, which tell how all are written; the
    report collects what speaks against degrees, for all parts together to decide.
    """
    called = dict(names or {})
    are_utc = is_utc_name(called.get("time", ""))
    read = times.parse_times(
        raw["time"], unit=unit, style=layout.time_format, like=first_times, are_utc=are_utc
    )
    parsed = {"user": convert_ids(raw["user"]), "_at": read.at, "_offset": read.offset_s}
    if "lat" in raw.columns:
        for role in ("lat", "lon"):
            column = raw[role]
            if column.dtype != pl.String and layout.decimal != ".":
                raise ParameterError(f"decimal: the column {column.name!r} already has numbers, not text")
            if column.dtype == pl.String:
                column = column.str.strip_chars()
                column = column.str.replace(",", ".", literal=True) if layout.decimal == "," else column
            strict = column.dtype != pl.String
            parsed[f"_{role}"] = column.cast(pl.Float64, strict=strict).fill_nan(None)
    rows = Rows(
        raw.with_columns(**parsed), called, read.are_instants, layout.time_format, first_times is None
    )
    if "lat" in raw.columns:
        found = _check_degrees(rows, report, layout)
        if rows.is_whole:
            found.refuse()
        report.doubts += found
    return rows


def drop_bad_rows(rows: Rows, report: Report, rules: list[DropRule]) -> pl.DataFrame:
    """Return the rows that break no rule; a file of which no time or nothing else is read is refused."""
    kept = report.sift(rows.frame, rules)
    if rows.is_whole:
        refuse_unread_times(report, rows.names.get("time", "time"), rows.time_format)
        report.refuse_if_nothing_is_left(kept.height)
        report.user_order = kept["user"].unique(maintain_order=True)
    return kept


def sort_rows(frame: pl.DataFrame, order: Sequence[str | pl.Expr]) -> pl.DataFrame:
    """Return rows sorted by user and then by whole numbers, equal ones as they stand."""
    users, *numbers = frame.select(*order)
    tied = pl.repeat(True, max(frame.height - 1, 0), eager=True)
    for key in (users, *numbers):
        above, below = key.head(len(tied)), key.slice(1)
        if (tied & (below < above)).any():
            index, _ = number_ids(users)
            by_rank: pl.DataFrame = frame[arrange_rows(index, [one.to_numpy() for one in numbers]).order]
            return by_rank
        tied &= below == above
    return frame  # large data is mostly sorted already


def refuse_unread_times(report: Report, column: str, time_format: str | None) -> None:
    """Refuse a file of which no time can be read, and say what helps."""
    unread = report.dropped.get(_UNREAD, 0)
    if not unread or unread < report.rows:
        return
    value = next(example.fault.value for example in report.examples if example.reason == _UNREAD)
    cure = (
        times.suggest_time_format((value or "").strip())
        if time_format is None
        else _describe_accepted_times(time_format)
    )
    raise FileError(report.path, [Fault(None, column, value, f"no time could be read; {cure}", "time")])


def _describe_accepted_times(time_format: str | None) -> str:
    if time_format is not None:
        return f"they must have the format time_format = {time_format!r}"
    return f"accepted are {times.ACCEPTED}"


def _check_degrees(rows: Rows, report: Report, layout: Layout) -> CoordinateDoubts:
    """Return what speaks against degrees; refuse what a map of its own would look like."""
    names = rows.names
    by_maps = all(simplify_name(names.get(role, "")) in MAPS for role in ("lat", "lon"))
    of_maps = by_maps and not {"lat", "lon"} & set(layout.columns)
    given = rows.frame.filter(pl.col("_lat").is_not_null()) if of_maps and rows.are_instants else None
    found = find_coordinate_doubts(rows.frame, names, report.path, report.header_lines, of_maps=of_maps)
    if given is not None and given.height and simplify_name(names["time"]) != INSTANTS:
        said = f"lng={names['lon']},lat={names['lat']},time={names['time']}"
        problem = f"{_LOCAL}; if they are degrees and instants, use --columns {said}"
        found.refuse()
        fault = build_degrees_fault(given, names, problem, "no-degrees", report.header_lines)
        raise FileError(report.path, [fault], given.height)
    return found


# Raw events as files hold them: users, times, coordinates, venues. Not yet places and instants.

FIRST_PLAUSIBLE_S = 1_041_379_200
"""2003-01-01: no check-in or phone trace is older; what is, has a clock that was never set."""

_FARTHEST_OFFSET_MIN = 18 * 60


@dataclass(frozen=True)
class CheckIns:
    """Events with good times and coordinates, in file order.

    Attributes
    ----------
    frame
        Columns ``row``; ``user`` (whole numbers or text); ``at`` and ``local``, seconds since 1970 of UTC
        and of local time, or ``at`` alone, numbers of instants; ``lat`` and ``lon`` in degrees, ``venue``,
        ``category``, each where the file has it.
    times_are_local
        Whether the file names no zone, so that UTC is known only if a time zone was chosen.
    zone
        The zone whose local time it probably is.
    """

    frame: pl.DataFrame
    times_are_local: bool = False
    zone: str | None = None

    @property
    def are_numbered(self) -> bool:
        """Whether instants are numbers without a date."""
        return "local" not in self.frame.columns


def parse_check_ins(rows: Rows, report: Report, choices: Choices, places: Places | None = None) -> CheckIns:
    """Turn all rows of a file into check-ins, dropping and counting what is wrong.

    Parameters
    ----------
    places
        Where events can be, if that is known. All files of a data set have the same, so that the
        zone is guessed from them and not from the events of one file.
    """

    def guess() -> LocalTime:
        if places is not None:
            return guess_local_time(places.latitude, places.longitude, "places")
        if "_lat" not in rows.frame.columns:
            return UNKNOWN
        degrees = rows.frame.select("_lat", "_lon").drop_nulls()
        return guess_local_time(degrees["_lat"].to_numpy(), degrees["_lon"].to_numpy(), "events")

    hours = choose_time_conversion(
        ZoneEvidence.of(rows.frame["_at"], rows.frame["_offset"]),
        choices,
        report.path,
        are_instants=rows.are_instants,
        has_offsets="offset_min" in rows.frame.columns,
        guess=guess,
    )
    report.clock = hours.clock
    return CheckIns(select_check_ins(rows, hours, report), hours.are_local, hours.zone)


@dataclass(frozen=True)
class ZoneEvidence:
    """What the times of some rows say about their zones; sums of it say what the times of all do.

    Attributes
    ----------
    times, bare
        How many times can be read, and how many of them name no zone.
    has_offset
        Whether one names another zone than UTC.
    cells
        Where the rows are (`count_zone_cells`), if they were asked.
    """

    times: int
    bare: int
    has_offset: bool
    cells: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 4)))

    @classmethod
    def of(cls, at: pl.Series, offset_s: pl.Series) -> ZoneEvidence:
        """Look at times, and at how far from UTC they say that they are."""
        known = offset_s.filter(at.is_not_null())
        return cls(len(known), known.null_count(), bool((known != 0).any()))

    def __add__(self, other: ZoneEvidence) -> ZoneEvidence:
        return ZoneEvidence(
            self.times + other.times,
            self.bare + other.bare,
            self.has_offset or other.has_offset,
            merge_zone_cells(self.cells, other.cells),
        )

    @property
    def are_all_bare(self) -> bool:
        """Whether no time names a zone."""
        return self.bare == self.times


Way = Literal["numbers", "as written", "offset column", "named offsets", "zone"]


@dataclass(frozen=True)
class TimeConversion:
    """How the times of a file become local ones, and which are too early or too late to be meant.

    Attributes
    ----------
    way
        Numbers are instants; times are local (or UTC, if asked for) as they are written; a column or the
        times themselves say how far they are from UTC; or all are of one zone.
    clock
        Whose local time it is; None for numbers.
    are_local
        Whether no time names its zone, so that UTC is not known.
    latest
        Last second since 1970 that is plausible.
    zone
        The zone of local time where UTC is known; next to offsets, that of most places.
    """

    way: Way
    clock: LocalTime | None
    are_local: bool
    latest: int
    zone: str | None = None


def choose_time_conversion(
    named: ZoneEvidence,
    choices: Choices,
    path: str,
    *,
    are_instants: bool,
    has_offsets: bool,
    guess: Callable[[], LocalTime],
) -> TimeConversion:
    """Settle how the times of a file become local ones; `guess` is asked where nothing else tells."""
    is_local = not are_instants and named.are_all_bare
    latest = int(time.time()) + DAY_S
    if (are_instants or is_local) and choices.utc_hours:
        raise ParameterError.about(path, "its times have no zone, so hours of UTC are unknown")
    if are_instants:
        if choices.timezone is not None:
            raise ParameterError.about(path, "has numbers as times, which have no time zone")
        return TimeConversion("numbers", None, True, latest)
    if choices.utc_hours:
        return TimeConversion("as written", IN_UTC, False, latest, "UTC")
    if choices.timezone is not None:
        return TimeConversion(
            "zone", build_chosen_local_time(choices.timezone), False, latest, choices.timezone
        )
    if has_offsets:
        return TimeConversion("offset column", BY_OFFSETS, is_local, latest, guess().zone)
    if is_local:
        return TimeConversion("as written", AS_WRITTEN, True, latest)
    if named.has_offset:
        return TimeConversion("named offsets", BY_OFFSETS, False, latest, guess().zone)
    clock = guess()
    return TimeConversion("zone", clock, False, latest, clock.zone)


def select_check_ins(rows: Rows, hours: TimeConversion, report: Report) -> pl.DataFrame:
    """Return the rows that can be used under the names of check-ins; the others are reported."""
    local, utc = _compute_local_and_utc(rows, hours, report)
    rows = replace(rows, frame=rows.frame.with_columns(_utc=utc, _local=local))
    rules = [*rows.who(), *rows.when()]
    if rows.are_instants:
        rules += [
            rows.rule("negative time number", pl.col("_utc") < 0, "time"),
            rows.rule("implausible time number", pl.col("_utc") > times.LARGEST_INSTANT, "time"),
        ]
    else:
        plausible = pl.col("_utc").is_between(FIRST_PLAUSIBLE_S, hours.latest)
        rules.append(rows.rule("implausible date", ~plausible, "time"))
    if hours.way == "offset column":
        minutes = pl.col("offset_min").cast(pl.Float64, strict=False)
        bad = pl.col("offset_min").is_not_null() & ~(minutes.abs() <= _FARTHEST_OFFSET_MIN).fill_null(False)
        rules.append(DropRule(reason="implausible offset from UTC", bad=bad, column="offset_min"))
    rules += rows.where()
    if "_lat" in rows.frame.columns:
        nowhere = (pl.col("_lat") == 0) & (pl.col("_lon") == 0)
        rules.append(rows.rule("coordinates 0, 0", nowhere, "lat"))
    frame = drop_bad_rows(rows, report, rules)
    kept = {"row": "row", "user": "user", "_utc": "at", "_local": "local", "_lat": "lat", "_lon": "lon"}
    kept |= {"venue": "venue", "category": "category"}
    if hours.way == "numbers":
        del kept["_local"]
    made = frame.select(pl.col(old).alias(new) for old, new in kept.items() if old in frame.columns)
    if "category" in made.columns:
        made = made.with_columns(pl.col("category").cast(pl.String).str.slice(0, LONGEST_ID))
    return made


def _compute_local_and_utc(rows: Rows, hours: TimeConversion, report: Report) -> tuple[pl.Series, pl.Series]:
    utc, offset = rows.frame["_at"], rows.frame["_offset"]
    if hours.way == "offset column":
        given = rows.frame["offset_min"]
        report.notice("times without an offset, read as UTC", given.null_count())
        minutes = given.cast(pl.Float64, strict=False).clip(-DAY_S, DAY_S)
        return utc + (minutes * 60).cast(pl.Int64, strict=False).fill_null(0), utc
    if hours.way in ("numbers", "as written") or hours.clock is None:
        return utc, utc
    if not hours.clock.was_asked_for:
        bare = int((utc.is_not_null() & offset.is_null()).sum())
        report.notice("times without a zone, read as local", bare)
    if hours.way == "named offsets":
        return utc + offset.fill_null(0), utc
    # All times are of one zone, also those that name none.
    zone = hours.clock.zone or "UTC"
    zoned = zones.utc_to_zone(utc, zone)
    if offset.null_count() == 0:
        return zoned, utc
    skipped, repeated = zones.count_unclear_times(utc.filter(offset.is_null()), zone)
    report.notice("local times that clocks skip in spring, read as before the change", skipped)
    report.notice("local times that clocks show twice in autumn, read as the first", repeated)
    parts = pl.DataFrame(
        {"bare": offset.is_null(), "as_is": utc, "zoned": zoned, "placed": zones.zone_to_utc(utc, zone)}
    )
    return (
        parts.select(pl.when("bare").then("as_is").otherwise("zoned")).to_series(),
        parts.select(pl.when("bare").then("placed").otherwise("as_is")).to_series(),
    )
