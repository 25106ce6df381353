"""Kernels of the metrics: sliced distances, the sort of older NumPy, similarities, and gossip."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


# Sliced earth mover's distances. `difference` is p - q, rows × cells. Along one direction the distance
# is Σ over neighbouring cells of |running sum of p - q| · gap between them.
@njit(cache=True, nogil=True)
def sum_sliced_distances(
    difference: NDArray[np.float64], order: NDArray[np.int64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum, for each row, the one-dimensional earth mover's distances over all directions.

    ``difference`` is rows × cells, ``order`` directions × cells (cells by their coordinate along
    the direction) and ``gaps`` the steps between neighbours in that order.
    """
    rows, cells = difference.shape
    distances = np.zeros(rows)
    for row in range(rows):
        values = difference[row]
        if not values.any():
            continue
        for direction in range(order.shape[0]):
            moved = 0.0
            for at in range(cells - 1):
                moved += values[order[direction, at]]
                distances[row] += abs(moved) * gaps[direction, at]
    return distances


@njit(cache=True, nogil=True)
def legacy_argsort(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices that sort the values, by the quicksort that older NumPy releases used.

    It splits at the median of the first, middle and last value and sorts ranges of at most 16
    values by insertion; which of two equal values comes first follows from that alone.
    """
    order = np.arange(len(values))
    ranges = np.empty((128, 2), np.int64)
    ranges[0, 0], ranges[0, 1] = 0, len(values) - 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, high = ranges[waiting, 0], ranges[waiting, 1]
        while high - low > 15:
            middle = _partition_range(values, order, low, high)
            # The shorter side continues at once, so that few ranges ever wait.
            if middle - low < high - middle:
                ranges[waiting, 0], ranges[waiting, 1] = middle + 1, high
                high = middle - 1
            else:
                ranges[waiting, 0], ranges[waiting, 1] = low, middle - 1
                low = middle + 1
            waiting += 1
        for at in range(low + 1, high + 1):
            one = order[at]
            hole = at
            while hole > low and values[one] < values[order[hole - 1]]:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = one
    return order


@njit(cache=True, nogil=True)
def _partition_range(values: NDArray[np.float64], order: NDArray[np.int64], low: int, high: int) -> int:
    """Partition a range so that nothing before the returned place exceeds what stands after it.

    `values` are as in `legacy_argsort`, and `order` are the indices that are moved.
    """
    middle = low + (high - low) // 2
    for a, b in ((low, middle), (middle, high), (low, middle)):
        if values[order[b]] < values[order[a]]:
            order[a], order[b] = order[b], order[a]
    pivot = values[order[middle]]
    left, right = low, high - 1
    order[middle], order[right] = order[right], order[middle]
    while True:
        left += 1
        while values[order[left]] < pivot:
            left += 1
        right -= 1
        while pivot < values[order[right]]:
            right -= 1
        if left >= right:
            break
        order[left], order[right] = order[right], order[left]
    order[left], order[high - 1] = order[high - 1], order[left]
    return left


# Similarities of pairs of users, on the flat arrays of `MobilityProfiles` ([sglt] sections 3.3 and 3.4).
# Row u · periods + τ of the visit arrays is π^τ(u); row (visit entry) · periods + τ' of the move arrays is
# p^(τ,τ')(u). `pairs` holds (u, v) in each row and `out` one similarity per pair. For the search of a
# mapping both users have dense tables on their own n places: pi_u (periods × n), p_u and p_v (periods ×
# periods × n × n), and sigma (periods × n), the permutation that renames v's places in each period.
#
#   shares             P(τ), share of the instants in each period
#   pair_shares        P(τ, τ'), share of the steps that lead from one period to another
#   a, b               profiles of those from whom u and v are taken
#   off_a, ranked_a    visit probabilities of each user and period, descending, by rows as above; so off_b,
#                      ranked_b
#   temperature        how much a proposal may lose: it is accepted with probability exp(loss / temperature)

Places = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Profile = tuple[Ints, Places, Floats, Ints, Places, Floats]
"""Visit offsets, places and probabilities, move offsets, places and probabilities."""


@njit(cache=True, nogil=True)
def overlap(places_a: Places, shares_a: Floats, places_b: Places, shares_b: Floats) -> float:
    """Σ_r min(a_r, b_r) of two sparse distributions.

    ``shares_a[k]`` is a at place ``places_a[k]``, and `shares_b` is b at `places_b`; places ascend.
    """
    total, i, j = 0.0, 0, 0
    while i < len(places_a) and j < len(places_b):
        if places_a[i] == places_b[j]:
            total += min(shares_a[i], shares_b[j])
            i += 1
            j += 1
        elif places_a[i] < places_b[j]:
            i += 1
        else:
            j += 1
    return total


@njit(cache=True, nogil=True)
def geographic_zeroth(pairs: Ints, shares: Floats, a: Profile, b: Profile, out: Floats) -> None:
    """Σ_τ P(τ) Σ_r min(π_r^τ(u), π_r^τ(v)) for each pair (u, v)."""
    off_a, places_a, probs_a, _, _, _ = a
    off_b, places_b, probs_b, _, _, _ = b
    t = len(shares)
    for k in range(len(pairs)):
        total = 0.0
        for tau in range(t):
            u, v = pairs[k, 0] * t + tau, pairs[k, 1] * t + tau
            x, y = slice(off_a[u], off_a[u + 1]), slice(off_b[v], off_b[v + 1])
            total += shares[tau] * overlap(places_a[x], probs_a[x], places_b[y], probs_b[y])
        out[k] = total


@njit(cache=True, nogil=True)
def geographic_first(pairs: Ints, pair_shares: Floats, a: Profile, b: Profile, out: Floats) -> None:
    """Σ_{τ,τ'} P(τ,τ') Σ_r π_r^τ(u) Σ_r' min(p_{r,r'}(u), p_{r,r'}(v)) for each pair (u, v)."""
    off_a, places_a, probs_a, moves_a, to_a, p_a = a
    off_b, places_b, _, moves_b, to_b, p_b = b
    t = len(pair_shares)
    for k in range(len(pairs)):
        total = 0.0
        for tau in range(t):
            u, v = pairs[k, 0] * t + tau, pairs[k, 1] * t + tau
            i, j = off_a[u], off_b[v]
            while i < off_a[u + 1] and j < off_b[v + 1]:
                if places_a[i] == places_b[j]:
                    for nxt in range(t):
                        x, y = i * t + nxt, j * t + nxt
                        s, z = slice(moves_a[x], moves_a[x + 1]), slice(moves_b[y], moves_b[y + 1])
                        shared = overlap(to_a[s], p_a[s], to_b[z], p_b[z])
                        total += pair_shares[tau, nxt] * probs_a[i] * shared
                    i += 1
                    j += 1
                elif places_a[i] < places_b[j]:
                    i += 1
                else:
                    j += 1
        out[k] = total


@njit(cache=True, nogil=True)
def semantic_zeroth(
    pairs: Ints, shares: Floats, off_a: Ints, ranked_a: Floats, off_b: Ints, ranked_b: Floats, out: Floats
) -> None:
    """The same as `geographic_zeroth` under the best permutation: pair in descending order."""
    t = len(shares)
    for k in range(len(pairs)):
        total = 0.0
        for tau in range(t):
            u, v = pairs[k, 0] * t + tau, pairs[k, 1] * t + tau
            common = min(off_a[u + 1] - off_a[u], off_b[v + 1] - off_b[v])
            for i in range(common):
                total += shares[tau] * min(ranked_a[off_a[u] + i], ranked_b[off_b[v] + i])
        out[k] = total


@njit(cache=True, nogil=True)
def _row_similarity(
    pair_shares: Floats, pi_u: Floats, p_u: Floats, p_v: Floats, sigma: Ints, tau: int, r: int
) -> float:
    """What place r in period τ adds to the first-order similarity."""
    t, n = len(pair_shares), p_u.shape[2]
    total = 0.0
    for nxt in range(t):
        for s in range(n):
            a = p_u[tau, nxt, r, s]
            if a > 0.0:
                total += pair_shares[tau, nxt] * min(a, p_v[tau, nxt, sigma[tau, r], sigma[nxt, s]])
    return float(total * pi_u[tau, r])


@njit(cache=True, nogil=True)
def improve_mapping(
    rng: np.random.Generator, steps: int, temperature: float, pair_shares: Floats, pi_u: Floats,
    p_u: Floats, p_v: Floats, sigma: Ints,
) -> float:  # fmt: skip
    """Metropolis-Hastings over permutations; returns the best value and leaves its mapping in `sigma`.

    A proposal exchanges two positions of one period's permutation. Swaps between two positions
    that u never visits change nothing, so the first position is always a visited one. `rng` draws the
    proposals.
    """
    t, n = sigma.shape
    rows = np.zeros((t, n))
    for tau in range(t):
        for r in range(n):
            if pi_u[tau, r] > 0.0:
                rows[tau, r] = _row_similarity(pair_shares, pi_u, p_u, p_v, sigma, tau, r)
    value = rows.sum()
    best, best_sigma = value, sigma.copy()
    if n < 2:
        return float(best)
    fresh = rows.copy()
    for _ in range(steps):
        tau, i, j = int(rng.integers(0, t)), int(rng.integers(0, n)), int(rng.integers(0, n - 1))
        j += j >= i
        if pi_u[tau, i] == 0.0 and pi_u[tau, j] == 0.0:
            continue
        sigma[tau, i], sigma[tau, j] = sigma[tau, j], sigma[tau, i]
        change = 0.0
        for before in range(t):
            if pair_shares[before, tau] == 0.0 and before != tau:
                continue
            for r in range(n):
                fresh[before, r] = rows[before, r]
                if pi_u[before, r] == 0.0:
                    continue
                own = before == tau and (r in (i, j))
                if own or p_u[before, tau, r, i] > 0.0 or p_u[before, tau, r, j] > 0.0:
                    fresh[before, r] = _row_similarity(pair_shares, pi_u, p_u, p_v, sigma, before, r)
                    change += fresh[before, r] - rows[before, r]
        if change >= 0.0 or rng.random() < exp(change / temperature):
            value += change
            for before in range(t):
                if pair_shares[before, tau] > 0.0 or before == tau:
                    rows[before] = fresh[before]
            if value > best + 1e-12:
                best = value
                best_sigma[:] = sigma
        else:
            sigma[tau, i], sigma[tau, j] = sigma[tau, j], sigma[tau, i]
    sigma[:] = best_sigma
    return float(best)


# Gossip. `slot`, `user` and `xyz` (metres, earth-centred) describe points, sorted by slot and then along
# one axis. `heard` has one bit per source for each user; people in range in a slot are joined by
# union-find (`parent`), and everybody of a group gets the union of what its members have heard. `joined` is
# that union, in the row of the group's root; points begin:end are those of the present slot `now`.
# `arrival` is sources × users: the slot in which a message arrives.


@njit(cache=True, nogil=True)
def _root(parent: Any, user: int) -> int:
    while parent[user] != user:
        parent[user] = parent[parent[user]]
        user = parent[user]
    return user


@njit(cache=True, nogil=True)
def spread_messages(slot: Any, user: Any, xyz: Any, axis: int, range_m: float, arrival: Any) -> None:
    """Fill ``arrival[source, user]`` with the slot in which the message arrives.

    Points are sorted by slot, then along `axis`, so that a point's neighbours in range lie in a
    short window after it.
    """
    n_users = arrival.shape[0]
    words = (n_users + 63) // 64
    heard = np.zeros((n_users, words), np.uint64)
    for u in range(n_users):
        heard[u, u // 64] = np.uint64(1) << np.uint64(u % 64)
    joined = np.zeros((n_users, words), np.uint64)
    parent = np.arange(n_users)
    limit = range_m * range_m
    begin, total = 0, len(slot)
    while begin < total:
        end = begin + 1
        while end < total and slot[end] == slot[begin]:
            end += 1
        met = False
        for i in range(begin, end):
            for j in range(i + 1, end):
                if xyz[j, axis] - xyz[i, axis] > range_m:
                    break
                a, b = _root(parent, user[i]), _root(parent, user[j])
                if a == b:
                    continue
                x, y, z = xyz[j, 0] - xyz[i, 0], xyz[j, 1] - xyz[i, 1], xyz[j, 2] - xyz[i, 2]
                if x * x + y * y + z * z <= limit:
                    parent[max(a, b)] = min(a, b)
                    met = True
        if met:
            _pass_on(user, begin, end, parent, heard, joined, slot[begin], arrival)
        begin = end


@njit(cache=True, nogil=True)
def _pass_on(
    user: Any, begin: int, end: int, parent: Any, heard: Any, joined: Any, now: int, arrival: Any
) -> None:
    """Give everybody of a chain what anybody of it has heard, and dissolve the chains."""
    words = heard.shape[1]
    for i in range(begin, end):
        root = _root(parent, user[i])
        for w in range(words):
            joined[root, w] |= heard[user[i], w]
    for i in range(begin, end):
        u = user[i]
        root = _root(parent, u)
        for w in range(words):
            fresh = joined[root, w] & ~heard[u, w]
            if fresh:
                heard[u, w] |= fresh
                for bit in range(64):
                    if fresh & (np.uint64(1) << np.uint64(bit)):
                        arrival[w * 64 + bit, u] = now
    for i in range(begin, end):
        for w in range(words):
            joined[_root(parent, user[i]), w] = np.uint64(0)
    for i in range(begin, end):
        parent[user[i]] = user[i]
