"""How people get from one region to another: the quickest way over streets, avenues, rails and bridges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracearena.cities.land_use import GRID, build_land_use

STREET, AVENUE, RAIL, WATER = 6.5, 4.2, 2.2, 60.0
"""Minutes per kilometre, waiting included; crossing the river outside a bridge is not worth it."""
_AVENUE_EVERY = 5
RAIL_LINES = (
    ((2, 7), (7, 9), (15, 16), (23, 24), (29, 29)),
    ((29, 5), (23, 6), (15, 16), (7, 25), (2, 29)),
    ((15, 0), (15, 16), (15, 31)),
    ((7, 9), (23, 6), (23, 24), (7, 25), (7, 9)),
)
"""Lines as (row, column) of the regions where they bend; trains run straight in between."""


@dataclass(frozen=True, eq=False)
class Routes:
    """Quickest ways between all pairs of regions.

    Attributes
    ----------
    minutes
        Travel time from region to region.
    previous
        ``previous[a, b]`` is the region before ``b`` on the way from ``a``; ``a`` itself for ``b = a``.
    rail
        True for the regions with a railway.
    """

    minutes: NDArray[np.float32]
    previous: NDArray[np.int16]
    rail: NDArray[np.bool_]


@cache
def build_routes() -> Routes:
    """Return the ways of the city; they are the same for every simulation."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    rail = _rail()
    a, b, km = _neighbours()
    pace = _pace(rail)
    cost = csr_array((km * np.maximum(pace[a], pace[b]), (a, b)), shape=(len(GRID), len(GRID)))
    minutes, previous = dijkstra(cost, return_predecessors=True)
    np.fill_diagonal(previous, np.arange(len(GRID)))
    return Routes(minutes.astype(np.float32), previous.astype(np.int16), rail)


def _rail() -> NDArray[np.bool_]:
    rail = np.zeros((GRID.rows, GRID.columns), bool)
    for line in RAIL_LINES:
        for (row, column), (to_row, to_column) in pairwise(line):
            steps = max(abs(to_row - row), abs(to_column - column)) + 1
            along = np.linspace((row, column), (to_row, to_column), steps).round().astype(int)
            rail[along[:, 0], along[:, 1]] = True
    return rail.ravel()


def _pace(rail: NDArray[np.bool_]) -> NDArray[np.float64]:
    row, column = np.divmod(np.arange(len(GRID)), GRID.columns)
    avenue = (row % _AVENUE_EVERY == 2) | (column % _AVENUE_EVERY == 2)
    bridge = row % _AVENUE_EVERY == 2
    pace = np.where(avenue, AVENUE, STREET)
    pace = np.where(build_land_use().river & ~bridge, WATER, pace)
    return np.where(rail, RAIL, pace)


def _neighbours() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return every pair of touching regions, both ways, with the distance of their centres."""
    ground = build_land_use()
    row, column = np.divmod(np.arange(len(GRID)), GRID.columns)
    pairs = []
    for d_row, d_column in ((0, 1), (1, 0), (1, 1), (1, -1)):
        inside = (row + d_row < GRID.rows) & (column + d_column < GRID.columns) & (column + d_column >= 0)
        here = np.flatnonzero(inside)
        pairs.append((here, here + d_row * GRID.columns + d_column))
    one = np.concatenate([pair[0] for pair in pairs])
    other = np.concatenate([pair[1] for pair in pairs])
    km = np.hypot(ground.x_km[one] - ground.x_km[other], ground.y_km[one] - ground.y_km[other])
    return np.concatenate([one, other]), np.concatenate([other, one]), np.concatenate([km, km])
