"""Places and times of people at any precision, and their places at night and at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.data import AuditData, AuditRelease, Floats, Ints
from tracearena.audit.settings import Record
from tracearena.metrics.applications.homes import NIGHT, OFFICE_HOURS, homes_and_workplaces
from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces._arrays import unique_values
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import cell_rows
from tracearena.traces.row_table import EventTable
from tracearena.traces.time import EPOCH, event_local_seconds
from tracearena.traces.time import local_seconds as local_seconds_of

_NIGHTS = 0.5
"""Share of the people who must have events at night; otherwise a day's first and last hour stand for it."""


class Sightings(NamedTuple):
    """One row for each time that somebody is on record."""

    user: NDArray[np.int32]
    latitude: Floats
    longitude: Floats
    second: Ints
    n_users: int

    @classmethod
    def of(cls, published: AuditRelease) -> Sightings:
        """Take the GPS points, or the events at their places; one of a set lies in its middle."""
        points = published.points
        if points is not None:
            seconds = points.time_ms // 1000
            return cls(points.user_index, points.latitude, points.longitude, seconds, points.n_users)
        events = published.exact
        event, place, weight = events.pairs()
        told = np.flatnonzero(~events.is_deleted)
        latitude, longitude = (
            np.bincount(event, weight * degrees[place], events.n_events).astype(np.float64)[told]
            for degrees in (events.places.latitude, events.places.longitude)
        )
        seconds = event_local_seconds(events)[told]
        return cls(events.user_index[told], latitude, longitude, seconds, events.n_users)

    def cells(self, side_m: float) -> Ints:
        """Number the cell of each row, of a world-wide grid, from 0 on."""
        row, column = cell_rows(self.latitude, self.longitude, side_m)
        row -= row.min(initial=0)
        column -= column.min(initial=0)
        return np.asarray(row * (int(column.max(initial=0)) + 1) + column)

    def codes(self, cells: Ints, window_s: int) -> Ints:
        """Number the (cell, window) of each row."""
        window = self.second // window_s
        window -= window.min(initial=0)
        return np.asarray(cells * (int(window.max(initial=0)) + 1) + window)


class Spots(NamedTuple):
    """A position for each person, NaN if there is none; and the place, -1 without or for GPS points."""

    latitude: Floats
    longitude: Floats
    place: Ints

    @property
    def has_position(self) -> NDArray[np.bool_]:
        """Who has one."""
        return ~np.isnan(self.latitude)

    def take(self, at: Ints) -> Spots:
        """Return those of some people; nobody's (-1) is unknown."""
        latitude, longitude = (np.where(at >= 0, one[at], np.nan) for one in self[:2])
        return Spots(latitude, longitude, np.where(at >= 0, self.place[at], -1))


def find_key_spots(material: AuditData, published: AuditRelease) -> tuple[Spots, Spots]:
    """Return where each released person is at night and in working hours, as the release tells it."""
    if published.points is not None:
        return find_point_spots(published.points, material.zone)
    return find_usual_spots(published.exact)


def find_point_spots(points: GpsTraces, zone: str | None) -> tuple[Spots, Spots]:
    """Return the places of stays at night and in working hours."""
    found = homes_and_workplaces(points, timezone=zone)
    nothing = np.full(points.n_users, -1, np.int64)
    return (
        Spots(found.home_latitude, found.home_longitude, nothing),
        Spots(found.work_latitude, found.work_longitude, nothing),
    )


def find_usual_spots(events: ObfuscatedTraces) -> tuple[Spots, Spots]:
    """Return the places where each person is most often at night and in working hours."""
    event, place, weight = events.pairs()
    night = find_night_events(events.clock, events.instants, events.user_index, events.n_users)
    office = find_office_events(events)
    spots = [_find_usual(events, event, place, weight, mask) for mask in (night, office)]
    return spots[0], spots[1]


def select_day_points(
    points: GpsTraces, zone: str | None, chosen: EventTable, *, by_days: bool = True
) -> GpsTraces:
    """Return the points from the first to the last day of each user's chosen events.

    Where a file of one day was cut within it (not `by_days`), those from the first to the last instant.
    """
    clock = chosen.clock
    origin = 0 if clock.first_day is None else (clock.first_day - EPOCH).days
    second = local_seconds_of(points.time_ms, zone or "UTC") - origin * DAY_S
    unit = second // (DAY_S if by_days else round(clock.interval_s))
    units = clock.day_of(chosen.instants) if by_days else chosen.instants
    first, last = np.full(chosen.n_users, 2**31), np.full(chosen.n_users, -1)
    np.minimum.at(first, chosen.user_index, units)
    np.maximum.at(last, chosen.user_index, units)
    user = points.user_index
    return points.keep((unit >= first[user]) & (unit <= last[user]))


def find_night_events(
    clock: Clock, instants: NDArray[np.int32], user: NDArray[np.int32], n_users: int
) -> NDArray[np.bool_]:
    """Return which events are at night, from 20 to 8 o'clock.

    Where most people have none (a day from 8 to 18 o'clock), those of the first and last hour of the day.
    """
    second = clock.second_of_day(instants)
    night = (second >= NIGHT[0] * 3600) | (second < NIGHT[1] * 3600)
    people = len(unique_values(user))
    if len(unique_values(user[night])) >= _NIGHTS * people:
        return np.asarray(night)
    span = max(round(3600 / clock.interval_s), 1)
    time = clock.time_of_day(instants)
    return np.asarray((time < span) | (time >= clock.instants_per_day - span))


