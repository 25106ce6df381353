"""Estimates from noisy tables of places: noise is averaged out over neighbours, which costs no privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TURNS = 6


def order_places(points: Floats, turns: int = _TURNS) -> list[Ints]:
    """Return orders of the places as leaves of balanced k-d trees, one for each direction of the axes.

    Places are filled up to a power of two with number ``len(points)``.
    """
    centred = points - points.mean(axis=0)
    # Two axes hold nearly all of a city, also of points on the sphere.
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T if len(points) > 1 else centred
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    size = 1 << max(len(points) - 1, 0).bit_length()
    orders = []
    for turn in range(turns):
        angle = np.pi / 2 * turn / turns
        axes = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        at = np.full((size, 2), np.inf)
        at[: len(points)] = plane @ axes
        order, level, groups = np.arange(size), 0, 1
        while groups < size:
            parts = order.reshape(groups, -1)
            inner = np.argsort(at[parts, level % 2], axis=1, kind="stable")
            order = np.take_along_axis(parts, inner, axis=1).ravel()
            level, groups = level + 1, groups * 2
        orders.append(np.minimum(order, len(points)))
    return orders


def denoise(maps: Floats, sigma: Floats | float, orders: list[Ints], *, sampling: float = 0.0) -> Floats:
    """Return maps (rows × places) whose Haar coefficients are shrunk by v / (v + σ²).

    v is the variance of the signal on a level of the tree, estimated from all coefficients of the level.

    Parameters
    ----------
    sigma
        Standard deviation of the noise of a cell, one for all rows or one per row.
    sampling
        Variance of a count beyond the noise, as a multiple of its mean: people are a sample themselves.
    """
    noise = np.broadcast_to(np.asarray(sigma, np.float64) ** 2, maps.shape[:1])[:, None]
    total = np.zeros_like(maps)
    padded = np.concatenate([maps, np.zeros((len(maps), 1))], axis=1)
    for order in orders:
        smooth, details = padded[:, order], []
        while smooth.shape[1] > 1:
            even, odd = smooth[:, ::2], smooth[:, 1::2]
            details.append((even - odd) / np.sqrt(2))
            smooth = (even + odd) / np.sqrt(2)
        for level in reversed(range(len(details))):
            detail = details[level]
            # The mean count below a node is its smooth coefficient over the root of the number of cells.
            variance = noise + sampling * np.maximum(smooth / 2 ** ((level + 1) / 2), 0)
            signal = np.maximum((detail**2 - variance).mean(axis=1, keepdims=True), 0)
            detail = detail * signal / np.maximum(signal + variance, 1e-300)
            wide = np.empty((len(maps), 2 * smooth.shape[1]))
            wide[:, ::2], wide[:, 1::2] = (smooth + detail) / np.sqrt(2), (smooth - detail) / np.sqrt(2)
            smooth = wide
        back = np.zeros_like(padded)
        back[:, order] = smooth
        total += back[:, :-1]
    return total / len(orders)


def smooth_series(series: Floats, sigma: float) -> Floats:
    """Return time series (instants × any) whose cosine coefficients below the noise are shrunk away."""
    from scipy.fft import dct, idct

    waves = dct(series, axis=0, norm="ortho")
    gain = np.maximum(1 - sigma**2 / np.maximum(waves**2, 1e-300), 0)
    return np.asarray(idct(waves * gain, axis=0, norm="ortho"))


def shrink_rank(matrix: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Return time factors and maps whose product is the matrix without the components that are noise.

    References
    ----------
    M. Gavish, D. Donoho, Optimal shrinkage of singular values, IEEE Trans. Inf. Theory 63 (2017): the
    shrinker of the Frobenius loss.
    """
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    n = matrix.shape[1]
    ratio = matrix.shape[0] / n
    scaled = np.maximum((values / (sigma * np.sqrt(n))) ** 2, 1e-12)
    inside = (scaled - ratio - 1) ** 2 - 4 * ratio
    keep = (np.sqrt(scaled) > 1 + np.sqrt(ratio)) & (inside > 0)
    kept = sigma * np.sqrt(n) * np.sqrt(np.where(keep, inside, 0) / scaled)
    return left[:, keep] * kept[keep], right[keep]


def project_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest non-negative values with a sum."""
    falling = np.sort(values)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - over[np.flatnonzero(falling > over)[-1]], 0))
