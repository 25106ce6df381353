"""The places around each place, as far as an answer there would still be worth something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Places

MOST = 128
"""Of more places around one only the nearest so many are looked at."""


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """For each place those within a limit, itself included, the nearest first.

    Attributes
    ----------
    offsets, members, distance_km
        Place ``x`` has ``members[offsets[x]:offsets[x + 1]]`` around it, so far away.
    """

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    distance_km: NDArray[np.float64]

    @classmethod
    def of(cls, places: Places, limit_km: float, most: int = MOST) -> Neighbourhoods:
        """Find the places within `limit_km` of each place, at most `most` of them.

        >>> places = Places([0, 0, 0], [0, 0.01, 0.5], km_per_degree=(100, 100))
        >>> Neighbourhoods.of(places, 2.0).members.tolist()
        [0, 1, 1, 0, 2]
        """
        from scipy.spatial import KDTree

        points = places.points_km
        count = min(most, len(places))
        if not count:
            return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        distance, near = KDTree(points).query(points, k=count, distance_upper_bound=limit_km)
        distance, near = distance.reshape(len(places), count), near.reshape(len(places), count)
        found = np.isfinite(distance)
        # Where several places share a point, the tree may name another one in the place's own stead.
        own = near == np.arange(len(places))[:, None]
        lost = ~own.any(axis=1)
        near[lost, 0], distance[lost, 0] = np.flatnonzero(lost), 0.0
        offsets = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64)
        return cls(offsets, near[found].astype(np.int32), distance[found])

    def build_weights(self, weight: NDArray[np.float64]) -> NeighbourWeights:
        """Put weights on the surroundings, which sum to 1 for each place."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        total = np.bincount(rows, weight, len(self.offsets) - 1)
        return NeighbourWeights(self.offsets, self.members, weight / total[rows])


@dataclass(frozen=True, eq=False)
class NeighbourWeights:
    """Rows of places with a weight each."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    weights: NDArray[np.float64]
