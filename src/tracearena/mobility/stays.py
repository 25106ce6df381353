"""Stay points: where somebody stopped for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.traces._arrays import trusted
from tracearena.traces.geodesy import earth_centred
from tracearena.traces.gps import GpsTraces


@dataclass(frozen=True)
class StayPoints:
    """Stays of many users, sorted by user and arrival.

    Attributes
    ----------
    user_ids
        All users, with or without stays.
    user
        User (index) of each stay.
    arrival_ms, departure_ms
        Times of its first and last point, milliseconds since 1970 (UTC).
    latitude, longitude
        Mean position of its points.
    points
        Number of its points.
    """

    user_ids: NDArray[Any]
    user: NDArray[np.int32]
    arrival_ms: NDArray[np.int64]
    departure_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    points: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.user)

    def as_gps(self) -> GpsTraces:
        """Return one point a stay, at its arrival, ready to be gridded."""
        return GpsTraces(
            user_ids=self.user_ids,
            offsets=np.searchsorted(self.user, np.arange(len(self.user_ids) + 1)),
            time_ms=self.arrival_ms,
            latitude=self.latitude,
            longitude=self.longitude,
        )


def stay_points(traces: GpsTraces, *, radius_m: float = 200.0, min_duration_s: float = 1200.0) -> StayPoints:
    """Find where each user stayed within a radius for some time.

    A stay is a maximal run of consecutive points of a user that lie within `radius_m` of its first
    one and last at least `min_duration_s`; its place is their mean [1]_.

    References
    ----------
    .. [1] Q. Li et al., "Mining user similarity based on location history", ACM GIS 2008.

    Examples
    --------
    >>> traces = GpsTraces.from_points([1] * 4, [0, 600_000, 1_500_000, 1_600_000],
    ...                                [40.0, 40.0002, 40.0001, 41.0], [116.0] * 4)
    >>> stays = stay_points(traces)
    >>> stays.latitude.round(4).tolist(), stays.points.tolist()
    ([40.0001], [3])
    """
    require_number("radius_m", radius_m, above=0)
    require_number("min_duration_s", min_duration_s, at_least=0)
    from tracearena.traces._kernels import find_stays

    xyz = earth_centred(traces.latitude, traces.longitude)
    first, stop = find_stays(xyz, traces.time_ms, traces.offsets, float(radius_m), min_duration_s * 1000.0)
    count = stop - first
    return StayPoints(
        user_ids=traces.user_ids,
        user=trusted(traces.user_index[first]),
        arrival_ms=trusted(traces.time_ms[first]),
        departure_ms=trusted(traces.time_ms[stop - 1]),
        latitude=trusted(_means(traces.latitude, first, stop)),
        longitude=trusted(_mean_longitudes(traces.longitude, first, stop)),
        points=trusted(count),
    )


def _means(
    values: NDArray[np.float64], first: NDArray[np.int64], stop: NDArray[np.int64]
) -> NDArray[np.float64]:
    base = values[first]
    sums = np.array([(values[a:b] - v).sum() for a, b, v in zip(first, stop, base, strict=True)])
    return np.asarray(base + sums / np.maximum(stop - first, 1)) if len(first) else np.empty(0)


def _mean_longitudes(
    values: NDArray[np.float64], first: NDArray[np.int64], stop: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mean relative to the first point, so that the date line does not matter."""
    means = []
    for a, b in zip(first, stop, strict=True):
        turn = (values[a:b] - values[a] + 180) % 360 - 180
        means.append((values[a] + turn.mean() + 180) % 360 - 180)
    return np.array(means, np.float64)
