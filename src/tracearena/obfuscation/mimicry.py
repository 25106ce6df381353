"""Decoy and Impostor: users who look like somebody else who exists, not like an average."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import require_kind, require_number, require_whole
from tracearena.engine import (
    SeedLike,
    block_ranges,
    child_seed,
    one_library_thread,
    run_blocks,
    seed_sequence,
    stream,
    uniforms,
)
from tracearena.obfuscation.cluster_averaging import (
    FARTHEST_KM,
    VisitMoves,
    build_blur_weights,
    choose_affordable_moves,
    compute_loss_budget,
    find_sensitive_swaps,
    price_moves,
)
from tracearena.traces import ObfuscatedTraces, Places, Traces

MOST_SLOTS = 48
"""A day is cut into at most this many parts."""
SENSITIVE_GAIN = 10.0
"""A sensitive visit that is not found is worth ten others: the weight of the score s_T."""


class PartnerObfuscator(Obfuscator):
    """Moves the visits of each user towards those of a random partner, within a budget of utility.

    A subclass is a dataclass with these parameters, and says which moves are carried out.
    """

    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    noise: float
    blur_km: float
    limit_km: float

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_number("noise", self.noise, at_least=0, at_most=1e6)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        partner = assign_partners(original, self.blur_km, self.noise, child_seed(root, 1))
        codes = original.place_index.copy()
        for moves in self._choose_moves(
            original, partner, chance, compute_loss_budget(original, self.threshold)
        ):
            codes[moves.events] = moves.places
        return ObfuscatedTraces.like(original, codes)

    @abstractmethod
    def _choose_moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[VisitMoves]:
        """Return the moves that are carried out; `chance` is one random number per event."""


@dataclass(frozen=True, kw_only=True)
class Decoy(PartnerObfuscator):
    """Move the visits of each user to the places of another one, who lives much like her.

    Every user is given a partner, and everybody is the partner of one. At each time of the day her
    visits are matched to his at the least total distance, all days together: after all moves she is
    where he usually is, but on other days than he was. Visits to sensitive places go to the nearest
    other sensitive place. The utility threshold is one budget for all users: sensitive places are
    served first, then the cheapest moves.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (a visit moved by d km loses d / `limit_km`,
        at most 1). It is never broken.
    noise
        Randomness of the partners, from 0 (always the best assignment, which an attacker can compute
        from other days of the same people) up; in differences to a usual sixth-nearest user.
    blur_km
        Two users are alike if they are within about this distance in each quarter of the day.
    limit_km
        Distance from which on a visit is worth nothing.

    See Also
    --------
    Impostor : the same idea by parts of the day, without exceptions for sensitive places.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> grid = Grid(rows=1, columns=3, south=0, west=0, north=0.01, east=0.03)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1], [1, 2]], places, Clock(instants_per_day=2))
    >>> Decoy(threshold=0.5).transform(original, seed=1).codes.tolist()
    [1, 2, 0, 2]
    """

    name: ClassVar[str] = "Decoy"

    threshold: float
    noise: float = 0.5
    blur_km: float = 0.5
    limit_km: float = 2.0

    def _choose_moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[VisitMoves]:
        swaps = choose_affordable_moves(
            original, find_sensitive_swaps(original, self.limit_km), chance, budget
        )
        is_free = np.ones(original.n_events, bool)
        is_free[swaps.events] = False
        slots = min(original.clock.instants_per_day, MOST_SLOTS)
        moves = find_moves_to_partners(original, is_free, partner, slots, chance, self.limit_km)
        return swaps, choose_affordable_moves(original, moves, chance, budget - swaps.losses.sum())


@dataclass(frozen=True, kw_only=True)
class Impostor(PartnerObfuscator):
    """Give each user the habits of another one, part of the day by part of the day.

    Like `Decoy`, she gets a random partner who lives much like her, and her visits move, at the least
    total distance, until she visits every place as often as he does. Three things are different.
    Visits are matched within long `parts` of the day instead of at each time of it: there are more of
    them to choose from, so the same disguise costs less. Sensitive places are no exception: a visit
    to a hospital becomes whatever the partner's habits have, since a hospital next to a hospital may
    tell an attacker who knows the first that she was there. And the budget goes to the moves that gain
    most for what they lose, where a sensitive visit gains ten times as much.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (a visit moved by d km loses d / `limit_km`,
        at most 1). It is never broken.
    parts
        Number of equally long parts of the day, at least 1; at most one for each instant of a day.
    noise
        Randomness of the partners, from 0 (always the best assignment, which an attacker can compute
        from other days of the same people) up; in differences to a usual sixth-nearest user.
    blur_km
        Two users are alike if they are within about this distance in each quarter of the day.
    limit_km
        Distance from which on a visit is worth nothing.

    Notes
    -----
    The disguise is the partner's habit and never his trace: which of his visits stands on which day
    is decided by her own visits. An attacker who takes her for him learns how often he was where, but
    not on which days.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> grid = Grid(rows=1, columns=3, south=0, west=0, north=0.01, east=0.03)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1], [1, 2]], places, Clock(instants_per_day=2))
    >>> Impostor(threshold=0.5, parts=1).transform(original, seed=1).codes.tolist()
    [2, 1, 1, 2]
    """

    name: ClassVar[str] = "Impostor"

    threshold: float
    parts: int = 4
    noise: float = 2.0
    blur_km: float = 1.0
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_whole("parts", self.parts, at_least=1, at_most=MOST_SLOTS)
        super().__post_init__()

    def _choose_moves(
        self, original: Traces, partner: NDArray[np.int64], chance: NDArray[np.float64], budget: float
    ) -> Iterable[VisitMoves]:
        everything = np.ones(original.n_events, bool)
        parts = min(self.parts, original.clock.instants_per_day)
        moves = find_moves_to_partners(original, everything, partner, parts, chance, self.limit_km)
        sensitive = original.places.sensitive[original.place_index[moves.events]]
        gain = np.where(sensitive, SENSITIVE_GAIN, 1.0)
        return (choose_affordable_moves(original, moves, chance, budget, gain),)


# Imitation: the cheapest moves after which one user visits places as often as another one.

_ROWS_PER_BLOCK = 200

Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Where some things begin and where they end."""


