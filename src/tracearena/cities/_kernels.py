"""Kernels of the simulated city: check-ins, the choice of venues, days of people, and shifts of vehicles.

`atlas` is an `Atlas` (tables of regions and venues), `habits` an `ArchetypeTable`, `who` an `Inhabitant`,
`customs` a `CheckinCustoms`, `variety` a `Variety`, `rhythm` a `CheckinTiming`, `memory` a `Memory` and
`duty` a `Duty`; `rng` is the generator of the block, from which everything is drawn in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tracearena.cities.city import ARTS, FOOD, PARK
from tracearena.cities.people import ROTA
from tracearena.traces.clock import DAY_S

# Check-ins: bursts of events with heavy-tailed gaps between them. `hours` is weekend × hour, the
# probability of the hour of an outing; `weekdays` has the weekday of each day; `at` gets seconds since day 0,
# and `venues` where each check-in is.

_LONGEST_GAP = 400.0
_AT_WORK = 0.25
_SAME_OUTING_S = 4 * 3600
_PERIOD_DAYS = 28
_FAVOURITES = 3
"""Favourite hours of a person."""


class CheckinTiming(NamedTuple):
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
def draw_person_hours(rng: Any, hours: Any, variety: Any) -> Any:
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
            favourite[weekend, draw_index(rng, own[weekend])] += 1.0 / _FAVOURITES
    for weekend in range(2):
        share = variety.favourite_hours
        own[weekend] = (1 - share) * own[weekend] + share * np.cumsum(favourite[weekend])
    return own


@njit(cache=True, nogil=True)
def draw_day_weights(rng: Any, weekdays: Any, variety: Any) -> Any:
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
def draw_timing(rng: Any, hours: Any, weekdays: Any, variety: Any) -> CheckinTiming:
    """Draw when somebody checks in."""
    odds = np.exp(variety.burst + variety.burst_spread * rng.standard_normal())
    delay = variety.delay + variety.delay_spread * rng.standard_normal()
    gap_tail = variety.gap_tail * np.exp(variety.gap_spread * rng.standard_normal())
    return CheckinTiming(
        draw_person_hours(rng, hours, variety),
        draw_day_weights(rng, weekdays, variety),
        odds / (1 + odds),
        delay,
        gap_tail,
    )


@njit(cache=True, nogil=True)
def draw_burst_sizes(rng: Any, burst: float, n: int) -> Any:
    """Cut n events into bursts and return the size of each."""
    sizes = np.zeros(n, np.int64)
    number = 0
    for i in range(n):
        if i > 0 and rng.random() >= burst:
            number += 1
        sizes[number] += 1
    return sizes[: number + 1]


@njit(cache=True, nogil=True)
def draw_burst_days(rng: Any, rhythm: Any, number: int) -> Any:
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
def draw_moments(rng: Any, rhythm: Any, jitter: float, weekdays: Any, at: Any) -> None:
    """Fill in sorted seconds since day 0: bursts of events at the hours somebody goes out."""
    sizes = draw_burst_sizes(rng, rhythm.burst, len(at))
    on = draw_burst_days(rng, rhythm, len(sizes))
    i = 0
    for burst in range(len(sizes)):
        weekend = int(weekdays[on[burst]] >= 5)
        second = 3600 * (draw_index(rng, rhythm.hours[weekend]) + rng.random())
        for _ in range(sizes[burst]):
            at[i] = min(on[burst] * DAY_S + int(second), len(weekdays) * DAY_S - 1)
            second += np.exp(rhythm.delay + jitter * rng.standard_normal())
            i += 1
    at.sort()


@njit(cache=True, nogil=True)
def find_start_region(who: Any, work: int, hour: int, weekend: bool) -> int:
    """Return the region from which somebody sets out at this hour."""
    return work if 9 <= hour < 19 and not weekend else who.home


@njit(cache=True, nogil=True)
def check_in(rng: Any, atlas: Any, who: Any, customs: Any, weekdays: Any, at: Any, venues: Any) -> None:
    """Write the moments and venues of one person's check-ins."""
    work = who.home if who.work == NOWHERE else atlas.cell[who.work]
    memory = new_memory(0)
    rhythm = draw_timing(rng, customs.hours, weekdays, customs.variety)
    draw_moments(rng, rhythm, customs.variety.delay_jitter, weekdays, at)
    here = who.home
    for i in range(len(at)):
        day, hour = at[i] // DAY_S, at[i] % DAY_S // 3600
        weekend = weekdays[day] >= 5
        if i == 0 or at[i] - at[i - 1] > _SAME_OUTING_S:
            here = find_start_region(who, work, hour, weekend)
        if who.work != NOWHERE and 8 <= hour < 18 and not weekend and rng.random() < _AT_WORK:
            venues[i] = who.work
        else:
            kind = draw_index(rng, customs.kinds[int(weekend), hour])
            venues[i] = choose_venue(rng, atlas, kind, here, memory)
        here = atlas.cell[venues[i]]


