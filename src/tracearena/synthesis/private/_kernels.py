"""Kernels of private synthesis: tables counted person by person, and virtual people drawn from them.

Counting works in whole numbers only, so that no rounding can exceed a bound: a share c / n becomes
⌊2^bits c / n⌋. Arrays of the data, sorted by person and time:

    offsets[u] : offsets[u + 1]   the events of person u
    day, time, place              of each event; `time` is the number of the instant in its day
    slot_of[time]                 slot of the visit table; block_of[time] block of the role table

points are the places in km, and edges the borders of the bins of distance between two of them.

Roles: 0 the most visited place of the person (`home`), 1 the second (`work`), 2 elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

ROLES = 3
MOST_EVENTS = np.int64(1) << 20
"""Only the first events of a person count beyond this number: squares of sums stay below 2^62."""


@njit(cache=True, nogil=True)
def find_bin(points, edges, a, b):  # type: ignore[no-untyped-def]
    """Return the bin of the straight distance between two places; there are ``len(edges) + 1``."""
    square = 0.0
    for axis in range(points.shape[1]):
        square += (points[a, axis] - points[b, axis]) ** 2
    return np.searchsorted(edges, math.sqrt(square))


@njit(cache=True, nogil=True)
def ceil_root(number):  # type: ignore[no-untyped-def]
    """Return the smallest whole number whose square is at least a whole number below 2^62."""
    root = np.int64(math.sqrt(number))
    while root * root < number:
        root += 1
    while root > 0 and (root - 1) * (root - 1) >= number:
        root -= 1
    return root


@njit(cache=True, nogil=True)
def add_people(  # type: ignore[no-untyped-def]
    offsets, day, time, place, slot_of, block_of, points, edges, bits, tables
):
    """Add what each person contributes, times 2^`bits`, to the tables.

    `tables` are homes (places), works (places), commutes (bins), arrivals (bins and "stayed"), roles
    (blocks × 3 × 3, previous and present role) and visits (slots × places).
    """
    homes, works, commutes, arrivals, roles, visits = tables
    one = np.int64(1) << bits
    n_places, n_times, n_blocks = len(homes), len(slot_of), roles.shape[0]
    visited = np.zeros(n_places, np.int64)
    seen_at = np.zeros(visits.shape, np.int64)
    in_slot = np.zeros(visits.shape[0], np.int64)
    of_roles = np.zeros(roles.shape, np.int64)
    of_arrivals = np.zeros(len(arrivals), np.int64)
    block_length = np.zeros(n_blocks, np.int64)
    for t in range(n_times):
        block_length[block_of[t]] += 1
    at = np.empty(n_times, np.int64)
    for u in range(len(offsets) - 1):
        first, stop = offsets[u], min(offsets[u + 1], offsets[u] + MOST_EVENTS)
        if first == stop:
            continue
        # The two most visited places; of equals the one that was visited first.
        for e in range(first, stop):
            visited[place[e]] += 1
        home, work = -1, -1
        for e in range(first, stop):
            p = place[e]
            if p in (home, work):
                continue
            if home < 0 or visited[p] > visited[home]:
                home, work = p, home
            elif work < 0 or visited[p] > visited[work]:
                work = p
        homes[home] += one
        if work >= 0:
            works[work] += one
            commutes[find_bin(points, edges, home, work)] += one
        # Visits by slot, divided by the root of the sum of squares of her events per slot: L2 at most 1.
        in_slot[:] = 0
        for e in range(first, stop):
            in_slot[slot_of[time[e]]] += 1
        square = np.int64(0)  # c 2^28 / (root of the squares times 2^8) is rounded down once only
        for s in range(len(in_slot)):
            square += in_slot[s] * in_slot[s]
        root = ceil_root(square << 16)
        for e in range(first, stop):
            seen_at[slot_of[time[e]], place[e]] += 1
        for e in range(first, stop):
            s, p = slot_of[time[e]], place[e]
            if seen_at[s, p] > 0:
                visits[s, p] += (seen_at[s, p] << (bits + 8)) // root
                seen_at[s, p] = 0
            visited[p] = 0
        # Her days, each filled: she stays where she was seen until she is seen again.
        of_roles[:] = 0
        of_arrivals[:] = 0
        days, moves, e = np.int64(0), np.int64(0), first
        while e < stop:
            today = day[e]
            at[:] = -1
            while e < stop and day[e] == today:
                at[time[e]] = place[e]
                e += 1
            days += 1
            now = -1
            for t in range(n_times):
                if at[t] >= 0:
                    now = at[t]
                    break
            before, previous = now, 0 if now == home else (1 if now == work else 2)
            for t in range(n_times):
                if at[t] >= 0:
                    now = at[t]
                role = 0 if now == home else (1 if now == work else 2)
                of_roles[block_of[t], previous, role] += 1
                if role == 2 and t > 0:
                    moves += 1
                    if now == before:
                        of_arrivals[len(arrivals) - 1] += 1
                    else:
                        of_arrivals[find_bin(points, edges, before, now)] += 1
                before, previous = now, role
        for b in range(n_blocks):
            for i in range(ROLES):
                for j in range(ROLES):
                    roles[b, i, j] += (of_roles[b, i, j] << bits) // (days * block_length[b])
        if moves:
            for b in range(len(arrivals)):
                arrivals[b] += (of_arrivals[b] << bits) // moves


# Virtual people.
#
#   home_map, work_map, away_map (or away, or cumulative)
#                      running sums of the probabilities of home, work and elsewhere, by place
#   keep, away_keep, keeps
#                      keep[b]: probability that a second place in bin b of the distance from the first, or
#                      `origin`, is kept (rejection); `keeps` has those of work and of elsewhere
#   homes              home of each person
#   work_share, stay   share of people who work; probability to stay at a place elsewhere
#   chain              times × 3 × 3: weights of the previous and the present role
#   proposals          proposals for each person
#   rng, out           where numbers are drawn from; the places drawn
_MOST_TRIES = 40


@njit(cache=True, nogil=True)
def draw_near(rng, cumulative, points, edges, keep, origin):  # type: ignore[no-untyped-def]
    """Draw a place from a map, thinned by its distance from another place; never that place itself."""
    place = origin
    for _ in range(_MOST_TRIES):
        place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        place = min(place, len(cumulative) - 1)
        if place != origin and rng.random() < keep[find_bin(points, edges, origin, place)]:
            break
    return place


@njit(cache=True, nogil=True)
def draw_day(rng, home, work, chain, away, away_keep, stay, points, edges, out):  # type: ignore[no-untyped-def]
    """Draw the places of one day: a chain of roles, and a place whenever "elsewhere" is not stayed at."""
    role, now = 0, home
    for t in range(len(out)):
        rows = chain[t]
        left, previous = rng.random(), role
        if t == 0:
            # The first instant has its roles on the diagonal of its table.
            total = rows[0, 0] + rows[1, 1] + rows[2, 2]
            role = 0 if left * total < rows[0, 0] else (1 if left * total < rows[0, 0] + rows[1, 1] else 2)
        else:
            total = rows[role, 0] + rows[role, 1] + rows[role, 2]
            if total > 0:
                low = rows[role, 0]
                role = 0 if left * total < low else (1 if left * total < low + rows[role, 1] else 2)
        if role == 1 and work < 0:
            role = 0
        if role == 0:
            now = home
        elif role == 1:
            now = work
        elif t == 0 or previous != 2 or rng.random() >= stay:
            now = draw_near(rng, away, points, edges, away_keep, now)
        out[t] = now


@njit(cache=True, nogil=True)
def draw_people(  # type: ignore[no-untyped-def]
    rng, homes, home_map, work_map, work_share, away_map, keeps, stay, chain, points, edges, target, slot_of,
    proposals, out,
):  # fmt: skip
    """Draw virtual people (people × days × instants), then redraw those who fit the population badly.

    `target` is the number of virtual people wanted in each slot and place, summed over days and the
    instants of the slot. A proposal redraws one person, or one day of hers, and is kept if the squared
    distance from the target does not grow.
    """
    work_keep, away_keep = keeps
    people, days, times = out.shape
    gap = -target
    works = np.empty(people, np.int64)
    for u in range(people):
        works[u] = -1
        if rng.random() < work_share:
            works[u] = draw_near(rng, work_map, points, edges, work_keep, homes[u])
        for d in range(days):
            draw_day(rng, homes[u], works[u], chain, away_map, away_keep, stay, points, edges, out[u, d])
            for t in range(times):
                gap[slot_of[t], out[u, d, t]] += 1
    fresh = np.empty((days, times), out.dtype)
    for number in range(proposals * people):
        u = number % people
        home, work, first, stop = homes[u], works[u], 0, days
        kind = rng.random()
        if kind < 0.3:
            home = np.searchsorted(home_map, rng.random() * home_map[-1], side="right")
            home = min(home, len(home_map) - 1)
        if kind < 0.6:
            work = -1
            if rng.random() < work_share:
                work = draw_near(rng, work_map, points, edges, work_keep, home)
        else:
            first = int(rng.random() * days)
            stop = first + 1
        worse = 0.0
        # The change of the squared distance, one instant after the other, taken back if it is not kept.
        for d in range(first, stop):
            draw_day(rng, home, work, chain, away_map, away_keep, stay, points, edges, fresh[d])
            for t in range(times):
                s, old, new = slot_of[t], out[u, d, t], fresh[d, t]
                if old != new:
                    worse += 2.0 * (gap[s, new] - gap[s, old]) + 2.0
                    gap[s, old] -= 1.0
                    gap[s, new] += 1.0
        if worse <= 0.0:
            homes[u], works[u] = home, work
            out[u, first:stop] = fresh[first:stop]
        else:
            for d in range(first, stop):
                for t in range(times):
                    s, old, new = slot_of[t], out[u, d, t], fresh[d, t]
                    if old != new:
                        gap[s, old] += 1.0
                        gap[s, new] -= 1.0
