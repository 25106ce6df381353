"""Homes behind privacy zones: a release without what is near them still shows where trips stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.experiments import circle_of
from tracearena.attacks.privacy_zones import homes_behind_zones
from tracearena.audit.sightings import Spots
from tracearena.obfuscation import TrimEnds, Zones
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m, earth_centred

_SAME_M = 1.0
_ENOUGH = 0.99
"""Share of the released points that must be the original's own, for a release that only leaves out points."""
_LEAST_M = 50.0
"""Homes with a released point nearer than this are behind no zone."""
_FEWEST = 3


class Circle(NamedTuple):
    """What the attacker believes to be hidden around homes.

    Attributes
    ----------
    radius_m, shift_m
        Radius of the zones, and how far their middles may lie from homes.
    measured
        Whether the radius was measured between the two files; otherwise the defence was named.
    """

    radius_m: float
    shift_m: float
    measured: bool


def told_circle(mechanism: object) -> Circle | None:
    """Return the circle of a defence by zones or trimmed ends; None for any other."""
    if not isinstance(mechanism, Zones | TrimEnds):
        return None
    return Circle(*circle_of(mechanism), False)


def measured_circle(
    original: GpsTraces, released: GpsTraces, at: NDArray[np.int64], homes: Spots
) -> Circle | None:
    """Return circles around homes if a release has no points there, all others being where they were.

    Parameters
    ----------
    at
        Where each user of the original stands in the release, -1 for nowhere.
    homes
        The home of each user of the original.
    """
    if len(released) >= len(original) or not _is_part(original, released, at):
        return None
    xyz, home = earth_centred(released.latitude, released.longitude), earth_centred(*homes[:2])
    nearest = [
        float(np.sqrt(((xyz[own] - home[user]) ** 2).sum(axis=1).min()))
        for user in np.flatnonzero(homes.known & (at >= 0))
        if len(own := np.arange(released.offsets[at[user]], released.offsets[at[user] + 1]))
    ]
    if len(nearest) < _FEWEST or np.median(nearest) < _LEAST_M:
        return None
    return Circle(float(np.median(nearest)), 0.0, True)


def guessed_homes(released: GpsTraces, circle: Circle, within_m: float, zone: str | None) -> Spots:
    """Return where the attacker thinks that each released person lives."""
    found = homes_behind_zones(
        released, radius_m=circle.radius_m, shift_m=circle.shift_m, within_m=within_m, timezone=zone
    )
    return Spots(found.latitude, found.longitude, np.full(released.n_users, -1, np.int64))


def _is_part(original: GpsTraces, released: GpsTraces, at: NDArray[np.int64]) -> bool:
    """Whether nearly all released points are the original's, at their own times."""
    if not len(released):
        return False
    owner = np.full(released.n_users, -1, np.int64)
    owner[at[at >= 0]] = np.flatnonzero(at >= 0)
    first = min(int(original.time_ms.min()), int(released.time_ms.min()))
    width = max(int(original.time_ms.max()), int(released.time_ms.max())) - first + 1
    mine = original.user_index.astype(np.int64) * width + original.time_ms - first
    theirs = owner[released.user_index] * width + released.time_ms - first
    found = np.minimum(np.searchsorted(mine, theirs), len(mine) - 1)
    apart = distance_m(
        original.latitude[found], original.longitude[found], released.latitude, released.longitude
    )
    return bool(((mine[found] == theirs) & (apart <= _SAME_M)).mean() >= _ENOUGH)
