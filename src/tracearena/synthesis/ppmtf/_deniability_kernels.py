"""Kernels of the plausible-deniability test: who could have made a trace?

Arrays and probabilities are those of `_generation_kernels`; V is slots × places, max(visit counts, φ) of one
user. Most pairs of a trace and a verifier are decided by bounds whose matrix products are in float32; every
bound leaves room for what float32 rounds away. What bounds leave open is computed in float64.
"""

# Arrays that several kernels share (`TraceSteps` in `deniability` makes those of the traces):
#
#   traces, user           rows of places, or numbers of traces; the user for whom each was made
#   verifiers, owner       users for whom traces are tested; own user of each trace
#   first, first_slot      first place of each trace, and the slot of the first instant of a day
#   offsets, place, target, slot, scale
#                          the moves of trace r are offsets[r]:offsets[r + 1] of the other four
#   stay_offsets, stays    the stays of each trace, as slot · places + place
#   edges, least           borders of the bucket of each trace; a lower limit of the scaled likelihood
#   A, A2                  feature vectors of users or verifiers, one row each; `aB` is a · b of every place
#   B, C, B2, D            the other factors; BT, CT, B2T and AT are transposed, small_CT is in float32
#   slot_of, smallest      slot of each instant of a day, and φ
#   row, back              max(R̂, φ) of the moves that leave a place, and of those that return to it
#   sizes                  Σ_j |c_jk| of each factor, to bound what float32 rounds away
#   low, high              bounds of sums of rows, or of log-likelihoods
#   inverse_sum, inverse_sums, most, fewest
#                          one over the sum of a row, of all rows, and bounds of it from above and below
#   visits                 V of one slot; `start` is π of the first place, normalised
#   counts                 verifiers counted for each trace, the result

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._gibbs_kernels import (
    TILE,
    Flags,
    Floats,
    Index,
    Ints,
    Small,
    clamp_product_rows,
    clamp_products,
    clamp_triple_product,
    rows_per_product,
    sum_by_tiles,
    sum_clamped_rows,
)

_NOTHING = 1e-300


# Bounds of a trace's log-likelihood under its own user. Row sums are made in float32, which costs most.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _sum_moves(row: Floats, inverse_sum: float, visits: Floats, back: Floats, inverse_sums: Floats) -> float:
    """Return Σ_j min(row[j] / Σ, visits[j] · back[j] / Σ_j)."""
    total = 0.0
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * back[j] * inverse_sums[j])
    return total


