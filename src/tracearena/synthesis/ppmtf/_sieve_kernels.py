"""Loops of the plausible-deniability test that decide most pairs of a trace and a verifier by bounds.

A trace is a first place, its *moves* (place, next place, slot) and its *stays* (slot, place). What is
bounded is Π of its steps' probabilities, each move's times a scale of its own that keeps the product
near 1. Sums over all places are made in float32; every bound allows for what that rounds away
(`UNIT` a rounding) and for the rounding of `_verify_kernels`, which decides what bounds leave open.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Floats, Index, Ints, Small
from tracearena.synthesis.ppmtf._row_kernels import rows_at_once

UNIT = 2.0**-24
_ABOVE = 1.0 + 8 * UNIT
_BELOW = 1.0 - 8 * UNIT
SUMMED_AT_ONCE = 128
SUMMED = (SUMMED_AT_ONCE + 16) * UNIT
_TINY = 1e-300
_LOST = 1e-9
MOVES_AT_ONCE = 128


@njit(cache=True, nogil=True)
def product_error(z: int) -> float:
    """Return what a float32 Σ_k a_k b_k c_k may be off, in units of Σ_k |a_k b_k c_k|."""
    return (z + 8) * UNIT


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _raised_sum(values: Small, smallest: np.float32) -> np.float32:
    total = np.float32(0.0)
    for j in range(len(values)):
        total += max(values[j], smallest)
    return total


@njit(cache=True, nogil=True)
def sum_bounds(
    a: Floats, B: Floats, CT: Small, sizes: Floats, smallest: float, low: Floats, high: Floats
) -> None:
    """Bound Σ_j max(Σ_k a_k b_ik c_jk, smallest) of every place i; ``sizes[k]`` is Σ_j |c_jk|."""
    n, z = CT.shape[1], len(a)
    room = rows_at_once(z, n)
    X, rows = np.empty((room, z), np.float32), np.empty((room, n), np.float32)
    error, raised = product_error(z), np.float32(smallest)
    for first in range(0, len(B), room):
        stop = min(first + room, len(B))
        for i in range(first, stop):
            for k in range(z):
                X[i - first, k] = a[k] * B[i, k]
        np.dot(X[: stop - first], CT, rows[: stop - first])
        for i in range(first, stop):
            total = 0.0
            for j in range(0, n, SUMMED_AT_ONCE):
                total += float(_raised_sum(rows[i - first, j : j + SUMMED_AT_ONCE], raised))
            size = 0.0
            for k in range(z):
                size += abs(a[k] * B[i, k]) * sizes[k]
            off = total * SUMMED + size * error
            low[i] = max(total - off, n * smallest * (1.0 - _LOST))
            high[i] = max(total + off, low[i])


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _times(product: Small, proposed: Small, inverse_sum: Small, smallest: np.float32) -> None:
    for v in range(len(product)):
        product[v] = max(product[v] * (max(proposed[v], smallest) * inverse_sum[v]), np.float32(1e-30))


@njit(cache=True, nogil=True)
def sieve(
    AT: Small, B: Small, C: Small, beta: Small, gamma: Small, smallest: float, inverse_sums: Small,
    start: Small, traces: Ints, offsets: Ints, first: Index, place: Index, target: Index, scale: Small,
    least: Small, kept: Index, products: Small, found: Ints,
) -> None:  # fmt: skip
    """List for each verifier those of the traces that she might have made, by what moves propose alone.

    Trace r goes to ``kept[v]``, and its product to ``products[v]``, unless π of its first place times
    Π scale · max(R̂, φ) / Σ is below ``least[r]`` for verifier v. The last row of `AT` is max|a|, to raise
    R̂ by what float32 may have taken from it. A move is looked at for all verifiers in one product.
    """
    z, lanes = len(AT) - 1, AT.shape[1]
    room = MOVES_AT_ONCE
    for r in traces:
        room = max(room, offsets[r + 1] - offsets[r])
    X, proposed = np.empty((room, z + 1), np.float32), np.empty((room, lanes), np.float32)
    product, error = np.empty(lanes, np.float32), product_error(z)
    begin = 0
    while begin < len(traces):
        end, count = begin, 0
        while end < len(traces):
            r = traces[end]
            if count + offsets[r + 1] - offsets[r] > room:
                break
            for s in range(offsets[r], offsets[r + 1]):
                i, j, weight = place[s], target[s], scale[s]
                for k in range(z):
                    X[count, k] = B[i, k] * C[j, k] * weight
                X[count, z] = beta[i] * gamma[j] * weight * error
                count += 1
            end += 1
        for some in range(0, count, MOVES_AT_ONCE):
            till = min(some + MOVES_AT_ONCE, count)
            np.dot(X[some:till], AT, proposed[some:till])
        count = 0
        for r in traces[begin:end]:
            product[:] = start[first[r]]
            for s in range(offsets[r], offsets[r + 1]):
                raised = np.float32(max(smallest * scale[s] * _ABOVE, 1e-37))
                _times(product, proposed[count], inverse_sums[place[s]], raised)
                count += 1
            for v in range(lanes):
                if not product[v] < least[r]:
                    kept[v, found[v]], products[v, found[v]] = r, product[v]
                    found[v] += 1
        begin = end


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _inner(left: Floats, right: Floats) -> float:
    total = 0.0
    for k in range(len(left)):
        total += left[k] * right[k]
    return total


@njit(cache=True, nogil=True)
def weigh_moves(
    aB: Floats, C: Floats, V: Floats, smallest: float, most: Floats, fewest: Floats, start: float,
    low: int, stop: int, place: Index, target: Index, slot: Index, scale: Small, proposed: float,
    least: float,
) -> tuple[float, float]:  # fmt: skip
    """Bound π of the first place (`start`) times Π of the moves.

    ``most`` and ``fewest`` bound one over the row sums. `proposed` bounds the product if every proposal
    is accepted, and falls with every move that might not be: below `least` it is all that is returned.
    """
    upper, lower = start, start
    for s in range(low, stop):
        i, j, t = place[s], target[s], slot[s]
        there = max(_inner(aB[i], C[j]), smallest)
        back = max(_inner(aB[j], C[i]), smallest) * (V[t, j] / V[t, i])
        proposal, step = there * most[i], back * most[j]
        if step < proposal:
            proposed *= step / proposal * _ABOVE
            if proposed < least:
                return proposed, 0.0
        upper = max(upper * (min(proposal, step) * scale[s]), _TINY)
        lower = min(lower * (min(there * fewest[i], back * fewest[j]) * scale[s]), 1e300)
    return upper, lower
