"""Emission: how likely each symbol of a release is at each true place.

An attacker who knows the mechanism writes it down; one who does not counts it on what the suspected
mechanism makes of the reference traces, or estimates it from the release (`estimation`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.kinds import Algorithm
from tracearena.attacks.bayesian.symbols import NOTHING, Symbols
from tracearena.traces import Places

FLOOR = 1e-9
"""Every symbol is possible at every place, so that no attacker is ever certain of something wrong."""
LEAST = 1e-5
"""Smaller probabilities of a place are left to the floor."""
UNSEEN = 0.05
"""Share of what a mechanism does that counting it on the reference may have missed."""


_NET_POINTS = 4e6


@dataclass(frozen=True, eq=False)
class Emission:
    """E(y|x) by symbol y, up to a factor of y that no attack depends on.

    Attributes
    ----------
    offsets, places, values
        Symbol ``y`` is answered at ``places[offsets[y]:offsets[y + 1]]`` with these probabilities, …
    floor
        … and at every other place with this one.
    exact
        Whether each event was treated on its own, so that this is all there is to know.
    """

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    values: NDArray[np.float64]
    floor: NDArray[np.float64]
    exact: bool = True

    def by_place(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the same without the floor by place: offsets, symbols and probabilities."""
        symbols = np.repeat(np.arange(len(self.floor), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.places, kind="stable")
        n_places = int(self.places.max(initial=-1)) + 1
        offsets = np.searchsorted(self.places[order], np.arange(n_places + 1))
        return offsets.astype(np.int64), symbols[order], self.values[order]


def known(mechanism: Algorithm, symbols: Symbols, places: Places) -> Emission | None:
    """Return what a mechanism says of itself; None where it has to be counted (`counted`)."""
    from tracearena.obfuscation import (
        MRLH,
        Cheating,
        GeoInd,
        NoObfuscation,
        PlanarLaplace,
        RandomizedResponse,
    )

    if isinstance(mechanism, (NoObfuscation, MRLH, Cheating)):
        return truthful(symbols)
    if isinstance(mechanism, RandomizedResponse):
        weight = math.exp(-mechanism.epsilon)
        keep = 1 / ((len(places) - 1) * weight + 1)
        plain = truthful(symbols)
        return Emission(
            plain.offsets, plain.places, plain.values * keep, np.full(len(symbols), keep * weight + FLOOR)
        )
    if isinstance(mechanism, PlanarLaplace):
        return _laplace(mechanism.epsilon, symbols, places)
    if isinstance(mechanism, GeoInd):
        return _laplace(2000 / mechanism.expected_noise_m, symbols, places)
    return None


def truthful(symbols: Symbols) -> Emission:
    """Return the emission of a mechanism that always names the true place, alone or among others."""
    return Emission(
        symbols.offsets, symbols.members, np.ones(len(symbols.members)), np.full(len(symbols), FLOOR)
    )


def by_distance(
    symbols: Symbols, places: Places, edges_km: NDArray[np.float64], density: NDArray[np.float64]
) -> Emission:
    """Return an emission that depends on the distance from the true place alone.

    Parameters
    ----------
    edges_km, density
        ``density[k]`` is the probability of a single place at a distance of up to ``edges_km[k]``;
        the last one is that of any place farther away.
    """
    from scipy.spatial import KDTree

    tree = KDTree(places.points_km)
    near = tree.sparse_distance_matrix(tree, float(edges_km[-1]), output_type="coo_matrix")
    rows = np.concatenate([near.row, np.arange(len(places))])
    columns = np.concatenate([near.col, np.arange(len(places))])
    distance = np.concatenate([near.data, np.zeros(len(places))])
    pairs = np.unique(rows.astype(np.int64) * len(places) + columns, return_index=True)[1]
    value = density[np.searchsorted(edges_km, distance[pairs] - 1e-9)]
    return _joined(symbols, places, rows[pairs], columns[pairs], value, float(density[-1]))


def _joined(
    symbols: Symbols,
    places: Places,
    symbol: NDArray[np.int64],
    place: NDArray[np.int64],
    value: NDArray[np.float64],
    floor: float,
) -> Emission:
    """Put the probabilities of single places before the sets, which are taken at their word.

    At each place they sum to 1.
    """
    total = np.bincount(place, value, len(places)) + floor * len(places)
    value = value / total[place]
    kept = value > LEAST * value.max(initial=0.0)
    symbol, place, value = symbol[kept], place[kept], value[kept]
    order = np.lexsort((place, symbol))
    starts = np.searchsorted(symbol[order], np.arange(len(places) + 1))
    sets = symbols.offsets[len(places) :] - symbols.offsets[len(places)]
    members = symbols.members[symbols.offsets[len(places)] :]
    floors = np.full(len(symbols), FLOOR)
    floors[: len(places)] = max(floor, FLOOR)
    return Emission(
        np.concatenate([starts, starts[-1] + sets[1:]]).astype(np.int64),
        np.concatenate([place[order], members]).astype(np.int32),
        np.concatenate([value[order], np.ones(len(members))]),
        floors,
    )


def _laplace(epsilon: float, symbols: Symbols, places: Places) -> Emission:
    """Return planar Laplace noise of ε per km, which ends in the cell or at the nearest place.

    The probability of a cell is the density's mean over a fine net of its points times its area.
    Off a grid the noise is drawn on a net of points, each of which ends at its nearest place.
    """
    if places.grid is None:
        return _laplace_off_grid(epsilon, symbols, places)
    grid, reach = places.grid, 12.0 / epsilon
    height, width = _cell_km(places)
    net = (np.arange(12) + 0.5) / 12 - 0.5
    up, right = int(np.ceil(reach / height)), int(np.ceil(reach / width))
    up, right = min(up, grid.rows - 1), min(right, grid.columns - 1)
    dy = np.arange(-up, up + 1)[:, None, None, None] + net[None, None, :, None]
    dx = np.arange(-right, right + 1)[None, :, None, None] + net[None, None, None, :]
    radius = np.hypot(dy * height, dx * width)
    density = epsilon**2 / (2 * np.pi) * np.exp(-epsilon * radius)
    kernel = density.mean(axis=(2, 3)) * height * width
    row, column = np.divmod(np.arange(len(grid)), grid.columns)
    shift_y, shift_x = np.meshgrid(np.arange(-up, up + 1), np.arange(-right, right + 1), indexing="ij")
    value = np.broadcast_to(kernel.ravel(), (len(grid), kernel.size)).ravel()
    to_row = (row[:, None] + shift_y.ravel()[None, :]).ravel()
    to_column = (column[:, None] + shift_x.ravel()[None, :]).ravel()
    # What ends outside is answered with the nearest cell of the border.
    answered = np.clip(to_row, 0, grid.rows - 1) * grid.columns + np.clip(to_column, 0, grid.columns - 1)
    true = np.repeat(np.arange(len(grid)), kernel.size)
    keys, inverse = np.unique(answered.astype(np.int64) * len(grid) + true, return_inverse=True)
    summed: NDArray[np.float64] = np.bincount(inverse, value, len(keys)).astype(np.float64)
    return _joined(symbols, places, keys // len(grid), keys % len(grid), summed, FLOOR)


def _cell_km(places: Places) -> tuple[float, float]:
    grid = places.grid
    assert grid is not None
    middle = (grid.rows // 2) * grid.columns + grid.columns // 2
    up = min(middle + grid.columns, len(grid) - 1)
    right = min(middle + 1, len(grid) - 1)
    height = float(places.distance_km([middle], [up])[0]) if grid.rows > 1 else float("nan")
    width = float(places.distance_km([middle], [right])[0]) if grid.columns > 1 else float("nan")
    height = width if np.isnan(height) else height
    width = height if np.isnan(width) else width
    return (height or 1.0), (width or 1.0)


def _laplace_off_grid(epsilon: float, symbols: Symbols, places: Places) -> Emission:
    from scipy.special import gammaincinv

    from tracearena.obfuscation.planar_laplace import moved

    # Radii in the middle of equally probable rings of the Gamma(2) law, angles in equal steps.
    rings = int(np.clip(np.sqrt(_NET_POINTS / max(len(places), 1)), 4, 24))
    radius = gammaincinv(2.0, (np.arange(rings) + 0.5) / rings) / epsilon
    angle = 2 * np.pi * (np.arange(rings) + 0.5) / rings
    true = np.repeat(np.arange(len(places), dtype=np.int32), rings * rings)
    east = np.tile(np.outer(radius, np.cos(angle)).ravel(), len(places))
    north = np.tile(np.outer(radius, np.sin(angle)).ravel(), len(places))
    answered = moved(places, true, east, north)
    keys, counts = np.unique(answered.astype(np.int64) * len(places) + true, return_counts=True)
    symbol, place = np.divmod(keys, len(places))
    return _joined(symbols, places, symbol, place, counts / rings**2, FLOOR)


def counted(
    symbols: Symbols, n_places: int, true: NDArray[np.int32], answered: NDArray[np.int32]
) -> Emission:
    """Count an emission on pairs of a true place and the symbol that a mechanism answered there.

    Where a place was seen too rarely to tell, it is believed to be named as it is.
    """
    told = answered != NOTHING
    true, answered = true[told], answered[told]
    own_symbol = np.repeat(np.arange(len(symbols)), np.diff(symbols.offsets))
    single = own_symbol < n_places
    keys = np.concatenate(
        [answered.astype(np.int64) * n_places + true, own_symbol[single] * n_places + symbols.members[single]]
    )
    weights = np.concatenate([np.ones(len(true)), np.ones(int(single.sum()))])
    distinct, inverse = np.unique(keys, return_inverse=True)
    count = np.bincount(inverse, weights, len(distinct))
    symbol, place = np.divmod(distinct, n_places)
    total = np.bincount(true, minlength=n_places) + 1.0
    value = (1 - UNSEEN) * count / total[place]
    offsets = np.searchsorted(symbol, np.arange(len(symbols) + 1))
    floor = np.full(len(symbols), UNSEEN / max(n_places, 1) + FLOOR)
    return Emission(offsets.astype(np.int64), place.astype(np.int32), value, floor, exact=False)
