"""Kernels that draw traces and compute their likelihoods ([ppmtf] section 3.4).

A, B, C are the factors of transitions, A2, B2, D those of visits; names that end in T are transposed. With
φ = `smallest`, a place j is proposed from Q*(i, j) = max(R̂_ij, φ) / Σ_j and accepted with probability
min(1, π_j Q*(j, i) / (π_i Q*(i, j))), π ∝ max(visit counts of the slot, φ).

There is one walk for all places, and one for people who do only what was seen: the same steps at the cost
of the places that were seen after a place instead of all.
"""

# Arrays that several kernels share:
#
#   A, B, C, A2, B2, D     the factors, and BT, CT, B2T transposed ones; a and b are single rows
#   coefficients           a · d of the visits in one slot: a row of B2 times it gives π
#   slot_of, instant_of    slot of each instant of a day; instant that each step of a walk leads to
#   homes, home_weight     home of each user, -1 for none; how much it adds to π in each slot, as a multiple
#                          of the sum of π
#   at_home                what home adds to π of the present user in each slot
#   seen_offsets, seen_targets (or offsets, targets; offsets, next_places)
#                          places seen after place i: seen_targets[seen_offsets[i]:seen_offsets[i + 1]],
#                          ascending; without offsets every place counts as seen
#   visit_seen             slots × places: which visits were seen; all of them if it is empty
#   uniforms               users × days × steps × 2: one number proposes, the other accepts
#   visits, tiles          π of the present user and slot, not normalised, and its sums by tiles
#   row, weights           max(R̂, φ) of the place left, and a · b that it is made of; b, c are single rows
#   everything             all places, the next places where no offsets are given
#   out                    users × days × instants of places, or traces × instants of likelihoods

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
    clamp_products,
    clamp_triple_product,
    pick_index,
    sum_by_tiles,
    sum_clamped_rows,
)


@njit(cache=True, nogil=True)
def draw_walks(
    A: Floats, B: Floats, C: Floats, CT: Floats, A2: Floats, B2: Floats, B2T: Floats, D: Floats,
    slot_of: Ints, smallest: float, homes: Index, home_weight: Floats, seen_offsets: Ints,
    seen_targets: Index, visit_seen: Flags, instant_of: Ints, uniforms: Floats, out: Index,
) -> None:  # fmt: skip
    """Draw traces: users × days × instants of a day.

    Step s of a day leads to instant ``instant_of[s]``; the last step to an instant says where it is.

    The first place of a day comes from π of its slot. For every later instant a place j is
    proposed from Q*(i, ·) and taken with the Metropolis-Hastings probability; that needs the sums
    of rows i and j of max(R̂, φ) only. Sums are kept for all days of the user. At home π is larger
    by ``home_weight[slot]`` times the sum over all places; unseen cells count φ.
    """
    users, days, _ = out.shape
    n = len(B)
    row, other, visits = np.empty(n), np.empty(n), np.empty(n)
    n_tiles = (n + TILE - 1) // TILE
    tiles, other_tiles, visit_tiles = np.empty(n_tiles), np.empty(n_tiles), np.empty(n_tiles)
    sums = np.empty(n)
    at_home = np.zeros(len(D))
    for u in range(users):
        home = homes[u]
        visit_total = _fill_first_visits(
            A2[u], B2T, D, slot_of[0], smallest, visit_seen, home, home_weight, at_home, visits, visit_tiles
        )
        sums[:] = -1.0
        holder = -1
        for d in range(days):
            i = pick_index(visits, visit_tiles, uniforms[u, d, 0, 0] * visit_total)
            out[u, d, 0] = i
            for s in range(1, len(instant_of)):
                if holder != i:
                    clamp_products(A[u] * B[i], CT, smallest, row)
                    _clamp_unseen(row, i, seen_offsets, seen_targets, smallest)
                    sums[i] = sum_by_tiles(row, tiles)
                    holder = i
                j = pick_index(row, tiles, uniforms[u, d, s, 0] * sums[i])
                if j != i:
                    held = sums[j] < 0.0
                    if held:
                        clamp_products(A[u] * B[j], CT, smallest, other)
                        _clamp_unseen(other, j, seen_offsets, seen_targets, smallest)
                        sums[j] = sum_by_tiles(other, other_tiles)
                    slot = slot_of[instant_of[s]]
                    back = smallest
                    if _is_seen(j, i, seen_offsets, seen_targets):
                        back = clamp_triple_product(A[u], B[j], C[i], smallest)
                    pi_i = _compute_visit_weight(
                        A2[u], B2[i], D, slot, i, smallest, visit_seen, home, at_home
                    )
                    pi_j = _compute_visit_weight(
                        A2[u], B2[j], D, slot, j, smallest, visit_seen, home, at_home
                    )
                    if uniforms[u, d, s, 1] * (pi_i * row[j] * sums[j]) < pi_j * back * sums[i]:
                        i = j
                        if held:
                            row, other = other, row
                            tiles, other_tiles = other_tiles, tiles
                            holder = j
                out[u, d, instant_of[s]] = i


