"""How far released points are from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.metrics.applications.identity import IdTable, with_true_ids
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m
from tracearena.traces.ids import positions

_POINTS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class DistanceError(Result):
    """Geodesic distance in metres from each original point to what was released of it.

    Attributes
    ----------
    mean_m, median_m, p90_m, p99_m, max_m
        Over all compared points.
    points
        Original points that were compared.
    unmatched
        Original points of users who have no released point.
    """

    mean_m: float
    median_m: float
    p90_m: float
    p99_m: float
    max_m: float
    points: int
    unmatched: int


def distance_error(
    original: GpsTraces, released: GpsTraces, *, id_table: IdTable | None = None
) -> DistanceError:
    """Compare point by point; a point that was not released with the nearest in time of its user.

    Users are matched by id, or by the `id_table` (pseudonym → user) of a release with other ids.

    >>> traces = GpsTraces.from_points([1, 1], [0, 1000], [0.0, 0.0], [0.0, 1.0])
    >>> round(distance_error(traces, traces.moved([0.0, 0.0], [0.0, 0.0])).max_m)
    111319
    """
    released = with_true_ids(original, released, id_table)
    mine, theirs = matched_points(original, released)
    if not len(mine):
        raise DataError("no user of the original has released points")
    distances = np.empty(len(mine))

    def work(block: int, first: int, stop: int) -> None:
        a, b = mine[first:stop], theirs[first:stop]
        distances[first:stop] = distance_m(
            original.latitude[a], original.longitude[a], released.latitude[b], released.longitude[b]
        )

    run_blocks(work, block_ranges(len(mine), _POINTS_PER_BLOCK))
    median, p90, p99 = np.quantile(distances, [0.5, 0.9, 0.99])
    return DistanceError(
        mean_m=float(distances.mean()),
        median_m=float(median),
        p90_m=float(p90),
        p99_m=float(p99),
        max_m=float(distances.max()),
        points=len(mine),
        unmatched=len(original) - len(mine),
    )


def matched_points(original: GpsTraces, released: GpsTraces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of original and released points of the same user, nearest in time."""
    if original.has_users_of(released) and original.has_rows_of(released):
        everything = np.arange(len(original))
        return everything, everything
    pairs = []
    for user, other in enumerate(positions(original.user_ids, released.user_ids).tolist()):
        if other < 0 or released.offsets[other] == released.offsets[other + 1]:
            continue
        points = np.arange(original.offsets[user], original.offsets[user + 1])
        first = released.offsets[other]
        times = released.time_ms[first : released.offsets[other + 1]]
        pairs.append((points, first + nearest(times, original.time_ms[points])))
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def nearest(times: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the time nearest to each wanted one; the earlier of two."""
    after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(wanted - times[before]) <= np.abs(times[after] - wanted), before, after)
