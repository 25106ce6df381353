"""Stay points: places where a person stopped for some time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.frames import take_point_frames
from tracearena.checks import require_number
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.geodesy import earth_centred
from tracearena.traces.gps import GpsTraces

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per stay.

        Columns ``user_id``, ``started_at`` and ``finished_at`` (UTC), ``lat``, ``lng`` and ``points``, their
        number. `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas``; of the last, trackintel
        makes its ``Staypoints``.
        """
        import polars as pl

        from tracearena.dataframes import export_frame

        times = {"started_at": self.arrival_ms, "finished_at": self.departure_ms}
        columns = {
            "user_id": self.user_ids[self.user],
            **{name: pl.Series(time).cast(pl.Datetime("ms", "UTC")) for name, time in times.items()},
            "lat": self.latitude,
            "lng": self.longitude,
            "points": self.points,
        }
        return export_frame(pl.DataFrame(columns), library, position=("lat", "lng"))

    def as_gps(self) -> GpsTraces:
        """Return one point per stay, at its arrival, ready to be gridded."""
        return GpsTraces(
            user_ids=self.user_ids,
            offsets=np.searchsorted(self.user, np.arange(len(self.user_ids) + 1)),
            time_ms=self.arrival_ms,
            latitude=self.latitude,
            longitude=self.longitude,
        )


