"""Similarity of two users' mobility, geographic and semantic ([sglt] sections 3.3 and 3.4).

Geographic similarity compares the visited places and the moves between them. Semantic similarity does the
same under the best mapping of one user's places to the other's, wherever these places are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_whole
from tracearena.engine import SeedLike, block_ranges, generator, run_blocks, seed_sequence, stream
from tracearena.errors import DataError, ParameterError
from tracearena.mobility.profiles import MobilityProfiles

Order = Literal[0, 1]
PAIRS_PER_BLOCK = 4096


def geographic_similarity(
    a: MobilityProfiles,
    b: MobilityProfiles,
    pairs: Any = None,
    *,
    order: Order = 0,
    distance: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the geographic similarity of pairs of users, from 0 to 1.

    It is 1 minus the expected Mallows (earth mover's) distance of the places of both users: of
    their visit distributions (zeroth order), or of the places they go to next from a place drawn
    from the first user's profile (first order, so that it is not symmetric) ([1] section 3.3).

    Parameters
    ----------
    a, b
        Profiles of the first and of the second users.
    pairs
        Pairs (index in a, index in b), one per row; by default user i of both.
    order
        0 compares visits, 1 transitions.
    distance
        Places × places distances from 0 to 1, such as km over the largest; the earth mover's
        distance is then solved exactly, which needs the extra ``[emd]``. By default two places
        are either the same or not (Hamming), for which there is a closed form.

    References
    ----------
    .. [1] Bindschaedler and Shokri, IEEE S&P 2016 [sglt].

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> a = MobilityProfiles.of(Traces.from_dense([[0, 0, 0, 1]], places, clock))
    >>> b = MobilityProfiles.of(Traces.from_dense([[0, 0, 1, 1]], places, clock))
    >>> geographic_similarity(a, b).tolist()
    [0.75]
    """
    chosen = check_pairs(a, b, pairs, order)
    if distance is not None:
        from tracearena.metrics.transport import transport_similarity

        return transport_similarity(a, b, chosen, order, distance)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        from tracearena.metrics._kernels import geographic_first, geographic_zeroth

        values = np.zeros(len(some))
        if order == 1:
            geographic_first(some, a.periods.pair_shares, _profile_arrays(a), _profile_arrays(b), values)
        else:
            geographic_zeroth(some, a.periods.shares, _profile_arrays(a), _profile_arrays(b), values)
        return values

    return compare_pairs(work, chosen, PAIRS_PER_BLOCK)


def compare_pairs(
    work: Callable[..., NDArray[np.float64]], pairs: NDArray[np.int64], size: int, *, report: bool = False
) -> NDArray[np.float64]:
    """Have the pairs compared, `size` at a time, here or in a cluster; return what was found, in order."""
    ranges = block_ranges(len(pairs), size)
    return np.concatenate(
        [np.zeros(0), *run_blocks(work, ranges, rows=[pairs], anywhere=True, report=report)]
    )


