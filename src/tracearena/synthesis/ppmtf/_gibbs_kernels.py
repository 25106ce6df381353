"""Kernels of PPMTF's Gibbs sampling: cells, sums over cells, rows of factors, and reconstructed counts.

A (users), B (places), C (next places) and D (slots) are matrices of rows × z factors. The expected count
of a transition is R̂_nij = Σ_k a_nk b_ik c_jk, that of a visit Σ_k a_nk b_ik d_tk.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Index = NDArray[np.integer]
"""Rows of a matrix; the smallest type that holds them."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Small = NDArray[np.float32]
Flags = NDArray[np.bool_]


# Cells. A cell of a user is the number place · width + target; the positive ones of user u are
# positive[positive_offsets[u]:positive_offsets[u + 1]], ascending. `n_cells` is how many cells a user has,
# and `uniforms` (users × wanted) are the numbers that choose among those that are not positive; `table` is a
# hash table of ranks, -1 where it is free. A cell in parts is a user, a place, and a target (next place or
# slot). A pair is two of these, sorted by the third, its `key`, for the sums below.


@njit(cache=True, nogil=True)
def sample_zeros(
    positive: Ints, positive_offsets: Ints, n_cells: int, wanted: int, uniforms: Floats, out: Ints
) -> Ints:
    """Draw `wanted` cells of each user uniformly without replacement from those that are not positive.

    R. Floyd's algorithm on the ranks of the free cells, each rank then shifted past the positive
    cells below it: O(wanted) a user whatever the number of cells. All free cells where there are
    no more than `wanted`. Writes the cells of one user after the other to `out`, and returns how many
    each has.
    """
    users = len(positive_offsets) - 1
    written = np.zeros(users, np.int64)
    size = 16
    while size < 2 * wanted:
        size *= 2
    table = np.empty(size, np.int64)
    at = 0
    for u in range(users):
        mine = positive[positive_offsets[u] : positive_offsets[u + 1]]
        free = n_cells - len(mine)
        count = min(wanted, free)
        table[:] = -1
        for r in range(count):
            top = free - count + r
            rank = min(int(uniforms[u, r] * (top + 1)), top)
            if not _insert(table, rank):
                rank = top
                _insert(table, rank)
            out[at] = _find_zero_cell(mine, rank)
            at += 1
        written[u] = count
    return written


@njit(cache=True, nogil=True)
def _insert(table: Ints, value: int) -> bool:
    mask = len(table) - 1
    slot = (value * 0x9E3779B1 >> 7) & mask
    while table[slot] != -1:
        if table[slot] == value:
            return False
        slot = (slot + 1) & mask
    table[slot] = value
    return True


@njit(cache=True, nogil=True)
def _find_zero_cell(positive: Ints, rank: int) -> int:
    low, high = 0, len(positive)
    while low < high:
        middle = (low + high) // 2
        if positive[middle] - middle <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


@njit(cache=True, nogil=True)
def split_cells(
    cells: Ints, counts: Ints, width: int, shift: int, user: Index, place: Index, target: Index
) -> None:
    """Write user, place and shifted target of cells, of which each user has the next ``counts[user]``."""
    c = 0
    for u in range(len(counts)):
        for _ in range(counts[u]):
            i = cells[c] // width
            user[c] = u
            place[c] = i
            target[c] = cells[c] - i * width + shift
            c += 1


@njit(cache=True, nogil=True)
def sort_pairs(
    key: Index, offsets: Ints, left: Index, right: Index, sorted_left: Index, sorted_right: Index
) -> None:
    """Put each pair behind the others of its key, whose place begins at ``offsets[key]``.

    `left` and `right` are what the pairs are of, `sorted_left` and `sorted_right` the same in the new order.
    """
    free = offsets.copy()
    for c in range(len(key)):
        at = free[key[c]]
        free[key[c]] = at + 1
        sorted_left[at] = left[c]
        sorted_right[at] = right[c]


# Gibbs sampling ([ppmtf] section 3.3). For each row of a matrix: G = Σ x xᵀ and h = Σ r x over its cells,
# x the elementwise product of the two other rows and r the count; the row is drawn from its conditional.
#
#   left, right        the two other matrices, rows × z
#   left_index, right_index
#                      their rows that make the x of each cell, the cells of one row of the matrix together
#   offsets            the cells of row g are offsets[g]:offsets[g + 1]
#   group, value       row of the matrix to which each cell belongs, and its count r
#   G, h               rows × z × z and rows × z, the two sums
#   precision, shift   Λ of Ψ, and Λ μ
#   noise              standard normal numbers, rows × z


