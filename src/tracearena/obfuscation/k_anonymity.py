"""k-anonymity of whole traces: every trace occurs at least k times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator
from tracearena.checks import LARGEST_COUNT, require_choice, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, block_ranges, run_blocks
from tracearena.obfuscation.samples_2019 import rank_within_instant
from tracearena.obfuscation.visit_moves import FARTHEST_KM
from tracearena.traces import DELETED, ObfuscatedTraces, PlaceSets, Traces

Way = Literal["move", "generalise"]
"""What equal traces show: one place that lies well for all, or the places of all."""

MOST_STRETCHES = 400
"""Traces are compared by where people are in at most this many stretches of time."""


@dataclass(kw_only=True)
class KAnonymous(Obfuscator):
    """Give every user the same trace as at least k - 1 others: k-anonymity of whole traces.

    Microaggregation (MDAV) forms groups of k to 2k - 1 similar users. At each instant, all members of a group
    release the same: the one of their places that is nearest to all of them, or the set of all their places.
    An attacker who knows everything about a user then finds k traces that fit, and picks the right one with
    probability 1/k.

    [contest] sections 1 and 5.2 argue against it: if the members of a group are similar, their common trace
    reveals where each of them was, although nobody knows which trace belongs to whom (homogeneity attack); if
    they are not, the trace is useless.

    Parameters
    ----------
    k
        Smallest number of equal traces, at least 1.
    way
        ``"move"``: all members move to the one of their places with the smallest loss; ``"generalise"``: all
        release the set of their places.
    limit_km
        Distance in km from which a visit is worth nothing.

    Notes
    -----
    Groups are formed by MDAV: the user farthest from the average with the k - 1 nearest users, then the user
    farthest from that one with the k - 1 nearest users, and so on until fewer than 2k are left. The algorithm
    uses no random numbers. An event is deleted if another member has no event at that instant, but the
    release still shows that there was an event: with gaps, places are k-anonymous, but times are not. With
    fewer than k users, everything is deleted.

    References
    ----------
    J. Domingo-Ferrer, J. M. Mateo-Sanz, Practical data-oriented microaggregation for statistical
    disclosure control, IEEE Transactions on Knowledge and Data Engineering 14 (2002).

    Examples
    --------
    >>> from tracearena.traces import Clock, Grid, Places
    >>> places = Places.of_grid(Grid(rows=1, columns=9, south=0, west=0, north=0.01, east=0.09))
    >>> original = Traces.from_dense([[0, 1], [8, 8], [0, 2], [8, 7]], places, Clock(instants_per_day=2))
    >>> KAnonymous(k=2).transform(original).cells()
    [[0], [1], [8], [8], [0], [1], [8], [8]]
    >>> KAnonymous(k=2, way="generalise").transform(original).cells()
    [[0], [1, 2], [8], [7, 8], [0], [1, 2], [8], [7, 8]]
    """

    name: ClassVar[str] = "KAnonymous"
    units: ClassVar[Mapping[str, str]] = {"limit_km": "km"}

    k: int
    way: Way = "move"
    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_whole("k", self.k, at_least=1, at_most=LARGEST_COUNT)
        require_choice("way", self.way, get_args(Way))
        require_number("limit_km", self.limit_km, above=0, at_most=FARTHEST_KM)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return traces that each occur at least k times; this uses no random numbers."""
        require_kind(self, original, Traces)
        codes = np.full(original.n_events, DELETED, np.int32)
        if original.n_users < self.k:
            return ObfuscatedTraces.like(original, codes)
        group_of = group_by_mdav(original, self.k)
        rank = rank_within_instant(original)
        since = (original.instants - original.span[0]).astype(np.int64)
        moment = since * (int(rank.max(initial=0)) + 1) + rank
        order = np.lexsort((moment, group_of[original.user_index]))
        members = np.bincount(group_of)
        limits = np.searchsorted(group_of[original.user_index[order]], np.arange(len(members) + 1))
        sets: list[NDArray[np.int32]] = []

        def find_shared_events(block: int, first: int, stop: int) -> NDArray[np.int64]:
            """Return moments × members, the events of a group at moments that all its members have."""
            events = order[limits[first] : limits[stop]]
            _, starts, counts = np.unique(moment[events], return_index=True, return_counts=True)
            size = int(members[first])
            return np.asarray(events[starts[counts == size][:, None] + np.arange(size)])

        for events in run_blocks(find_shared_events, block_ranges(len(members), 1)):
            places = original.place_index[events]
            if self.way == "move":
                # The medoid: the one of the places from which all the others lose least.
                loss = np.zeros(places.shape)
                for member in places.T:
                    distance = original.places.distance_km(places, member[:, None])
                    loss += np.minimum(distance / self.limit_km, 1)
                codes[events] = places[np.arange(len(places)), np.argmin(loss, axis=1)][:, None]
                continue
            for row, together in zip(events, np.sort(places), strict=True):
                shown = np.unique(together)
                codes[row] = shown[0] if len(shown) == 1 else -2 - len(sets)
                sets += [shown] if len(shown) > 1 else []
        return ObfuscatedTraces.like(original, codes, PlaceSets.of(sets))


def group_by_mdav(original: Traces, k: int) -> NDArray[np.int64]:
    """Return the group of each user by MDAV: at least k who are alike, at most 2k - 1."""
    where = _describe_users(original)
    group_of = np.zeros(original.n_users, np.int64)
    left = np.arange(original.n_users)
    number = 0
    while len(left) >= 2 * k:
        farthest = left[np.argmax(_measure_squared_distances(where[left], where[left].mean(axis=0)))]
        opposite = left[np.argmax(_measure_squared_distances(where[left], where[farthest]))]
        for centre in (farthest, opposite):
            if len(left) < 2 * k or centre not in left:
                continue
            order = np.argsort(_measure_squared_distances(where[left], where[centre]), kind="stable")
            group_of[left[order[:k]]] = number
            left = np.sort(left[order[k:]])
            number += 1
    group_of[left] = number
    return group_of


def _describe_users(original: Traces) -> NDArray[np.float32]:
    """Return users × coordinates: the mean position in each stretch of time, else her mean position."""
    stretches = max(min(original.n_instants, MOST_STRETCHES), 1)
    since = (original.instants - original.span[0]).astype(np.int64)
    cell = original.user_index * np.int64(stretches) + since * stretches // max(original.n_instants, 1)
    points = original.places.points_km[original.place_index]
    shape = original.n_users, stretches
    count = np.bincount(cell, minlength=np.prod(shape)).reshape(shape)
    described = []
    for axis in points.T:
        total = np.bincount(cell, axis, np.prod(shape)).reshape(shape)
        everywhere = axis.mean() if len(axis) else 0.0
        own = np.where(count.any(axis=1), total.sum(axis=1) / np.maximum(count.sum(axis=1), 1), everywhere)
        described.append(np.where(count > 0, total / np.maximum(count, 1), own[:, None]))
    return np.concatenate(described, axis=1).astype(np.float32)


def _measure_squared_distances(
    where: NDArray[np.float32], centre: NDArray[np.float32]
) -> NDArray[np.float32]:
    difference = where - centre
    return np.asarray(np.einsum("ij,ij->i", difference, difference))