@njit(cache=True, nogil=True)
def bound_log_likelihoods(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, small_CT: Small, A2: Floats, B2: Floats,
    B2T: Floats, D: Floats, slot_of: Ints, smallest: float, traces: Index, user: Ints, running: Floats,
    low: Floats, high: Floats,
) -> None:  # fmt: skip
    """Bound the log-likelihood of each trace (rows of places) as made for ``user``.

    ``A`` and ``A2`` have one row per trace, and traces are grouped by user, as for `log_likelihoods`, whose
    running log-likelihoods ``running`` is near to. The bounds leave more room than float64 needs.
    """
    n, n_slots = len(B), len(D)
    sizes = np.abs(C).sum(axis=0)
    tiles = np.empty((n + TILE - 1) // TILE)
    row, back, V = np.empty(n), np.empty(n), np.empty((n_slots, n))
    fewest, most = np.empty(n), np.empty(n)
    known = np.zeros(n_slots, np.bool_)
    for r in range(len(traces)):
        a, a2 = A[r], A2[r]
        if r == 0 or user[r] != user[r - 1]:
            known[:] = False
            bound_row_sums(a, B, small_CT, sizes, smallest, fewest, most)
            fewest[:], most[:] = 1.0 / most, 1.0 / fewest  # of one over the sums from here on
        for t in slot_of:
            if not known[t]:
                clamp_products(a2 * D[t], B2T, smallest, V[t])
                known[t] = True
        here = traces[r, 0]
        weight = math.log(V[slot_of[0], here] / sum_by_tiles(V[slot_of[0]], tiles))
        running[r, 0], low[r], high[r] = weight, weight, weight
        stayed = -1
        for s in range(1, traces.shape[1]):
            i, j, t = traces[r, s - 1], traces[r, s], slot_of[s]
            if i == j:
                if stayed != i:
                    clamp_products(a * B[i], CT, smallest, row)
                    clamp_products(a * C[i], BT, smallest, back)
                    back[i] = 0.0
                    stayed = i
                at = V[t, i]
                upper = max(1.0 - _sum_moves(row, fewest[i] * at, V[t], back, fewest) / at, _NOTHING)
                lower = max(1.0 - _sum_moves(row, most[i] * at, V[t], back, most) / at, _NOTHING)
            else:
                there = clamp_triple_product(a, B[i], C[j], smallest)
                returned = clamp_triple_product(a, B[j], C[i], smallest) * (V[t, j] / V[t, i])
                upper = min(there * most[i], returned * most[j])
                lower = min(there * fewest[i], returned * fewest[j])
            high[r] += math.log(upper)
            low[r] += math.log(lower)
            running[r, s] = running[r, s - 1] + math.log(upper)


# Bounds of moves, for all verifiers (lanes) of a block at a time. The moves of trace r are
# offsets[r]:offsets[r + 1] of place, target, slot and scale. The likelihood of a trace is at most
# π(first) Π scale · max(R̂, φ) / Σ, what its moves propose, and falls where a proposal may be refused. AT, B
# and C are in float32; `found` is the number of possible traces of each verifier, listed in her row of `kept`
# with their products in `products`. X has a row b · c · scale for each move; X · AT is `proposed`, moves by
# verifiers.

UNIT = 2.0**-24
_ABOVE = 1.0 + 8 * UNIT
SUMMED_AT_ONCE = 128
SUMMED = (SUMMED_AT_ONCE + 16) * UNIT
_LOST = 1e-9
MOVES_AT_ONCE = 128


@njit(cache=True, nogil=True)
def product_error(z: int) -> float:
    """Return what a float32 Σ_k a_k b_k c_k may be off, in units of Σ_k |a_k b_k c_k|."""
    return (z + 8) * UNIT


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _sum_clamped(values: Small, smallest: np.float32) -> np.float32:
    """Return Σ_j max(values[j], smallest)."""
    total = np.float32(0.0)
    for j in range(len(values)):
        total += max(values[j], smallest)
    return total


@njit(cache=True, nogil=True)
def bound_row_sums(
    a: Floats, B: Floats, CT: Small, sizes: Floats, smallest: float, low: Floats, high: Floats
) -> None:
    """Bound Σ_j max(Σ_k a_k b_ik c_jk, smallest) of every place i; ``sizes[k]`` is Σ_j |c_jk|."""
    n, z = CT.shape[1], len(a)
    room = rows_per_product(z, n)
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
                total += float(_sum_clamped(rows[i - first, j : j + SUMMED_AT_ONCE], raised))
            size = 0.0
            for k in range(z):
                size += abs(a[k] * B[i, k]) * sizes[k]
            off = total * SUMMED + size * error
            low[i] = max(total - off, n * smallest * (1.0 - _LOST))
            high[i] = max(total + off, low[i])


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _multiply_by_step(product: Small, proposed: Small, inverse_sum: Small, smallest: np.float32) -> None:
    """Multiply the product of each verifier by Q* of one move, `proposed` times `inverse_sum`."""
    for v in range(len(product)):
        product[v] = max(product[v] * (max(proposed[v], smallest) * inverse_sum[v]), np.float32(1e-30))


@njit(cache=True, nogil=True)
def list_possible_traces(
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
                _multiply_by_step(product, proposed[count], inverse_sums[place[s]], raised)
                count += 1
            for v in range(lanes):
                if not product[v] < least[r]:
                    kept[v, found[v]], products[v, found[v]] = r, product[v]
                    found[v] += 1
        begin = end


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _inner_product(left: Floats, right: Floats) -> float:
    """Return Σ_k left[k] right[k]."""
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
        there = max(_inner_product(aB[i], C[j]), smallest)
        back = max(_inner_product(aB[j], C[i]), smallest) * (V[t, j] / V[t, i])
        proposal, step = there * most[i], back * most[j]
        if step < proposal:
            proposed *= step / proposal * _ABOVE
            if proposed < least:
                return proposed, 0.0
        upper = max(upper * (min(proposal, step) * scale[s]), _NOTHING)
        lower = min(lower * (min(there * fewest[i], back * fewest[j]) * scale[s]), 1e300)
    return upper, lower


# Bounds of stays: 1 - Σ_j min(Q*(i, j), π_j Q*(j, i) / π_i), from above or below (`side`). `wanted` and
# `out` are slots × places; `beta` and `gamma` are the lengths of the rows of B and C, which bound products:
# `error` · `others` is how far `values` may be off.

UPPER, LOWER = 1.0, -1.0


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _sum_moves_float32(row: Small, inverse_sum: np.float32, visits: Small, back: Small) -> np.float32:
    total = np.float32(0.0)
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * back[j])
    return total


@njit(cache=True, nogil=True)
def _sum_moves_from(row: Small, inverse_sum: float, visits: Small, back: Small, here: float) -> float:
    """Return Σ_j min(row[j] · inverse_sum, visits[j] · back[j] / here)."""
    total, scaled = 0.0, np.float32(inverse_sum * here)
    for j in range(0, len(row), SUMMED_AT_ONCE):
        part = slice(j, j + SUMMED_AT_ONCE)
        total += float(_sum_moves_float32(row[part], scaled, visits[part], back[part]))
    return total / here


@njit(cache=True, nogil=True)
def bound_stays(
    side: float, a: Floats, B: Floats, C: Floats, BT: Small, CT: Small, beta: Small, gamma: Small,
    V: Floats, visits: Small, smallest: float, inverse_sums: Small, wanted: Flags, out: Floats,
) -> None:  # fmt: skip
    """Bound the probability of each stay (slot, place) that is wanted, from above or below.

    ``inverse_sums`` are bounds of one over the row sums from the other side.
    """
    n, z, n_slots = len(B), len(a), len(V)
    room = rows_per_product(z, n)
    X, Y = np.empty((room, z), np.float32), np.empty((room, z), np.float32)
    rows, backs = np.empty((room, n), np.float32), np.empty((room, n), np.float32)
    row, back = np.empty(n, np.float32), np.empty(n, np.float32)
    places = np.empty(room, np.int64)
    error = -side * np.abs(a).max() * product_error(z)
    lost, least = side * _LOST, max(side * _LOST, 0.0)
    i = 0
    while i < n:
        count = 0
        while i < n and count < room:
            asked = False
            for t in range(n_slots):
                asked = asked or wanted[t, i]
            if asked:
                places[count] = i
                for k in range(z):
                    X[count, k] = a[k] * B[i, k]
                    Y[count, k] = a[k] * C[i, k]
                count += 1
            i += 1
        if count == 0:
            break
        np.dot(X[:count], CT, rows[:count])
        np.dot(Y[:count], BT, backs[:count])
        for c in range(count):
            at = places[c]
            _bound_clamped(rows[c], error * beta[at], gamma, smallest, row)
            _bound_clamped_and_scale(backs[c], error * gamma[at], beta, smallest, inverse_sums, back)
            back[at] = 0.0
            for t in range(n_slots):
                if wanted[t, at]:
                    left = _sum_moves_from(row, inverse_sums[at], visits[t], back, V[t, at])
                    out[t, at] = max(1.0 - left * (1.0 - side * SUMMED) + lost, least)


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _bound_clamped(values: Small, error: float, others: Small, smallest: float, out: Small) -> None:
    """Bound max(value, smallest), each value being off by up to |error| · others[j]."""
    raised, off = np.float32(smallest), np.float32(error)
    for j in range(len(values)):
        out[j] = max(values[j] + off * others[j], raised)


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _bound_clamped_and_scale(
    values: Small, error: float, others: Small, smallest: float, scale: Small, out: Small
) -> None:
    raised, off = np.float32(smallest), np.float32(error)
    for j in range(len(values)):
        out[j] = max(values[j] + off * others[j], raised) * scale[j]


# The test of a block of verifiers: a trace counts for a verifier if its likelihood under her is surely
# within its bucket; pairs about which bounds say nothing are returned.

_ROUNDED = 1e-12


@njit(cache=True, nogil=True)
def _compute_row_norms(rows: Floats) -> Small:
    """Return the length of each row, rounded up."""
    lengths: Small = (np.sqrt((rows * rows).sum(axis=1)) * _ABOVE).astype(np.float32)
    return lengths


@njit(cache=True, nogil=True)
def count_by_bounds(
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
    beta, gamma = _compute_row_norms(B), _compute_row_norms(C)
    sizes = np.abs(C).sum(axis=0)
    low, high = np.empty((lanes, n)), np.empty((lanes, n))
    AT = np.empty((z + 1, lanes), np.float32)
    inverse_sums, start = np.empty((n, lanes), np.float32), np.empty((n, lanes), np.float32)
    visits, tiles = np.empty(n), np.empty((n + TILE - 1) // TILE)
    for v in range(lanes):
        bound_row_sums(A[v], B, CT, sizes, smallest, low[v], high[v])
        clamp_products(A2[v] * D[first_slot], B2T, smallest, visits)
        total = sum_by_tiles(visits, tiles)
        for k in range(z):
            AT[k, v] = A[v, k]
        AT[z, v] = np.abs(A[v]).max() * _ABOVE
        for i in range(n):
            inverse_sums[i, v] = _ABOVE / low[v, i]
            start[i, v] = visits[i] / total * _ABOVE
    kept, found = np.empty((lanes, len(traces)), np.int32), np.zeros(lanes, np.int64)
    products = np.empty(kept.shape, np.float32)
    list_possible_traces(
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
            clamp_products(A2[v] * D[t], B2T, smallest, V[t])
            for i in range(n):
                V32[t, i] = V[t, i]
        most[:] = (1.0 + _ROUNDED) / low[v]
        fewest[:] = (1.0 - _ROUNDED) / high[v]
        for i in range(n):
            most32[i], fewest32[i] = most[i], fewest[i]
        total = sum_by_tiles(V[first_slot], tiles)
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
        _mark_wanted_stays(mine[:left], stay_offsets, stays, wanted.reshape(-1))
        bound_stays(UPPER, a, B, C, BT, CT, beta, gamma, V, V32, smallest, fewest32, wanted, stay)
        left = _keep_possible(mine[:left], stay_offsets, stays, stay.reshape(-1), edges, upper, lower)
        _mark_wanted_stays(mine[:left], stay_offsets, stays, wanted.reshape(-1))
        bound_stays(LOWER, a, B, C, BT, CT, beta, gamma, V, V32, smallest, most32, wanted, stay)
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
def _mark_wanted_stays(traces: Index, offsets: Ints, stays: Index, wanted: Flags) -> None:
    """Ask for the stays of some traces, and for no others."""
    wanted[:] = False
    for r in traces:
        for s in range(offsets[r], offsets[r + 1]):
            wanted[stays[s]] = True


@njit(cache=True, nogil=True)
def _keep_possible(
    traces: Index, offsets: Ints, stays: Index, stay: Floats, edges: Floats, upper: Floats, lower: Floats
) -> int:
    """Lower the upper bounds by the stays, and keep the traces that are not below their buckets.

    ``stay[s]`` bounds the probability of stay s from above.
    """
    left = 0
    for c in range(len(traces)):
        r, up = traces[c], upper[c]
        for s in range(offsets[r], offsets[r + 1]):
            up = max(up * stay[stays[s]], _NOTHING)
        if not up < edges[r, 0]:
            traces[left], upper[left], lower[left] = r, up, lower[c]
            left += 1
    return left


# The exact test: every distinct step (place left, slot, target) once per verifier, in float64; trace r is in
# bucket floor(-log-likelihood / η). The steps that leave place i are offsets[i]:offsets[i + 1] of `slot` and
# `target`, steps[r] are those of trace r by number, and `scaled` is `back` over the sums of the rows.


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _sum_moves_and_stay(
    row: Floats, inverse_sum: float, visits: Floats, scaled: Floats, here: float
) -> float:
    """Return Σ_j min(row[j] · inverse_sum, visits[j] · scaled[j] · here), the own place included."""
    total = 0.0
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * scaled[j] * here)
    return total


@njit(cache=True, nogil=True)
def _compute_step_logs(
    a: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, V: Floats, inverse_sums: Floats,
    smallest: float, offsets: Ints, slot: Index, target: Index, out: Floats,
) -> None:  # fmt: skip
    """Set ``out[s]`` to the log-probability of each step; steps are grouped by the place they leave.

    ``inverse_sums`` are one over the row sums; ``offsets``, ``slot`` and ``target`` come from
    `distinct_steps`. The probabilities are those of `_generation_kernels.log_likelihoods`.
    """
    n = len(B)
    room = rows_per_product(len(a), n)
    X, rows, backs, scaled = np.empty((room, len(a))), np.empty((room, n)), np.empty((room, n)), np.empty(n)
    for low in range(0, n, room):
        high = min(low + room, n)
        if offsets[low] == offsets[high]:
            continue
        clamp_product_rows(a, B[low:high], CT, smallest, X, rows)
        clamp_product_rows(a, C[low:high], BT, smallest, X, backs)
        for i in range(low, high):
            row, back = rows[i - low], backs[i - low]
            inverse_sum, ready = inverse_sums[i], False
            for s in range(offsets[i], offsets[i + 1]):
                t, j = slot[s], target[s]
                here = 1.0 / V[t, i]
                if i != j:
                    step = min(row[j] * inverse_sum, V[t, j] * back[j] * inverse_sums[j] * here)
                else:
                    if not ready:
                        for other in range(n):
                            scaled[other] = back[other] * inverse_sums[other]
                        ready = True
                    own = min(row[i] * inverse_sum, V[t, i] * scaled[i] * here)
                    step = max(
                        1.0 - (_sum_moves_and_stay(row, inverse_sum, V[t], scaled, here) - own), _NOTHING
                    )
                out[s] = math.log(step)


@njit(cache=True, nogil=True)
def count_same_bucket(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, A2: Floats, B2T: Floats, D: Floats,
    first_slot: int, smallest: float, verifiers: Ints, offsets: Ints, slot: Index, target: Index,
    first: Index, steps: Index, owner: Ints, bucket: Floats, eta: float, counts: Index,
) -> None:  # fmt: skip
    """Add to ``counts[r]`` the verifiers other than ``owner[r]`` for whom trace r is in ``bucket[r]``.

    ``A`` and ``A2`` have one row per verifier.
    """
    n, n_slots = len(B), len(D)
    V, sums, inverse_sums = np.empty((n_slots, n)), np.empty(n), np.empty(n)
    tiles = np.empty((n + TILE - 1) // TILE)
    logs, first_logs = np.empty(len(slot)), np.empty(n)
    for v in range(len(verifiers)):
        a, a2, u = A[v], A2[v], verifiers[v]
        for t in range(n_slots):
            clamp_products(a2 * D[t], B2T, smallest, V[t])
        visit_total = sum_by_tiles(V[first_slot], tiles)
        for i in range(n):
            first_logs[i] = math.log(V[first_slot, i] / visit_total)
        sum_clamped_rows(a, B, CT, smallest, sums)
        inverse_sums[:] = 1.0 / sums
        _compute_step_logs(a, B, BT, C, CT, V, inverse_sums, smallest, offsets, slot, target, logs)
        for r in range(len(first)):
            if owner[r] == u:
                continue
            total = first_logs[first[r]]
            for s in range(steps.shape[1]):
                total += logs[steps[r, s]]
            if math.floor(-total / eta) == bucket[r]:
                counts[r] += 1
