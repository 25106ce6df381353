"""Defences that change times: swapping, rounding, thinning and shuffling.

Times alone can identify people: the hours of visits, and the intervals between them, are a fingerprint that
defences of places do not change. The defences here change times and keep places. They work on events and on
GPS points, and follow a defence of places in a `Pipeline`.

All of them work in local time. Events have a local time. For GPS points, the zone is that at the median of
each person's points, unless the setting `timezone` sets one zone for all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, overload

import numpy as np

from tracearena.algorithms.base import GpsObfuscator, Kind, Obfuscator, setting
from tracearena.algorithms.spec import Quantity, format_quantity, parse
from tracearena.checks import LARGEST_COUNT, require_choice, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, seed_sequence, uniforms
from tracearena.errors import ParameterError
from tracearena.obfuscation.gps import DIGITS, check_digits
from tracearena.obfuscation.wall_clock import DAY_MS, EventClock, Floats, Ints, PointClock, WallClock
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import require_zone

Period = Literal["day", "week", "month", "all"]
_PERIODS = ("day", "week", "month", "all")
_SATURDAY = 5
_SMALLEST_CELL_M, _LARGEST_CELL_M = 1.0, 1e7
_SPANS = {"part": DAY_S // 4, "day": DAY_S}
_MOST_DATES = 5
"""Days of a month with the same weekday, at most."""


@dataclass(frozen=True)
class RowDraws:
    """Random numbers of rows: those that stand at their places among the rows of all users."""

    seed: SeedLike
    count: int
    first: int = 0

    def __call__(self, columns: int = 1) -> Floats:
        """Return numbers from [0, 1) for each row; asking once is all that may be done."""
        return uniforms(seed_sequence(self.seed), self.count, columns, first=self.first)


@dataclass(kw_only=True)
class TimeDefence(Obfuscator, GpsObfuscator):
    """Change the times of events or of GPS points, and keep their places.

    Write your own as a keyword-only dataclass with a `name` and a `retime`.

    Parameters
    ----------
    timezone
        Zone of the local time of GPS points, such as Asia/Tokyo; by default each person's is that at the
        median of their points.
    digits
        Decimals of the released degrees of GPS points, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    GPS points are released as one trajectory per person, all with the same name, because names, order and
    boundaries of recordings reveal when they were made. The rows of each person are sorted by their new
    times. If days have no dates, day 0 is a Monday, and every 28 days are a month.
    """

    kind: ClassVar[Kind] = "obfuscator"
    serves: ClassVar[tuple[Kind, ...]] = ("obfuscator", "gps-obfuscator")
    keeps_times: ClassVar[bool] = False

    timezone: str | None = setting(None)
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        if self.timezone is not None:
            require_zone(self.timezone)

    @overload
    def transform(
        self, original: Traces | ObfuscatedTraces, *, seed: SeedLike = None
    ) -> ObfuscatedTraces: ...
    @overload
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces: ...
    def transform(self, original: Any, *, seed: SeedLike = None) -> Any:
        """Return the same rows at other times, or some of them; those of a release follow its defence."""
        require_kind(self, original, Traces, ObfuscatedTraces, GpsTraces)
        return self.retime(self._clock(original), RowDraws(seed, len(original)))

    def transform_part(self, part: Any, *, seed: np.random.SeedSequence, first: int, total: int) -> Any:
        """Return the result of `transform` of all users for some consecutive users."""
        return self.retime(self._clock(part), RowDraws(seed, len(part), first))

    def draws(self, part: Any) -> int:
        """Return how many numbered draws some users take: one for each row."""
        return len(part)

    def follow(self, released: ObfuscatedTraces) -> ObfuscatedTraces:
        """Return the release of an earlier defence as it is."""
        return released

    def _clock(self, traces: Traces | ObfuscatedTraces | GpsTraces) -> WallClock[Any]:
        if isinstance(traces, GpsTraces):
            return PointClock.of(traces, self.timezone, self.digits)
        return EventClock(ObfuscatedTraces.from_traces(traces) if isinstance(traces, Traces) else traces)

    @abstractmethod
    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return the traces of a wall clock at other times (`WallClock.at`)."""


