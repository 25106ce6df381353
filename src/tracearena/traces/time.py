"""Days, time zones, and the conversion between UTC and local time.

Arrays of NumPy hold milliseconds (GPS points) or seconds (events) since 1970; the functions on columns of
Polars are for readers and writers of files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.errors import ParameterError, shorten
from tracearena.traces.clock import DAY_S
from tracearena.traces.gps import GpsTraces
from tracearena.traces.row_table import EventTable, unique_inverse

if TYPE_CHECKING:
    import polars as pl

EPOCH = date(1970, 1, 1)
# A day within the first and the last that have a date in every zone.
EARLIEST_S = int(datetime(1, 1, 2, tzinfo=UTC).timestamp())
LATEST_S = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp())
_QUARTER_MS = 900_000
_CELLS_PER_DEGREE = 10


class ZoneGuess(NamedTuple):
    """The zone most points lie in, and the share of them that do."""

    name: str
    share: float


@cache
def zone_names() -> frozenset[str]:
    """Return the names of all zones."""
    return frozenset(available_timezones())


def require_zone(name: str, parameter: str = "timezone") -> str:
    """Return the name of a zone, or say which name may be meant.

    >>> require_zone("Asia/Tokyo")
    'Asia/Tokyo'
    >>> require_zone("Asia/Tokio")
    Traceback (most recent call last):
    tracearena.errors.ParameterError: timezone = 'Asia/Tokio' is not allowed; it must be a name such as
    America/New_York, Asia/Shanghai or UTC (perhaps Asia/Tokyo)
    """
    if isinstance(name, str) and name in zone_names():
        return name
    near = _suggest_zone(name) if isinstance(name, str) and len(name) <= 64 else None
    advice = f" (perhaps {near})" if near else ""
    shown = shorten(name) if isinstance(name, str) else repr(name)
    allowed = f"it must be a name such as America/New_York, Asia/Shanghai or UTC{advice}"
    raise ParameterError(f"{parameter} = {shown} is not allowed; {allowed}")


def _suggest_zone(name: str) -> str | None:
    offset = re.fullmatch(r"\s*(?:UTC|GMT)\s*([+-])\s*0?(\d{1,2})(?::?00)?\s*", name, re.I)
    if offset is not None:
        # Names of fixed offsets count the other way: Etc/GMT-9 is nine hours ahead of UTC.
        fixed = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{int(offset[2])}"
        return fixed if fixed in zone_names() else None
    known = {zone.casefold(): zone for zone in sorted(zone_names())}
    wanted = name.strip().casefold().replace(" ", "_")
    if wanted in known:
        return known[wanted]
    cities = {zone.rpartition("/")[2]: zone for zone in known if "/" in zone}
    found = difflib.get_close_matches(wanted, known, 1, 0.75)
    city = difflib.get_close_matches(wanted, cities, 1, 0.85)
    return known[found[0]] if found else known[cities[city[0]]] if city else None


def guess_zone(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> ZoneGuess | None:
    """Return the zone in which most of the points lie; None if all of them are at sea.

    Points within a tenth of a degree go by the first of them. Of zones with as many points the
    first by name is taken.

    >>> guess_zone(np.array([40.7, 40.8, 35.7]), np.array([-74.0, -73.9, 139.7]))
    ZoneGuess(name='America/New_York', share=0.6666666666666666)
    """
    return find_zone_of_cells(count_zone_cells(latitude, longitude))


def count_zone_cells(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a row for each tenth of a degree with points: its number, the first of them, and how many."""
    on_earth = (np.abs(latitude) <= 90) & (np.abs(longitude) <= 180)
    if not on_earth.all():
        latitude, longitude = latitude[on_earth], longitude[on_earth]
    row = np.floor(latitude * _CELLS_PER_DEGREE).astype(np.int64)
    column = np.floor(longitude * _CELLS_PER_DEGREE).astype(np.int64)
    cells, index = unique_inverse(row * 10_000 + column)
    first = np.zeros(len(cells), np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]  # the last to be written is the first point
    counts = np.bincount(index, minlength=len(cells))
    return np.column_stack([cells, latitude[first], longitude[first], counts])


