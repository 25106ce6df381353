"""The city as the kernels see it: travel times, and how likely each venue is from each region."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.cities.land_use import GRID, build_land_use
from tracearena.cities.routes import build_routes
from tracearena.cities.venues import KINDS, build_venues

JUMP_EXPONENT = 1.75
"""Exponent β of trip lengths, P(Δr) ~ (Δr + Δr0)^-β, González et al. 2008."""
JUMP_OFFSET_KM = 0.3
"""Δr0, scaled to a city of 11 km (the paper's 1.5 km belongs to a country)."""


class Atlas(NamedTuple):
    """Arrays about regions (m of them), kinds of venue and venues (n, sorted by kind and region).

    Attributes
    ----------
    minutes, previous
        Travel times and ways, as in `Routes`.
    homes
        Cumulative share of the population by region.
    reach
        ``reach[kind, here]``: cumulative probability of the region where somebody looking for a
        new venue of that kind finds one; zeros where the city has none.
    drawn
        Cumulative share of each kind's attractiveness by region.
    first
        Venues of kind ``k`` in region ``c`` are ``first[k * m + c]`` up to ``first[k * m + c + 1]``.
    cumulative
        Cumulative attractiveness of the venues within their kind and region.
    kind, cell
        Of each venue.
    x_km, y_km
        Centre of each region.
    """

    minutes: NDArray[np.float32]
    previous: NDArray[np.int16]
    homes: NDArray[np.float64]
    reach: NDArray[np.float32]
    drawn: NDArray[np.float64]
    first: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    kind: NDArray[np.int8]
    cell: NDArray[np.int32]
    x_km: NDArray[np.float64]
    y_km: NDArray[np.float64]


@lru_cache(maxsize=2)
def build_atlas(top: int | None = None) -> Atlas:
    """Return the tables for all venues, or for the `top` most attractive ones only."""
    ground, ways, known = build_land_use(), build_routes(), build_venues()
    chosen = known.most_attractive(top)
    kind, cell, weight = known.kind[chosen], known.cell[chosen], known.attractiveness[chosen]
    group = kind.astype(np.int64) * len(GRID) + cell
    by_cell = np.zeros((len(KINDS), len(GRID)))
    np.add.at(by_cell, (kind, cell), weight)
    first = np.searchsorted(group, np.arange(len(KINDS) * len(GRID) + 1))
    total = np.cumsum(weight)
    return Atlas(
        ways.minutes,
        ways.previous,
        np.cumsum(ground.residents),
        _reach(by_cell, ground.x_km, ground.y_km),
        np.cumsum(by_cell, axis=1) / np.maximum(by_cell.sum(axis=1, keepdims=True), 1e-300),
        first,
        total - np.concatenate([[0.0], total])[first[group]],
        kind,
        cell,
        ground.x_km,
        ground.y_km,
    )


def _reach(
    by_cell: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Weigh every region by its venues and its distance.

    In the plane the number of venues at distance r grows with r, so a density of r^-(β + 1) gives
    trip lengths of exponent β.
    """
    km = np.hypot(x[:, None] - x, y[:, None] - y)
    near = (km + JUMP_OFFSET_KM) ** -(JUMP_EXPONENT + 1)
    reach = np.empty((len(by_cell), *km.shape), np.float32)
    for kind, attractiveness in enumerate(by_cell):
        running = np.cumsum(near * attractiveness, axis=1)
        reach[kind] = running / np.maximum(running[:, -1:], 1e-300)
    return reach
