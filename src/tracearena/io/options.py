"""Options for reading: the layout of a table, and the choice of places and instants.

The keywords are declared once, as `ReadOptions`; `Layout` and `Choices` are the same in parsed form.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypedDict, TypeVar, Unpack, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.checks import LARGEST_COUNT, accepts, require_whole
from tracearena.errors import Fault, FileError, ParameterError
from tracearena.io.fields.columns import EVENTS, OPTIONS, find_option_name, find_roles, simplify_name
from tracearena.traces import Clock
from tracearena.traces.box import Box
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EPOCH, are_local, require_zone

DELIMITERS = {"tab": "\t", r"\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_LONGEST_NAME = 256
ONE_USER = ""
"""What stands for the column of users where all rows are of one."""

_SHOWN_COLUMNS = 12
T = TypeVar("T")


class LayoutOptions(TypedDict, total=False):
    """Layout of a table, as far as its header does not define it, in the notation of the command line.

    Attributes
    ----------
    columns
        The column of each role: ``{"user": "MMSI", "time": "BaseDateTime"}`` or
        ``"user=MMSI,time=BaseDateTime"`` (see `Layout`).
    header
        Whether the first line has the names of the columns; True if omitted.
    delimiter
        Separator of fields: one character, or ``tab``, ``space``, ``comma``, ``semicolon``, ``pipe``.
    decimal
        Decimal separator: ``.`` if omitted, or ``,``.
    time_format
        Format of times, as for ``strptime``.
    one_user
        Name of the only person of a table, of GPX files or of other files without users.
    """

    columns: str | Mapping[str, Any] | None
    header: bool
    delimiter: str | None
    decimal: str
    time_format: str | None
    one_user: str | None


class ChoiceOptions(TypedDict, total=False):
    """Choice of places and instants, in the notation of the command line (see `Choices`).

    Attributes
    ----------
    grid
        Rows and columns, such as ``32x32``.
    bounds
        South, west, north and east in degrees: ``35.65,139.68,35.75,139.80``.
    top
        Number of most visited places to keep.
    interval, slot
        A duration, such as ``20min`` or ``2h``.
    timezone, utc_hours
        The zone of all local times; whether to use hours of UTC.
    """

    grid: str | None
    bounds: str | None
    top: int | None
    interval: str | None
    slot: str | None
    timezone: str | None
    utc_hours: bool


class ReadOptions(LayoutOptions, ChoiceOptions, total=False):
    """Keywords of `read` and `read_released`; all may be omitted.

    Attributes
    ----------
    times
        For pwscup files, the table of time ids; by default the ``info_time.csv`` next to the file, or next to
        the file of its places.
    choices
        Choice of places and instants for raw events, instead of the single options of `ChoiceOptions`.
    resample
        For points on a grid, make one event per instant: ``last``, ``nearest`` or ``interpolate``.
    strict
        Raise an error if a row must be left out, instead of reporting it.

    See Also
    --------
    LayoutOptions : columns, header, delimiter, decimal, time_format and one_user.
    ChoiceOptions : grid, bounds, top, interval, slot, timezone and utc_hours.
    """

    times: str | PathLike[str] | None
    choices: Choices | None
    resample: str | None
    strict: bool


def select_options(options: Mapping[str, Any], kind: type[T]) -> T:
    """Return those of some options that a TypedDict has."""
    return cast(T, {name: options[name] for name in kind.__annotations__ if name in options})


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the columns and fields of a table are laid out.

    Parameters
    ----------
    columns
        The column of each role: ``user``, ``time``, ``date``, ``lat``, ``lng``, ``place``,
        ``category``, ``offset`` (minutes from UTC to local time) or ``trajectory``. Where there is
        no header, their numbers from 1. Roles that are not named are known by the names of
        `fields.columns`. A date and a time of day in two columns are joined.
    header
        Whether the first line has the names of the columns.
    delimiter
        What stands between fields; the one of comma, semicolon, tab and ``|`` of which the first line
        has most, if omitted.
    decimal
        What stands before the decimals of a number: ``.`` or ``,``.
    time_format
        How times are written, as for ``strptime``: ``%d/%m/%Y %H:%M:%S``. Of a date and a time in two
        columns, with a blank between.
    one_user
        The id of the one person all rows belong to.

    Examples
    --------
    >>> layout = Layout.parse(columns="user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    >>> layout.roles(["MMSI", "BaseDateTime", "LAT", "LON", "SOG"])
    {'user': 'MMSI', 'time': 'BaseDateTime', 'lat': 'LAT', 'lon': 'LON'}
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    delimiter: str | None = None
    decimal: str = "."
    time_format: str | None = None
    one_user: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError.of("decimal", self.decimal, "a point or a comma")
        if self.delimiter is not None and not re.fullmatch(r"[^\w\"\r\n\x00]", self.delimiter, re.ASCII):
            raise ParameterError.of(
                "delimiter", self.delimiter, "one character such as ; or |, or tab or space"
            )
        if self.time_format is not None and "%" not in self.time_format:
            raise ParameterError.of("time_format", self.time_format, "such as %d/%m/%Y %H:%M:%S")
        if self.one_user is not None and not 1 <= len(self.one_user) <= _LONGEST_NAME:
            raise ParameterError.of("one_user", self.one_user, f"a name of 1 to {_LONGEST_NAME} letters")
        if self.one_user is not None and "user" in self.columns:
            raise ParameterError("use either one_user or a column of users, not both")
        if not self.header:
            if not self.columns:
                raise ParameterError(
                    "without a header every column needs its number: --columns user=1,time=2,lat=3,lng=4 "
                    "(columns={'user': 1, 'time': 2, 'lat': 3, 'lng': 4})"
                )
            for role, column in self.columns.items():
                if not (column.isascii() and column.isdigit() and int(column) >= 1):
                    allowed = "the number of a column, from 1, because there is no header"
                    raise ParameterError.of(f"columns: {find_option_name(role)}", column, allowed)

    @classmethod
    @accepts(LayoutOptions)
    def parse(cls, **said: Unpack[LayoutOptions]) -> Layout:
        """Read what the command line or a caller says."""
        columns, delimiter, one_user = said.get("columns"), said.get("delimiter"), said.get("one_user")
        pairs = _split_column_pairs(columns) if isinstance(columns, str) else list((columns or {}).items())
        found: dict[str, str] = {}
        for name, column in pairs:
            role = OPTIONS.get(str(name).strip().lower())
            if role is None:
                raise ParameterError.of("columns", name, f"a role: {', '.join(OPTIONS)}")
            if role in found:
                raise ParameterError(f"columns: the {find_option_name(role)} is given twice")
            if str(column) in found.values():
                raise ParameterError(f"columns: {column!r} cannot have two roles")
            found[role] = str(column)
        return cls(
            columns=found,
            header=said.get("header", True),
            delimiter=None if delimiter is None else DELIMITERS.get(delimiter, delimiter),
            decimal=said.get("decimal", "."),
            time_format=said.get("time_format"),
            one_user=None if one_user is None else str(one_user),
        )

    @property
    def option_names(self) -> tuple[str, ...]:
        """What was said, by the names of the options."""
        said = {
            "columns": bool(self.columns),
            "header": not self.header,
            "delimiter": self.delimiter is not None,
            "decimal": self.decimal != ".",
            "time_format": self.time_format is not None,
            "one_user": self.one_user is not None,
        }
        return tuple(name for name, is_given in said.items() if is_given)

    def refuse_all_but(self, useful: Sequence[str], path: str | PathLike[str], what: str) -> None:
        """Refuse what a format has no use for, instead of ignoring it."""
        if useless := [name for name in self.option_names if name not in useful]:
            verb = "does" if len(useless) == 1 else "do"
            raise ParameterError.about(path, f"{', '.join(useless)} {verb} not apply to {what}")

    def roles(self, names: Sequence[str], wanted: Sequence[str] = EVENTS) -> dict[str, str]:
        """Return which of the columns has which role: as said, and else by its name."""
        chosen: dict[str, str] = {}
        for role in wanted:
            column = find_column(names, self.columns[role]) if role in self.columns else None
            if role == "user" and self.one_user is not None:
                column = ONE_USER
            if column is not None:
                chosen[role] = column
        found = find_roles(names, wanted, chosen)
        if "time" in chosen and "date" not in chosen:
            found.pop("date", None)
        return found

    def require_roles(self, wanted: Sequence[str], path: str | PathLike[str]) -> None:
        """Refuse columns that are named for a role that events, or GPS points, have no use for."""
        if useless := [find_option_name(role) for role in self.columns if role not in wanted]:
            known = ", ".join(map(find_option_name, wanted))
            what = "GPS points" if "trajectory" in wanted else "events"
            said = f"columns: {', '.join(useless)} cannot be said of {what}"
            raise ParameterError.about(path, f"{said}, whose columns are {known}")

    def require_columns(self, names: Sequence[str], path: str | PathLike[str]) -> None:
        """Refuse columns that are named and absent."""
        shown = ", ".join(names[:_SHOWN_COLUMNS]) if self.header else f"{len(names)} columns"
        faults = [
            Fault(0, None, shown, f"{find_option_name(role)}={column}: there is no such column", "columns")
            for role, column in self.columns.items()
            if find_column(names, column) is None
        ]
        if faults:
            raise FileError(path, faults)


AS_NAMED = Layout()
"""A table whose header says it all."""


def _split_column_pairs(text: str) -> list[tuple[str, str]]:
    """Split ``user=MMSI,time=BaseDateTime``; a part without ``=`` continues with the name before it."""
    pairs: list[tuple[str, str]] = []
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if equals and name.strip():
            pairs.append((name, column))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{part}")
        else:
            raise ParameterError.of("columns", text, "such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    empty = next((name for name, column in pairs if not column.strip()), None)
    if empty is not None or not pairs:
        raise ParameterError.of("columns", text, "such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON")
    return pairs


def find_column(names: Sequence[str], wanted: str) -> str | None:
    """Return the column of a name: as it is written, or else without regard to case and blanks."""
    if wanted in names:
        return wanted
    alike = [name for name in names if simplify_name(name) == simplify_name(wanted)]
    return alike[0] if len(alike) == 1 else None


# How raw events become traces: which places, which instants, which local time.

_MOST_CELLS = 2**24


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choice of places and instants for raw events.

    Parameters
    ----------
    grid
        Rows and columns of a grid over `bounds`; its cells become the places.
    bounds
        A box, borders included; events outside are left out.
        A grid without bounds covers nearly all of the data (`discretisation.compute_robust_box`).
    top
        Keep only this many of the most visited places ([ppmtf]: 1,000).
    interval_s
        Seconds between instants; a day must have a whole number of them. By default an hour, or 5, 10, 15, 20
        or 30 minutes if all times of the file are multiples of it.
    slot_s
        Seconds of a slot, a multiple of `interval_s`; by default one instant.
    timezone
        Name such as ``America/New_York``: the local time of all events. Without it, times with an offset or
        without a zone are local, and times in UTC are converted to the zone of most of the points, as the
        report says.
    utc_hours
        Ignore the file's offsets and use hours of UTC, as the program of the PPMTF authors does.

    Examples
    --------
    >>> Choices.parse(grid="32x32", bounds="35.65,139.68,35.75,139.80", interval="30min").interval_s
    1800
    """

    grid: tuple[int, int] | None = None
    bounds: Box | None = None
    top: int | None = None
    interval_s: int | None = None
    slot_s: int | None = None
    timezone: str | None = None
    utc_hours: bool = False

    def __post_init__(self) -> None:
        if self.interval_s is not None and (self.interval_s < 1 or DAY_S % self.interval_s):
            raise ParameterError.of("interval", f"{self.interval_s} s", "a whole fraction of a day")
        if self.slot_s is not None and not 1 <= self.slot_s <= DAY_S:
            raise ParameterError.of("slot", f"{self.slot_s} s", "from one second to one day")
        if self.interval_s is not None:
            self.instants_per_slot(self.interval_s)
        if self.top is not None:
            require_whole("top", self.top, at_least=1, at_most=LARGEST_COUNT)
        if self.top is not None and self.grid is not None:
            raise ParameterError("use either grid or top, not both: a grid keeps all its cells")
        if self.timezone is not None:
            require_zone(self.timezone)
        if self.timezone is not None and self.utc_hours:
            raise ParameterError("use either timezone or utc_hours, not both")

    def instants_per_slot(self, interval_s: int) -> int:
        """Return how many instants of the given interval a slot holds."""
        slot_s = interval_s if self.slot_s is None else self.slot_s
        if slot_s < 1 or slot_s % interval_s:
            raise ParameterError.of("slot", f"{slot_s} s", f"a multiple of the interval of {interval_s} s")
        return slot_s // interval_s

    @classmethod
    @accepts(ChoiceOptions)
    def parse(cls, **asked: Unpack[ChoiceOptions]) -> Choices:
        """Parse the notation of the command line."""
        grid, bounds = asked.get("grid"), asked.get("bounds")
        interval, slot = asked.get("interval"), asked.get("slot")
        return cls(
            grid=None if grid is None else parse_grid_shape(grid),
            bounds=None if bounds is None else Box.parse(bounds),
            top=asked.get("top"),
            interval_s=None if interval is None else parse_duration_s(interval, "interval"),
            slot_s=None if slot is None else parse_duration_s(slot, "slot"),
            timezone=asked.get("timezone"),
            utc_hours=asked.get("utc_hours", False),
        )


