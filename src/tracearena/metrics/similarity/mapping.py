"""Which places of two users mean the same to them, such as home or work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.engine import SeedLike, generator
from tracearena.metrics.similarity.semantic import RankedPlaces, semantic_similarity
from tracearena.mobility.profiles import MobilityProfiles

STEPS = 20_000
TEMPERATURE = 0.02


@dataclass(frozen=True, eq=False)
class Mapping:
    """Partners among the places of two users, and how similar the users are under them.

    Attributes
    ----------
    similarity
        Semantic similarity of the two, from 0 to 1.
    pairs
        For each period, rows (place of the first user, place of the second); only visited places,
        and the rest of the longer list stays without a partner.
    """

    similarity: float
    pairs: tuple[NDArray[np.int32], ...]


def zeroth_order_mapping(
    a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, *, seed: SeedLike = None
) -> Mapping:
    """Return the best mapping by visits: most visited to most visited; ties are broken at random.

    Parameters
    ----------
    a, b
        Profiles of the first and of the second user.
    u, v
        Index of the user in each.
    """
    one, other = a.of_user(u), b.of_user(v)
    rng = generator(seed)
    mine, theirs = RankedPlaces.of(one, seed=rng), RankedPlaces.of(other, seed=rng)
    pairs = []
    for tau in range(len(a.periods)):
        x, y = mine.row(tau), theirs.row(tau)
        common = min(len(x), len(y))
        pairs.append(np.column_stack([x[:common], y[:common]]))
    return Mapping(float(semantic_similarity(one, other)[0]), tuple(pairs))


def first_order_mapping(
    a: MobilityProfiles,
    b: MobilityProfiles,
    u: int,
    v: int,
    *,
    steps: int = STEPS,
    temperature: float = TEMPERATURE,
    seed: SeedLike = None,
) -> Mapping:
    """Search the best mapping of two users' places by their transitions.

    Finding it is a quadratic assignment problem. Metropolis-Hastings over permutations starts from
    the zeroth-order mapping, and the best mapping met is the answer, so it is never worse than the
    start ([sglt] section 3.4).

    Parameters
    ----------
    a, b, u, v
        As in `zeroth_order_mapping`.
    steps
        Number of proposals, each exchanging two places of one period.
    temperature
        Loss of similarity that is accepted with probability 1/e, above 0.

    Notes
    -----
    The paper leaves steps and temperature open.
    """
    require_whole("steps", steps, at_least=0)
    require_number("temperature", temperature, above=0)
    from tracearena.metrics.similarity._kernels import improve_mapping

    rng = generator(seed)
    start = zeroth_order_mapping(a, b, u, v, seed=rng)
    mine, theirs = _places_of(a, u), _places_of(b, v)
    n = max(len(mine), len(theirs))
    sigma = _permutations(start, mine, theirs, n)
    pi, p = _tables(a, u, mine, n)
    shares, q = _tables(b, v, theirs, n)
    best = improve_mapping(rng, steps, temperature, a.periods.pair_shares, pi, p, q, sigma)
    return Mapping(float(best), _partners(pi, shares, mine, theirs, sigma))


def _places_of(profiles: MobilityProfiles, user: int) -> NDArray[np.int32]:
    """Return every place that a user visits in any period, ascending."""
    t = len(profiles.periods)
    entries = slice(profiles.visit_offsets[user * t], profiles.visit_offsets[(user + 1) * t])
    return np.unique(profiles.visit_places[entries])


def _permutations(
    start: Mapping, mine: NDArray[np.int32], theirs: NDArray[np.int32], n: int
) -> NDArray[np.int64]:
    """Return the start as one permutation of 0..n-1 a period, with the rest paired in order."""
    sigma = np.empty((len(start.pairs), n), np.int64)
    for tau, pairs in enumerate(start.pairs):
        x, y = np.searchsorted(mine, pairs[:, 0]), np.searchsorted(theirs, pairs[:, 1])
        sigma[tau, x] = y
        sigma[tau, np.setdiff1d(np.arange(n), x)] = np.setdiff1d(np.arange(n), y)
    return sigma


def _tables(
    profiles: MobilityProfiles, user: int, places: NDArray[np.int32], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one user's π (periods × n) and p (periods × periods × n × n) on her own places."""
    t = len(profiles.periods)
    pi, p = np.zeros((t, n)), np.zeros((t, t, n, n))
    for tau in range(t):
        row = user * t + tau
        for e in range(profiles.visit_offsets[row], profiles.visit_offsets[row + 1]):
            r = np.searchsorted(places, profiles.visit_places[e])
            pi[tau, r] = profiles.visit_probabilities[e]
            for then in range(t):
                own = slice(profiles.move_offsets[e * t + then], profiles.move_offsets[e * t + then + 1])
                to = np.searchsorted(places, profiles.move_places[own])
                p[tau, then, r, to] = profiles.move_probabilities[own]
    return pi, p


def _partners(
    pi: NDArray[np.float64],
    shares: NDArray[np.float64],
    mine: NDArray[np.int32],
    theirs: NDArray[np.int32],
    sigma: NDArray[np.int64],
) -> tuple[NDArray[np.int32], ...]:
    pairs = []
    for tau in range(len(sigma)):
        visited = np.flatnonzero((pi[tau] > 0) & (shares[tau, sigma[tau]] > 0))
        pairs.append(np.column_stack([mine[visited], theirs[sigma[tau, visited]]]))
    return tuple(pairs)