@njit(cache=True, nogil=True)
def check_in_all(
    rng: Any, atlas: Any, habits: Any, customs: Any, ways: Any, weekdays: Any, offsets: Any, at: Any,
    venues: Any,
) -> None:  # fmt: skip
    """Fill the events of a block of people; those of person ``u`` are ``offsets[u]:offsets[u + 1]``."""
    for u in range(len(ways)):
        first, stop = offsets[u], offsets[u + 1]
        who = draw_inhabitant(rng, atlas, habits, ways[u])
        check_in(rng, atlas, who, customs, weekdays, at[first:stop], venues[first:stop])


# Where to go next: exploration and preferential return. A new venue has probability ρ S^-γ after S places;
# otherwise a known one is drawn ∝ visits so far / (1 + (travel time / COMFORT_MIN)²).

RHO, GAMMA = 0.6, 0.21
"""P(new place) = ρ S^-γ after S places; Song et al. 2010 measured these."""
MEMORY = 1024
"""Places that a person remembers; nobody gets near it within two years."""
COMFORT_MIN = 12.0
"""Minutes of travel at which a known place loses half of its weight."""
_TRIES = 4


class Memory(NamedTuple):
    """The venues that somebody knows, with room for one more to consider.

    Attributes
    ----------
    known, visits
        The venues, and how often each was visited; the first `size` count.
    size
        How many they are (one value).
    others
        How many places somebody knows besides, such as home and work (one value).
    """

    known: Any
    visits: Any
    size: Any
    others: Any


@njit(cache=True, nogil=True)
def new_memory(others: int) -> Memory:
    """Return the memory of somebody who knows nothing but `others` places."""
    known, visits = np.zeros(MEMORY + 1, np.int32), np.zeros(MEMORY + 1, np.int32)
    return Memory(known, visits, np.zeros(1, np.int64), np.full(1, others))


@njit(cache=True, nogil=True)
def draw_index(rng: Any, cumulative: Any) -> int:
    """Draw an index with the cumulative probabilities given."""
    target, low, high = rng.random(), 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def draw_venue(rng: Any, atlas: Any, kind: int, cell: int) -> int:
    """Draw a venue of one kind in one region, which must have some."""
    group = kind * len(atlas.x_km) + cell
    first, stop = int(atlas.first[group]), int(atlas.first[group + 1])
    target = rng.random() * atlas.cumulative[stop - 1]
    while first < stop - 1 and atlas.cumulative[first] <= target:
        first += 1
    return first


@njit(cache=True, nogil=True)
def explore(rng: Any, atlas: Any, kind: int, here: int) -> int:
    """Draw a venue of one kind by distance from here and attractiveness."""
    return draw_venue(rng, atlas, kind, draw_index(rng, atlas.reach[kind, here]))


@njit(cache=True, nogil=True)
def return_to(rng: Any, atlas: Any, kind: int, here: int, memory: Any) -> int:
    """Draw one of the known venues of a kind, by visits so far and travel time; -1 without any."""
    total = 0.0
    for i in range(memory.size[0]):
        if atlas.kind[memory.known[i]] == kind:
            total += weigh_venue(atlas, here, memory, i)
    target = rng.random() * total
    chosen = -1
    for i in range(memory.size[0]):
        if atlas.kind[memory.known[i]] == kind:
            chosen = i
            target -= weigh_venue(atlas, here, memory, i)
            if target < 0:
                break
    return chosen


@njit(cache=True, nogil=True)
def weigh_venue(atlas: Any, here: int, memory: Any, i: int) -> float:
    """Return the weight of a known venue for somebody who is here."""
    far = atlas.minutes[here, atlas.cell[memory.known[i]]] / COMFORT_MIN
    return float(memory.visits[i] / (1.0 + far * far))


