"""Check-ins: bursts of events with gaps of days and weeks in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import blank_memory, choose, draw
from tracearena.cities._kernels.persons import NOWHERE, person
from tracearena.traces.clock import DAY_S

_BURST = 0.38
"""Probability that another check-in follows within the same burst."""
_GAP_TAIL = 1.1
"""Exponent of the heavy tail of the gaps between bursts."""
_LONGEST_GAP = 400.0
_AT_WORK = 0.25
_SAME_OUTING_S = 4 * 3600


@njit(cache=True, nogil=True)
def bursts(rng: Any, n: int) -> Any:
    """Cut n events into bursts and return the size of each."""
    sizes = np.zeros(n, np.int64)
    number = 0
    for i in range(n):
        if i > 0 and rng.random() >= _BURST:
            number += 1
        sizes[number] += 1
    return sizes[: number + 1]


@njit(cache=True, nogil=True)
def days_of_bursts(rng: Any, number: int, days: int) -> Any:
    """Spread bursts over the days so that the gaps between them have a heavy tail.

    The days are taken as a circle with a random start: no part of the time is favoured.
    """
    reached = np.empty(number)
    total, start = 0.0, rng.random()
    for i in range(number):
        total += min((1.0 - rng.random()) ** (-1 / _GAP_TAIL), _LONGEST_GAP)
        reached[i] = total
    return np.minimum((reached / total + start) % 1.0 * days, days - 1.0).astype(np.int64)


@njit(cache=True, nogil=True)
def moments(rng: Any, hours: Any, weekdays: Any, at: Any) -> None:
    """Fill in sorted seconds since day 0: bursts of events at the hours people go out."""
    sizes = bursts(rng, len(at))
    on = days_of_bursts(rng, len(sizes), len(weekdays))
    i = 0
    for burst in range(len(sizes)):
        weekend = int(weekdays[on[burst]] >= 5)
        second = 3600 * (draw(rng, hours[weekend]) + rng.random())
        for _ in range(sizes[burst]):
            at[i] = min(on[burst] * DAY_S + int(second), len(weekdays) * DAY_S - 1)
            second += 60 * np.exp(3.0 + 0.8 * rng.standard_normal())
            i += 1
    at.sort()


@njit(cache=True, nogil=True)
def whereabouts(who: Any, work: int, hour: int, weekend: bool) -> int:
    """Return the region from which somebody sets out at this hour."""
    return work if 9 <= hour < 19 and not weekend else who.home


@njit(cache=True, nogil=True)
def check_in(
    rng: Any, atlas: Any, who: Any, hours: Any, kinds: Any, weekdays: Any, at: Any, venues: Any
) -> None:
    """Write the moments and venues of one person's check-ins."""
    work = who.home if who.work == NOWHERE else atlas.cell[who.work]
    memory = blank_memory(0)
    moments(rng, hours, weekdays, at)
    here = who.home
    for i in range(len(at)):
        day, hour = at[i] // DAY_S, at[i] % DAY_S // 3600
        weekend = weekdays[day] >= 5
        if i == 0 or at[i] - at[i - 1] > _SAME_OUTING_S:
            here = whereabouts(who, work, hour, weekend)
        if who.work != NOWHERE and 8 <= hour < 18 and not weekend and rng.random() < _AT_WORK:
            venues[i] = who.work
        else:
            kind = draw(rng, kinds[int(weekend), hour])
            venues[i] = choose(rng, atlas, kind, here, memory)
        here = atlas.cell[venues[i]]


@njit(cache=True, nogil=True)
def check_in_all(
    rng: Any,
    atlas: Any,
    habits: Any,
    ways: Any,
    hours: Any,
    kinds: Any,
    weekdays: Any,
    offsets: Any,
    at: Any,
    venues: Any,
) -> None:
    """Fill the events of a block of people; those of person ``u`` are ``offsets[u]:offsets[u + 1]``."""
    for u in range(len(ways)):
        first, stop = offsets[u], offsets[u + 1]
        who = person(rng, atlas, habits, ways[u])
        check_in(rng, atlas, who, hours, kinds, weekdays, at[first:stop], venues[first:stop])
