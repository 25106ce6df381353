"""Loops of Gibbs sampling: sums over cells, and rows from their conditionals.

Pure functions on arrays. Factor matrices are rows × z, C-contiguous float64; ``X`` holds the
element-wise products whose outer products are summed.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints, Small


@njit(cache=True, nogil=True)
def _at_once(z: int) -> int:
    """Return how many cells are summed up at a time: below the size at which BLAS starts threads."""
    return max(8, 65_536 // (z * z))


@njit(cache=True, nogil=True)
def gram(
    left: Floats, right: Floats, offsets: Ints, left_index: Index, right_index: Index, out: Floats
) -> None:
    """Set ``out[g]`` to the sum over the group's cells of x xᵀ with x = left[l] * right[r].

    The x of some cells are gathered as the rows of X, and XᵀX is one matrix product.
    """
    z = left.shape[1]
    room = _at_once(z)
    X = np.empty((room, z))
    product = np.empty((z, z))
    for g in range(len(offsets) - 1):
        out[g] = 0.0
        for start in range(offsets[g], offsets[g + 1], room):
            rows = min(room, offsets[g + 1] - start)
            for r in range(rows):
                a, b = left_index[start + r], right_index[start + r]
                for k in range(z):
                    X[r, k] = left[a, k] * right[b, k]
            np.dot(X[:rows].T, X[:rows], product)
            out[g] += product


@njit(cache=True, nogil=True)
def weighted_sum(
    left: Floats, right: Floats, left_index: Index, right_index: Index, group: Index,
    value: Small, out: Floats,
) -> None:  # fmt: skip
    """Add value * left[l] * right[r] of each cell to ``out[group]``."""
    for c in range(len(value)):
        a, b, g = left_index[c], right_index[c], group[c]
        for k in range(left.shape[1]):
            out[g, k] += value[c] * left[a, k] * right[b, k]


@njit(cache=True, nogil=True)
def draw_rows(
    G: Floats, h: Floats, alpha: float, precision: Floats, shift: Floats, noise: Floats, out: Floats
) -> float:
    """Draw each row from Normal(P⁻¹ m, P⁻¹), P = precision + alpha G, m = shift + alpha h.

    With P = L Lᵀ and standard normal noise ε the row is L⁻ᵀ (L⁻¹ m + ε). Returns the sum over
    rows of xᵀ G x − 2 xᵀ h, the squared residuals but for the constant Σ r².
    """
    z = G.shape[1]
    L = np.empty((z, z))
    y = np.empty(z)
    residual = 0.0
    for n in range(len(G)):
        for i in range(z):
            for j in range(i + 1):
                total = precision[i, j] + alpha * G[n, i, j]
                for k in range(j):
                    total -= L[i, k] * L[j, k]
                L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
        for i in range(z):
            total = shift[i] + alpha * h[n, i]
            for k in range(i):
                total -= L[i, k] * y[k]
            y[i] = total / L[i, i]
        for i in range(z):
            y[i] += noise[n, i]
        for i in range(z - 1, -1, -1):
            total = y[i]
            for k in range(i + 1, z):
                total -= L[k, i] * out[n, k]
            out[n, i] = total / L[i, i]
        for i in range(z):
            inner = -2.0 * h[n, i]
            for j in range(z):
                inner += G[n, i, j] * out[n, j]
            residual += out[n, i] * inner
    return residual
