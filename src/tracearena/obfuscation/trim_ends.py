"""Trips without their ends: where they begin and where they lead stays untold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsObfuscator, setting
from tracearena.checks import require_kind, require_number
from tracearena.engine import SeedLike
from tracearena.mobility.stay_points import REACH_M, SHORTEST_S
from tracearena.obfuscation.rounding import DIGITS, check_digits, rounded
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import earth_centred


@dataclass(frozen=True, kw_only=True)
class TrimEnds(GpsObfuscator):
    """Cut off what lies within `distance` of the begin and of the end of every trip.

    A trip is a trajectory, or a part of it between stays or silences of 20 minutes. Its first points are
    left out until one is farther than `distance` from the first, and its last points likewise; stays
    in between are left out whole.

    Parameters
    ----------
    distance
        How far from its ends a trip is released, in metres, above 0, at most 100 km.
    digits
        Decimals of the released degrees, 0 to 9; 6 are 0.1 m.

    Notes
    -----
    Trips that all begin at one door now begin on a circle around it, and `homes_behind_zones` finds the
    door. This protects places where somebody goes once; `Zones` protects those to which somebody returns.

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
        """Return the middles of the trips; nothing is drawn."""
        require_kind(self, original, GpsTraces)
        order = original.trajectory_order
        kept = np.empty(len(order), bool)
        kept[order] = ~_trimmed(original, float(self.distance))
        return rounded(original.keep(kept), self.digits)


def _trimmed(traces: GpsTraces, distance_m: float) -> NDArray[np.bool_]:
    """Which points, ordered by trajectory and time, are in a stay or at an end of a trip."""
    from tracearena.obfuscation._trimming import cut_from
    from tracearena.traces._kernels import find_stays

    order, offsets = traces.trajectory_order, traces.trajectory_offsets
    time_ms, shortest_ms = traces.time_ms[order], SHORTEST_S * 1000
    xyz = earth_centred(traces.latitude, traces.longitude)[order]
    first, stop = find_stays(xyz, time_ms, offsets, REACH_M, shortest_ms)
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