def find_office_events(events: EventTable) -> NDArray[np.bool_]:
    """Return which events are in working hours, on weekdays where dates are known."""
    second = events.clock.second_of_day(events.instants)
    office = (second >= OFFICE_HOURS[0] * 3600) & (second < OFFICE_HOURS[1] * 3600)
    if events.clock.first_day is None:
        return np.asarray(office)
    weekday = (event_local_seconds(events) // DAY_S + 3) % 7
    return np.asarray(office & (weekday < 5))


def _find_usual(
    events: ObfuscatedTraces, event: Ints, place: NDArray[np.int32], weight: Floats, mask: NDArray[np.bool_]
) -> Spots:
    """Return the place where each person is most often; of equals the first."""
    chosen = mask[event]
    width = max(len(events.places), 1)
    keys = events.user_index[event[chosen]].astype(np.int64) * width + place[chosen]
    cells, inverse = np.unique(keys, return_inverse=True)
    amount = np.bincount(inverse, weight[chosen], len(cells))
    user, spot = np.divmod(cells, width)
    order = np.lexsort((-spot, amount.round(9), user))
    usual = np.full(events.n_users, -1, np.int64)
    usual[user[order]] = spot[order]
    return make_spots(usual, events.places)


def make_spots(place: Ints, places: Places) -> Spots:
    """Return places, -1 for none, as spots."""
    known = place >= 0
    latitude, longitude = np.full((2, len(place)), np.nan)
    latitude[known], longitude[known] = places.latitude[place[known]], places.longitude[place[known]]
    return Spots(latitude, longitude, place)


# Three people's weeks as an attacker sees them, if the owner asks for them.

WHO = ("most exposed", "median", "safest")


@dataclass(frozen=True)
class Week(Record):
    """What is released of one person's first week.

    Attributes
    ----------
    who
        One of `WHO`.
    exposure
        How surely one sighting of the person leads to her: the mean of 1 over the people who were at the
        same place at the same instant.
    latitude, longitude, events
        The released places, and how often each is.
    """

    who: str
    exposure: float
    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    events: tuple[int, ...]


def select_weeks(material: AuditData, published: AuditRelease) -> tuple[Week, ...]:
    """Choose three people who are released by their exposure, and show their places."""
    exposure = compute_exposures(material.exact)
    there = np.flatnonzero((published.at >= 0) & np.isfinite(exposure))
    if len(there) < len(WHO):
        return ()
    ranked = there[np.argsort(-exposure[there], kind="stable")]
    chosen = (ranked[0], ranked[len(ranked) // 2], ranked[-1])
    weeks = []
    for who, user in zip(WHO, chosen, strict=True):
        own = published.exact.take_users(published.at[[user]])
        if len(own):
            day = own.clock.day_of(own.instants)
            own = own.keep(day < int(day.min()) + 7)
        place, counts = np.unique(own.pairs().place, return_counts=True)
        latitude, longitude = (
            tuple(one[place].round(5).tolist()) for one in (own.places.latitude, own.places.longitude)
        )
        weeks.append(Week(who, float(exposure[user]), latitude, longitude, tuple(counts.tolist())))
    return tuple(weeks)


def compute_exposures(traces: Traces) -> NDArray[np.float64]:
    """Return each person's mean of 1 over the people at the same place and instant; NaN without events."""
    width = max(len(traces.places), 1)
    spot = traces.instants.astype(np.int64) * width + traces.place_index
    _, inverse = np.unique(spot, return_inverse=True)
    pairs = unique_values(inverse.astype(np.int64) * max(traces.n_users, 1) + traces.user_index)
    people = np.bincount(pairs // max(traces.n_users, 1), minlength=int(inverse.max(initial=-1)) + 1)
    with np.errstate(invalid="ignore"):
        sums = np.bincount(traces.user_index, 1 / people[inverse], traces.n_users)
        return np.asarray(sums / np.diff(traces.offsets))


# People per place, without groups smaller than the owner allows.


@dataclass(frozen=True)
class Crowd(Record):
    """How many people were at each place.

    Attributes
    ----------
    latitude, longitude, people
        Of places with at least `smallest_group` people.
    hidden
        Places with fewer people, which are not listed.
    smallest_group
        The limit.
    """

    latitude: tuple[float, ...]
    longitude: tuple[float, ...]
    people: tuple[int, ...]
    hidden: int
    smallest_group: int

    def places(self) -> Places:
        """Return the places listed."""
        return Places(list(self.latitude), list(self.longitude))


def count_crowds(traces: Traces, smallest_group: int) -> Crowd:
    """Count different people at every place, of a grid with cells or at venues."""
    _, place, _ = traces.visit_counts()
    people = np.bincount(place, minlength=len(traces.places))
    shown = people >= smallest_group
    return Crowd(
        latitude=tuple(traces.places.latitude[shown].round(5).tolist()),
        longitude=tuple(traces.places.longitude[shown].round(5).tolist()),
        people=tuple(people[shown].tolist()),
        hidden=int(((people > 0) & ~shown).sum()),
        smallest_group=smallest_group,
    )
