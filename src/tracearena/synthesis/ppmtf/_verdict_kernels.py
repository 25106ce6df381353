"""The plausible-deniability test of a block of verifiers: by bounds, and what they leave open."""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Flags, Floats, Index, Ints, Small
from tracearena.synthesis.ppmtf._row_kernels import TILE, clamped, total_of
from tracearena.synthesis.ppmtf._sieve_kernels import (
    UNIT,
    sieve,
    sum_bounds,
    weigh_moves,
)
from tracearena.synthesis.ppmtf._stay_kernels import LOWER, UPPER, stay_bounds

_ABOVE = 1.0 + 8 * UNIT
_ROUNDED = 1e-12


@njit(cache=True, nogil=True)
def _lengths(rows: Floats) -> Small:
    """Return the length of each row, rounded up."""
    lengths: Small = (np.sqrt((rows * rows).sum(axis=1)) * _ABOVE).astype(np.float32)
    return lengths


@njit(cache=True, nogil=True)
def verdicts(
    A: Floats, B: Floats, C: Floats, A2: Floats, B2T: Floats, D: Floats, BT: Small, CT: Small,
    first_slot: int, smallest: float, verifiers: Ints, traces: Ints, first: Index, offsets: Ints,
    place: Index, target: Index, slot: Index, scale: Small, stay_offsets: Ints, stays: Index,
    owner: Ints, edges: Floats, least: Small, counts: Index,
) -> tuple[Index, Index]:  # fmt: skip
    """Add to ``counts[r]`` of the traces the verifiers other than ``owner[r]`` for whom r is in its bucket.

    ``edges[r]`` are four limits of the scaled likelihood: surely below the bucket, surely above its
    lower and below its upper border, surely above it. Returns the traces and the (rows of) verifiers
    about whom bounds say nothing.

    What costs less comes first: what moves propose, whether they are accepted, upper bounds of stays; and
    lower bounds of stays only where a trace may be in its bucket.
    """
    n, z, n_slots, lanes = len(B), A.shape[1], len(D), len(verifiers)
    beta, gamma = _lengths(B), _lengths(C)
    sizes = np.abs(C).sum(axis=0)
    low, high = np.empty((lanes, n)), np.empty((lanes, n))
    AT = np.empty((z + 1, lanes), np.float32)
    inverse_sums, start = np.empty((n, lanes), np.float32), np.empty((n, lanes), np.float32)
    visits, tiles = np.empty(n), np.empty((n + TILE - 1) // TILE)
    for v in range(lanes):
        sum_bounds(A[v], B, CT, sizes, smallest, low[v], high[v])
        clamped(A2[v] * D[first_slot], B2T, smallest, visits)
        total = total_of(visits, tiles)
        for k in range(z):
            AT[k, v] = A[v, k]
        AT[z, v] = np.abs(A[v]).max() * _ABOVE
        for i in range(n):
            inverse_sums[i, v] = _ABOVE / low[v, i]
            start[i, v] = visits[i] / total * _ABOVE
    kept, found = np.empty((lanes, len(traces)), np.int32), np.zeros(lanes, np.int64)
    products = np.empty(kept.shape, np.float32)
    sieve(
        AT, B.astype(np.float32), C.astype(np.float32), beta, gamma, smallest, inverse_sums, start,
        traces, offsets, first, place, target, scale, least, kept, products, found,
    )  # fmt: skip
    open_trace, open_verifier = np.empty(found.sum(), np.int32), np.empty(found.sum(), np.int32)
    n_open = 0
    aB, V, V32 = np.empty((n, z)), np.empty((n_slots, n)), np.empty((n_slots, n), np.float32)
    most, fewest = np.empty(n), np.empty(n)
    most32, fewest32 = np.empty(n, np.float32), np.empty(n, np.float32)
    wanted, stay = np.empty((n_slots, n), np.bool_), np.empty((n_slots, n))
    upper, lower = np.empty(len(traces)), np.empty(len(traces))
    for v in range(lanes):
        a, mine, left = A[v], kept[v], 0
        for i in range(n):
            for k in range(z):
                aB[i, k] = a[k] * B[i, k]
        for t in range(n_slots):
            clamped(A2[v] * D[t], B2T, smallest, V[t])
            for i in range(n):
                V32[t, i] = V[t, i]
        most[:] = (1.0 + _ROUNDED) / low[v]
        fewest[:] = (1.0 - _ROUNDED) / high[v]
        for i in range(n):
            most32[i], fewest32[i] = most[i], fewest[i]
        total = total_of(V[first_slot], tiles)
        for c in range(found[v]):
            r = mine[c]
            if owner[r] == verifiers[v]:
                continue
            up, down = weigh_moves(
                aB, C, V, smallest, most, fewest, V[first_slot, first[r]] / total, offsets[r], offsets[r + 1],
                place, target, slot, scale, products[v, c], least[r],
            )  # fmt: skip
            if not up < least[r]:
                mine[left], upper[left], lower[left] = r, up, down
                left += 1
        _want(mine[:left], stay_offsets, stays, wanted.reshape(-1))
        stay_bounds(UPPER, a, B, C, BT, CT, beta, gamma, V, V32, smallest, fewest32, wanted, stay)
        left = _possible(mine[:left], stay_offsets, stays, stay.reshape(-1), edges, upper, lower)
        _want(mine[:left], stay_offsets, stays, wanted.reshape(-1))
        stay_bounds(LOWER, a, B, C, BT, CT, beta, gamma, V, V32, smallest, most32, wanted, stay)
        for c in range(left):
            r, up, down = mine[c], upper[c], lower[c]
            for s in range(stay_offsets[r], stay_offsets[r + 1]):
                down *= stay.reshape(-1)[stays[s]]
            if down > edges[r, 3]:
                continue
            if down > edges[r, 1] and up < edges[r, 2]:
                counts[r] += 1
            else:
                open_trace[n_open], open_verifier[n_open] = r, v
                n_open += 1
    return open_trace[:n_open].copy(), open_verifier[:n_open].copy()


@njit(cache=True, nogil=True)
def _want(traces: Index, offsets: Ints, stays: Index, wanted: Flags) -> None:
    """Ask for the stays of some traces, and for no others."""
    wanted[:] = False
    for r in traces:
        for s in range(offsets[r], offsets[r + 1]):
            wanted[stays[s]] = True


@njit(cache=True, nogil=True)
def _possible(
    traces: Index, offsets: Ints, stays: Index, stay: Floats, edges: Floats, upper: Floats, lower: Floats
) -> int:
    """Lower the upper bounds by the stays, and keep the traces that are not below their buckets."""
    left = 0
    for c in range(len(traces)):
        r, up = traces[c], upper[c]
        for s in range(offsets[r], offsets[r + 1]):
            up = max(up * stay[stays[s]], 1e-300)
        if not up < edges[r, 0]:
            traces[left], upper[left], lower[left] = r, up, lower[c]
            left += 1
    return left
