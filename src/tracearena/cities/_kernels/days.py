"""Days of people at regular instants: they follow their plans, and every instant finds them somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.cities._kernels.choice import blank_memory, choose, draw
from tracearena.cities._kernels.persons import NOWHERE, WEEKLY, person, weekly_habits
from tracearena.cities._kernels.plans import AT_WORK, LONGEST_PLAN, plan_day
from tracearena.cities._kernels.trails import go, stay

DAY_MIN = 1440.0
_WARM_UP = 40
"""Visits before the first day, so that nobody starts without favourite places."""
_HOME_BETWEEN_MIN = 75.0
"""A pause longer than this (beyond the way) is spent at home."""
_SHORTEST_MIN = 10.0
"""Who comes late to work stays at least so long."""


@njit(cache=True, nogil=True)
def remembered(rng: Any, atlas: Any, habits: Any, who: Any, work: int) -> Any:
    """Return the places somebody knows from before the first day."""
    memory = blank_memory(1 if who.work == NOWHERE else 2)
    for i in range(_WARM_UP):
        choose(rng, atlas, draw(rng, habits.likes[who.way]), who.home if i % 2 else work, memory)
    return memory


@njit(cache=True, nogil=True)
def follow(
    rng: Any,
    atlas: Any,
    memory: Any,
    work: int,
    activity: Any,
    midnight: float,
    now: float,
    here: int,
    row: Any,
    i: int,
    minutes: Any,
) -> tuple[int, float, int]:
    """Go to one activity and stay; return the next instant, the time and the place."""
    start, length, venue = midnight + activity[0], activity[1], int(activity[3])
    if venue == NOWHERE:
        venue = choose(rng, atlas, int(activity[2]), here, memory)
    there = work if venue == AT_WORK else atlas.cell[venue]
    leave = max(now, start - atlas.minutes[here, there])
    i = stay(row, i, minutes, leave, here)
    i, now = go(row, i, minutes, atlas, leave, here, there)
    now = max(now + _SHORTEST_MIN, start + length) if venue == AT_WORK else now + length
    return stay(row, i, minutes, now, there), now, there


@njit(cache=True, nogil=True)
def live(
    rng: Any, atlas: Any, habits: Any, who: Any, weekdays: Any, wet: Any, minutes: Any, row: Any
) -> None:
    """Let one person live through all days and write where every instant finds her."""
    home = who.home
    work = home if who.work == NOWHERE else atlas.cell[who.work]
    weekly = (np.empty(WEEKLY, np.int64), np.empty(WEEKLY), np.empty(WEEKLY, np.int64))
    weekly_habits(rng, atlas, habits, who, weekly[0], weekly[1], weekly[2])
    memory = remembered(rng, atlas, habits, who, work)
    plan = np.empty((LONGEST_PLAN, 4))
    here, now, i = home, 0.0, 0
    for day in range(len(weekdays)):
        midnight = day * DAY_MIN
        for step in range(plan_day(rng, habits, who, weekly, weekdays[day], wet[day], plan)):
            start = midnight + plan[step, 0]
            if now >= start + plan[step, 1]:
                continue
            if here != home and start - now > atlas.minutes[here, home] + _HOME_BETWEEN_MIN:
                i, now = go(row, i, minutes, atlas, now, here, home)
                here = home
            i, now, here = follow(rng, atlas, memory, work, plan[step], midnight, now, here, row, i, minutes)
        i, now = go(row, i, minutes, atlas, now, here, home)
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