@dataclass(kw_only=True)
class SwapTimes(TimeDefence):
    """Permute the dates and times of day of all events in the same cell and period.

    All permutations are equally likely. The number of events per cell and hour stays exact, but not who was
    there at that hour.

    Parameters
    ----------
    cell
        Side of the square cells of a world-wide grid, in metres, 1 to 10,000,000.
    period
        ``day``, ``week`` (from Monday), ``month`` or ``all``: times are swapped within each period of the
        local calendar.

    Notes
    -----
    An event that is alone in its cell and period keeps its time. A generalised event is in the cell of the
    first place of its set; a deleted event keeps its time. All users are needed at once.

    Examples
    --------
    >>> str(SwapTimes(cell=1000, period="month"))
    'SwapTimes(1km,month)'
    """

    name: ClassVar[str] = "SwapTimes"
    units: ClassVar[Mapping[str, str]] = {"cell": "m"}

    cell: float
    period: Period

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("cell", self.cell, at_least=_SMALLEST_CELL_M, at_most=_LARGEST_CELL_M)
        require_choice("period", self.period, _PERIODS)

    def __str__(self) -> str:
        return f"{self.name}({format_quantity(self.cell, 'm')},{self.period})"

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return each row at the time of another row of its cell and period."""
        key, order = draws(2).T
        cell, known = clock.cells(self.cell)
        return clock.at_times_of(_draw_permutation([clock.period(self.period), cell], known, key), order)


@dataclass(kw_only=True)
class SwapHours(TimeDefence):
    """Permute times of day among all events of a cell, working days and weekends apart; dates stay.

    Parameters
    ----------
    cell
        Side of the square cells of a world-wide grid, in metres, 1 to 10,000,000.

    Notes
    -----
    An event that is alone in its cell keeps its time. A generalised event is in the cell of the first place
    of its set; a deleted event keeps its time. All users are needed at once.

    Examples
    --------
    >>> str(SwapHours(cell=1000))
    'SwapHours(1km)'
    """

    name: ClassVar[str] = "SwapHours"
    units: ClassVar[Mapping[str, str]] = {"cell": "m"}

    cell: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("cell", self.cell, at_least=_SMALLEST_CELL_M, at_most=_LARGEST_CELL_M)

    def __str__(self) -> str:
        return f"{self.name}({format_quantity(self.cell, 'm')})"

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return each row on its day, at the time of day of another row of its cell."""
        key, order = draws(2).T
        cell, known = clock.cells(self.cell)
        is_weekend = (clock.weekday >= _SATURDAY).astype(np.int64)
        source = _draw_permutation([is_weekend, cell], known, key)
        return clock.at(clock.day * DAY_MS + clock.time_of_day[source], order)


@dataclass(kw_only=True)
class RoundTime(TimeDefence):
    """Round times down to a unit, such as 3h or the day, and shuffle the rows of each slot.

    Parameters
    ----------
    unit
        A time that divides a day (``1h``, ``3h``, ``10min``; a bare number is seconds), ``part`` (four parts
        of the day, of six hours) or ``day``, in local time.

    Notes
    -----
    The release contains nothing finer than the unit, neither seconds nor the order of rows. If the day of the
    clock begins after midnight, times before it are moved to its first instant.

    Examples
    --------
    >>> str(RoundTime(unit="180min")), RoundTime(unit="part").unit_s
    ('RoundTime(3h)', 21600)
    """

    name: ClassVar[str] = "RoundTime"
    units: ClassVar[Mapping[str, str]] = {"unit": "s"}
    by_user: ClassVar[bool] = True

    unit: float | str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit not in _SPANS:
            object.__setattr__(self, "unit", _parse_day_divisor("unit", self.unit, *_SPANS))

    def __str__(self) -> str:
        return f"{self.name}({self.unit if self.unit in _SPANS else format_quantity(self.unit_s, 's')})"

    @property
    def unit_s(self) -> int:
        """The unit in seconds."""
        return _SPANS[self.unit] if isinstance(self.unit, str) else int(self.unit)

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return each row at the beginning of its slot, the rows of a slot in random order."""
        step_ms = self.unit_s * 1000
        return clock.at(clock.local_ms - clock.time_of_day % step_ms, draws(), step_ms)


@dataclass(kw_only=True)
class PerDay(TimeDefence):
    """Keep a random sample of this many events per person and local day.

    Parameters
    ----------
    n
        Events per day, at least 1.

    Examples
    --------
    >>> str(PerDay(n=12))
    'PerDay(12)'
    """

    name: ClassVar[str] = "PerDay"
    by_user: ClassVar[bool] = True

    n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("n", self.n, at_least=1, at_most=LARGEST_COUNT)

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return the rows that were drawn, at their times."""
        order = np.lexsort((draws(), clock.day, clock.user))
        rank = np.empty(len(order), np.int64)
        rank[order] = _number_within_groups(clock.user[order], clock.day[order])
        return clock.keep(rank < self.n).keep_times()


