"""Move visits within a budget of utility, for cluster averaging, Decoy and Impostor.

Each of these defences moves the visits of a user by optimal transport to the counts of a *model*: the average
of the cluster, or a partner. A visit that moves by d km loses min(d / `limit_km`, 1) of its utility, the rule
of the score s_U ([contest] section 3.4), and the losses of all users are paid from one budget.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import require_kind, require_number
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence, uniforms
from tracearena.traces import ObfuscatedTraces, Places, Traces

FARTHEST_KM = 1e9
"""No distance that a defence is given may be longer."""

_ROUNDING = 1e-9
"""Share of the utility that is never spent, so that the rounding of sums cannot break the threshold."""
_USERS_PER_BLOCK = 64


class VisitMovingDefence(Obfuscator):
    """A defence that moves visits, as many as the utility threshold allows.

    A subclass is a dataclass with these parameters, and says which moves are carried out.
    """

    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    blur_km: float
    limit_km: float

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        budget = (1 - self.threshold - _ROUNDING) * original.n_events
        codes = original.place_index.copy()
        for moves in self._choose_moves(original, budget, chance, child_seed(root, 1)):
            codes[moves.events] = moves.places
        return ObfuscatedTraces.like(original, codes)

    @abstractmethod
    def _choose_moves(
        self, original: Traces, budget: float, chance: NDArray[np.float64], seed: np.random.SeedSequence
    ) -> Iterable[VisitMoves]:
        """Return the moves that are carried out; where an event is in several, the last one counts.

        Parameters
        ----------
        budget
            What all moves together may lose, in visits of full utility.
        chance
            One random number per event, which decides among equals.
        """


class VisitMoves(NamedTuple):
    """Events that may be released elsewhere."""

    events: NDArray[np.int64]
    """Which events."""
    places: NDArray[np.int32]
    """The place of each in the release."""
    losses: NDArray[np.float64]
    """The utility that each loses, from 0 to 1."""


def price_moves(
    original: Traces, events: NDArray[np.int64], places: NDArray[np.int32], limit_km: float
) -> VisitMoves:
    """Return the moves of events to places, with what each loses: its distance / `limit_km`, at most 1."""
    distance = original.places.distance_km(original.place_index[events], places)
    return VisitMoves(events, places, np.minimum(distance / limit_km, 1))


def order_moves(
    original: Traces, moves: VisitMoves, chance: NDArray[np.float64], gain: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the order in which moves are carried out: those of the least loss for their gain first.

    Parameters
    ----------
    chance
        One random number per event: the order among equals of a user.
    gain
        What each move is worth; without, all the same. Among equals the users whose moves lose least
        come first, so that as many as possible are finished.
    """
    user = original.user_index[moves.events]
    total = np.bincount(user, moves.losses, original.n_users)
    price = moves.losses if gain is None else moves.losses / gain
    return np.lexsort((chance[moves.events], user, total[user], price))


def choose_affordable_moves(
    original: Traces,
    moves: VisitMoves,
    chance: NDArray[np.float64],
    budget: float,
    gain: NDArray[np.float64] | None = None,
) -> VisitMoves:
    """Return the moves that the budget allows, in the order of `order_moves`."""
    order = order_moves(original, moves, chance, gain)
    return take_moves(moves, order[np.cumsum(moves.losses[order]) <= budget])


def take_moves(moves: VisitMoves, chosen: NDArray[np.intp]) -> VisitMoves:
    """Return some of the moves, by index, in the order given."""
    return VisitMoves(moves.events[chosen], moves.places[chosen], moves.losses[chosen])


# Moves to the counts of a model: an optimal transport for each row.


class VisitRows(NamedTuple):
    """Visits by row; a row is what is compared with one model, such as one user's part of the day."""

    offsets: NDArray[np.int64]
    """The visits of row r are ``offsets[r]:offsets[r + 1]`` of the other two."""
    events: NDArray[np.int64]
    """The event of each visit: by row, then by place, then by chance."""
    places: NDArray[np.int32]
    """The place of each visit."""

    @classmethod
    def of(
        cls,
        original: Traces,
        events: NDArray[np.int64],
        part: NDArray[np.int64],
        parts: int,
        chance: NDArray[np.float64],
    ) -> Self:
        """Sort events, in their order, into a row for each user and part of the day.

        Of a row's visits to a place those with the lowest chance move first.
        """
        key = part * len(original.places) + original.place_index[events]
        limits = np.searchsorted(events, original.offsets)
        order = np.empty(len(events), np.int64)
        # User by user, in the cache of the processor: a third of the time that one sort of all takes.
        for begin, end in pairwise(limits.tolist()):
            order[begin:end] = begin + np.lexsort((chance[events[begin:end]], key[begin:end]))
        row = original.user_index[events] * np.int64(parts) + part
        offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=original.n_users * parts))])
        return cls(offsets, events[order], original.place_index[events[order]])


