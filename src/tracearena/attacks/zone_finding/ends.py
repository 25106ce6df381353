"""Where trips vanish for the night, and which way they went there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import GpsTraces
from tracearena.traces.clock import DAY_S
from tracearena.traces.geodesy import metres_per_degree
from tracearena.traces.time import local_seconds_time, solar_seconds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SILENCE_MS = 1_200_000
_DEEP_NIGHT_S = 3 * 3600
_BASE_M = 60.0
"""Length of the way by which a heading is measured; half of it is the least."""
_MOST_POINTS = 60
_LONGEST_STEP_M = 150.0
_UNKNOWN_STEP_M = 50.0


@dataclass(frozen=True)
class LocalPoints:
    """A user's released points in metres east and north of their middle."""

    xy: Floats
    latitude: float
    longitude: float
    metres: tuple[float, float]
    """Metres of a degree of longitude and of latitude."""

    @classmethod
    def of(cls, traces: GpsTraces, own: slice) -> LocalPoints:
        """Lay a user's points on a plane, also across the date line."""
        latitude, longitude = traces.latitude[own], traces.longitude[own]
        middle, first = float(np.median(latitude)), float(longitude[0])
        north, east = (float(m) for m in metres_per_degree(middle))
        east = max(east, 1.0)
        turn = (longitude - first + 180) % 360 - 180
        return cls(np.column_stack([turn * east, (latitude - middle) * north]), middle, first, (east, north))

    def degrees(self, spot: Floats) -> tuple[float, float]:
        """Return latitude and longitude of a spot of the plane."""
        longitude = (self.longitude + spot[0] / self.metres[0] + 180) % 360 - 180
        return float(self.latitude + spot[1] / self.metres[1]), float(longitude)


@dataclass(frozen=True)
class Ends:
    """Points at which trips vanish before a night, or appear after it.

    Attributes
    ----------
    xy
        Where, in metres.
    heading
        Unit vector of the way on, into what is hidden; 0 where the trip does not tell.
    step_m
        How far from the zone the point may be: the length of a step of the trip there.
    """

    xy: Floats
    heading: Floats
    step_m: Floats

    def __len__(self) -> int:
        return len(self.xy)


def night_ends(traces: GpsTraces, own: slice, xy: Floats, timezone: str | None) -> Ends:
    """Find the ends of a user: on both sides of each silence that lasts over three o'clock at night."""
    time_ms, trajectory = traces.time_ms[own], traces.trajectory[own]
    local = (
        solar_seconds(time_ms, traces.longitude[own])
        if timezone is None
        else local_seconds_time(time_ms, timezone)
    )
    night = np.diff((local - _DEEP_NIGHT_S) // DAY_S) != 0
    before = np.flatnonzero(night & (np.diff(time_ms) >= _SILENCE_MS))
    # The recording as a whole begins and ends somewhere, at home more often than not.
    into = np.concatenate([before, [len(xy) - 1]])
    out_of = np.concatenate([before + 1, [0]])
    found = [_end(xy, trajectory, int(at), -1) for at in into] + [
        _end(xy, trajectory, int(at), 1) for at in out_of
    ]
    return Ends(
        xy[np.concatenate([into, out_of])],
        np.array([heading for heading, _ in found]),
        np.array([step for _, step in found]),
    )


def _end(xy: Floats, trajectory: NDArray[np.int32], at: int, side: int) -> tuple[Floats, float]:
    """Return heading and step of an end whose trip goes on to the side of -1 or 1."""
    stop = at
    while (
        abs(stop - at) < _MOST_POINTS
        and 0 <= stop + side < len(xy)
        and trajectory[stop + side] == trajectory[at]
        and np.hypot(*(xy[stop] - xy[at])) < _BASE_M
    ):
        stop += side
    if stop == at:
        return np.zeros(2), _UNKNOWN_STEP_M
    way = xy[at] - xy[stop]
    length = float(np.hypot(*way))
    step = float(np.hypot(*(xy[at + side] - xy[at])))
    return (way / length if length >= _BASE_M / 2 else np.zeros(2)), min(step, _LONGEST_STEP_M)
