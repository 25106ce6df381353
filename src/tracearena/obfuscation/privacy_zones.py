"""Privacy zones: points near homes and other frequent stops are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsObfuscator, setting
from tracearena.checks import LARGEST_COUNT, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.mobility.stays import REACH_M, SHORTEST_S, find_frequent_places
from tracearena.obfuscation.gps import DIGITS, check_digits, round_coordinates
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import mark_run_starts
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, earth_centred, metres_per_degree

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_RADIUS_M = 1e5
_MARGIN_M = 100.0
_SMALLEST_SHIFT_M = 1.0
_USERS_PER_BLOCK = 64


@dataclass(kw_only=True)
class Zones(GpsObfuscator):
    """Delete all points within `radius` of a random spot near each frequent stop of the user.

    Frequent stops are found in the user's own points (`find_frequent_places`): stays of 20 minutes, and ends
    of recordings. The centre of the circle is a random spot within `shift` of the place, so an attacker who
    reconstructs the circle from the ends of trips does not find the home at its centre. The spot is the same
    for all trips, for all people of one address and, with the same seed, for all releases.

    Parameters
    ----------
    radius
        Radius of a zone in metres, above 0, at most 100 km.
    shift
        Largest distance between a place and the centre of its zone in metres, 0 to `radius`; below 1 m there
        is no shift. By default 100 m less than the radius (half of a radius below 200 m), so that the door
        and the errors of receivers there are inside the circle. With 0, circles are centred at homes, which
        `homes_behind_zones` finds.
    places
        Number of zones per user, at least 1, at the places with the most stops, such as home and work.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    Points that leave a zone by less than 100 m and return are left out too, because they would reveal the
    place. Without a seed, the centres of zones are drawn again for each release, so several releases of the
    same people reveal homes between the circles. In that case give all of them the same secret seed of 128
    bits, and keep it.

    Examples
    --------
    >>> str(Zones(radius=500)), Zones(radius=500).shift_m
    ('Zones(500)', 400.0)
    >>> str(Zones(radius=500, shift=0))
    'Zones(500,0)'
    """

    name: ClassVar[str] = "Zones"
    units: ClassVar[Mapping[str, str]] = {"radius": "m", "shift": "m"}
    by_user: ClassVar[bool] = True

    radius: float
    shift: float | None = None
    places: int = 2
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("radius", self.radius, above=0, at_most=LARGEST_RADIUS_M)
        if self.shift is not None:
            require_number("shift", self.shift, at_least=0, at_most=self.radius)
        require_whole("places", self.places, at_least=1, at_most=LARGEST_COUNT)

    @property
    def margin_m(self) -> float:
        """The part of the radius that is left after the default shift."""
        return min(_MARGIN_M, float(self.radius) / 2)

    @property
    def shift_m(self) -> float:
        """Largest distance between a place and the centre of its zone, in metres."""
        return self.radius - self.margin_m if self.shift is None else float(self.shift)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the points outside of all zones of their user."""
        require_kind(self, original, GpsTraces)
        places = find_frequent_places(original).most_frequent(self.places)
        latitude, longitude = places.latitude, places.longitude
        if self.shift_m >= _SMALLEST_SHIFT_M:
            key = stream(seed_sequence(seed)).bytes(KEY_BYTES)
            latitude, longitude = shift_centres(latitude, longitude, self.shift_m, key)
        centres = earth_centred(latitude, longitude)
        of_user = np.searchsorted(places.user, np.arange(original.n_users + 1))
        xyz = earth_centred(original.latitude, original.longitude)
        distance = np.full(len(original), np.inf)

        def work(block: int, first: int, stop: int) -> None:
            for user in range(first, stop):
                own = slice(original.offsets[user], original.offsets[user + 1])
                for centre in centres[of_user[user] : of_user[user + 1]]:
                    apart = np.sqrt(((xyz[own] - centre) ** 2).sum(axis=1))
                    np.minimum(distance[own], apart, out=distance[own])

        run_blocks(work, block_ranges(original.n_users, _USERS_PER_BLOCK))
        inside, near = distance <= self.radius, distance <= self.radius + self.margin_m
        return round_coordinates(original.keep(~_add_short_pieces(original, inside, near)), self.digits)


def _add_short_pieces(traces: GpsTraces, inside: Bools, near: Bools) -> Bools:
    """Add the pieces of trajectories that come out of a zone, or go into it, and are never far from it."""
    if not len(traces):
        return inside
    order = traces.trajectory_order
    label, hidden = traces.trajectory[order], inside[order]
    fresh = mark_run_starts(label, hidden)
    starts = np.flatnonzero(fresh)
    strays = np.logical_and.reduceat(near[order] & ~hidden, starts)
    goes_on = label[starts[1:]] == label[starts[:-1]]
    touches = np.append(goes_on, False) | np.insert(goes_on, 0, False)
    found = np.empty_like(inside)
    found[order] = hidden | (strays & touches)[np.cumsum(fresh) - 1]
    return found


# Centres of zones: anywhere near the place, and at the same spot for all who live there.

KEY_BYTES = 32
_STEPS = 8
"""Candidates between a place and the farthest centre it may have."""


