"""Who somebody is: home, work, pace of life and weekly habits."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from tracearena.cities._kernels.choice import draw, explore, venue_in

NOWHERE = -1
WEEKLY = 4
"""Weekly habits of a person."""

COMMUTE_KM, COMMUTE_EXPONENT = 0.4, 1.25
"""Jobs at distance d are taken in proportion to (1 + d / COMMUTE_KM)^-COMMUTE_EXPONENT."""


class Person(NamedTuple):
    """One inhabitant.

    Attributes
    ----------
    way
        Archetype.
    home, work
        Region of the home; venue of the work, -1 without any.
    start
        Minute of the day at which work begins.
    pace
        Factor on the number of outings.
    lunch_out
        Share of working days with lunch away from work.
    rota
        Day of the week, 0 to 6, from which two free days are counted.
    """

    way: int
    home: int
    work: int
    start: float
    pace: float
    lunch_out: float
    rota: int


@njit(cache=True, nogil=True)
def work_of(rng: Any, atlas: Any, habits: Any, way: int, home: int) -> int:
    """Draw a workplace: jobs by their number, accepted the rarer the longer the way."""
    if habits.jobs[way, -1] == 0.0:
        return NOWHERE
    kind = draw(rng, habits.jobs[way])
    if atlas.drawn[kind, -1] == 0.0:
        return NOWHERE
    while True:
        cell = draw(rng, atlas.drawn[kind])
        dx, dy = atlas.x_km[home] - atlas.x_km[cell], atlas.y_km[home] - atlas.y_km[cell]
        if rng.random() < (1.0 + (dx * dx + dy * dy) ** 0.5 / COMMUTE_KM) ** -COMMUTE_EXPONENT:
            return venue_in(rng, atlas, kind, cell)


@njit(cache=True, nogil=True)
def person(rng: Any, atlas: Any, habits: Any, way: int) -> Person:
    """Draw one inhabitant who leads the given way of life."""
    home = draw(rng, atlas.homes)
    work = work_of(rng, atlas, habits, way, home)
    start = habits.start[way, 0] + habits.start[way, 1] * rng.standard_normal()
    pace = min(2.718281828459045 ** (0.45 * rng.standard_normal() - 0.1), 3.0)
    lunch_out = min(max(habits.lunch_out[way] + 0.25 * rng.standard_normal(), 0.0), 1.0)
    return Person(way, home, work, start, pace, lunch_out, int(rng.random() * 7))


@njit(cache=True, nogil=True)
def weekly_habits(rng: Any, atlas: Any, habits: Any, who: Any, day: Any, minute: Any, venue: Any) -> None:
    """Fill in what somebody does every week: the day, the time and the venue."""
    first, last = habits.window[who.way]
    for i in range(WEEKLY):
        day[i] = int(rng.random() * 7)
        evening = who.work != NOWHERE and habits.start[who.way, 0] < 900 and day[i] < 5
        minute[i] = 1110 + 90 * rng.random() if evening else first + (last - first) * rng.random()
        venue[i] = explore(rng, atlas, draw(rng, habits.likes[who.way]), who.home)
