"""Where to go next: exploration and preferential return."""

from __future__ import annotations

from typing import Any

from numba import njit

RHO, GAMMA = 0.6, 0.21
"""P(new place) = ρ S^-γ after S places; Song et al. 2010 measured these."""
MEMORY = 1024
"""Places that a person remembers; nobody gets near it within two years."""
COMFORT_MIN = 12.0
"""Minutes of travel at which a known place loses half of its weight."""
_TRIES = 4


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
def return_to(rng: Any, atlas: Any, kind: int, here: int, known: Any, visits: Any, n: int) -> int:
    """Draw one of the known venues of a kind, by visits so far and travel time; -1 without any."""
    total = 0.0
    for i in range(n):
        if atlas.kind[known[i]] == kind:
            far = atlas.minutes[here, atlas.cell[known[i]]] / COMFORT_MIN
            total += visits[i] / (1.0 + far * far)
    target = rng.random() * total
    chosen = -1
    for i in range(n):
        if atlas.kind[known[i]] == kind:
            chosen = i
            far = atlas.minutes[here, atlas.cell[known[i]]] / COMFORT_MIN
            target -= visits[i] / (1.0 + far * far)
            if target < 0:
                break
    return chosen


@njit(cache=True, nogil=True)
def choose(
    rng: Any, atlas: Any, kind: int, here: int, known: Any, visits: Any, n: int, others: int
) -> tuple[int, int]:
    """Choose a venue of one kind, remember the visit, and return the venue and the size of the memory.

    `others` counts the places outside the memory (home, work) that a person knows as well.
    """
    new = rng.random() < RHO * max(n + others, 1.0) ** -GAMMA and n < MEMORY
    if not new:
        at = return_to(rng, atlas, kind, here, known, visits, n)
        if at >= 0:
            visits[at] += 1
            return known[at], n
    venue, at = -1, n
    for _ in range(_TRIES):
        venue = explore(rng, atlas, kind, here)
        at = 0
        while at < n and known[at] != venue:
            at += 1
        if at == n:
            break
    if at < min(n, MEMORY):
        visits[at] += 1
    elif n < MEMORY:
        known[n], visits[n] = venue, 1
        n += 1
    return venue, n
