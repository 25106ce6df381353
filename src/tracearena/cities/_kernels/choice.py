"""Where to go next: exploration and preferential return."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

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
def blank_memory(others: int) -> Memory:
    """Return the memory of somebody who knows nothing but `others` places."""
    known, visits = np.zeros(MEMORY + 1, np.int32), np.zeros(MEMORY + 1, np.int32)
    return Memory(known, visits, np.zeros(1, np.int64), np.full(1, others))


@njit(cache=True, nogil=True)
def draw(rng: Any, cumulative: Any) -> int:
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
def venue_in(rng: Any, atlas: Any, kind: int, cell: int) -> int:
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
    return venue_in(rng, atlas, kind, draw(rng, atlas.reach[kind, here]))


@njit(cache=True, nogil=True)
def return_to(rng: Any, atlas: Any, kind: int, here: int, memory: Any) -> int:
    """Draw one of the known venues of a kind, by visits so far and travel time; -1 without any."""
    total = 0.0
    for i in range(memory.size[0]):
        if atlas.kind[memory.known[i]] == kind:
            total += appeal(atlas, here, memory, i)
    target = rng.random() * total
    chosen = -1
    for i in range(memory.size[0]):
        if atlas.kind[memory.known[i]] == kind:
            chosen = i
            target -= appeal(atlas, here, memory, i)
            if target < 0:
                break
    return chosen


@njit(cache=True, nogil=True)
def appeal(atlas: Any, here: int, memory: Any, i: int) -> float:
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
def choose(rng: Any, atlas: Any, kind: int, here: int, memory: Any) -> int:
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