@njit(cache=True, nogil=True)
def _fill_visit_row(
    coefficients: Floats, B2T: Floats, smallest: float, visit_seen: Flags, slot: int, out: Floats
) -> None:
    clamp_products(coefficients, B2T, smallest, out)
    if len(visit_seen):
        for j in range(len(out)):
            if not visit_seen[slot, j]:
                out[j] = smallest


@njit(cache=True, nogil=True)
def _fill_first_visits(
    a: Floats, B2T: Floats, D: Floats, first_slot: int, smallest: float, visit_seen: Flags, home: int,
    home_weight: Floats, at_home: Floats, visits: Floats, tiles: Floats,
) -> float:  # fmt: skip
    """Fill what home adds to a user's π in each slot, and π of the first slot; return the sum of that π."""
    for slot in range(len(D)):
        if home >= 0 and home_weight[slot] > 0.0:
            _fill_visit_row(a * D[slot], B2T, smallest, visit_seen, slot, visits)
            at_home[slot] = home_weight[slot] * sum_by_tiles(visits, tiles)
    _fill_visit_row(a * D[first_slot], B2T, smallest, visit_seen, first_slot, visits)
    if home >= 0:
        visits[home] += at_home[first_slot]
    return sum_by_tiles(visits, tiles)


@njit(cache=True, nogil=True)
def _compute_visit_weight(
    a: Floats, b: Floats, D: Floats, slot: int, place: int, smallest: float, visit_seen: Flags, home: int,
    at_home: Floats,
) -> float:  # fmt: skip
    value = smallest
    if len(visit_seen) == 0 or visit_seen[slot, place]:
        value = clamp_triple_product(a, b, D[slot], smallest)
    if place == home:
        value += at_home[slot]
    return value


@njit(cache=True, nogil=True)
def _clamp_unseen(row: Floats, i: int, offsets: Ints, targets: Index, smallest: float) -> None:
    """Lower the entries of row i that are not among ``targets[offsets[i]:offsets[i + 1]]``."""
    if len(offsets) == 0:
        return
    at, end = offsets[i], offsets[i + 1]
    for j in range(len(row)):
        if at < end and targets[at] == j:
            at += 1
        else:
            row[j] = smallest


@njit(cache=True, nogil=True)
def _is_seen(i: int, j: int, offsets: Ints, targets: Index) -> bool:
    if len(offsets) == 0:
        return True
    mine = targets[offsets[i] : offsets[i + 1]]
    at = np.searchsorted(mine, j)
    return bool(at < len(mine) and mine[at] == j)


@njit(cache=True, nogil=True)
def fill_seen_row(
    a: Floats, b: Floats, C: Floats, smallest: float, targets: Index, weights: Floats, row: Floats
) -> float:
    """Set ``row[k]`` to max(Σ_z a_z b_z c_{targets[k] z}, smallest); return the sum over all places."""
    for k in range(len(a)):
        weights[k] = a[k] * b[k]
    total = smallest * (len(C) - len(targets))
    for k in range(len(targets)):
        row[k] = _clamp_inner_product(weights, C[targets[k]], smallest)
        total += row[k]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _clamp_inner_product(weights: Floats, c: Floats, smallest: float) -> float:
    total = 0.0
    for k in range(len(weights)):
        total += weights[k] * c[k]
    return max(total, smallest)


@njit(cache=True, nogil=True)
def pick_seen(row: Floats, targets: Index, n: int, smallest: float, target: float) -> tuple[int, float]:
    """Return the first place at which the running sum over all places exceeds `target`, and its value."""
    before = -1
    for k in range(len(targets)):
        gap = (targets[k] - before - 1) * smallest
        if target < gap:
            return min(before + 1 + int(target / smallest), targets[k] - 1), smallest
        target -= gap
        if target < row[k]:
            return targets[k], row[k]
        target -= row[k]
        before = targets[k]
    if before + 1 < n:
        return min(before + 1 + int(max(target, 0.0) / smallest), n - 1), smallest
    return before, row[len(targets) - 1]


@njit(cache=True, nogil=True)
def _slice_next_places(i: int, offsets: Ints, next_places: Index, everything: Index) -> Index:
    return everything if len(offsets) == 0 else next_places[offsets[i] : offsets[i + 1]]


