"""Decoy and Impostor: every user imitates another real user instead of an average."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.engine import one_library_thread, stream
from tracearena.obfuscation.visit_moves import (
    VisitModels,
    VisitMoves,
    VisitMovingDefence,
    VisitRows,
    build_blur_weights,
    choose_affordable_moves,
    find_moves_to_models,
    find_sensitive_swaps,
)
from tracearena.traces import Traces

MOST_SLOTS = 48
"""A day is cut into at most this many parts, of half an hour; chosen by hand."""
SENSITIVE_GAIN = 10.0
"""A sensitive visit that is not found is worth ten others: the weight of the score s_T."""


class PartnerDefence(VisitMovingDefence):
    """What Decoy and Impostor share: a partner for each user, drawn with `noise`."""

    noise: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("noise", self.noise, at_least=0, at_most=1e6)


@dataclass(kw_only=True)
class Decoy(PartnerDefence):
    """Move the visits of each user to the places of another user with similar habits.

    A linear assignment gives every user a partner, and every user is the partner of one. At each time of the
    day, optimal transport moves the visits of the user, on all days together, to those of the partner: after
    all moves, the user is at the usual places of the partner, but on other days. Visits to sensitive places
    move to the nearest other sensitive place. The utility threshold is one budget for all users: moves from
    sensitive places come first, then the cheapest moves.

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

    Notes
    -----
    The defaults of `noise` and `blur_km` were chosen by hand, before the first measurement on virtual users.

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
        self, original: Traces, budget: float, chance: NDArray[np.float64], seed: np.random.SeedSequence
    ) -> Iterable[VisitMoves]:
        partner = assign_partners(original, self.blur_km, self.noise, seed)
        # Sensitive places are served first; the rest of the budget goes to the cheapest moves.
        swaps = choose_affordable_moves(
            original, find_sensitive_swaps(original, self.limit_km), chance, budget
        )
        is_free = np.ones(original.n_events, bool)
        is_free[swaps.events] = False
        slots = min(original.clock.instants_per_day, MOST_SLOTS)
        moves = find_moves_to_partners(original, is_free, partner, slots, chance, self.limit_km)
        return swaps, choose_affordable_moves(original, moves, chance, budget - swaps.losses.sum())