@njit(cache=True, nogil=True)
def _cells_per_product(z: int) -> int:
    """Return how many cells are summed up at a time: below the size at which BLAS starts threads."""
    return max(8, 65_536 // (z * z))


@njit(cache=True, nogil=True)
def fill_gram(
    left: Floats, right: Floats, offsets: Ints, left_index: Index, right_index: Index, out: Floats
) -> None:
    """Set ``out[g]`` to the sum over the group's cells of x xᵀ with x = left[l] * right[r].

    The x of some cells are gathered as the rows of X, and XᵀX is one matrix product.
    """
    z = left.shape[1]
    room = _cells_per_product(z)
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
def add_weighted_products(
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
    """Draw each row from Normal(P⁻¹ b, P⁻¹), P = precision + alpha G, b = shift + alpha h.

    With P = L Lᵀ and standard normal noise ε the row is L⁻ᵀ (L⁻¹ b + ε). Returns the sum over
    rows of xᵀ G x − 2 xᵀ h, the squared residuals up to the constant Σ r².

    G[n], h[n]          Σ v vᵀ and Σ r v of row n
    precision, shift    Λ and Λ μ
    noise[n], out[n]    ε and the row that is drawn
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


# Rows of reconstructed counts max(R̂, φ), φ being `smallest`. BT and CT are B and C transposed, a, b and c
# single rows of A, B and C; `coefficients` is the product of two of them. X is scratch, rows × z.
# Sums go by tiles of 32 values, so that drawing an index skips whole tiles: `tiles` are the sums of `values`.

TILE = 32
_AT_ONCE = 262_144  # elements of a product: below the size at which BLAS starts threads


@njit(cache=True, nogil=True)
def clamp_products(coefficients: Floats, transposed: Floats, smallest: float, out: Floats) -> None:
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
def rows_per_product(z: int, n: int) -> int:
    """Return how many rows of n values `clamp_product_rows` may make without BLAS starting threads."""
    return max(1, _AT_ONCE // max(z * n, 1))


@njit(cache=True, nogil=True)
def clamp_product_rows(
    coefficients: Floats, rows: Floats, transposed: Floats, smallest: float, X: Floats, out: Floats
) -> None:
    """Set ``out[r]`` to what `clamp_products` makes of coefficients * rows[r], all rows in one product."""
    count = len(rows)
    for r in range(count):
        for k in range(len(coefficients)):
            X[r, k] = coefficients[k] * rows[r, k]
    np.dot(X[:count], transposed, out[:count])
    for r in range(count):
        for j in range(out.shape[1]):
            out[r, j] = max(out[r, j], smallest)


@njit(cache=True, nogil=True)
def sum_clamped_rows(a: Floats, B: Floats, CT: Floats, smallest: float, sums: Floats) -> None:
    """Set ``sums[i]`` to Σ_j max(Σ_k a_k b_ik c_jk, smallest)."""
    n = CT.shape[1]
    room = rows_per_product(len(a), n)
    X, rows = np.empty((room, len(a))), np.empty((room, n))
    for first in range(0, len(B), room):
        stop = min(first + room, len(B))
        clamp_product_rows(a, B[first:stop], CT, smallest, X, rows)
        for i in range(first, stop):
            sums[i] = _sum_tile(rows[i - first], 0, n)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _sum_tile(values: Floats, first: int, stop: int) -> float:
    total = 0.0
    for j in range(first, stop):
        total += values[j]
    return total


@njit(cache=True, nogil=True)
def sum_by_tiles(values: Floats, tiles: Floats) -> float:
    """Return the sum, and leave the sums of tiles of `TILE` values in `tiles`."""
    total = 0.0
    for b in range(len(tiles)):
        tiles[b] = _sum_tile(values, b * TILE, min((b + 1) * TILE, len(values)))
        total += tiles[b]
    return total


@njit(cache=True, nogil=True)
def pick_index(values: Floats, tiles: Floats, target: float) -> int:
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
def clamp_triple_product(a: Floats, b: Floats, c: Floats, smallest: float) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k] * c[k]
    return max(total, smallest)
