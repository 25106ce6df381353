"""Local times of the rows of traces, and the conversion of changed local times back to traces.

Defences of time work only on local milliseconds. This module handles the differences between events and
points: the source of local time, the conversion of changed times, and other data that would reveal the old
order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.obfuscation.gps import round_coordinates
from tracearena.traces import GpsTraces, ObfuscatedTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import cell_keys
from tracearena.traces.time import (
    DAY_ZERO,
    EPOCH,
    exact_local_seconds,
    guess_local_time,
    local_seconds,
    utc_ms,
)

T = TypeVar("T", ObfuscatedTraces, GpsTraces)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DAY_MS = DAY_S * 1000
BLOCK_DAYS = 28
"""Days of a month where days have no dates: four whole weeks."""
_THURSDAY = 3
"""Weekday of 1970-01-01, Monday being 0."""


class WallClock(ABC, Generic[T]):
    """The local time of every row of some traces.

    Attributes
    ----------
    traces
        The rows.
    local_ms
        Milliseconds since 1970-01-01 00:00 on the wall clock.
    """

    traces: T
    local_ms: Ints

    @cached_property
    def user(self) -> Ints:
        """User of each row."""
        return self.traces.user_index.astype(np.int64)

    @cached_property
    def day(self) -> Ints:
        """Local day of each row, since 1970-01-01."""
        return np.asarray(self.local_ms // DAY_MS)

    @property
    def time_of_day(self) -> Ints:
        """Milliseconds of each row since local midnight."""
        return np.asarray(self.local_ms % DAY_MS)

    @property
    def weekday(self) -> Ints:
        """Weekday of each row, Monday being 0; day 0 of traces without dates is a Monday."""
        return np.asarray((self.day + _THURSDAY) % 7)

    def period(self, name: str) -> Ints:
        """Return the first day of the day, week (from Monday) or month that each row is in; 0 for ``all``."""
        if name == "all":
            return np.zeros(len(self.day), np.int64)
        if name == "week":
            return self.day - self.weekday
        return self.month_of(self.day)[0] if name == "month" else self.day

    def month_of(self, day: Ints) -> tuple[Ints, Ints]:
        """Return the first and the last day of the month of each day."""
        month = day.astype("datetime64[D]").astype("datetime64[M]")
        first, after = (one.astype("datetime64[D]").astype(np.int64) for one in (month, month + 1))
        return first, after - 1

    @abstractmethod
    def cells(self, side_m: float) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the cell of each row in a world-wide grid, and which rows are in one."""

    @abstractmethod
    def keep(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows for which the mask is true, at their times."""

    @abstractmethod
    def at(self, local_ms: Ints, order: Floats | None = None, step_ms: int = 1) -> T:
        """Return the traces at other local times, each user's rows sorted by them.

        Parameters
        ----------
        order
            What rows of one time are sorted by; by default they stay as they were.
        step_ms
            What all the times are multiples of: nothing finer is left.
        """

    @abstractmethod
    def at_times_of(self, source: Ints, order: Floats) -> T:
        """Return the traces with each row at the time of another, sorted like `at`."""

    @abstractmethod
    def keep_times(self) -> T:
        """Return the traces at their times, as they may be released."""


class EventClock(WallClock[ObfuscatedTraces]):
    """The local time of events: to the second if it is known, else the beginning of the instant."""

    def __init__(self, traces: ObfuscatedTraces) -> None:
        self.traces = traces
        self.local_ms = exact_local_seconds(traces) * 1000

    def month_of(self, day: Ints) -> tuple[Ints, Ints]:
        """Return the first and the last day of the month, or of the 28 days where there are no dates."""
        if self.traces.clock.first_day is not None:
            return super().month_of(day)
        first = day - (day - (DAY_ZERO - EPOCH).days) % BLOCK_DAYS
        return first, first + BLOCK_DAYS - 1

    def cells(self, side_m: float) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the cell of the place of each event, of a set its first place; deleted ones are in none."""
        released = self.traces
        place = released.codes.astype(np.int64)
        several = released.is_set
        if several.any():
            place[several] = released.sets.members[released.sets.offsets[released.set_index[several]]]
        known = place >= 0
        key = np.zeros(len(place), np.int64)
        places = released.places
        if known.any():
            at_places = cell_keys(places.latitude, places.longitude, side_m)
            key[known] = at_places[place[known]]
        return key, known

    def keep(self, mask: NDArray[np.bool_]) -> Self:
        """Return some of the events."""
        return type(self)(self.traces.keep(mask))

    def at(self, local_ms: Ints, order: Floats | None = None, step_ms: int = 1) -> ObfuscatedTraces:
        """Return the events at other times.

        A time before the first instant of a day becomes that instant, and a later one the instant that it
        lies in. Timestamps move along, unless the times are multiples of the clock's instants, which then
        say all.
        """
        released, clock = self.traces, self.traces.clock
        first_day = ((clock.first_day or DAY_ZERO) - EPOCH).days
        day, second = np.divmod(local_ms // 1000, DAY_S)
        second = np.maximum(second, clock.start_s)
        number = np.minimum((second - clock.start_s) // clock.interval_s, clock.instants_per_day - 1)
        instants = (day - first_day) * clock.instants_per_day + number
        timestamps = released.timestamps
        interval_ms = clock.interval_s * 1000
        if step_ms % interval_ms == 0 and clock.start_s * 1000 % interval_ms == 0:
            timestamps = None
        if timestamps is not None:
            timestamps = timestamps + day * DAY_S + second - self.local_ms // 1000
        return self._sort_events(instants, timestamps, order)

    def at_times_of(self, source: Ints, order: Floats) -> ObfuscatedTraces:
        """Return each event at the instant and timestamp of another."""
        released = self.traces
        timestamps = None if released.timestamps is None else released.timestamps[source]
        return self._sort_events(released.instants[source].astype(np.int64), timestamps, order)

    def keep_times(self) -> ObfuscatedTraces:
        """Return the events as they are."""
        return self.traces

    def _sort_events(self, instants: Ints, timestamps: Ints | None, order: Floats | None) -> ObfuscatedTraces:
        released = self.traces
        keys = [key for key in (order, timestamps, instants, self.user) if key is not None]
        rows = np.lexsort(keys)
        # Whole days: times of day may have come from other days than the first and the last.
        length = released.clock.instants_per_day
        first, stop = released.span
        return released.replace(
            instants=instants[rows],
            codes=released.codes[rows],
            timestamps=None if timestamps is None else timestamps[rows],
            span=(first // length * length, -(-stop // length) * length),
        )


class PointClock(WallClock[GpsTraces]):
    """The local time of points: of one zone, or for each person of that at the median of their points.

    What it makes has one trajectory per person, all of the same name: the names, the order and the cuts of
    recordings would tell when points were recorded.
    """

    def __init__(self, traces: GpsTraces, zones: NDArray[np.str_], digits: int) -> None:
        self.traces = round_coordinates(traces, digits)
        self.zones, self.digits = zones, digits
        self.local_ms = self._apply_by_zone(local_seconds, traces.time_ms) * 1000 + traces.time_ms % 1000

    @classmethod
    def of(cls, traces: GpsTraces, timezone: str | None, digits: int) -> Self:
        """Take one zone for all, or look up that of each person, which does not depend on the others."""

        def guess_zone(user: int) -> str:
            points = slice(traces.offsets[user], traces.offsets[user + 1])
            if points.start == points.stop:
                return "UTC"
            latitude, longitude = np.median(traces.latitude[points]), np.median(traces.longitude[points])
            return guess_local_time(np.array([latitude]), np.array([longitude])).zone or "UTC"

        zones = [timezone or guess_zone(user) for user in range(traces.n_users)]
        return cls(traces, np.array(zones, np.str_), digits)

    def _apply_by_zone(self, work: Callable[[Ints, str], Ints], times: Ints) -> Ints:
        """Return what the work makes of the times of all rows, those of one zone after the other."""
        made = np.empty(len(times), np.int64)
        for zone in np.unique(self.zones):
            rows = (self.zones == zone)[self.user]
            made[rows] = work(times[rows], str(zone))
        return made

    def cells(self, side_m: float) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the cell of each point."""
        traces = self.traces
        return cell_keys(traces.latitude, traces.longitude, side_m), np.ones(len(traces), bool)

    def keep(self, mask: NDArray[np.bool_]) -> Self:
        """Return some of the points, in the zones that people have by all."""
        return type(self)(self.traces.keep(mask), self.zones, self.digits)

    def at(self, local_ms: Ints, order: Floats | None = None, step_ms: int = 1) -> GpsTraces:
        """Return the points at other times."""
        made = self._apply_by_zone(utc_ms, local_ms // 1000) + local_ms % 1000
        if step_ms == 1:
            # The way back is not unique in the hour that clocks show twice; what did not move stays.
            made = np.where(local_ms == self.local_ms, self.traces.time_ms, made)
        return self._sort_points(made, order)

    def at_times_of(self, source: Ints, order: Floats) -> GpsTraces:
        """Return each point at the time of another."""
        return self._sort_points(self.traces.time_ms[source], order)

    def keep_times(self) -> GpsTraces:
        """Return the points at their times, in one trajectory per person."""
        return self._sort_points(self.traces.time_ms, None)

    def _sort_points(self, time_ms: Ints, order: Floats | None) -> GpsTraces:
        traces = self.traces
        rows = np.lexsort([key for key in (order, time_ms, self.user) if key is not None])
        recorded = np.diff(traces.offsets) > 0
        return traces.replace(
            time_ms=time_ms[rows],
            latitude=traces.latitude[rows],
            longitude=traces.longitude[rows],
            trajectory=(np.cumsum(recorded) - 1)[self.user],
            trajectory_ids=np.zeros(int(recorded.sum()), np.int64),
        )