NO_CHOICES = Choices()
"""Places and instants as the file has them."""


def parse_duration_s(text: str, name: str) -> int:
    """Read a duration such as ``30min``, ``2h`` or ``90s``.

    >>> parse_duration_s("2h", "slot")
    7200
    """
    from tracearena.algorithms.spec import Quantity

    match = re.fullmatch(r"(\d{1,6})\s*(s|min|m|h)", text.strip())
    if match is None:
        raise ParameterError.of(name, text, "a number with its unit, such as 20min, 1h or 90s")
    # Where only durations stand, m is no metre.
    return int(Quantity.of(match[1], "min" if match[2] == "m" else match[2]))


def parse_grid_shape(text: str) -> tuple[int, int]:
    """Read rows × columns, such as ``32x32``."""
    match = re.fullmatch(r"(\d{1,5})\s*[x×]\s*(\d{1,5})", text.strip())
    rows, columns = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if not 1 <= rows * columns <= _MOST_CELLS:
        raise ParameterError.of(
            "grid", text, f"rows x columns, such as 32x32, of at most {_MOST_CELLS:,} cells"
        )
    return rows, columns


# From when to when events are, and the clock that goes with it.

HOUR_S = 3600
_SHORTEST_REGULAR_S = 300


@dataclass(frozen=True)
class Extent:
    """What the times of some events span; sums of it say what those of all do.

    Attributes
    ----------
    first, last
        The earliest and the latest: local seconds since 1970, or numbers of instants.
    step
        Seconds that divide a day and the time of day of every event.
    zone
        The zone whose local time all of them are; None where UTC is not known or they are of several.

    Examples
    --------
    >>> evening = Extent.of(np.array([64_800, 66_600])) + Extent.of(np.array([151_200]))
    >>> evening.step, evening.clock(Choices(), are_numbered=False).interval_s
    (1800, 1800)
    """

    first: int
    last: int
    step: int
    zone: str | None = None

    @classmethod
    def of(cls, times: NDArray[np.int64], utc: pl.Series | None = None, zone: str | None = None) -> Extent:
        """Look at times, of which there is at least one; `zone` is that which their UTC is compared by."""
        step = int(np.gcd.reduce(times % DAY_S, initial=DAY_S))
        if zone is None or utc is None or not are_local(pl.Series(times), utc, zone):
            zone = None
        return cls(int(times.min()), int(times.max()), step, zone)

    def __add__(self, other: Extent) -> Extent:
        first, last = min(self.first, other.first), max(self.last, other.last)
        zone = self.zone if self.zone == other.zone else None
        return Extent(first, last, math.gcd(self.step, other.step), zone)

    def clock(self, choices: Choices, *, are_numbered: bool) -> Clock:
        """Return the clock of all events: as it was chosen, or by their times."""
        # An hour; less where the times lie on a whole part of it that is no accident of exact times.
        common = math.gcd(self.step, HOUR_S)
        regular = common if common >= _SHORTEST_REGULAR_S and not are_numbered else HOUR_S
        interval = choices.interval_s or regular
        return Clock(
            instants_per_day=DAY_S // interval,
            interval_s=interval,
            instants_per_slot=choices.instants_per_slot(interval),
            first_day=None if are_numbered else EPOCH + datetime.timedelta(days=self.first // DAY_S),
            timezone=self.zone,
        )

    def origin(self, clock: Clock) -> int:
        """Return what is instant 0: the second in which the first day begins, or a number of at most 1."""
        return min(self.first, 1) if clock.first_day is None else self.first // DAY_S * DAY_S

    def span(self, clock: Clock) -> tuple[int, int]:
        """Return the first instant, and the one after the last."""
        unit = 1 if clock.first_day is None else clock.interval_s
        first, last = ((at - self.origin(clock)) // unit for at in (self.first, self.last))
        return first, last + 1

    def says_all(self, clock: Clock, *, are_local: bool) -> bool:
        """Whether instants tell all there is: no times, or local ones that fall on the instants."""
        return clock.first_day is None or (are_local and self.step % clock.interval_s == 0)