@njit(cache=True, nogil=True)
def discover(rng: Any, atlas: Any, kind: int, here: int, memory: Any) -> int:
    """Explore until a venue is new, a few times at most; return its place in the memory or the end of it."""
    n, at = memory.size[0], 0
    for _ in range(_TRIES):
        venue = explore(rng, atlas, kind, here)
        at = 0
        while at < n and memory.known[at] != venue:
            at += 1
        memory.known[n] = venue
        if at == n:
            break
    return at


@njit(cache=True, nogil=True)
def choose_venue(rng: Any, atlas: Any, kind: int, here: int, memory: Any) -> int:
    """Choose a venue of one kind by exploration or preferential return, and remember the visit."""
    n, at = memory.size[0], -1
    if rng.random() >= RHO * max(n + memory.others[0], 1.0) ** -GAMMA or n == MEMORY:
        at = return_to(rng, atlas, kind, here, memory)
    if at < 0:
        at = discover(rng, atlas, kind, here, memory)
    if at == n:
        memory.visits[n] = 0
        memory.size[0] = min(n + 1, MEMORY)
    memory.visits[at] += 1
    return int(memory.known[at])


# Days of people at regular instants. `minutes` are the instants in minutes since the first midnight, and
# `row` gets the region in which each of them finds the person; `table` has the rows of all. `wet` says on
# which days it rains, and `ways` has the way of life of each person.

DAY_MIN = 1440.0
_WARM_UP = 40
"""Visits before the first day, so that nobody starts without favourite places."""
_HOME_BETWEEN_MIN = 75.0
"""A pause longer than this (beyond the way) is spent at home."""
_SHORTEST_MIN = 10.0
"""Somebody who comes late to work stays at least this long."""


@njit(cache=True, nogil=True)
def build_memory(rng: Any, atlas: Any, habits: Any, who: Any, work: int) -> Any:
    """Return the places somebody knows from before the first day."""
    memory = new_memory(1 if who.work == NOWHERE else 2)
    for i in range(_WARM_UP):
        choose_venue(rng, atlas, draw_index(rng, habits.likes[who.way]), who.home if i % 2 else work, memory)
    return memory


@njit(cache=True, nogil=True)
def follow_activity(
    rng: Any, atlas: Any, memory: Any, work: int, activity: Any, midnight: float, now: float, here: int,
    row: Any, i: int, minutes: Any,
) -> tuple[int, float, int]:  # fmt: skip
    """Go to one activity and stay; return the next instant, the time and the place."""
    start, length, venue = midnight + activity[0], activity[1], int(activity[3])
    if venue == NOWHERE:
        venue = choose_venue(rng, atlas, int(activity[2]), here, memory)
    there = work if venue == AT_WORK else atlas.cell[venue]
    leave = max(now, start - atlas.minutes[here, there])
    i = write_stay(row, i, minutes, leave, here)
    i, now = write_trip(row, i, minutes, atlas, leave, here, there)
    now = max(now + _SHORTEST_MIN, start + length) if venue == AT_WORK else now + length
    return write_stay(row, i, minutes, now, there), now, there


@njit(cache=True, nogil=True)
def simulate_days(
    rng: Any, atlas: Any, habits: Any, who: Any, weekdays: Any, wet: Any, minutes: Any, row: Any
) -> None:
    """Let one person live through all days and write where every instant finds her."""
    home = who.home
    work = home if who.work == NOWHERE else atlas.cell[who.work]
    weekly = (np.empty(WEEKLY, np.int64), np.empty(WEEKLY), np.empty(WEEKLY, np.int64))
    draw_weekly_habits(rng, atlas, habits, who, weekly[0], weekly[1], weekly[2])
    memory = build_memory(rng, atlas, habits, who, work)
    plan = np.empty((LONGEST_PLAN, 4))
    here, now, i = home, 0.0, 0
    for day in range(len(weekdays)):
        midnight = day * DAY_MIN
        for step in range(plan_day(rng, habits, who, weekly, weekdays[day], wet[day], plan)):
            start = midnight + plan[step, 0]
            if now >= start + plan[step, 1]:
                continue
            if here != home and start - now > atlas.minutes[here, home] + _HOME_BETWEEN_MIN:
                i, now = write_trip(row, i, minutes, atlas, now, here, home)
                here = home
            i, now, here = follow_activity(
                rng, atlas, memory, work, plan[step], midnight, now, here, row, i, minutes
            )
        i, now = write_trip(row, i, minutes, atlas, now, here, home)
        here = home
    write_stay(row, i, minutes, np.inf, home)