def find_moves_to_partners(
    original: Traces,
    is_free: NDArray[np.bool_],
    partner: NDArray[np.int64],
    parts: int,
    chance: NDArray[np.float64],
    limit_km: float,
) -> VisitMoves:
    """Return the moves that give every user her partner's visit counts in each part of the day.

    Where the two have different numbers of visits in a part of the day, the partner's counts are
    shared out in proportion; where the partner has none, those of his whole day are taken; and where
    he has none at all, nothing moves.

    Parameters
    ----------
    is_free
        The events that may move; the others neither move nor count.
    partner
        The user whom each user imitates.
    parts
        Number of parts of the day, whose visits are matched apart from each other.
    chance
        One random number per event: of a user's visits to a place those with the lowest move.
    """
    free = np.flatnonzero(is_free)
    part = parts_of_day(original, parts)[free]
    place = original.place_index[free]
    row = original.user_index[free] * np.int64(parts) + part
    order = np.lexsort((chance[free], place, row))
    limits = np.searchsorted(row[order], np.arange(original.n_users * parts + 1))
    free, place = free[order], place[order]

    # A row is a user's part of a day. A row without a model takes that of the partner's whole day.
    rows = np.flatnonzero(np.diff(limits))
    other = partner[rows // parts] * parts
    same_part = other + rows % parts
    is_there = limits[same_part] < limits[same_part + 1]
    model_begins = limits[np.where(is_there, same_part, other)]
    model_ends = limits[np.where(is_there, same_part, other + parts - 1) + 1]
    known = model_begins < model_ends
    own = limits[rows[known]], limits[rows[known] + 1]
    models = model_begins[known], model_ends[known]

    def some_rows(block: int, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        begins, ends, *model = (one[first:stop] for one in (*own, *models))
        return find_cheapest_moves(original.places, limit_km, place, (begins, ends), (model[0], model[1]))

    found = run_blocks(some_rows, block_ranges(int(known.sum()), _ROWS_PER_BLOCK), report=True)
    events = np.concatenate([np.zeros(0, np.int64), *(visits for visits, _ in found)])
    places = np.concatenate([np.zeros(0, np.int64), *(places for _, places in found)])
    return price_moves(original, free[events], places.astype(np.int32), limit_km)


def find_cheapest_moves(
    places: Places, limit_km: float, visited: NDArray[np.int32], rows: Bounds, models: Bounds
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which visits move where, so that every row visits places as often as its model does.

    Parameters
    ----------
    visited
        The place of every visit; those of a row ascend.
    rows, models
        Where the visits of each row, and those of its model, begin and end.

    Examples
    --------
    >>> from tracearena.traces import Grid
    >>> grid = Grid(rows=1, columns=4, south=0, west=0, north=0.01, east=0.04)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> visited = np.array([0, 0, 0, 3, 1, 3], np.int32)
    >>> row, model = (np.array([0]), np.array([4])), (np.array([4]), np.array([6]))
    >>> visits, where = find_cheapest_moves(places, 2.0, visited, row, model)
    >>> visits.tolist(), where.tolist()
    ([0, 1, 2], [1, 1, 3])
    """
    from tracearena.obfuscation._kernels import carry_rows, compare_rows

    n = len(rows[0])
    source_offsets, sink_offsets = np.empty((2, n + 1), np.int64)
    sources = np.empty((int((rows[1] - rows[0]).sum()), 3), np.int64)
    sinks = np.empty((int((models[1] - models[0]).sum()), 2), np.int64)
    compare_rows(*rows, *models, visited, source_offsets, sources, sink_offsets, sinks)
    sources, sinks = sources[: source_offsets[-1]], sinks[: sink_offsets[-1]]
    of_source = np.repeat(np.arange(n), np.diff(source_offsets))
    each = np.diff(sink_offsets)[of_source]
    begins = np.repeat(sink_offsets[of_source], each)
    within = np.arange(len(begins)) - np.repeat(np.cumsum(each) - each, each)
    distance = places.distance_km(np.repeat(sources[:, 1], each), sinks[begins + within, 0])
    visits, where = np.empty((2, int(sources[:, 2].sum())), np.int64)
    costs = np.minimum(distance / limit_km, 1)
    carry_rows(source_offsets, sources, sink_offsets, sinks, costs, rows[0], visits, where)
    return visits, where


# Partners: for every user another one who lives much like her, drawn so that nobody can compute whom.

PARTS_OF_DAY = 4
"""People are alike if they are at the same places in the same quarter of the day."""
NEIGHBOURS = 6
"""The noise is measured by the difference of a usual user to her sixth-nearest."""


def parts_of_day(original: Traces, parts: int) -> NDArray[np.int64]:
    """Return for each event the part of its day, of `parts` equally long ones.

    >>> from tracearena.traces import Clock, Places
    >>> day = Traces.from_dense([[0] * 6], Places([0], [0]), Clock(instants_per_day=6))
    >>> parts_of_day(day, 3).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    clock = original.clock
    return clock.time_of_day(original.instants) * parts // clock.instants_per_day


def assign_partners(
    original: Traces,
    blur_km: float,
    noise: float,
    seed: np.random.SeedSequence,
    *,
    most_together: int = 2_000,
    sparse_share: float = 0.1,
) -> NDArray[np.int64]:
    """Return the partner of each user: everybody is somebody's partner, and nobody her own.

    Users are described by where they are in each quarter of the day, blurred. The assignment has the
    least total difference after `noise` × (the difference to a usual sixth-nearest user) × Exp(1)
    was added to every pair: an attacker who knows the users as well as we do still cannot tell who
    was given whom. One user alone is her own partner.

    Parameters
    ----------
    most_together
        Partners are sought among at most this many users, those of one part of the map.
    sparse_share
        Descriptions with a larger share of cells that are not zero are compared as dense tables. Only the
        time depends on it.
    """
    described = _describe_day_parts(original, blur_km)
    partner = np.arange(original.n_users)
    for number, group in enumerate(_split_by_region(original, most_together)):
        if len(group) > 1:
            difference = _measure_differences(described[group], sparse_share)
            partner[group] = group[_solve_assignment(difference, noise, stream(seed, number))]
    return partner


def _describe_day_parts(original: Traces, blur_km: float) -> Any:
    """Return users × (part of the day, place): how often she is near that place then."""
    from scipy.sparse import csr_matrix, hstack

    shape = original.n_users, len(original.places)
    part = parts_of_day(original, PARTS_OF_DAY)
    tables = []
    for one in range(PARTS_OF_DAY):
        users, visited = original.user_index[part == one], original.place_index[part == one]
        tables.append(csr_matrix((np.ones(len(users)), (users, visited)), shape=shape))
    if blur_km > 0:
        near = build_blur_weights(original.places, blur_km)
        tables = [table @ near for table in tables]
    return csr_matrix(hstack(tables))


def _split_by_region(original: Traces, most_together: int) -> list[NDArray[np.int64]]:
    """Cut the users in two, east and west or north and south, until no part has too many."""
    points = original.places.points_km[original.place_index]
    visits = np.maximum(np.bincount(original.user_index, minlength=original.n_users), 1)
    centres = np.column_stack(
        [np.bincount(original.user_index, axis, original.n_users) / visits for axis in points.T]
    )
    waiting, small = [np.arange(original.n_users)], []
    while waiting:
        group = waiting.pop()
        if len(group) <= most_together:
            small.append(group)
            continue
        widest = np.argmax(np.ptp(centres[group], axis=0))
        order = group[np.argsort(centres[group, widest], kind="stable")]
        waiting += [np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])]
    return small


def _measure_differences(described: Any, sparse_share: float) -> NDArray[np.float64]:
    """Return the Euclidean distance of every two users' descriptions.

    Blurred tables of a small city are hardly sparse, and a sparse product of them is slow.
    """
    squared = np.asarray(described.multiply(described).sum(axis=1)).ravel()
    if described.nnz > sparse_share * np.prod(described.shape):
        dense = described.toarray()
        with one_library_thread():
            product = dense @ dense.T
    else:
        product = (described @ described.T).toarray()
    difference: NDArray[np.float64] = np.sqrt(
        np.maximum(squared[:, None] + squared[None, :] - 2 * product, 0)
    )
    return difference


def _solve_assignment(
    difference: NDArray[np.float64], noise: float, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Return the assignment of least total difference and noise in which nobody gets herself."""
    from scipy.optimize import linear_sum_assignment

    n = len(difference)
    np.fill_diagonal(difference, np.inf)
    neighbour = min(NEIGHBOURS, n - 1) - 1
    usual = float(np.median(np.partition(difference, neighbour, axis=1)[:, neighbour])) or 1.0
    cost = difference / usual
    if noise > 0:
        cost += noise * chance.exponential(size=(n, n))
    highest = cost[np.isfinite(cost)].max()
    np.fill_diagonal(cost, (highest + 1) * n)
    return np.asarray(linear_sum_assignment(cost)[1], np.int64)
