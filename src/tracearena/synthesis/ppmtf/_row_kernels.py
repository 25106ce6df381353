"""Loops over rows of the reconstructed counts: made, raised to φ, summed, and drawn from."""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats

TILE = 32
_AT_ONCE = 262_144  # elements of a product: below the size at which BLAS starts threads


@njit(cache=True, nogil=True)
def clamped(coefficients: Floats, transposed: Floats, smallest: float, out: Floats) -> None:
    """Set ``out[j]`` to max(Σ_k coefficients[k] transposed[k, j], smallest)."""
    z, n = transposed.shape
    out[:] = 0.0
    k = 0
    while k + 4 <= z:
        c0, c1, c2, c3 = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
        for j in range(n):
            out[j] += (
                c0 * transposed[k, j]
                + c1 * transposed[k + 1, j]
                + c2 * transposed[k + 2, j]
                + c3 * transposed[k + 3, j]
            )
        k += 4
    for rest in range(k, z):
        c0 = coefficients[rest]
        for j in range(n):
            out[j] += c0 * transposed[rest, j]
    for j in range(n):
        out[j] = max(out[j], smallest)


@njit(cache=True, nogil=True)
def rows_at_once(z: int, n: int) -> int:
    """Return how many rows of n values `clamped_rows` may make without BLAS starting threads."""
    return max(1, _AT_ONCE // max(z * n, 1))


@njit(cache=True, nogil=True)
def clamped_rows(
    coefficients: Floats, rows: Floats, transposed: Floats, smallest: float, X: Floats, out: Floats
) -> None:
    """Set ``out[r]`` to what `clamped` makes of coefficients * rows[r], all rows in one product."""
    count = len(rows)
    for r in range(count):
        for k in range(len(coefficients)):
            X[r, k] = coefficients[k] * rows[r, k]
    np.dot(X[:count], transposed, out[:count])
    for r in range(count):
        for j in range(out.shape[1]):
            out[r, j] = max(out[r, j], smallest)


@njit(cache=True, nogil=True)
def row_sums(a: Floats, B: Floats, CT: Floats, smallest: float, sums: Floats) -> None:
    """Set ``sums[i]`` to Σ_j max(Σ_k a_k b_ik c_jk, smallest)."""
    n = CT.shape[1]
    room = rows_at_once(len(a), n)
    X, rows = np.empty((room, len(a))), np.empty((room, n))
    for first in range(0, len(B), room):
        stop = min(first + room, len(B))
        clamped_rows(a, B[first:stop], CT, smallest, X, rows)
        for i in range(first, stop):
            sums[i] = _tile_sum(rows[i - first], 0, n)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _tile_sum(values: Floats, first: int, stop: int) -> float:
    total = 0.0
    for j in range(first, stop):
        total += values[j]
    return total


@njit(cache=True, nogil=True)
def total_of(values: Floats, tiles: Floats) -> float:
    """Return the sum, and leave the sums of tiles of `TILE` values in `tiles`."""
    total = 0.0
    for b in range(len(tiles)):
        tiles[b] = _tile_sum(values, b * TILE, min((b + 1) * TILE, len(values)))
        total += tiles[b]
    return total


@njit(cache=True, nogil=True)
def pick(values: Floats, tiles: Floats, target: float) -> int:
    """Return the first index at which the running sum exceeds `target`; inverse-CDF sampling."""
    b = 0
    while b < len(tiles) - 1 and target >= tiles[b]:
        target -= tiles[b]
        b += 1
    j = b * TILE
    last = min(j + TILE, len(values)) - 1
    while j < last and target >= values[j]:
        target -= values[j]
        j += 1
    return j


@njit(cache=True, nogil=True)
def pair(a: Floats, b: Floats, c: Floats, smallest: float) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k] * c[k]
    return max(total, smallest)
