"""Similarities of pairs of users, on the flat arrays of `MobilityProfiles`."""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit
from numpy.typing import NDArray

Places = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Profile = tuple[Ints, Places, Floats, Ints, Places, Floats]
"""Visit offsets, places and probabilities, move offsets, places and probabilities."""


@njit(cache=True, nogil=True)
def overlap(places_a: Places, shares_a: Floats, places_b: Places, shares_b: Floats) -> float:
    """Σ_r min(a_r, b_r) of two sparse distributions with ascending places."""
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
def first_order_value(pair_shares: Floats, pi_u: Floats, p_u: Floats, p_v: Floats, sigma: Ints) -> float:
    """Σ P(τ,τ') Σ_r π_r^τ(u) Σ_r' min(p_{r,r'}(u), p_{σ_τ(r),σ_τ'(r')}(v))."""
    total = 0.0
    for tau in range(len(pair_shares)):
        for r in range(p_u.shape[2]):
            if pi_u[tau, r] > 0.0:
                total += _row_similarity(pair_shares, pi_u, p_u, p_v, sigma, tau, r)
    return total


@njit(cache=True, nogil=True)
def improve_mapping(
    rng: np.random.Generator,
    steps: int,
    temperature: float,
    pair_shares: Floats,
    pi_u: Floats,
    p_u: Floats,
    p_v: Floats,
    sigma: Ints,
) -> float:
    """Metropolis-Hastings over permutations; returns the best value and leaves its mapping in `sigma`.

    A proposal exchanges two positions of one period's permutation. Swaps between two positions
    that u never visits change nothing, so the first position is always a visited one.
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
