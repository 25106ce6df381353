"""Imitation: the cheapest moves after which one user visits places as often as another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.obfuscation.moves import Moves, priced
from tracearena.obfuscation.partners import parts_of_day
from tracearena.traces import Places, Traces

_ROWS_PER_BLOCK = 200

Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where some things begin and where they end."""


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

    # A row is a user's part of a day. Whoever lacks a model for it takes that of the partner's whole day.
    rows = np.flatnonzero(np.diff(limits))
    other = partner[rows // parts] * parts
    same_part = other + rows % parts
    is_there = limits[same_part] < limits[same_part + 1]
    model_begins = limits[np.where(is_there, same_part, other)]
    model_ends = limits[np.where(is_there, same_part, other + parts - 1) + 1]
    known = model_begins < model_ends
    own = limits[rows[known]], limits[rows[known] + 1]
    models = model_begins[known], model_ends[known]

    def some_rows(block: int, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        begins, ends, *model = (one[first:stop] for one in (*own, *models))
        return cheapest_moves(original.places, limit_km, place, (begins, ends), (model[0], model[1]))

    found = run_blocks(some_rows, block_ranges(int(known.sum()), _ROWS_PER_BLOCK), report=True)
    events = np.concatenate([np.zeros(0, np.int64), *(visits for visits, _ in found)])
    places = np.concatenate([np.zeros(0, np.int64), *(places for _, places in found)])
    return priced(original, free[events], places.astype(np.int32), limit_km)


def cheapest_moves(
    places: Places, limit_km: float, visited: NDArray[np.int32], rows: Bounds, models: Bounds
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which visits move where, so that every row visits places as often as its model does.

    Parameters
    ----------
    visited
        The place of every visit; those of a row ascend.
    rows, models
        Where the visits of each row, and those of its model, begin and end.

    Examples
    --------
    >>> from tracearena.traces import Grid
    >>> grid = Grid(rows=1, columns=4, south=0, west=0, north=0.01, east=0.04)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> visited = np.array([0, 0, 0, 3, 1, 3], np.int32)
    >>> row, model = (np.array([0]), np.array([4])), (np.array([4]), np.array([6]))
    >>> visits, where = cheapest_moves(places, 2.0, visited, row, model)
    >>> visits.tolist(), where.tolist()
    ([0, 1, 2], [1, 1, 3])
    """
    from tracearena.obfuscation._imitation_kernels import carry_rows, compare_rows

    n = len(rows[0])
    source_offsets, sink_offsets = np.empty((2, n + 1), np.int64)
    sources = np.empty((int((rows[1] - rows[0]).sum()), 3), np.int64)
    sinks = np.empty((int((models[1] - models[0]).sum()), 2), np.int64)
    compare_rows(*rows, *models, visited, source_offsets, sources, sink_offsets, sinks)
    sources, sinks = sources[: source_offsets[-1]], sinks[: sink_offsets[-1]]
    of_source = np.repeat(np.arange(n), np.diff(source_offsets))
    each = np.diff(sink_offsets)[of_source]
    begins = np.repeat(sink_offsets[of_source], each)
    within = np.arange(len(begins)) - np.repeat(np.cumsum(each) - each, each)
    distance = places.distance_km(np.repeat(sources[:, 1], each), sinks[begins + within, 0])
    visits, where = np.empty((2, int(sources[:, 2].sum())), np.int64)
    costs = np.minimum(distance / limit_km, 1)
    carry_rows(source_offsets, sources, sink_offsets, sinks, costs, rows[0], visits, where)
    return visits, where