@njit(cache=True, nogil=True)
def draw_seen_walks(
    A: Floats, B: Floats, C: Floats, A2: Floats, B2: Floats, B2T: Floats, D: Floats, slot_of: Ints,
    smallest: float, homes: Index, home_weight: Floats, offsets: Ints, next_places: Index,
    visit_seen: Flags, instant_of: Ints, pace: float, uniforms: Floats, out: Index,
) -> None:  # fmt: skip
    """Draw traces: users × days × instants of a day; see `draw_walks`.

    A step proposes a place with probability `pace`, at home time always, and leaves people where they are
    otherwise. Without `offsets` everything was seen.
    """
    users, days, _ = out.shape
    n = len(B)
    everything = np.arange(n).astype(next_places.dtype)
    widest = n if len(offsets) == 0 else np.diff(offsets).max()
    row, other, weights = np.empty(widest), np.empty(widest), np.empty(B.shape[1])
    visits, tiles, sums = np.empty(n), np.empty((n + TILE - 1) // TILE), np.empty(n)
    at_home = np.zeros(len(D))
    for u in range(users):
        home = homes[u]
        visit_total = _fill_first_visits(
            A2[u], B2T, D, slot_of[0], smallest, visit_seen, home, home_weight, at_home, visits, tiles
        )
        sums[:] = -1.0
        holder = -1
        for d in range(days):
            i = pick_index(visits, tiles, uniforms[u, d, 0, 0] * visit_total)
            out[u, d, 0] = i
            for s in range(1, len(instant_of)):
                slot = slot_of[instant_of[s]]
                proposing = 1.0 if home >= 0 and home_weight[slot] > 0.0 else pace
                if uniforms[u, d, s, 0] < proposing:
                    mine = _slice_next_places(i, offsets, next_places, everything)
                    if holder != i:
                        sums[i] = fill_seen_row(A[u], B[i], C, smallest, mine, weights, row)
                        holder = i
                    target = uniforms[u, d, s, 0] / proposing * sums[i]
                    j, there = pick_seen(row, mine, n, smallest, target)
                    if j != i:
                        held = sums[j] < 0.0
                        if held:
                            theirs = _slice_next_places(j, offsets, next_places, everything)
                            sums[j] = fill_seen_row(A[u], B[j], C, smallest, theirs, weights, other)
                        back = smallest
                        if _is_seen(j, i, offsets, next_places):
                            back = clamp_triple_product(A[u], B[j], C[i], smallest)
                        pi_i = _compute_visit_weight(
                            A2[u], B2[i], D, slot, i, smallest, visit_seen, home, at_home
                        )
                        pi_j = _compute_visit_weight(
                            A2[u], B2[j], D, slot, j, smallest, visit_seen, home, at_home
                        )
                        if uniforms[u, d, s, 1] * (pi_i * there * sums[j]) < pi_j * back * sums[i]:
                            i = j
                            if held:
                                row, other = other, row
                                holder = j
                out[u, d, instant_of[s]] = i


# Likelihoods. A move i → j has probability min(Q*(i, j), π_j Q*(j, i) / π_i), staying 1 - Σ of all moves.


@njit(cache=True, nogil=True)
def log_likelihoods(
    A: Floats, B: Floats, BT: Floats, C: Floats, CT: Floats, A2: Floats, B2: Floats, B2T: Floats,
    D: Floats, slot_of: Ints, smallest: float, traces: Index, user: Ints, out: Floats,
) -> None:  # fmt: skip
    """Set ``out`` to the running log-likelihood of each trace (rows of places) as made for ``user``.

    ``A`` and ``A2`` have one row per trace. Traces must be grouped by user, so that the row sums of a user
    are computed once. Staying has probability 1 − Σ of the other moves, which needs the sums of all rows.
    """
    n = len(B)
    n_tiles = (n + TILE - 1) // TILE
    tiles = np.empty(n_tiles)
    row, back, visits, sums = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    complete = False
    for r in range(len(traces)):
        a, a2 = A[r], A2[r]
        if r == 0 or user[r] != user[r - 1]:
            sums[:] = -1.0
            complete = False
        clamp_products(a2 * D[slot_of[0]], B2T, smallest, visits)
        i = traces[r, 0]
        out[r, 0] = math.log(visits[i] / sum_by_tiles(visits, tiles))
        for t in range(1, traces.shape[1]):
            i, j = traces[r, t - 1], traces[r, t]
            weight = D[slot_of[t]]
            if i == j:
                if not complete:
                    sum_clamped_rows(a, B, CT, smallest, sums)
                    complete = True
                clamp_products(a * B[i], CT, smallest, row)
                clamp_products(a * C[i], BT, smallest, back)
                clamp_products(a2 * weight, B2T, smallest, visits)
                moved = 0.0
                for place in range(n):
                    if place != i:
                        proposed = row[place] / sums[i]
                        moved += min(proposed, visits[place] * back[place] / (visits[i] * sums[place]))
                step = max(1.0 - moved, 1e-300)
            else:
                for place in (i, j):
                    if sums[place] < 0.0:
                        clamp_products(a * B[place], CT, smallest, row)
                        sums[place] = sum_by_tiles(row, tiles)
                step = clamp_triple_product(a, B[i], C[j], smallest) / sums[i]
                here = clamp_triple_product(a2, B2[i], weight, smallest)
                there = clamp_triple_product(a2, B2[j], weight, smallest) * clamp_triple_product(
                    a, B[j], C[i], smallest
                )
                step = min(step, there / (here * sums[j]))
            out[r, t] = out[r, t - 1] + math.log(step)