@dataclass(kw_only=True)
class ShuffleDays(TimeDefence):
    """Permute the days of each person within the month; weekdays and times of day stay.

    Parameters
    ----------
    period
        ``month``: a day goes to a day of its calendar month with the same weekday.

    Notes
    -----
    All days from the first to the last of a person are permuted, including days without events.

    Examples
    --------
    >>> str(ShuffleDays(period="month"))
    'ShuffleDays(month)'
    """

    name: ClassVar[str] = "ShuffleDays"
    by_user: ClassVar[bool] = True

    period: Literal["month"]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("period", self.period, ("month",))

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return each row on the day that its day was moved to."""
        if not len(clock.day):
            return clock.keep_times()
        # One row for each person and day with events; `row` is the first of its rows, whose draw it takes.
        origin = int(clock.day.min())
        width = int(clock.day.max()) - origin + 1
        pairs, row, pair = np.unique(
            clock.user * width + clock.day - origin, return_index=True, return_inverse=True
        )
        user, day = pairs // width, pairs % width + origin
        begins = np.flatnonzero(np.diff(user, prepend=-1))
        lengths = np.diff(np.append(begins, len(user)))
        own_first, own_last = (np.repeat(day[at], lengths) for at in (begins, begins + lengths - 1))
        first, last = clock.month_of(day)
        # The dates that a day may go to are `earliest`, a week later, and so on: `count` of them.
        earliest = day - (day - np.maximum(first, own_first)) // 7 * 7
        count = (np.minimum(last, own_last) - earliest) // 7 + 1
        if (count == 1).all():
            return clock.keep_times()
        moved = earliest + 7 * _draw_without_replacement(user, earliest, count, draws()[row])
        return clock.at(clock.local_ms + (moved - day)[pair] * DAY_MS)


@dataclass(kw_only=True)
class Resample(TimeDefence):
    """Keep one point per interval, at the beginning of the interval.

    Intervals are counted from local midnight. The first point of an interval is kept, with the time at which
    the interval begins. This removes the reporting rate and the seconds of a device.

    Parameters
    ----------
    interval
        A time that divides a day, such as ``1h`` or ``10min``; a bare number is seconds.

    Notes
    -----
    If the day of the clock begins after midnight, times before it are moved to its first instant.

    Examples
    --------
    >>> str(Resample(interval=600))
    'Resample(10min)'
    """

    name: ClassVar[str] = "Resample"
    units: ClassVar[Mapping[str, str]] = {"interval": "s"}
    by_user: ClassVar[bool] = True

    interval: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "interval", _parse_day_divisor("interval", self.interval))

    def __str__(self) -> str:
        return f"{self.name}({format_quantity(self.interval, 's')})"

    def retime(self, clock: WallClock[Any], draws: RowDraws) -> Any:
        """Return the first row of each interval, at its beginning; this uses no random numbers."""
        step_ms = int(self.interval) * 1000
        begin = clock.local_ms - clock.time_of_day % step_ms
        order = np.lexsort((begin, clock.user))
        chosen = np.zeros(len(order), bool)
        chosen[order] = _number_within_groups(clock.user[order], begin[order]) == 0
        return clock.keep(chosen).at(begin[chosen], step_ms=step_ms)


def _draw_permutation(groups: list[Ints], known: Any, key: Floats) -> Ints:
    """Return a permutation of the rows within their groups, all equally likely; unknown rows stay.

    `key` has a random number for each row: the rows of a group in their order get what stands there in the
    order of the numbers.
    """
    rows = np.flatnonzero(known)
    groups = [group[rows] for group in groups]
    source = np.arange(len(known), dtype=np.int64)
    source[rows[np.lexsort(groups)]] = rows[np.lexsort([key[rows], *groups])]
    return source


def _number_within_groups(*groups: Ints) -> Ints:
    """Number the rows of each group from 0; rows of a group stand together."""
    number = np.arange(len(groups[0]))
    begins = np.ones(len(number), bool)
    begins[1:] = np.any([np.diff(group) != 0 for group in groups], axis=0)
    return number - np.maximum.accumulate(np.where(begins, number, 0))


def _draw_without_replacement(user: Ints, group: Ints, count: Ints, share: Floats) -> Ints:
    """Return a different number below `count` for each row of a person's group, at random.

    The first row of a group takes any, the next any of those that are left. `share` has the draw of each
    row, from [0, 1).
    """
    order = np.lexsort((group, user))
    number = _number_within_groups(user[order], group[order])
    of_group = np.cumsum(number == 0) - 1
    left = np.arange(_MOST_DATES) < count[order][number == 0][:, None]
    drawn = np.empty(len(order), np.int64)
    for turn in range(_MOST_DATES):
        rows = np.flatnonzero(number == turn)
        free = left[of_group[rows]]
        wanted = (share[order[rows]] * free.sum(axis=1)).astype(np.int64)
        at = np.argmax(np.cumsum(free, axis=1) > wanted[:, None], axis=1)
        left[of_group[rows], at] = False
        drawn[order[rows]] = at
    return drawn


def _parse_day_divisor(name: str, value: Any, *words: str) -> float:
    """Return a number of whole seconds that divides a day, from a number or from text such as ``3h``."""
    allowed = " or ".join(["a time of whole seconds that divides a day, such as 1h or 10min", *words])
    if isinstance(value, str):
        try:
            _, (value,), _ = parse(f"time({value})")
        except (ParameterError, ValueError):
            raise ParameterError.of(name, value, allowed) from None
        if isinstance(value, Quantity) and value.base != "s":
            raise ParameterError.of(name, float(value), allowed)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 1 <= value <= DAY_S or value != int(value) or DAY_S % int(value):
        raise ParameterError.of(name, value, allowed)
    return float(value)