@take_point_frames
def stay_points(traces: GpsTraces, *, radius_m: float = 200.0, min_duration_s: float = 1200.0) -> StayPoints:
    """Return where each user stayed within a radius for some time.

    A stay is a maximal run of consecutive points of a user that lie within `radius_m` of its first
    one and last at least `min_duration_s`; its place is their mean [1]_. A data frame of points is answered
    with one of stays (`StayPoints.to_frame`).

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
    from tracearena.traces._kernels import find_stay_ranges

    xyz = earth_centred(traces.latitude, traces.longitude)
    first, stop = find_stay_ranges(
        xyz, traces.time_ms, traces.offsets, float(radius_m), min_duration_s * 1000.0
    )
    latitude, longitude = np.empty(len(first)), np.empty(len(first))
    for at, (a, b) in enumerate(zip(first, stop, strict=True)):
        # Relative to the first point, so that the date line does not matter.
        base_lat, base_lon = traces.latitude[a], traces.longitude[a]
        latitude[at] = base_lat + (traces.latitude[a:b] - base_lat).sum() / max(b - a, 1)
        turn = (traces.longitude[a:b] - base_lon + 180) % 360 - 180
        longitude[at] = (base_lon + turn.mean() + 180) % 360 - 180
    return StayPoints(
        user_ids=traces.user_ids,
        user=mark_readonly(traces.user_index[first]),
        arrival_ms=mark_readonly(traces.time_ms[first]),
        departure_ms=mark_readonly(traces.time_ms[stop - 1]),
        latitude=mark_readonly(latitude),
        longitude=mark_readonly(longitude),
        points=mark_readonly(stop - first),
    )


# Frequent places: where people stop again and again, such as home, work or the gym.

REACH_M = 200.0
"""How far apart the points of one stop, and the stops of one place, may be."""
SHORTEST_S = 1200.0
"""Shorter stays are not stops, and shorter gaps do not end a trip."""


@dataclass(frozen=True)
class FrequentPlaces:
    """Places where users stopped, sorted by user and by the longest stop.

    Attributes
    ----------
    user
        User (index) of each place.
    latitude, longitude
        The middle of its stops, degrees.
    stops
        How often the user stopped there.
    """

    user: Ints
    latitude: Floats
    longitude: Floats
    stops: Ints

    def __len__(self) -> int:
        return len(self.user)

    def most_frequent(self, places: int) -> FrequentPlaces:
        """Return the places of each user with the most stops; of equals those with the longest."""
        order = np.lexsort([-self.stops, self.user])
        begins = np.searchsorted(self.user, self.user)
        chosen = order[np.arange(len(order)) - begins < places]
        columns = (self.user, self.latitude, self.longitude, self.stops)
        return FrequentPlaces(*(mark_readonly(column[chosen]) for column in columns))


def find_frequent_places(
    traces: GpsTraces, *, reach_m: float = REACH_M, min_duration_s: float = SHORTEST_S
) -> FrequentPlaces:
    """Find where each user stopped, and how often.

    A stop is a stay, a run of points within `reach_m` of its first one that lasts `min_duration_s`
    (as in `stay_points`); or an end, a point before or after which the user has no points for that
    long, as where somebody switches the receiver off at the door. Stops within `reach_m` of a longer one
    belong to its place, which lies at the median of its stops.

    Examples
    --------
    >>> hour = 3_600_000
    >>> trips = GpsTraces.from_points([1] * 4, [0, hour, 9 * hour, 10 * hour],
    ...                               [40.0, 40.1, 40.1, 40.0], [116.0] * 4)
    >>> find_frequent_places(trips).stops.tolist()
    [1, 2]
    """
    require_number("reach_m", reach_m, above=0)
    require_number("min_duration_s", min_duration_s, at_least=0)
    first, stop = _find_stops(traces, reach_m, min_duration_s)
    latitude, longitude = np.empty(len(first)), np.empty(len(first))
    for at, (a, b) in enumerate(zip(first, stop, strict=True)):
        latitude[at] = np.median(traces.latitude[a:b])
        longitude[at] = _median_longitude(traces.longitude[a:b])
    lasted = traces.time_ms[stop - 1] - traces.time_ms[first]
    user = traces.user_index[first].astype(np.int64)
    order = np.lexsort([first, -lasted, user])
    user, latitude, longitude = user[order], latitude[order], longitude[order]
    offsets = np.searchsorted(user, np.arange(traces.n_users + 1))
    place = _group_stops(earth_centred(latitude, longitude), offsets, reach_m)
    order = np.argsort(place, kind="stable")
    begins = np.flatnonzero(np.diff(place[order], prepend=-1))
    members = np.split(order, begins[1:]) if len(order) else []
    return FrequentPlaces(
        user=mark_readonly(user[order[begins]]),
        latitude=mark_readonly(np.array([np.median(latitude[own]) for own in members], np.float64)),
        longitude=mark_readonly(np.array([_median_longitude(longitude[own]) for own in members], np.float64)),
        stops=mark_readonly(np.array([len(own) for own in members], np.int64)),
    )


def _find_stops(traces: GpsTraces, reach_m: float, min_duration_s: float) -> tuple[Ints, Ints]:
    """Return first and one-past-last point of each stay and of each end."""
    from tracearena.traces._kernels import find_stay_ranges

    if not len(traces):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    xyz = earth_centred(traces.latitude, traces.longitude)
    first, stop = find_stay_ranges(
        xyz, traces.time_ms, traces.offsets, float(reach_m), min_duration_s * 1000.0
    )
    steps = np.zeros(len(traces) + 1, np.int64)
    np.add.at(steps, first, 1)
    np.add.at(steps, stop, -1)
    stays = np.cumsum(steps[:-1]) > 0
    silent = np.ones(len(traces) + 1, bool)
    silent[1:-1] = (np.diff(traces.user_index) != 0) | (np.diff(traces.time_ms) >= min_duration_s * 1000)
    ends = np.flatnonzero((silent[:-1] | silent[1:]) & ~stays)
    return np.concatenate([first, ends]), np.concatenate([stop, ends + 1])


def _median_longitude(longitude: Floats) -> float:
    turn = (longitude - longitude[0] + 180) % 360 - 180
    return float((longitude[0] + np.median(turn) + 180) % 360 - 180)


def _group_stops(xyz: Floats, offsets: Ints, reach_m: float) -> Ints:
    """Number the places of stops, which come longest first: the first that is free takes those near it."""
    place = np.full(len(xyz), -1, np.int64)
    found = 0
    for begin, end in pairwise(offsets):
        free = np.arange(begin, end)
        while len(free):
            near = ((xyz[free] - xyz[free[0]]) ** 2).sum(axis=1) <= reach_m**2
            place[free[near]] = found
            free, found = free[~near], found + 1
    return place
