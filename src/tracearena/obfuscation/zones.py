"""Privacy zones: what is near home, and wherever else somebody stops often, is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsObfuscator, setting
from tracearena.checks import LARGEST_COUNT, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, block_ranges, run_blocks, seed_sequence, stream
from tracearena.mobility.stay_points import stopping_places
from tracearena.obfuscation.rounding import DIGITS, check_digits, rounded
from tracearena.obfuscation.zone_centres import KEY_BYTES, shifted_centres
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import begins
from tracearena.traces.geodesy import earth_centred

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_RADIUS_M = 1e5
_MARGIN_M = 100.0
_SMALLEST_SHIFT_M = 1.0
_USERS_PER_BLOCK = 64


@dataclass(frozen=True, kw_only=True)
class Zones(GpsObfuscator):
    """Leave out all points within `radius` of a spot near each place where a user stops often.

    Places are learned from the user's own points (`stopping_places`): stays of 20 minutes, and ends of
    recordings. The spot is not the place: it lies anywhere within `shift` of it, so whoever finds the
    circle from the trips that end at it finds no home in its middle. It is the same for all trips, for
    all people of one address and, under one seed, for all releases.

    Parameters
    ----------
    radius
        Radius of a zone in metres, above 0, at most 100 km.
    shift
        Largest distance between a place and the middle of its zone in metres, 0 to `radius`; less than 1 m
        is none. By default 100 m less than the radius (half of a radius below 200 m), so that the door and
        what a receiver errs there lie inside. 0 draws circles around homes, whose middles
        `homes_behind_zones` finds.
    places
        How many places of a user get a zone, at least 1: those with the most stops, such as home and work.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    What strays from a zone by less than 100 m and comes back is left out as well: it would show where
    people stand. Without a seed the middles of zones are drawn anew for each release, and several releases
    of the same people show their homes between the several zones; give all of them one secret seed of
    128 bits then, and keep it.

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
        """What of the radius the default shift leaves."""
        return min(_MARGIN_M, float(self.radius) / 2)

    @property
    def shift_m(self) -> float:
        """Largest distance between a place and the middle of its zone, metres."""
        return self.radius - self.margin_m if self.shift is None else float(self.shift)

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the points outside of all zones of their user."""
        require_kind(self, original, GpsTraces)
        places = stopping_places(original).most_frequent(self.places)
        latitude, longitude = places.latitude, places.longitude
        if self.shift_m >= _SMALLEST_SHIFT_M:
            key = stream(seed_sequence(seed)).bytes(KEY_BYTES)
            latitude, longitude = shifted_centres(latitude, longitude, self.shift_m, key)
        centres = earth_centred(latitude, longitude)
        of_user = np.searchsorted(places.user, np.arange(original.n_users + 1))
        return rounded(original.keep(~self._hidden(original, centres, of_user)), self.digits)

    def _hidden(self, original: GpsTraces, centres: Floats, of_user: Ints) -> Bools:
        xyz = earth_centred(original.latitude, original.longitude)
        distance = np.full(len(original), np.inf)

        def work(block: int, first: int, stop: int) -> None:
            for user in range(first, stop):
                own = slice(original.offsets[user], original.offsets[user + 1])
                for centre in centres[of_user[user] : of_user[user + 1]]:
                    apart = np.sqrt(((xyz[own] - centre) ** 2).sum(axis=1))
                    np.minimum(distance[own], apart, out=distance[own])

        run_blocks(work, block_ranges(original.n_users, _USERS_PER_BLOCK))
        return _with_crumbs(original, distance <= self.radius, distance <= self.radius + self.margin_m)


def _with_crumbs(traces: GpsTraces, inside: Bools, near: Bools) -> Bools:
    """Add the pieces of trajectories that come out of a zone, or go into it, and are never far from it."""
    if not len(traces):
        return inside
    order = traces.trajectory_order
    label, hidden = traces.trajectory[order], inside[order]
    fresh = begins(label, hidden)
    starts = np.flatnonzero(fresh)
    strays = np.logical_and.reduceat(near[order] & ~hidden, starts)
    goes_on = label[starts[1:]] == label[starts[:-1]]
    touches = np.append(goes_on, False) | np.insert(goes_on, 0, False)
    found = np.empty_like(inside)
    found[order] = hidden | (strays & touches)[np.cumsum(fresh) - 1]
    return found
