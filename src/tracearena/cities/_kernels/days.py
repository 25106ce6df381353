"""Days of people at regular instants: plans, ways between places, and where each instant finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import MEMORY, choose, draw
from tracearena.cities._kernels.persons import NOWHERE, WEEKLY, person, weekly_habits

DAY_MIN = 1440.0
AT_WORK = -2
"""In a plan, the place where one works; NOWHERE leaves the choice to the moment."""
_PLAN = 24
_WARM_UP = 40
"""Visits before the first day, so that nobody starts without favourite places."""
_HOME_BETWEEN_MIN = 75.0
"""A pause longer than this (beyond the way) is spent at home."""
_FOOD, _ARTS, _PARK = 0, 3, 4


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
    if wet and kind == _PARK:
        kind = _ARTS
    length = habits.stay[kind] * np.exp(0.4 * rng.standard_normal())
    return add(plan, n, start, length, kind, NOWHERE)


@njit(cache=True, nogil=True)
def works(rng: Any, habits: Any, who: Any, weekday: int) -> bool:
    """Whether somebody goes to work on this day."""
    if who.work == NOWHERE or rng.random() < habits.absent[who.way]:
        return False
    if habits.work_days[who.way] == 1:
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
        n = add(plan, n, lunch, 25 + 20 * rng.random(), _FOOD, NOWHERE)
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


@njit(cache=True, nogil=True)
def stay(row: Any, i: int, minutes: Any, until: float, cell: int) -> int:
    """Write a stay up to a time and return the next instant."""
    while i < len(minutes) and minutes[i] < until:
        row[i] = cell
        i += 1
    return i


@njit(cache=True, nogil=True)
def travel(row: Any, i: int, minutes: Any, atlas: Any, leave: float, start: int, end: int) -> int:
    """Write the regions passed on the way from `start` to `end` and return the next instant."""
    arrive = leave + atlas.minutes[start, end]
    while i < len(minutes) and minutes[i] < arrive:
        cell = end
        while atlas.minutes[start, cell] > minutes[i] - leave:
            cell = atlas.previous[start, cell]
        row[i] = cell
        i += 1
    return i


@njit(cache=True, nogil=True)
def live(
    rng: Any, atlas: Any, habits: Any, who: Any, weekdays: Any, wet: Any, minutes: Any, row: Any
) -> None:
    """Let one person live through all days and write where every instant finds her."""
    home = who.home
    weekly = (np.empty(WEEKLY, np.int64), np.empty(WEEKLY), np.empty(WEEKLY, np.int64))
    weekly_habits(rng, atlas, habits, who, weekly[0], weekly[1], weekly[2])
    known, visits = np.empty(MEMORY, np.int32), np.empty(MEMORY, np.int32)
    others, n_known = 1 if who.work == NOWHERE else 2, 0
    work = home if who.work == NOWHERE else atlas.cell[who.work]
    for i in range(_WARM_UP):
        kind = draw(rng, habits.likes[who.way])
        _, n_known = choose(rng, atlas, kind, home if i % 2 else work, known, visits, n_known, others)
    plan = np.empty((_PLAN, 4))
    here, now, i = home, 0.0, 0
    for day in range(len(weekdays)):
        n = plan_day(rng, habits, who, weekly, weekdays[day], wet[day], plan)
        for step in range(n):
            start, length = day * DAY_MIN + plan[step, 0], plan[step, 1]
            if now >= start + length:
                continue
            if here != home and start - now > atlas.minutes[here, home] + _HOME_BETWEEN_MIN:
                i = travel(row, i, minutes, atlas, now, here, home)
                now += atlas.minutes[here, home]
                here = home
            venue = int(plan[step, 3])
            if venue == NOWHERE:
                kind = int(plan[step, 2])
                venue, n_known = choose(rng, atlas, kind, here, known, visits, n_known, others)
                there = atlas.cell[venue]
            else:
                there = work if venue == AT_WORK else atlas.cell[venue]
            leave = max(now, start - atlas.minutes[here, there])
            i = stay(row, i, minutes, leave, here)
            i = travel(row, i, minutes, atlas, leave, here, there)
            now = leave + atlas.minutes[here, there]
            now = max(now + 10, start + length) if venue == AT_WORK else now + length
            i = stay(row, i, minutes, now, there)
            here = there
        if here != home:
            i = travel(row, i, minutes, atlas, now, here, home)
            now += atlas.minutes[here, home]
            here = home
    stay(row, i, minutes, np.inf, home)


@njit(cache=True, nogil=True)
def live_all(
    rng: Any, atlas: Any, habits: Any, ways: Any, weekdays: Any, wet: Any, minutes: Any, table: Any
) -> None:
    """Fill a block of the users × instants table, user by user."""
    for u in range(len(table)):
        who = person(rng, atlas, habits, ways[u])
        live(rng, atlas, habits, who, weekdays, wet, minutes, table[u])