def merge_zone_cells(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add the points of cells; a cell's first point is that of the cells that come first."""
    both = np.concatenate([here, there])
    known, first, index = np.unique(both[:, 0], return_index=True, return_inverse=True)
    counts = np.bincount(index, both[:, 3], len(known))
    return np.column_stack([both[first, :3], counts])


def find_zone_of_cells(cells: NDArray[np.float64]) -> ZoneGuess | None:
    """Return the zone in which most of the points of some cells lie (`count_zone_cells`)."""
    from tzfpy import get_tz

    totals: dict[str, int] = {}
    for _, latitude, longitude, count in cells.tolist():
        name = get_tz(longitude, latitude)
        if name in zone_names() and not name.startswith("Etc/"):
            totals[name] = totals.get(name, 0) + int(count)
    if not totals:
        return None
    best = min(totals, key=lambda name: (-totals[name], name))
    return ZoneGuess(best, totals[best] / int(cells[:, 3].sum()))


def local_seconds(time_ms: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Return seconds since 1970-01-01 00:00 on the wall clocks of a zone.

    >>> local_seconds(np.array([0]), "Asia/Tokyo").tolist()
    [32400]
    """
    zone = ZoneInfo(require_zone(timezone))
    # Offsets change on quarter hours only, so each quarter hour is looked up once.
    quarters, index = np.unique(np.asarray(time_ms) // _QUARTER_MS, return_inverse=True)
    offsets = [_offset_s(int(quarter) * 900, zone) for quarter in quarters]
    return np.asarray(time_ms) // 1000 + np.array(offsets, np.int64)[index]


def _offset_s(second: int, zone: ZoneInfo) -> int:
    second = min(max(second, EARLIEST_S), LATEST_S)
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def utc_ms(local_s: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Undo `local_seconds`; an hour that the clocks repeat is read as its second half."""
    guess = np.asarray(local_s, np.int64) * 1000
    for _ in range(2):
        guess = guess - (local_seconds(guess, timezone) - local_s) * 1000
    return guess


def solar_seconds(time_ms: NDArray[np.int64], longitude: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return seconds since 1970 on clocks that follow the sun, to the hour: a zone without a name."""
    return np.asarray(time_ms) // 1000 + np.rint(np.asarray(longitude) / 15).astype(np.int64) * 3600


# Times of events as files have them: seconds, text, offsets from UTC.

DAY_ZERO = date(2018, 1, 1)
"""A Monday: day 0 of traces whose instants have no date, in formats that cannot do without one."""


def event_local_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the local second, since 1970-01-01, at which the instant of each event begins."""
    first = (traces.clock.first_day or DAY_ZERO) - EPOCH
    days = first.days + traces.clock.day_of(traces.instants)
    return np.asarray(days * DAY_S + traces.clock.second_of_day(traces.instants), np.int64)


def utc_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the timestamp of each event; if there is none, local time is taken as UTC."""
    return event_local_seconds(traces) if traces.timestamps is None else traces.timestamps


def utc_text(traces: EventTable, style: str) -> pl.Series:
    """Return the time of each event as text."""
    import polars as pl

    return _to_datetimes(pl.Series(utc_seconds(traces))).dt.strftime(style)


def offset_minutes(traces: EventTable) -> NDArray[np.int64]:
    """Return the minutes from UTC to local time, as far as instants tell.

    Any offset that puts the timestamp into its instant gives the same traces back; of those the
    zone's is taken if it is known and does, and otherwise the roundest: whole hours before halves,
    quarters and minutes, and of equally round ones that nearest to 0.
    """
    least = event_local_seconds(traces) - utc_seconds(traces)
    beyond = least + traces.clock.interval_s
    offset = -(-least // 60)
    for step in (1, 15, 30, 60):
        lowest, highest = (-(-least // (step * 60)) * step, (-(-beyond // (step * 60)) - 1) * step)
        offset = np.where(lowest <= highest, np.clip(0, lowest, highest), offset)
    if traces.clock.timezone is not None and traces.timestamps is not None:
        import polars as pl

        local = utc_to_zone(pl.Series(traces.timestamps), traces.clock.timezone).to_numpy()
        known = local - traces.timestamps
        offset = np.where((least <= known) & (known < beyond), known // 60, offset)
    return np.asarray(offset, np.int64)


def exact_local_seconds(traces: EventTable) -> NDArray[np.int64]:
    """Return the local second of each event: of its timestamp, or the one at which its instant begins."""
    begin = event_local_seconds(traces)
    if traces.timestamps is None:
        return begin
    exact = traces.timestamps + offset_minutes(traces) * 60
    # Offsets are whole minutes: where instants are shorter than that, none may reach the right one.
    return np.asarray(np.clip(exact, begin, begin + traces.clock.interval_s - 1))


# Pieces of trajectories: runs of consecutive points that last less than a window.

LONGEST_S = 3.2e9
"""A hundred years: no recording is longer."""


def find_piece_starts(traces: GpsTraces, window_s: float) -> NDArray[np.int64]:
    """Return, for each point, the point that begins its piece.

    A trajectory's first point begins a piece; so does each first point that is `window_s` seconds
    or more after the beginning of the piece before it.

    >>> traces = GpsTraces.from_points([1] * 5, [0, 30_000, 60_000, 200_000, 210_000], [0] * 5, [0] * 5)
    >>> find_piece_starts(traces, 60).tolist()
    [0, 0, 2, 3, 3]
    """
    require_number("window", window_s, above=0, at_most=LONGEST_S)
    from tracearena.traces._kernels import scan_piece_starts as kernel

    order = traces.trajectory_order
    starts = np.empty(len(order), np.int64)
    starts[order] = order[kernel(traces.time_ms[order], traces.trajectory_offsets, window_s * 1000.0)]
    return starts


# The local time by which the hours of a file are shown, and how it is known.


@dataclass(frozen=True)
class LocalTime:
    """The local time of traces.

    Attributes
    ----------
    zone
        Its zone by name, ``UTC`` where none is known; None where the file has local times.
    sentence
        The same for people, with the reason.
    was_asked_for
        Whether the caller named it.
    """

    zone: str | None
    sentence: str
    was_asked_for: bool = False

    def __str__(self) -> str:
        return self.sentence

    @property
    def axis(self) -> str:
        """What is written next to hours: the zone, or that they are those of the file."""
        return "local, as in the file" if self.zone is None else self.zone


AS_WRITTEN = LocalTime(None, "times have no zone and are read as local times; set the zone with --timezone")
BARE_AS_UTC = LocalTime("UTC", "times have no zone and are read as UTC; set another zone with --timezone")
BY_OFFSETS = LocalTime(None, "times are local, from the offsets in the file")
IN_UTC = LocalTime("UTC", "times are UTC, as set", was_asked_for=True)
UNKNOWN = LocalTime(
    "UTC", "times are UTC, because the coordinates determine no zone; set one with --timezone"
)


def build_chosen_local_time(zone: str) -> LocalTime:
    """Return the local time of a zone that the caller named."""
    return LocalTime(zone, f"times are local to {zone}, as set", was_asked_for=True)


def guess_local_time(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], what: str = "points"
) -> LocalTime:
    """Return the local time where most of the points (or other things, by `what`) lie.

    >>> print(guess_local_time(np.array([40.7, 35.7, 35.7]), np.array([-74.0, 139.7, 139.7])))
    times are local to Asia/Tokyo, where 66.6 % of the points are, guessed from the coordinates; set
    another zone with --timezone
    """
    return build_guessed_local_time(guess_zone(latitude, longitude), what)


def build_guessed_local_time(guess: ZoneGuess | None, what: str = "points") -> LocalTime:
    """Return the local time of a zone that was guessed."""
    if guess is None:
        return UNKNOWN
    # Cut, not rounded: 100 % is said of nothing but all.
    share = "" if guess.share == 1 else f", where {int(guess.share * 1000) / 10:g} % of the {what} are"
    reason = "guessed from the coordinates; set another zone with --timezone"
    return LocalTime(guess.name, f"times are local to {guess.name}{share}, {reason}")


# From UTC to local time and back, for a column of seconds since 1970.


def utc_to_zone(second: pl.Series, zone: str) -> pl.Series:
    """Return local seconds of UTC seconds.

    >>> import polars as pl
    >>> utc_to_zone(pl.Series([1333476006]), "America/New_York").to_list()
    [1333461606]
    """
    moments = _to_datetimes(second).dt.replace_time_zone("UTC")
    local = _convert_checking_zone(lambda: moments.dt.convert_time_zone(zone), zone)
    return local.dt.replace_time_zone(None).dt.epoch("s")


def zone_to_utc(second: pl.Series, zone: str) -> pl.Series:
    """Return UTC seconds of local seconds.

    Of an hour that a clock shows twice the first is meant; an hour or a day that it skips is read as
    if the clock had not been set yet.
    """
    local = _to_datetimes(second)
    exact = _convert_checking_zone(lambda: _convert_local_to_utc(local, zone), zone)
    for hours in (1, 24):
        if exact.null_count() > second.null_count():
            exact = exact.fill_null(
                _convert_local_to_utc(local.dt.offset_by(f"-{hours}h"), zone) + hours * 3600
            )
    return exact


def are_local(second: pl.Series, utc: pl.Series, zone: str) -> bool:
    """Whether local seconds are those of a zone at the given seconds of UTC.

    >>> import polars as pl
    >>> are_local(pl.Series([1333461606]), pl.Series([1333476006]), "America/New_York")
    True
    """
    return bool(((utc_to_zone(utc, zone) == second) | (zone_to_utc(second, zone) == utc)).all())


def count_unclear_times(second: pl.Series, zone: str) -> tuple[int, int]:
    """Return how many local seconds the clocks of a zone skip, and how many they show twice."""
    local = _to_datetimes(second)
    early, late = (
        local.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    return early.null_count() - second.null_count(), int((early != late).sum())


def _convert_local_to_utc(local: pl.Series, zone: str) -> pl.Series:
    return local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("s")


def _convert_checking_zone(convert: Callable[[], pl.Series], zone: str) -> pl.Series:
    import polars as pl

    try:
        return convert()
    except pl.exceptions.PolarsError:
        require_zone(zone)
        raise ParameterError.of("timezone", zone, "a name such as America/New_York or Asia/Tokyo") from None


def _to_datetimes(second: pl.Series) -> pl.Series:
    import polars as pl

    return (second * 1_000_000).cast(pl.Datetime("us"))