@njit(cache=True, nogil=True)
def simulate_all_days(
    rng: Any, atlas: Any, habits: Any, ways: Any, weekdays: Any, wet: Any, minutes: Any, table: Any
) -> None:
    """Fill a block of the users × instants table, user by user."""
    for u in range(len(table)):
        who = draw_inhabitant(rng, atlas, habits, ways[u])
        simulate_days(rng, atlas, habits, who, weekdays, wet, minutes, table[u])


# Who somebody is: home, work, pace of life and weekly habits.

NOWHERE = -1
WEEKLY = 4
"""Weekly habits of a person."""

COMMUTE_KM, COMMUTE_EXPONENT = 0.4, 1.25
"""Jobs at distance d are taken in proportion to (1 + d / COMMUTE_KM)^-COMMUTE_EXPONENT."""


class Inhabitant(NamedTuple):
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
def draw_workplace(rng: Any, atlas: Any, habits: Any, way: int, home: int) -> int:
    """Draw a workplace: jobs by their number, accepted the rarer the longer the way."""
    if habits.jobs[way, -1] == 0.0:
        return NOWHERE
    kind = draw_index(rng, habits.jobs[way])
    if atlas.drawn[kind, -1] == 0.0:
        return NOWHERE
    while True:
        cell = draw_index(rng, atlas.drawn[kind])
        dx, dy = atlas.x_km[home] - atlas.x_km[cell], atlas.y_km[home] - atlas.y_km[cell]
        if rng.random() < (1.0 + (dx * dx + dy * dy) ** 0.5 / COMMUTE_KM) ** -COMMUTE_EXPONENT:
            return draw_venue(rng, atlas, kind, cell)


@njit(cache=True, nogil=True)
def draw_inhabitant(rng: Any, atlas: Any, habits: Any, way: int) -> Inhabitant:
    """Draw one inhabitant who leads the given way of life."""
    home = draw_index(rng, atlas.homes)
    work = draw_workplace(rng, atlas, habits, way, home)
    start = habits.start[way, 0] + habits.start[way, 1] * rng.standard_normal()
    pace = min(2.718281828459045 ** (0.45 * rng.standard_normal() - 0.1), 3.0)
    lunch_out = min(max(habits.lunch_out[way] + 0.25 * rng.standard_normal(), 0.0), 1.0)
    return Inhabitant(way, home, work, start, pace, lunch_out, int(rng.random() * 7))


@njit(cache=True, nogil=True)
def draw_weekly_habits(
    rng: Any, atlas: Any, habits: Any, who: Any, day: Any, minute: Any, venue: Any
) -> None:
    """Fill in what somebody does every week: `day` (0 is Monday), `minute` of the day and `venue`."""
    first, last = habits.window[who.way]
    for i in range(WEEKLY):
        day[i] = int(rng.random() * 7)
        evening = who.work != NOWHERE and habits.start[who.way, 0] < 900 and day[i] < 5
        minute[i] = 1110 + 90 * rng.random() if evening else first + (last - first) * rng.random()
        venue[i] = explore(rng, atlas, draw_index(rng, habits.likes[who.way]), who.home)


# The plan of a day: work, lunch, outings, weekly habits. `plan` has one activity per row: start and length
# in minutes, kind of venue, and venue (or AT_WORK, or NOWHERE).

AT_WORK = -2
"""In a plan, the place where one works; NOWHERE leaves the choice to the moment."""
LONGEST_PLAN = 24


@njit(cache=True, nogil=True)
def draw_poisson(rng: Any, mean: float) -> int:
    """Draw a small Poisson number."""
    limit, product, number = np.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        number += 1
    return number


@njit(cache=True, nogil=True)
def add_activity(plan: Any, n: int, start: float, length: float, kind: int, venue: int) -> int:
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
    kind = draw_index(rng, habits.likes[way])
    if wet and kind == PARK:
        kind = ARTS
    length = habits.stay[kind] * np.exp(0.4 * rng.standard_normal())
    return add_activity(plan, n, start, length, kind, NOWHERE)


