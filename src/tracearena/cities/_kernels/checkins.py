"""Check-ins: bursts of events with gaps of days and weeks in between, in a rhythm of each person's own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import blank_memory, choose, draw
from tracearena.cities._kernels.persons import NOWHERE, person
from tracearena.traces.clock import DAY_S

_LONGEST_GAP = 400.0
_AT_WORK = 0.25
_SAME_OUTING_S = 4 * 3600
_PERIOD_DAYS = 28
_FAVOURITES = 3
"""Favourite hours of a person."""


class Rhythm(NamedTuple):
    """When somebody checks in.

    Attributes
    ----------
    hours
        Cumulative probabilities of the hour of an outing, for weekdays (row 0) and weekends (row 1).
    days
        Cumulative probabilities of its day.
    burst
        Probability that another check-in follows on the same outing.
    delay
        Typical logarithm of the seconds until that check-in.
    gap_tail
        Exponent of the heavy tail of the gaps between outings.
    """

    hours: Any
    days: Any
    burst: float
    delay: float
    gap_tail: float


@njit(cache=True, nogil=True)
def own_hours(rng: Any, hours: Any, variety: Any) -> Any:
    """Draw somebody's hours: the city's, tilted by waves of a day and half a day, and favourite hours."""
    own = np.empty_like(hours)
    waves = np.empty(4)
    for i in range(4):
        waves[i] = variety.hour_tilt * rng.standard_normal()
    for hour in range(24):
        angle = 2 * np.pi * (hour + 0.5) / 24
        day = waves[0] * np.cos(angle) + waves[1] * np.sin(angle)
        half_day = waves[2] * np.cos(2 * angle) + waves[3] * np.sin(2 * angle)
        own[:, hour] = hours[:, hour] * np.exp(day + half_day)
    for weekend in range(2):
        own[weekend] = np.cumsum(own[weekend] / own[weekend].sum())
    favourite = np.zeros_like(hours)
    for _ in range(_FAVOURITES):
        for weekend in range(2):
            favourite[weekend, draw(rng, own[weekend])] += 1.0 / _FAVOURITES
    for weekend in range(2):
        share = variety.favourite_hours
        own[weekend] = (1 - share) * own[weekend] + share * np.cumsum(favourite[weekend])
    return own


@njit(cache=True, nogil=True)
def own_days(rng: Any, weekdays: Any, variety: Any) -> Any:
    """Draw how somebody's outings are spread over the days: by weekday, and by how active the period is."""
    liked = np.empty(7)
    for i in range(7):
        liked[i] = np.exp(variety.weekday_spread * rng.standard_normal())
    days = np.empty(len(weekdays))
    fresh = np.sqrt(1 - variety.activity_memory**2)
    level, total = rng.standard_normal(), 0.0
    # Periods of different people begin on different days.
    until = int(rng.random() * _PERIOD_DAYS)
    active = np.exp(variety.activity_spread * level)
    for day in range(len(weekdays)):
        if day == until:
            level = variety.activity_memory * level + fresh * rng.standard_normal()
            active = np.exp(variety.activity_spread * level)
            until += _PERIOD_DAYS
        total += active * liked[weekdays[day]]
        days[day] = total
    return days / total


@njit(cache=True, nogil=True)
def own_rhythm(rng: Any, hours: Any, weekdays: Any, variety: Any) -> Rhythm:
    """Draw when somebody checks in."""
    odds = np.exp(variety.burst + variety.burst_spread * rng.standard_normal())
    delay = variety.delay + variety.delay_spread * rng.standard_normal()
    gap_tail = variety.gap_tail * np.exp(variety.gap_spread * rng.standard_normal())
    return Rhythm(
        own_hours(rng, hours, variety), own_days(rng, weekdays, variety), odds / (1 + odds), delay, gap_tail
    )


@njit(cache=True, nogil=True)
def bursts(rng: Any, burst: float, n: int) -> Any:
    """Cut n events into bursts and return the size of each."""
    sizes = np.zeros(n, np.int64)
    number = 0
    for i in range(n):
        if i > 0 and rng.random() >= burst:
            number += 1
        sizes[number] += 1
    return sizes[: number + 1]


@njit(cache=True, nogil=True)
def days_of_bursts(rng: Any, rhythm: Any, number: int) -> Any:
    """Spread bursts over the days so that the gaps between them have a heavy tail.

    The days are taken as a circle with a random start: no part of the time is favoured. Gaps are shares
    of somebody's activity, so they are shorter in her active times.
    """
    reached = np.empty(number)
    total, start = 0.0, rng.random()
    for i in range(number):
        total += min((1.0 - rng.random()) ** (-1 / rhythm.gap_tail), _LONGEST_GAP)
        reached[i] = total
    days = np.searchsorted(rhythm.days, (reached / total + start) % 1.0, side="right")
    return np.minimum(days, len(rhythm.days) - 1)


@njit(cache=True, nogil=True)
def moments(rng: Any, rhythm: Any, jitter: float, weekdays: Any, at: Any) -> None:
    """Fill in sorted seconds since day 0: bursts of events at the hours somebody goes out."""
    sizes = bursts(rng, rhythm.burst, len(at))
    on = days_of_bursts(rng, rhythm, len(sizes))
    i = 0
    for burst in range(len(sizes)):
        weekend = int(weekdays[on[burst]] >= 5)
        second = 3600 * (draw(rng, rhythm.hours[weekend]) + rng.random())
        for _ in range(sizes[burst]):
            at[i] = min(on[burst] * DAY_S + int(second), len(weekdays) * DAY_S - 1)
            second += np.exp(rhythm.delay + jitter * rng.standard_normal())
            i += 1
    at.sort()


@njit(cache=True, nogil=True)
def whereabouts(who: Any, work: int, hour: int, weekend: bool) -> int:
    """Return the region from which somebody sets out at this hour."""
    return work if 9 <= hour < 19 and not weekend else who.home


@njit(cache=True, nogil=True)
def check_in(rng: Any, atlas: Any, who: Any, customs: Any, weekdays: Any, at: Any, venues: Any) -> None:
    """Write the moments and venues of one person's check-ins."""
    work = who.home if who.work == NOWHERE else atlas.cell[who.work]
    memory = blank_memory(0)
    rhythm = own_rhythm(rng, customs.hours, weekdays, customs.variety)
    moments(rng, rhythm, customs.variety.delay_jitter, weekdays, at)
    here = who.home
    for i in range(len(at)):
        day, hour = at[i] // DAY_S, at[i] % DAY_S // 3600
        weekend = weekdays[day] >= 5
        if i == 0 or at[i] - at[i - 1] > _SAME_OUTING_S:
            here = whereabouts(who, work, hour, weekend)
        if who.work != NOWHERE and 8 <= hour < 18 and not weekend and rng.random() < _AT_WORK:
            venues[i] = who.work
        else:
            kind = draw(rng, customs.kinds[int(weekend), hour])
            venues[i] = choose(rng, atlas, kind, here, memory)
        here = atlas.cell[venues[i]]


@njit(cache=True, nogil=True)
def check_in_all(
    rng: Any,
    atlas: Any,
    habits: Any,
    customs: Any,
    ways: Any,
    weekdays: Any,
    offsets: Any,
    at: Any,
    venues: Any,
) -> None:
    """Fill the events of a block of people; those of person ``u`` are ``offsets[u]:offsets[u + 1]``."""
    for u in range(len(ways)):
        first, stop = offsets[u], offsets[u + 1]
        who = person(rng, atlas, habits, ways[u])
        check_in(rng, atlas, who, customs, weekdays, at[first:stop], venues[first:stop])
