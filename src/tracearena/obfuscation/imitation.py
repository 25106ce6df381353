"""Imitation: the cheapest moves after which one user visits places as often as another one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.obfuscation.cluster_averaging import rounded
from tracearena.obfuscation.moves import Moves, priced
from tracearena.obfuscation.partners import parts_of_day
from tracearena.traces import Places, Traces

_USERS_PER_BLOCK = 50

Counts = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Places in ascending order and how often each is visited."""


def moves_to_partners(
    original: Traces,
    is_free: NDArray[np.bool_],
    partner: NDArray[np.int64],
    parts: int,
    chance: NDArray[np.float64],
    limit_km: float,
) -> Moves:
    """Return the moves that give every user her partner's visit counts in each part of the day.

    Where the two have different numbers of visits in a part of the day, the partner's counts are
    shared out in proportion; where the partner has none, those of his whole day are taken; and where
    he has none at all, nothing moves.

    Parameters
    ----------
    is_free
        The events that may move; the others neither move nor count.
    partner
        The user whom each user imitates.
    parts
        Number of parts of the day, whose visits are matched apart from each other.
    chance
        One random number an event: of a user's visits to a place those with the lowest move.
    """
    free = np.flatnonzero(is_free)
    part = parts_of_day(original, parts)[free]
    place = original.place_index[free]
    row = original.user_index[free] * np.int64(parts) + part
    order = np.lexsort((chance[free], place, row))
    limits = np.searchsorted(row[order], np.arange(original.n_users * parts + 1))
    free, place = free[order], place[order]

    def visits(first: int, stop: int) -> Counts:
        visited, counts = np.unique(place[first:stop], return_counts=True)
        return visited, counts.astype(np.int64)

    def some_users(block: int, first: int, stop: int) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        moved = []
        for own in np.flatnonzero(np.diff(limits[first * parts : stop * parts + 1])) + first * parts:
            other = int(partner[own // parts]) * parts
            same_part = other + own % parts
            wanted = visits(limits[same_part], limits[same_part + 1])
            if not len(wanted[0]):
                wanted = visits(limits[other], limits[other + parts])
            if len(wanted[0]):
                begin, end = limits[own], limits[own + 1]
                which, where = cheapest_moves(original.places, limit_km, visits(begin, end), wanted)
                moved.append((free[begin:end][which], where))
        return moved

    ranges = block_ranges(original.n_users, _USERS_PER_BLOCK)
    found = [one for some in run_blocks(some_users, ranges, report=True) for one in some]
    events = np.concatenate([np.zeros(0, np.int64), *(events for events, _ in found)])
    places = np.concatenate([np.zeros(0, np.int32), *(places for _, places in found)])
    return priced(original, events, places, limit_km)


def cheapest_moves(
    places: Places, limit_km: float, own: Counts, wanted: Counts
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return which of a user's visits, counted through her places in order, move where.

    >>> from tracearena.traces import Grid
    >>> grid = Grid(rows=1, columns=4, south=0, west=0, north=0.01, east=0.04)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> own = np.array([0, 3], np.int32), np.array([3, 1])
    >>> other = np.array([1, 3], np.int32), np.array([1, 1])
    >>> which, where = cheapest_moves(places, 2.0, own, other)
    >>> which.tolist(), where.tolist()
    ([0, 1, 2], [1, 1, 3])
    """
    from tracearena.obfuscation._kernels import transport

    visited, counts = own
    every = np.union1d(visited, wanted[0])
    lacking = np.zeros(len(every), np.int64)
    lacking[np.searchsorted(every, wanted[0])] = rounded(wanted[1], int(counts.sum()))
    at = np.searchsorted(every, visited)
    lacking[at] -= counts
    surplus = np.maximum(-lacking[at], 0)
    sources, sinks = np.flatnonzero(surplus), np.flatnonzero(lacking > 0)
    distance = places.distance_km(visited[sources][:, None], every[sinks][None, :])
    flow: NDArray[Any] = transport(surplus[sources], lacking[sinks], np.minimum(distance / limit_km, 1))
    leaving = flow.sum(axis=1)
    within = np.arange(leaving.sum()) - np.repeat(np.cumsum(leaving) - leaving, leaving)
    starts = np.cumsum(counts) - counts
    which = np.repeat(starts[sources], leaving) + within
    return which, np.repeat(np.tile(every[sinks], len(sources)), flow.ravel()).astype(np.int32)