@njit(cache=True, nogil=True)
def is_working_on(rng: Any, habits: Any, who: Any, weekday: int) -> bool:
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
        n = add_activity(plan, n, start, lunch - start, -1, AT_WORK)
        n = add_activity(plan, n, lunch, 25 + 20 * rng.random(), FOOD, NOWHERE)
        n = add_activity(plan, n, lunch + 60, end - lunch - 60, -1, AT_WORK)
    else:
        n = add_activity(plan, n, start, end - start, -1, AT_WORK)
    for i in range(draw_poisson(rng, habits.after_work[who.way] * who.pace)):
        n = add_outing(rng, habits, who.way, wet, plan, n, end + 5 + 70 * i)
    return n


@njit(cache=True, nogil=True)
def plan_day(rng: Any, habits: Any, who: Any, weekly: Any, weekday: int, wet: bool, plan: Any) -> int:
    """Fill the plan of one day and return the number of activities."""
    way, n = who.way, 0
    working = is_working_on(rng, habits, who, weekday)
    if working:
        n = plan_work(rng, habits, who, wet, plan, n)
    first, last = habits.window[way]
    rate = habits.outings[way, 0 if working else 1] * who.pace * (0.7 if wet else 1.0)
    for _ in range(draw_poisson(rng, rate)):
        n = add_outing(rng, habits, way, wet, plan, n, first + (last - first) * rng.random())
    day, minute, venue = weekly
    for i in range(WEEKLY):
        if day[i] == weekday and rng.random() < 0.75:
            n = add_activity(
                plan, n, minute[i] + 10 * rng.standard_normal(), 80 + 80 * rng.random(), -1, venue[i]
            )
    return n


# Where the instants find somebody who stays or travels; `i` is the next instant to be written.


@njit(cache=True, nogil=True)
def write_stay(row: Any, i: int, minutes: Any, until: float, cell: int) -> int:
    """Write a stay up to a time and return the next instant."""
    while i < len(minutes) and minutes[i] < until:
        row[i] = cell
        i += 1
    return i


@njit(cache=True, nogil=True)
def write_route(row: Any, i: int, minutes: Any, atlas: Any, leave: float, start: int, end: int) -> int:
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
def write_trip(
    row: Any, i: int, minutes: Any, atlas: Any, now: float, here: int, there: int
) -> tuple[int, float]:
    """Write a trip that begins now and return the next instant and the time of arrival."""
    return write_route(row, i, minutes, atlas, now, here, there), now + atlas.minutes[here, there]


# Shifts of vehicles: from order to order along the quickest ways, and back to the depot.

_WAIT = 1.6
_WAIT_SPREAD = 0.9
"""Logarithm of the minutes spent at an address: typical, and spread."""


class Duty(NamedTuple):
    """What a vehicle has to do.

    Attributes
    ----------
    depot, district
        Regions from which it starts its shifts, and where some of its orders come from.
    loyalty
        Share of the orders that come from the district; the others come from where it is.
    kinds
        Cumulative probabilities of the kinds of venue that it is called to.
    starts, stops
        Minutes since the first midnight at which its shifts begin and end, ascending.
    """

    depot: int
    district: int
    loyalty: float
    kinds: Any
    starts: Any
    stops: Any


@njit(cache=True, nogil=True)
def drive_vehicle(rng: Any, atlas: Any, duty: Any, doors: int, minutes: Any, region: Any, door: Any) -> None:
    """Write where every instant finds one vehicle; between shifts it is in the depot.

    Parameters
    ----------
    doors
        Number of addresses in a region.
    minutes
        Minutes of the instants since the first midnight.
    region, door
        Written for each instant: the region, and the address in it; 0 where the vehicle drives through.
    """
    door[:] = 0
    i = 0
    for shift in range(len(duty.starts)):
        now, here = duty.starts[shift], duty.depot
        i = write_stay(region, i, minutes, now, here)
        while True:
            origin = duty.district if rng.random() < duty.loyalty else here
            there = draw_index(rng, atlas.reach[draw_index(rng, duty.kinds), origin])
            wait = np.exp(_WAIT + _WAIT_SPREAD * rng.standard_normal())
            back = now + atlas.minutes[here, there] + wait + atlas.minutes[there, duty.depot]
            if back > duty.stops[shift]:
                break
            i, now = write_trip(region, i, minutes, atlas, now, here, there)
            arrived, now, here = i, now + wait, there
            i = write_stay(region, i, minutes, now, here)
            door[arrived:i] = int(rng.random() * doors)
        i, now = write_trip(region, i, minutes, atlas, now, here, duty.depot)
    write_stay(region, i, minutes, np.inf, duty.depot)
