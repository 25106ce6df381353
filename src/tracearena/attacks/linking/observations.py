"""The rows that a linker compares: who, when and where, as flat columns for any kind of traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import Floats, Ints, Mask
from tracearena.errors import DataError
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, cell_keys, metres_per_degree
from tracearena.traces.time import exact_local_seconds, guess_zone, local_seconds

NO_PLACE = -1
"""The place of a row that has coordinates only, or nothing at all."""

MOST_ROWS = 1_000_000
"""Of more GPS points only some days of each user are compared (`thin_points`)."""

_ABOVE_ALL_KEYS = np.int64(2**56)


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of traces, sorted by user and time.

    Attributes
    ----------
    n_users
        Users are numbered from 0; some may have no rows.
    user
        User of each row.
    second
        Local time, in seconds since 1970-01-01.
    millisecond
        Milliseconds of the time.
    latitude, longitude
        Degrees; NaN for an event whose place was deleted. An event that was generalised to several places is
        at their mean.
    place
        Number of the place, the set of places, or `NO_PLACE`.
    weight
        Weight of each row.
    members
        Rows and single places of generalised events, with their weights (`by_member`); None if every event
        has one place.
    is_gps
        Whether the rows are points of receivers rather than events at places.
    """

    n_users: int
    user: Ints
    second: Ints
    millisecond: NDArray[np.int16]
    latitude: Floats
    longitude: Floats
    place: Ints
    weight: Floats
    members: Observations | None = None
    is_gps: bool = False

    @classmethod
    def of(cls, traces: Traces | ObfuscatedTraces | GpsTraces, zone: str | None = None) -> Observations:
        """Build from traces of any kind; `zone` is the time zone of GPS points, guessed if None."""
        if isinstance(traces, GpsTraces):
            return _observe_points(traces, zone)
        if isinstance(traces, Traces):
            return _observe_events(traces, traces.place_index.astype(np.int64))
        return _observe_release(traces)

    def __len__(self) -> int:
        return len(self.user)

    def keep(self, chosen: Any) -> Observations:
        """Return some of the rows, by a mask."""
        mask = np.asarray(chosen, bool)
        columns = ("user", "second", "millisecond", "latitude", "longitude", "place", "weight")
        return replace(self, members=None, **{name: getattr(self, name)[mask] for name in columns})

    def take_users(self, users: Any) -> Observations:
        """Return the rows of some users, who are numbered from 0 in the order given."""
        chosen = np.asarray(users, np.int64)
        lengths = np.diff(self.offsets)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.offsets[:-1][chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        columns = ("second", "millisecond", "latitude", "longitude", "place", "weight")
        members = None if self.members is None else self.members.take_users(chosen)
        return replace(
            self,
            n_users=len(chosen),
            user=np.repeat(np.arange(len(chosen)), lengths),
            members=members,
            **{name: getattr(self, name)[rows] for name in columns},
        )

    def between(self, first_day: int, stop_day: int) -> Observations:
        """Return the rows from one day up to but not including another."""
        inside = (self.day >= first_day) & (self.day < stop_day)
        members = None if self.members is None else self.members.between(first_day, stop_day)
        return replace(self.keep(inside), members=members)

    @property
    def by_member(self) -> Observations:
        """The same rows, with one row per place of a generalised event and the weight divided among them."""
        return self if self.members is None else self.members

    @cached_property
    def offsets(self) -> Ints:
        """Index of the first row of each user, and the number of rows as last value."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1)).astype(np.int64)

    @cached_property
    def counts(self) -> Ints:
        """Number of rows of each user."""
        return np.diff(self.offsets)

    @cached_property
    def day(self) -> Ints:
        """Day of each row, counted from 1970-01-01."""
        return np.asarray(self.second // DAY_S)

    @cached_property
    def second_of_day(self) -> Ints:
        """Seconds since midnight."""
        return np.asarray(self.second - self.day * DAY_S)

    @cached_property
    def hour(self) -> Ints:
        """Hour of the day."""
        return np.asarray(self.second_of_day // 3600)

    @cached_property
    def weekday(self) -> Ints:
        """Day of the week, Monday is 0."""
        return np.asarray((self.day + 3) % 7)

    @cached_property
    def is_weekend(self) -> Ints:
        """1 on Saturdays and Sundays."""
        return (self.weekday >= 5).astype(np.int64)

    @cached_property
    def is_first(self) -> Mask:
        """Whether a row is the first of its user."""
        first = np.ones(len(self), bool)
        first[1:] = self.user[1:] != self.user[:-1]
        return first

    @cached_property
    def interval_s(self) -> Ints:
        """Seconds since the previous row of the user; -1 for the first row."""
        interval = np.full(len(self), -1, np.int64)
        interval[1:] = np.diff(self.second)
        interval[self.is_first] = -1
        return interval

    @cached_property
    def step_m(self) -> Floats:
        """Metres from the previous row of the user; NaN for the first row, and if a place is missing."""
        step = np.full(len(self), np.nan)
        if len(self) > 1:
            across = metres_per_degree(self.latitude[1:])[1]
            north = np.diff(self.latitude) * MIDDLE_DEGREE_M
            east = np.diff(self.longitude) * across
            step[1:] = np.hypot(north, east)
        step[self.is_first] = np.nan
        return step

    @cached_property
    def begins_day(self) -> Mask:
        """Whether a row is the first of its user on a day."""
        begins = self.is_first.copy()
        begins[1:] |= self.day[1:] != self.day[:-1]
        return begins

    @cached_property
    def ends_day(self) -> Mask:
        """Whether a row is the last of its user on a day."""
        ends = np.ones(len(self), bool)
        ends[:-1] = self.begins_day[1:]
        return ends

    def cell(self, side_m: float) -> Ints:
        """Return the number of the square cell of each row; -1 if its place is missing."""
        cells: dict[float, Ints] = self.__dict__.setdefault("_cells", {})
        if side_m not in cells:
            known = np.isfinite(self.latitude)
            latitude, longitude = (np.where(known, one, 0.0) for one in (self.latitude, self.longitude))
            cells[side_m] = np.where(known, cell_keys(latitude, longitude, side_m) + _ABOVE_ALL_KEYS, -1)
        return cells[side_m]

    def per_user(self, values: Any) -> Floats:
        """Return the weighted mean of the values for each user; NaN if a user has none."""
        values = np.asarray(values, np.float64)
        known = np.isfinite(values)
        weight = np.where(known, self.weight, 0.0)
        sums = np.bincount(self.user, weight * np.where(known, values, 0.0), self.n_users)
        total = np.bincount(self.user, weight, self.n_users)
        mean = np.full(self.n_users, np.nan)
        np.divide(sums, total, out=mean, where=total > 0)
        return mean


def _observe_points(points: GpsTraces, zone: str | None) -> Observations:
    if zone is None:
        guess = guess_zone(points.latitude, points.longitude)
        zone = "UTC" if guess is None else guess.name
    return Observations(
        n_users=points.n_users,
        user=points.user_index.astype(np.int64),
        second=local_seconds(points.time_ms, zone),
        millisecond=(points.time_ms % 1000).astype(np.int16),
        latitude=points.latitude,
        longitude=points.longitude,
        place=np.full(len(points), NO_PLACE, np.int64),
        weight=np.ones(len(points)),
        is_gps=True,
    )


def _observe_events(events: Traces | ObfuscatedTraces, place: Ints) -> Observations:
    known = place >= 0
    at = np.where(known, place, 0)
    n = len(events.places)
    latitude = np.where(known, events.places.latitude[at], np.nan) if n else np.full(len(place), np.nan)
    longitude = np.where(known, events.places.longitude[at], np.nan) if n else np.full(len(place), np.nan)
    return Observations(
        n_users=events.n_users,
        user=events.user_index.astype(np.int64),
        second=exact_local_seconds(events),
        millisecond=np.zeros(len(place), np.int16),
        latitude=latitude,
        longitude=longitude,
        place=np.where(known, place, NO_PLACE),
        weight=np.ones(len(place)),
    )


def _observe_release(released: ObfuscatedTraces) -> Observations:
    single = np.where(released.is_single, released.codes, -1).astype(np.int64)
    rows = _observe_events(released, single)
    if not released.is_set.any():
        return rows
    event, place, weight = released.pairs()
    latitude, longitude = rows.latitude.copy(), rows.longitude.copy()
    several = released.is_set
    for degrees, of_places in ((latitude, released.places.latitude), (longitude, released.places.longitude)):
        middle = np.bincount(event, weight * of_places[place], len(released))
        degrees[several] = middle[several]
    number = rows.place.copy()
    number[several] = len(released.places) + released.set_index[several]
    members = Observations(
        n_users=rows.n_users,
        user=rows.user[event],
        second=rows.second[event],
        millisecond=rows.millisecond[event],
        latitude=released.places.latitude[place],
        longitude=released.places.longitude[place],
        place=place.astype(np.int64),
        weight=weight,
    )
    return replace(rows, latitude=latitude, longitude=longitude, place=number, members=members)


def find_common_cut(draws: Sequence[Observations]) -> int | None:
    """Return the day that leaves the most people on both sides of it; None where no day does.

    Of equal days the one nearest to the middle row is taken.
    """
    rows = draws[0]
    if not len(rows):
        return None
    first = np.full(rows.n_users, np.iinfo(np.int64).max)
    last = np.full(rows.n_users, np.iinfo(np.int64).min)
    there = rows.counts > 0
    first[there] = rows.day[rows.offsets[:-1][there]]
    last[there] = rows.day[rows.offsets[1:][there] - 1]
    several = there & (first < last)
    if not several.any():
        return None
    return find_best_cut(first[several], last[several], float(np.median(rows.day)))


def find_best_cut(first: Ints, last: Ints, middle: float) -> int:
    """Return the day that leaves the most people on both sides of it, by their first and last days.

    Of equal days the one nearest to `middle` is taken.
    """
    low = int(first.min())
    change = np.zeros(int(last.max()) - low + 2, np.int64)
    np.add.at(change, first + 1 - low, 1)
    np.add.at(change, last + 1 - low, -1)
    people = np.cumsum(change)
    best = np.flatnonzero(people == people.max())
    return int(best[np.argmin(np.abs(best - (middle - low + 0.5)))]) + low


def thin_points(points: GpsTraces, rng: np.random.Generator, most: int = MOST_ROWS) -> GpsTraces:
    """Return the points of some days of each user, drawn at random, if there are more than `most` in all.

    Days stay whole, so that intervals and moves stay what they are; they begin at midnight by the sun, which
    is near enough. Everybody keeps the first and the last day.
    """
    if len(points) <= most:
        return points
    sun_ms = round(float(np.median(points.longitude)) / 15) * 3_600_000
    day = (points.time_ms + sun_ms) // (DAY_S * 1000)
    begins = np.ones(len(points), bool)
    begins[1:] = (np.diff(day) != 0) | (np.diff(points.user_index) != 0)
    block = np.cumsum(begins) - 1
    kept = rng.random(int(block[-1]) + 1) < most / len(points)
    there = np.diff(points.offsets) > 0
    kept[block[points.offsets[:-1][there]]] = True
    kept[block[points.offsets[1:][there] - 1]] = True
    return points.keep(kept[block])


def check_same_kind(known: Observations, seen: Observations) -> None:
    """Refuse to compare points of receivers with events at places."""
    if known.is_gps != seen.is_gps:
        raise DataError(
            "one of the two has GPS points and the other has events at places: both must be of one kind"
        )