@dataclass(kw_only=True)
class Impostor(PartnerDefence):
    """Give each user the habits of another user, separately for each part of the day.

    As in `Decoy`, each user gets a random partner with similar habits, and optimal transport moves the visits
    of the user until every place is visited as often as by the partner. Three things are different. Visits
    are matched within long `parts` of the day instead of at each time of the day, so there are more of them
    to choose from and the same disguise costs less. Sensitive places are no exception: a visit to a hospital
    moves to any place of the partner, because a neighbouring hospital could still reveal the visit. And the
    budget is spent on the moves with the largest gain per loss, where a sensitive visit gains ten times as
    much.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (a visit moved by d km loses d / `limit_km`,
        at most 1). It is never broken.
    parts
        Number of equally long parts of the day, at least 1 and at most the number of instants of a day.
    noise
        Randomness of the partners, from 0 (always the best assignment, which an attacker can compute
        from other days of the same people) up; in differences to a usual sixth-nearest user.
    blur_km
        Two users are alike if they are within about this distance in each quarter of the day.
    limit_km
        Distance from which on a visit is worth nothing.

    Notes
    -----
    The release shows the habits of the partner, never the partner's trace, because the days of the visits are
    those of the user. An attacker who takes the user for the partner learns how often the partner was at a
    place, but not on which days. The defaults of `parts`, `noise` and `blur_km` were chosen by hand, before
    the first measurement on virtual users.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> from tracearena.metrics import utility_score
    >>> original = simulate(users=20, days=2, seed=1)
    >>> released = Impostor(threshold=0.7).transform(original, seed=1)
    >>> round(utility_score(original, released).utility, 2)
    0.7
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
        self, original: Traces, budget: float, chance: NDArray[np.float64], seed: np.random.SeedSequence
    ) -> Iterable[VisitMoves]:
        partner = assign_partners(original, self.blur_km, self.noise, seed)
        everything = np.ones(original.n_events, bool)
        parts = min(self.parts, original.clock.instants_per_day)
        moves = find_moves_to_partners(original, everything, partner, parts, chance, self.limit_km)
        sensitive = original.places.sensitive[original.place_index[moves.events]]
        gain = np.where(sensitive, SENSITIVE_GAIN, 1.0)
        return (choose_affordable_moves(original, moves, chance, budget, gain),)


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
    user, place = original.user_index[free].astype(np.int64), original.place_index[free]
    n_rows = original.n_users * parts
    part = parts_of_day(original, parts)[free]
    rows = VisitRows.of(original, free, part, parts, chance)
    # There is a model for each user's part of the day and, after all of those, one for each whole day.
    owner = np.concatenate([user * parts + part, n_rows + user])
    models = VisitModels.of(owner, np.tile(place, 2), n_rows + original.n_users, len(original.places))
    other = np.repeat(partner, parts)
    same_part = other * parts + np.tile(np.arange(parts), original.n_users)
    whole_day = n_rows + other
    model_of = np.where(np.diff(models.offsets)[same_part] > 0, same_part, whole_day)
    return find_moves_to_models(original, rows, models, model_of, limit_km, report=True)


# Partners: for every user another one who lives much like her, drawn so that nobody can compute whom.


@dataclass(frozen=True)
class PartnerSettings:
    """How partners are sought; all of it was chosen by hand."""

    parts_of_day: int = 4
    """People are alike if they are at the same places in the same quarter of the day."""
    neighbours: int = 6
    """The noise is measured by the difference of a usual user to her sixth-nearest."""
    most_together: int = 2_000
    """Partners are sought among at most this many users, those of one part of the map."""
    sparse_share: float = 0.1
    """Descriptions with a larger share of cells that are not zero are compared as dense tables.

    Only the time depends on it.
    """


DEFAULT_SETTINGS = PartnerSettings()


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
    settings: PartnerSettings = DEFAULT_SETTINGS,
) -> NDArray[np.int64]:
    """Return the partner of each user: everybody is somebody's partner, and nobody her own.

    Users are described by where they are in each quarter of the day, blurred. The assignment has the
    least total difference after `noise` × (the difference to a usual sixth-nearest user) × Exp(1)
    was added to every pair: an attacker who knows the users as well as we do still cannot tell who
    was given whom. One user alone is her own partner.
    """
    described = _describe_day_parts(original, blur_km, settings.parts_of_day)
    partner = np.arange(original.n_users)
    for number, group in enumerate(_split_by_region(original, settings.most_together)):
        if len(group) > 1:
            difference = _measure_differences(described[group], settings.sparse_share)
            usual = _find_usual_difference(difference, settings.neighbours)
            cost = difference / usual + noise * stream(seed, number).exponential(size=difference.shape)
            partner[group] = group[_solve_assignment(cost)]
    return partner


def _describe_day_parts(original: Traces, blur_km: float, parts: int) -> Any:
    """Return users × (part of the day, place): how often she is near that place then."""
    from scipy.sparse import csr_matrix, hstack

    shape = original.n_users, len(original.places)
    part = parts_of_day(original, parts)
    tables = []
    for one in range(parts):
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
    """Return the Euclidean distance of every two users' descriptions, infinite for a user and herself.

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
    np.fill_diagonal(difference, np.inf)
    return difference


def _find_usual_difference(difference: NDArray[np.float64], neighbours: int) -> float:
    """Return the median over users of the difference to the neighbour of that rank; 1 if it is 0."""
    at = min(neighbours, len(difference) - 1) - 1
    return float(np.median(np.partition(difference, at, axis=1)[:, at])) or 1.0


def _solve_assignment(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the assignment of least total cost in which nobody gets herself."""
    from scipy.optimize import linear_sum_assignment

    # A diagonal that costs more than any assignment without it, and is finite for the solver.
    highest = cost[np.isfinite(cost)].max()
    np.fill_diagonal(cost, (highest + 1) * len(cost))
    return np.asarray(linear_sum_assignment(cost)[1], np.int64)
