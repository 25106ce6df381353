"""Cluster averaging, the best anonymization of 2019: users become similar to the average of their cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import LARGEST_COUNT, require_whole
from tracearena.engine import is_secret, library_state, one_library_thread, stream
from tracearena.obfuscation.visit_moves import (
    VisitModels,
    VisitMoves,
    VisitMovingDefence,
    VisitRows,
    build_blur_weights,
    choose_affordable_moves,
    find_moves_to_models,
    find_nearest_sensitive,
    find_sensitive_swaps,
    order_moves,
    price_moves,
    take_moves,
)
from tracearena.traces import Traces

FEWEST_MEMBERS = 5
"""Clusters have at least this many users on average, however few users there are; chosen by hand."""

_ALIKE = 1e-7
"""Users whose descriptions differ by less than this share of the largest are the same to k-means."""


@dataclass(kw_only=True)
class ClusterAveraging(VisitMovingDefence):
    """Move the visit counts of each user towards the average of similar users ([contest] 5.2).

    Users are clustered by k-means on their visit counts. Within a cluster, optimal transport moves the visits
    of each user until every place is visited as often as by the average member; counts then no longer
    distinguish the members. Visits that are then at a sensitive place move to the nearest other sensitive
    place. The utility threshold is one budget for all users: averaging makes the cheapest moves as long as
    enough is left for every sensitive visit.

    Parameters
    ----------
    threshold
        Utility s_U, from 0 to 1, that the release keeps (the paper's rule: a visit moved by d km loses d /
        `limit_km`, at most 1). The budget is spent until no further move fits, and the utility is never
        lower.
    clusters
        Number of clusters k, at least 1; fewer if there are fewer than 5 users for each.
    blur_km
        Standard deviation of the Gaussian that smooths the counts before clustering, so that people of one
        neighbourhood are similar even if they share no place; 0, as in the paper, does not smooth.
    limit_km
        Distance in km from which a visit is worth nothing.

    Notes
    -----
    The paper does not say how visits are moved, nor how the budget is shared. Here the surplus visits of a
    user move by optimal transport to the places where the user has too few; which visits to a place move is
    drawn at random. Every move brings the counts closer to the average by the same amount, so the shortest
    moves gain the most privacy per loss of utility. Among equal moves, users whose averaging costs least come
    first, so that as many users as possible are completed. A sensitive visit that averaging has moved to the
    nearest other sensitive place stays there, because the third step would move it back.

    If full averaging leaves part of the budget, it is repeated with half as many clusters, down to one.

    100 clusters are those of the paper. ``blur_km=0.5`` is our variant, chosen among about twenty
    combinations of parameters by the scores of one team of the simulated city.

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

    threshold: float
    clusters: int = 100
    blur_km: float = 0.0
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("clusters", self.clusters, at_least=1, at_most=LARGEST_COUNT)

    def _choose_moves(
        self, original: Traces, budget: float, chance: NDArray[np.float64], seed: np.random.SeedSequence
    ) -> Iterable[VisitMoves]:
        # What step (iii) costs is set aside first, so that the others leave enough for every hospital.
        swaps = choose_affordable_moves(
            original, find_sensitive_swaps(original, self.limit_km), chance, budget
        )
        budget -= swaps.losses.sum()
        rows = group_by_user(original, chance)
        clusters = max(min(self.clusters, original.n_users // FEWEST_MEMBERS), 1)
        while True:
            # (i) Cluster users by their visit counts.
            cluster_of = cluster_users(original, clusters, self.blur_km, seed)
            # (ii) Move the visits of each user towards the average of her cluster, the cheapest first.
            moves = find_moves_to_average(original, rows, cluster_of, self.limit_km)
            order = order_moves(original, moves, chance)
            # (iii) What is then at a sensitive place goes to the nearest other one.
            moves = swap_after_moves(original, moves, swaps, self.limit_km)
            # A swap that is no longer needed gives its loss back, so a later move may fit where one did not.
            fits = np.flatnonzero(np.cumsum(moves.losses[order]) <= budget)
            affordable = order[: fits[-1] + 1] if len(fits) else order[:0]
            # Where all moves together leave part of the budget, half as many clusters use more of it.
            if len(affordable) < len(order) or clusters == 1:
                return swaps, take_moves(moves, affordable)
            clusters //= 2


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


def group_by_user(original: Traces, chance: NDArray[np.float64]) -> VisitRows:
    """Return one row for each user, all of her visits; those to a place in the order of chance."""
    events = np.arange(original.n_events)
    return VisitRows.of(original, events, np.zeros(len(events), np.int64), 1, chance)


def find_moves_to_average(
    original: Traces, rows: VisitRows, cluster_of: NDArray[np.int64], limit_km: float
) -> VisitMoves:
    """Return the moves that give every user the rounded average counts of her cluster.

    Parameters
    ----------
    rows
        The visits of each user (`group_by_user`).
    cluster_of
        Cluster of each user.
    """
    clusters = int(cluster_of.max(initial=0)) + 1
    cluster = cluster_of[original.user_index]
    # Sums stand for averages: only their proportions matter.
    models = VisitModels.of(cluster, original.place_index, clusters, len(original.places))
    return find_moves_to_models(original, rows, models, cluster_of, limit_km)