def all_pairs(n_a: int, n_b: int | None = None) -> NDArray[np.int64]:
    """Return all pairs of n_a × n_b users, or all pairs u < v of n_a users if n_b is None.

    >>> all_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    if n_b is None:
        return np.column_stack(np.triu_indices(n_a, 1)).astype(np.int64)
    return np.column_stack(np.divmod(np.arange(n_a * n_b), max(n_b, 1))).astype(np.int64)


def check_pairs(a: MobilityProfiles, b: MobilityProfiles, pairs: Any, order: int) -> NDArray[np.int64]:
    """Return the pairs as an array, refusing profiles that cannot be compared."""
    require_choice("order", order, (0, 1))
    if a.n_places != b.n_places or len(a.periods) != len(b.periods):
        raise DataError(
            f"profiles of {a.n_places} places and {len(a.periods)} periods cannot be compared with "
            f"{b.n_places} places and {len(b.periods)} periods"
        )
    if pairs is None:
        if a.n_users != b.n_users:
            raise DataError(f"{a.n_users} users cannot be paired one to one with {b.n_users}")
        return np.repeat(np.arange(a.n_users), 2).reshape(-1, 2)
    chosen = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    if len(chosen) and (chosen.min() < 0 or (chosen.max(axis=0) >= (a.n_users, b.n_users)).any()):
        raise ParameterError("pairs name users that the profiles do not have")
    return chosen


def _profile_arrays(profiles: MobilityProfiles) -> Any:
    return (
        profiles.visit_offsets,
        profiles.visit_places,
        profiles.visit_probabilities,
        profiles.move_offsets,
        profiles.move_places,
        profiles.move_probabilities,
    )


# Semantic similarity: do two users live alike, wherever their places are?

SEARCHES_PER_BLOCK = 16


def semantic_similarity(
    a: MobilityProfiles, b: MobilityProfiles, pairs: Any = None, *, order: Order = 0, seed: SeedLike = None
) -> NDArray[np.float64]:
    """Return the semantic similarity of pairs of users, from 0 to 1.

    The geographic similarity (Hamming) under the best renaming of the second user's places, one
    renaming for each period ([1] section 3.4). Where people live does not count, only how.

    Parameters
    ----------
    a, b, pairs
        As in `geographic_similarity`.
    order
        0 compares visits, 1 transitions (a search: `first_order_mapping`).
    seed
        Of the search, in which every pair has a stream of its own; the zeroth order has no randomness in
        its value.

    References
    ----------
    .. [1] Bindschaedler and Shokri, IEEE S&P 2016 [sglt].

    Notes
    -----
    The paper solves an assignment problem in O(places³). For the Hamming distance none is needed:
    min is supermodular, so both lists in descending order are the best pairing.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places, Traces
    >>> places, clock = Places([0, 1, 2, 3], [0, 0, 0, 0]), Clock(instants_per_day=4)
    >>> a = MobilityProfiles.of(Traces.from_dense([[0, 0, 0, 1]], places, clock))
    >>> b = MobilityProfiles.of(Traces.from_dense([[2, 3, 3, 3]], places, clock))
    >>> semantic_similarity(a, b).tolist()
    [1.0]
    """
    chosen = check_pairs(a, b, pairs, order)
    if order == 1:
        root = seed_sequence(seed)

        def search(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
            found = (
                first_order_mapping(a, b, int(u), int(v), seed=stream(root, first + k))
                for k, (u, v) in enumerate(some)
            )
            return np.array([one.similarity for one in found])

        return compare_pairs(search, chosen, SEARCHES_PER_BLOCK, report=True)
    mine, theirs = _sort_descending(a), _sort_descending(b)

    def work(block: int, first: int, stop: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
        from tracearena.metrics._kernels import semantic_zeroth

        values = np.zeros(len(some))
        semantic_zeroth(some, a.periods.shares, a.visit_offsets, mine, b.visit_offsets, theirs, values)
        return values

    return compare_pairs(work, chosen, PAIRS_PER_BLOCK)


@dataclass(frozen=True, eq=False)
class RankedPlaces:
    """The visited places of each user and period, the most visited first.

    Attributes
    ----------
    offsets
        Row ``u * periods + τ`` begins here.
    places, shares
        Visited places and their probabilities, descending in a row.
    """

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, profiles: MobilityProfiles, *, seed: SeedLike = None) -> RankedPlaces:
        """Rank the places; equally visited ones are in random order."""
        chance = generator(seed).random(len(profiles.visit_places))
        order = np.lexsort([chance, -profiles.visit_probabilities, _rows(profiles)])
        return cls(profiles.visit_offsets, profiles.visit_places[order], profiles.visit_probabilities[order])

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the ranked places of one user and period."""
        return self.places[self.offsets[number] : self.offsets[number + 1]]


def _rows(profiles: MobilityProfiles) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))


def _sort_descending(profiles: MobilityProfiles) -> NDArray[np.float64]:
    return profiles.visit_probabilities[np.lexsort([-profiles.visit_probabilities, _rows(profiles)])]


# Mappings: which places of two users mean the same to them, such as home or work.

STEPS = 20_000
TEMPERATURE = 0.02


@dataclass(frozen=True, eq=False)
class PlaceMapping:
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
) -> PlaceMapping:
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
    return PlaceMapping(float(semantic_similarity(one, other)[0]), tuple(pairs))


def first_order_mapping(
    a: MobilityProfiles, b: MobilityProfiles, u: int, v: int, *, steps: int = STEPS, seed: SeedLike = None
) -> PlaceMapping:
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

    Notes
    -----
    The paper leaves steps and temperature open. Ours accepts a loss of `TEMPERATURE` with probability 1/e.
    """
    require_whole("steps", steps, at_least=0)
    from tracearena.metrics._kernels import improve_mapping

    rng = generator(seed)
    start = zeroth_order_mapping(a, b, u, v, seed=rng)
    mine, theirs = _places_of(a, u), _places_of(b, v)
    n = max(len(mine), len(theirs))
    # The start as one permutation of 0..n-1 per period, with the rest paired in order.
    sigma = np.empty((len(start.pairs), n), np.int64)
    for tau, known in enumerate(start.pairs):
        x, y = np.searchsorted(mine, known[:, 0]), np.searchsorted(theirs, known[:, 1])
        sigma[tau, x] = y
        sigma[tau, np.setdiff1d(np.arange(n), x)] = np.setdiff1d(np.arange(n), y)
    pi, p = _build_tables(a, u, mine, n)
    shares, q = _build_tables(b, v, theirs, n)
    best = improve_mapping(rng, steps, TEMPERATURE, a.periods.pair_shares, pi, p, q, sigma)
    pairs = []
    for tau in range(len(sigma)):
        visited = np.flatnonzero((pi[tau] > 0) & (shares[tau, sigma[tau]] > 0))
        pairs.append(np.column_stack([mine[visited], theirs[sigma[tau, visited]]]))
    return PlaceMapping(float(best), tuple(pairs))


def _places_of(profiles: MobilityProfiles, user: int) -> NDArray[np.int32]:
    """Return every place that a user visits in any period, ascending."""
    t = len(profiles.periods)
    entries = slice(profiles.visit_offsets[user * t], profiles.visit_offsets[(user + 1) * t])
    return np.unique(profiles.visit_places[entries])


def _build_tables(
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