class VisitModels(NamedTuple):
    """How often places should be visited: the lists of all models, one after the other."""

    offsets: NDArray[np.int64]
    """The list of model m is ``offsets[m]:offsets[m + 1]`` of the other two; an empty one moves nothing."""
    places: NDArray[np.int32]
    """The places of each list, ascending."""
    counts: NDArray[np.float64]
    """How often the model visits each; only the proportions within a list matter."""

    @classmethod
    def of(
        cls, model: NDArray[np.int64], places: NDArray[np.int32], n_models: int, n_places: int
    ) -> VisitModels:
        """Count the visits of each model, which are given by model and place."""
        from scipy.sparse import csr_array

        table = csr_array((np.ones(len(model)), (model, places)), shape=(n_models, n_places))
        table.sum_duplicates()
        return cls(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)


def find_moves_to_models(
    original: Traces,
    rows: VisitRows,
    models: VisitModels,
    model_of: NDArray[np.int64],
    limit_km: float,
    *,
    report: bool = False,
) -> VisitMoves:
    """Return the cheapest moves after which every row visits places in the proportions of its model.

    The counts of the model are apportioned to the number of visits of the row. Surplus visits then go to the
    places that lack some by optimal transport, with min(distance / `limit_km`, 1) as the cost.

    Parameters
    ----------
    model_of
        The model of each row.
    report
        Report the rows that are done to the progress of the engine.
    """
    from tracearena.obfuscation._kernels import carry_surplus, list_imbalances

    def match_rows(block: int, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        begins, ends = rows.offsets[first:stop], rows.offsets[first + 1 : stop + 1]
        sources, sinks, pairs = list_imbalances(begins, ends, rows.places, model_of[first:stop], *models)
        cost = np.minimum(original.places.distance_km(*pairs) / limit_km, 1)
        return carry_surplus(*sources, *sinks, cost)

    rows_per_user = len(model_of) // max(original.n_users, 1)
    blocks = block_ranges(len(model_of), max(_USERS_PER_BLOCK * rows_per_user, 1))
    found = run_blocks(match_rows, blocks, report=report)
    visits = np.concatenate([np.zeros(0, np.int64), *(visits for visits, _ in found)])
    places = np.concatenate([np.zeros(0, np.int32), *(places for _, places in found)])
    return price_moves(original, rows.events[visits], places, limit_km)


# Sensitive places, and which places are near each other.


def find_sensitive_swaps(original: Traces, limit_km: float) -> VisitMoves:
    """Return a move to the nearest other sensitive place for every visit to a sensitive place."""
    nearest = find_nearest_sensitive(original.places)
    events = np.flatnonzero(nearest[original.place_index] != original.place_index)
    return price_moves(original, events, nearest[original.place_index[events]], limit_km)


def find_nearest_sensitive(places: Places) -> NDArray[np.int32]:
    """Return for a sensitive place the nearest other one, and for any other place itself."""
    sensitive = np.flatnonzero(places.sensitive)
    nearest = np.arange(len(places), dtype=np.int32)
    if len(sensitive) > 1:
        from scipy.spatial import KDTree

        points = places.points_km[sensitive]
        # Of two places at the same point, either may be found first.
        neighbours = KDTree(points).query(points, k=2)[1]
        other = np.where(neighbours[:, 0] == np.arange(len(sensitive)), neighbours[:, 1], neighbours[:, 0])
        nearest[sensitive] = sensitive[other]
    return nearest


def build_blur_weights(places: Places, blur_km: float) -> Any:
    """Return places × places, the Gaussian weight of each place near each other, up to 3 deviations."""
    from scipy.sparse import csr_matrix
    from scipy.spatial import KDTree

    tree = KDTree(places.points_km)
    near = tree.sparse_distance_matrix(tree, 3 * blur_km, output_type="ndarray")
    weight = np.exp(-((near["v"] / blur_km) ** 2) / 2)
    return csr_matrix((weight, (near["i"], near["j"])), shape=(len(places),) * 2)
