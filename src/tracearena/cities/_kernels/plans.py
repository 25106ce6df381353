"""What somebody means to do on a day: work, lunch, outings, weekly habits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import draw
from tracearena.cities._kernels.persons import NOWHERE, WEEKLY
from tracearena.cities.people import ROTA
from tracearena.cities.venues import ARTS, FOOD, PARK

AT_WORK = -2
"""In a plan, the place where one works; NOWHERE leaves the choice to the moment."""
LONGEST_PLAN = 24


@njit(cache=True, nogil=True)
def poisson(rng: Any, mean: float) -> int:
    """Draw a small Poisson number."""
    limit, product, number = np.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        number += 1
    return number


@njit(cache=True, nogil=True)
def add(plan: Any, n: int, start: float, length: float, kind: int, venue: int) -> int:
    """Put one activity into the plan, in order of its start."""
    if n == len(plan):
        return n
    at = n
    while at > 0 and plan[at - 1, 0] > start:
        for field in range(4):
            plan[at, field] = plan[at - 1, field]
        at -= 1
    plan[at, 0], plan[at, 1], plan[at, 2], plan[at, 3] = start, length, kind, venue
    return n + 1


@njit(cache=True, nogil=True)
def add_outing(rng: Any, habits: Any, way: int, wet: bool, plan: Any, n: int, start: float) -> int:
    """Put an outing of a kind somebody likes into the plan; rain drives people indoors."""
    kind = draw(rng, habits.likes[way])
    if wet and kind == PARK:
        kind = ARTS
    length = habits.stay[kind] * np.exp(0.4 * rng.standard_normal())
    return add(plan, n, start, length, kind, NOWHERE)


@njit(cache=True, nogil=True)
def works(rng: Any, habits: Any, who: Any, weekday: int) -> bool:
    """Whether somebody goes to work on this day."""
    if who.work == NOWHERE or rng.random() < habits.absent[who.way]:
        return False
    if habits.work_days[who.way] == ROTA:
        return bool((weekday - who.rota) % 7 >= 2)
    return weekday < 5


@njit(cache=True, nogil=True)
def plan_work(rng: Any, habits: Any, who: Any, wet: bool, plan: Any, n: int) -> int:
    """Put work, lunch and what follows work into the plan."""
    start = who.start + habits.start[who.way, 2] * rng.standard_normal()
    end = start + habits.length[who.way] + 20 * rng.standard_normal()
    lunch = max(725 + 18 * rng.standard_normal(), start + 90)
    if lunch < end - 90 and rng.random() < who.lunch_out:
        n = add(plan, n, start, lunch - start, -1, AT_WORK)
        n = add(plan, n, lunch, 25 + 20 * rng.random(), FOOD, NOWHERE)
        n = add(plan, n, lunch + 60, end - lunch - 60, -1, AT_WORK)
    else:
        n = add(plan, n, start, end - start, -1, AT_WORK)
    for i in range(poisson(rng, habits.after_work[who.way] * who.pace)):
        n = add_outing(rng, habits, who.way, wet, plan, n, end + 5 + 70 * i)
    return n


@njit(cache=True, nogil=True)
def plan_day(rng: Any, habits: Any, who: Any, weekly: Any, weekday: int, wet: bool, plan: Any) -> int:
    """Fill the plan of one day and return the number of activities."""
    way, n = who.way, 0
    working = works(rng, habits, who, weekday)
    if working:
        n = plan_work(rng, habits, who, wet, plan, n)
    first, last = habits.window[way]
    rate = habits.outings[way, 0 if working else 1] * who.pace * (0.7 if wet else 1.0)
    for _ in range(poisson(rng, rate)):
        n = add_outing(rng, habits, way, wet, plan, n, first + (last - first) * rng.random())
    day, minute, venue = weekly
    for i in range(WEEKLY):
        if day[i] == weekday and rng.random() < 0.75:
            n = add(plan, n, minute[i] + 10 * rng.standard_normal(), 80 + 80 * rng.random(), -1, venue[i])
    return n
