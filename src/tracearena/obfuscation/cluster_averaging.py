"""Cluster averaging: the best anonymization of 2019, users who look like the average of their kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import LARGEST_COUNT, require_kind, require_number, require_whole
from tracearena.engine import (
    SeedLike,
    block_ranges,
    child_seed,
    is_secret,
    library_state,
    one_library_thread,
    run_blocks,
    seed_sequence,
    stream,
    uniforms,
)
from tracearena.traces import ObfuscatedTraces, Places, Traces

FEWEST_MEMBERS = 5
"""Clusters have at least this many users on average, however few users there are."""
FARTHEST_KM = 1e9
"""No distance that a defence is given may be longer."""

_ALIKE = 1e-7
_ROUNDING = 1e-9
_USERS_PER_BLOCK = 64


@dataclass(frozen=True, kw_only=True)
class ClusterAveraging(Obfuscator):
    """Move the visit counts of each user towards the average of similar users ([contest] 5.2).

    Users are clustered by their visit counts (k-means). Within a cluster each user's visits are
    moved, at the least total distance, so that she visits every place as often as the average
    member does: then counts no longer tell the members apart. What is then a visit to a sensitive
    place goes to the nearest other sensitive place. The utility threshold is one budget for all
    users: averaging takes the cheapest moves as long as enough is left for every sensitive visit.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (the paper's rule: a visit moved by d km
        loses d / `limit_km`, at most 1). It is spent down to the last move that fits, and never broken.
    clusters
        Number of clusters k, at least 1; fewer if there are fewer than 5 users for each.
    blur_km
        Counts are blurred by a Gaussian of this standard deviation before they are clustered, so
        that people of one neighbourhood are alike even if they share no place; 0 leaves them as
        they are, as the paper did.
    limit_km
        Distance from which on a visit is worth nothing.

    Notes
    -----
    The paper does not say how visits are moved, nor how the budget is shared. Here visits move by the
    optimal transport of a user's surplus visits to the places where she lacks some, and which of
    her visits to a place move is drawn at random. Every moved visit brings her counts nearer to the
    average by the same amount, so the order of privacy gained per utility lost is the order of
    distance; among equals the users whose averaging costs least come first, so that as many as
    possible are finished. A sensitive visit that averaging has brought to the sensitive place next to
    it stays there: the third step would bring it back.

    Where even full averaging leaves part of the budget, it is done again with half as many
    clusters, down to one.

    ``ClusterAveraging(0.7,blur_km=0.5)`` is ours, not the paper's.

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> grid = Grid(rows=1, columns=3, south=0, west=0, north=0.01, east=0.03)
    >>> places = Places.of_grid(grid, km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1], [1, 2]], places, Clock(instants_per_day=2))
    >>> ClusterAveraging(threshold=0.5).transform(original, seed=1).codes.tolist()
    [0, 1, 1, 0]
    """

    name: ClassVar[str] = "ClusterAveraging"
    units: ClassVar[Mapping[str, str]] = {"blur_km": "km", "limit_km": "km"}

    threshold: float
    clusters: int = 100
    blur_km: float = 0.0
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_number("threshold", self.threshold, at_least=0, at_most=1)
        require_whole("clusters", self.clusters, at_least=1, at_most=LARGEST_COUNT)
        require_number("blur_km", self.blur_km, at_least=0, at_most=FARTHEST_KM)
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with as many visits moved as the threshold allows."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        chance = uniforms(child_seed(root, 0), original.n_events)
        budget = compute_loss_budget(original, self.threshold)
        codes = original.place_index.copy()
        swaps = choose_affordable_moves(
            original, find_sensitive_swaps(original, self.limit_km), chance, budget
        )
        codes[swaps.events] = swaps.places
        budget -= swaps.losses.sum()
        # Half as many clusters, until averaging uses up the budget.
        clusters = max(min(self.clusters, original.n_users // FEWEST_MEMBERS), 1)
        while True:
            cluster_of = cluster_users(original, clusters, self.blur_km, child_seed(root, 1))
            moves = moves_to_average(original, cluster_of, chance, self.limit_km)
            order = order_moves(original, moves, chance)
            moves = swap_after_moves(original, moves, swaps, self.limit_km)
            fits = np.flatnonzero(np.cumsum(moves.losses[order]) <= budget)
            affordable = order[: fits[-1] + 1] if len(fits) else order[:0]
            if len(affordable) < len(order) or clusters == 1:
                break
            clusters //= 2
        codes[moves.events[affordable]] = moves.places[affordable]
        return ObfuscatedTraces.like(original, codes)


def swap_after_moves(original: Traces, moves: VisitMoves, swaps: VisitMoves, limit_km: float) -> VisitMoves:
    """Return where the moves end if what is then at a sensitive place goes to the nearest other one.

    Each loses what it adds to the swap that is left undone for it, which may be less than nothing.
    A visit that the swap would bring back to its own place stays where the move has brought it.
    """
    nearest = find_nearest_sensitive(original.places)[moves.places]
    ends = np.where(nearest == original.place_index[moves.events], moves.places, nearest)
    paid = np.zeros(original.n_events)
    paid[swaps.events] = swaps.losses
    ended = price_moves(original, moves.events, ends, limit_km)
    return ended._replace(losses=ended.losses - paid[moves.events])


def cluster_users(
    original: Traces, clusters: int, blur_km: float, seed: np.random.SeedSequence
) -> NDArray[np.int64]:
    """Return the cluster of each user, by k-means on blurred visit counts."""
    if clusters == 1 or not original.n_events:
        return np.zeros(original.n_users, np.int64)
    from scipy.sparse import csr_matrix
    from sklearn.cluster import KMeans

    offsets, visited, counts = original.visit_counts()
    shape = original.n_users, len(original.places)
    table = csr_matrix((counts.astype(np.float64), visited, offsets), shape=shape)
    if blur_km > 0:
        table = csr_matrix(table @ build_blur_weights(original.places, blur_km))
    if is_secret(seed):
        weights, state = stream(seed, 0), library_state(stream(seed, 1))
    else:
        words = seed.generate_state(2)
        weights, state = np.random.default_rng(words[0]), int(words[1])
    # Users alike to the rounding of squared distances have equal products: k-means could not part them.
    product = table @ weights.random(shape[1])
    different = len(np.unique(np.round(product / (_ALIKE * (product.max() or 1.0)))))
    method = KMeans(min(clusters, different), n_init=1, random_state=state)
    with one_library_thread():
        return np.asarray(method.fit(table).labels_, np.int64)


def moves_to_average(
    original: Traces,
    cluster_of: NDArray[np.int64],
    chance: NDArray[np.float64],
    limit_km: float,
) -> VisitMoves:
    """Return the moves that give every user the rounded average counts of her cluster.

    Parameters
    ----------
    cluster_of
        Cluster of each user.
    chance
        One random number per event: of a user's visits to a place those with the lowest move.
    """
    from tracearena.obfuscation._kernels import choose_visit_moves, list_imbalances

    visits = original.visit_counts()
    wanted = _round_cluster_averages(original, visits, cluster_of)
    by_cluster = np.argsort(cluster_of, kind="stable")

    def some_users(block: int, first: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        users = by_cluster[first:stop]
        sources, sinks, pairs = list_imbalances(users, *visits, *wanted)
        cost = np.minimum(original.places.distance_km(*pairs) / limit_km, 1)
        return choose_visit_moves(
            users, original.offsets, original.place_index, chance, *sources, *sinks, cost
        )

    found = run_blocks(some_users, block_ranges(len(by_cluster), _USERS_PER_BLOCK))
    events = np.concatenate([np.zeros(0, np.int64), *(events for events, _ in found)])
    places = np.concatenate([np.zeros(0, np.int32), *(places for _, places in found)])
    return price_moves(original, events, places, limit_km)


class _TargetCounts(NamedTuple):
    """How often users should visit places: which list is whose, and the lists, one after the other."""

    list_of: NDArray[np.int64]
    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    counts: NDArray[np.int64]


def _round_cluster_averages(
    original: Traces, visits: tuple[NDArray[Any], ...], cluster_of: NDArray[np.int64]
) -> _TargetCounts:
    """Round the average of each cluster once for all members with the same number of visits."""
    from scipy.sparse import csr_array

    offsets, visited, counts = visits
    shape = original.n_users, len(original.places)
    clusters = int(cluster_of.max(initial=0)) + 1
    everybody = np.arange(shape[0])
    members = csr_array((np.ones(shape[0]), (cluster_of, everybody)), shape=(clusters, shape[0]))
    average = members @ csr_array((counts.astype(np.float64), visited, offsets), shape=shape)
    average.sort_indices()
    total = np.diff(original.offsets)
    width = int(total.max(initial=0)) + 1
    different, list_of = np.unique(cluster_of * width + total, return_inverse=True)
    places, shares = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for cluster, size in zip(*np.divmod(different, width), strict=True):
        own = slice(average.indptr[cluster], average.indptr[cluster + 1])
        share = apportion_total(average.data[own], int(size))
        places.append(average.indices[own][share > 0].astype(np.int32))
        shares.append(share[share > 0])
    limits = np.cumsum([len(one) for one in places])
    return _TargetCounts(list_of.astype(np.int64), limits, np.concatenate(places), np.concatenate(shares))


def apportion_total(weights: NDArray[Any], total: int) -> NDArray[np.int64]:
    """Share out a total in proportion to the weights, in whole numbers, by the largest remainders.

    >>> apportion_total(np.array([1.0, 1.0, 2.0]), 5).tolist()
    [1, 1, 3]
    """
    if total == 0:
        return np.zeros(len(weights), np.int64)
    exact = weights * (total / weights.sum())
    shares = np.floor(exact).astype(np.int64)
    missing = total - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:missing]] += 1
    return np.asarray(shares)


# Moves within a budget: events released elsewhere, what each loses, and how many can be afforded.


class VisitMoves(NamedTuple):
    """Events that may be released elsewhere: which, where, and the utility each loses (0 to 1)."""

    events: NDArray[np.int64]
    places: NDArray[np.int32]
    losses: NDArray[np.float64]


def compute_loss_budget(original: Traces, threshold: float) -> float:
    """Return what all moves together may lose, so that no rounding breaks the threshold."""
    return (1 - threshold - _ROUNDING) * original.n_events


def price_moves(
    original: Traces, events: NDArray[np.int64], places: NDArray[np.int32], limit_km: float
) -> VisitMoves:
    """Return the moves of events to places, with what each loses: its distance / `limit_km`, at most 1."""
    distance = original.places.distance_km(original.place_index[events], places)
    return VisitMoves(events, places, np.minimum(distance / limit_km, 1))


def choose_affordable_moves(
    original: Traces,
    moves: VisitMoves,
    chance: NDArray[np.float64],
    budget: float,
    gain: NDArray[np.float64] | None = None,
) -> VisitMoves:
    """Return the moves that the budget allows, those of the least loss for their gain first.

    Parameters
    ----------
    chance
        One random number per event: the order among equals of a user.
    gain
        What each move is worth; without, all the same. Among equals the users whose moves lose least
        come first, so that as many as possible are finished.
    """
    order = order_moves(original, moves, chance, gain)
    return take_moves(moves, order[np.cumsum(moves.losses[order]) <= budget])


def order_moves(
    original: Traces, moves: VisitMoves, chance: NDArray[np.float64], gain: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the order in which moves are carried out; see `choose_affordable_moves`."""
    user = original.user_index[moves.events]
    total = np.bincount(user, moves.losses, original.n_users)
    price = moves.losses if gain is None else moves.losses / gain
    return np.lexsort((chance[moves.events], user, total[user], price))


def take_moves(moves: VisitMoves, chosen: NDArray[np.intp]) -> VisitMoves:
    """Return some of the moves, by index, in the order given."""
    return VisitMoves(moves.events[chosen], moves.places[chosen], moves.losses[chosen])


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
        neighbours = KDTree(points).query(points, k=2)[1]
        other = np.where(neighbours[:, 0] == np.arange(len(sensitive)), neighbours[:, 1], neighbours[:, 0])
        nearest[sensitive] = sensitive[other]
    return nearest


def build_blur_weights(places: Places, blur_km: float) -> Any:
    """Return places × places, the Gaussian weight of each place near each other."""
    from scipy.sparse import csr_matrix
    from scipy.spatial import KDTree

    tree = KDTree(places.points_km)
    near = tree.sparse_distance_matrix(tree, 3 * blur_km, output_type="ndarray")
    weight = np.exp(-((near["v"] / blur_km) ** 2) / 2)
    return csr_matrix((weight, (near["i"], near["j"])), shape=(len(places),) * 2)