def shift_centres(latitude: Floats, longitude: Floats, shift_m: float, key: bytes) -> tuple[Floats, Floats]:
    """Return a centre for each place, uniform in the disc of `shift_m` around it.

    A world-wide grid has a candidate every `shift_m` / 8, each with a rank that only the key tells; a
    place takes the candidate of the lowest rank in its disc. Every candidate is as likely as any other
    (except within about `shift_m` of a pole, where some are not considered), so the centre tells no more
    than that the place is within `shift_m`. Users of the same place, or of nearly the same, nearly always
    get the same centre: two people of one household, or one person in a second release with the same key,
    do not show the place between two centres.
    """
    centres = [_choose_centre(lat, lon, shift_m, key) for lat, lon in zip(latitude, longitude, strict=True)]
    lat, lon = np.array(centres, np.float64).reshape(-1, 2).T
    return np.ascontiguousarray(lat), np.ascontiguousarray(lon)


def _choose_centre(latitude: float, longitude: float, shift_m: float, key: bytes) -> tuple[float, float]:
    row, column, lat, lon = _list_grid_points(latitude, longitude, shift_m)
    apart = earth_centred(lat, lon) - earth_centred([latitude], [longitude])
    near = np.flatnonzero((apart**2).sum(axis=1) <= shift_m**2)
    if not len(near):
        return float(latitude), float(longitude)

    def rank(at: np.signedinteger) -> bytes:
        return blake2b(b"%d,%d" % (int(row[at]), int(column[at])), key=key, digest_size=16).digest()

    lowest = min(near, key=rank)
    return float(lat[lowest]), float(lon[lowest])


def _list_grid_points(latitude: float, longitude: float, shift_m: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Return rows, columns and positions of the grid's points around a place."""
    height = shift_m / _STEPS / MIDDLE_DEGREE_M
    middle = int((latitude + 90) // height)
    rows = np.arange(middle - _STEPS - 1, middle + _STEPS + 2)
    rows = rows[(rows + 0.5) * height < 180]
    rows = rows[rows >= 0]
    lat = (rows + 0.5) * height - 90
    per_row = np.maximum(np.rint(360 * metres_per_degree(lat)[1] / (shift_m / _STEPS)), 1).astype(np.int64)
    # Near a pole few columns make a whole row, and a column counts once.
    columns = np.floor((longitude + 180) / 360 * per_row).astype(np.int64)
    steps = np.arange(-_STEPS - 1, _STEPS + 2)
    column = (columns[:, None] + steps) % per_row[:, None]
    lon = (column + 0.5) * (360 / per_row)[:, None] - 180
    shape = column.shape
    return (
        np.broadcast_to(rows[:, None], shape).ravel(),
        column.ravel(),
        np.broadcast_to(lat[:, None], shape).ravel(),
        lon.ravel(),
    )


# Trips without their ends: where they begin and where they lead is not released.


@dataclass(kw_only=True)
class TrimEnds(GpsObfuscator):
    """Delete the points within `distance` of the start and of the end of every trip.

    A trip is a trajectory, or a part of it between stays or gaps of 20 minutes. Its first points are left out
    until one is farther than `distance` from the first, and its last points in the same way; stays between
    trips are left out completely.

    Parameters
    ----------
    distance
        Distance from both ends of a trip within which points are deleted, in metres, above 0, at most 100 km.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    If many trips begin at one door, they now begin on a circle around it, and `homes_behind_zones` finds the
    door. This defence only protects places that a person visits once; `Zones` protects places to which a
    person returns.

    Examples
    --------
    >>> str(TrimEnds(distance=300))
    'TrimEnds(300)'
    """

    name: ClassVar[str] = "TrimEnds"
    units: ClassVar[Mapping[str, str]] = {"distance": "m"}
    by_user: ClassVar[bool] = True

    distance: float
    digits: int = setting(DIGITS)

    def __post_init__(self) -> None:
        check_digits(self.digits)
        require_number("distance", self.distance, above=0, at_most=1e5)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the middle parts of the trips; this uses no random numbers."""
        require_kind(self, original, GpsTraces)
        order = original.trajectory_order
        kept = np.empty(len(order), bool)
        kept[order] = ~_is_trip_end(original, float(self.distance))
        return round_coordinates(original.keep(kept), self.digits)


def _is_trip_end(traces: GpsTraces, distance_m: float) -> NDArray[np.bool_]:
    """Return which points, ordered by trajectory and time, are in a stay or at an end of a trip."""
    from tracearena.obfuscation._kernels import cut_from
    from tracearena.traces._kernels import find_stay_ranges

    order, offsets = traces.trajectory_order, traces.trajectory_offsets
    time_ms, shortest_ms = traces.time_ms[order], SHORTEST_S * 1000
    xyz = earth_centred(traces.latitude, traces.longitude)[order]
    first, stop = find_stay_ranges(xyz, time_ms, offsets, REACH_M, shortest_ms)
    breaks = np.zeros(len(order) + 1, bool)
    breaks[offsets] = True
    breaks[1:-1] |= np.diff(time_ms) >= shortest_ms
    # A trip begins at the last point of one stay and ends at the first of the next.
    begin = np.concatenate([np.flatnonzero(breaks[:-1]), stop - 1])
    end = np.concatenate([np.flatnonzero(breaks[1:]), first])
    cut = np.zeros(len(order), bool)
    for a, b in zip(first, stop, strict=True):
        cut[a:b] = True
    for ends, step in ((begin, 1), (end, -1)):
        cut_from(xyz, np.cumsum(breaks[:-1]), ends, step, distance_m, cut)
    return cut
