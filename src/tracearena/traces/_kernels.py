"""Loops over the points of GPS traces, and short steps along geodesics.

`xyz` are positions in metres, earth-centred, and `time_ms` times; the points of trajectory or user k are
offsets[k]:offsets[k + 1], in order of time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def find_stay_ranges(
    xyz: Any, time_ms: Any, offsets: Any, radius_m: float, min_duration_ms: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and one-past-last point of each stay."""
    first = np.empty(len(time_ms), np.int64)
    stop = np.empty(len(time_ms), np.int64)
    found = 0
    limit = radius_m * radius_m
    for user in range(len(offsets) - 1):
        i, end = offsets[user], offsets[user + 1]
        while i < end:
            j = i + 1
            while j < end:
                x, y, z = xyz[j, 0] - xyz[i, 0], xyz[j, 1] - xyz[i, 1], xyz[j, 2] - xyz[i, 2]
                if x * x + y * y + z * z > limit:
                    break
                j += 1
            if j - i > 1 and time_ms[j - 1] - time_ms[i] >= min_duration_ms:
                first[found], stop[found] = i, j
                found += 1
                i = j
            else:
                i += 1
    return first[:found].copy(), stop[:found].copy()


@njit(cache=True, nogil=True)
def scan_piece_starts(time_ms: Any, offsets: Any, window_ms: float) -> NDArray[np.int64]:
    """For each point (ordered by trajectory and time), the first point of its piece.

    A piece is a run of consecutive points of one trajectory that lasts less than the window.
    """
    start = np.empty(len(time_ms), np.int64)
    for trajectory in range(len(offsets) - 1):
        begin = offsets[trajectory]
        for i in range(offsets[trajectory], offsets[trajectory + 1]):
            if time_ms[i] - time_ms[begin] >= window_ms:
                begin = i
            start[i] = begin
    return start


# Short steps on the WGS84 ellipsoid: one step of Runge and Kutta along the geodesic.

LONGEST_M = 10_000.0
STEEPEST = 75.0
EASTERNMOST = 179.0
"""Beyond these a step is left to the full solution: it grows inexact, or may cross the date line."""

ERROR = 2e-11
"""Degrees by which no result within the limits is wrong; the largest error found is a third of it."""

_A = 6_378_137.0
_E2 = 0.0066943799901413165
_DEGREE = math.pi / 180


@njit(cache=True, nogil=True, error_model="numpy")
def _slopes(
    sine: float, cosine: float, s: float, c: float, north: float, turn: float
) -> tuple[float, float, float]:
    """Change of latitude, longitude and azimuth per metre, `north` and `turn` radians after the start.

    sin and cos of the latitude and of the azimuth at the start are given; the angles since are small.
    """
    q = north * north
    dsin, dcos = north * (1 - q / 6 * (1 - q / 20)), 1 - q / 2 * (1 - q / 12 * (1 - q / 30))
    sine, cosine = sine * dcos + cosine * dsin, cosine * dcos - sine * dsin
    q = turn * turn
    dsin, dcos = turn * (1 - q / 6 * (1 - q / 20)), 1 - q / 2 * (1 - q / 12 * (1 - q / 30))
    s, c = s * dcos + c * dsin, c * dcos - s * dsin
    curve = 1 - _E2 * sine * sine
    root = math.sqrt(curve)
    east = s * root / (_A * cosine)
    return c * root * curve / (_A * (1 - _E2)), east, east * sine


@njit(cache=True, nogil=True, error_model="numpy")
def round_geodesic_steps(steps: Any, scale: float, out_latitude: Any, out_longitude: Any, unsure: Any) -> int:
    """Fill in where each step leads, in degrees rounded to 1 / `scale`; count the unsure.

    The results are `out_latitude` and `out_longitude`. `steps` are latitudes and longitudes, azimuths in
    degrees and distances in metres. `unsure` is set where the error of the step could change the rounding, or
    it is beyond the limits.
    """
    latitude, longitude, azimuth, distance = steps
    found = 0
    for i in range(len(latitude)):
        lat, lon, h = latitude[i], longitude[i], distance[i]
        phi, alpha = lat * _DEGREE, azimuth[i] * _DEGREE
        sine, cosine, s, c = math.sin(phi), math.cos(phi), math.sin(alpha), math.cos(alpha)
        p1, l1, a1 = _slopes(sine, cosine, s, c, 0.0, 0.0)
        p2, l2, a2 = _slopes(sine, cosine, s, c, h / 2 * p1, h / 2 * a1)
        p3, l3, a3 = _slopes(sine, cosine, s, c, h / 2 * p2, h / 2 * a2)
        p4, l4, _ = _slopes(sine, cosine, s, c, h * p3, h * a3)
        y = (lat + h / 6 * (p1 + 2 * (p2 + p3) + p4) / _DEGREE) * scale
        x = (lon + h / 6 * (l1 + 2 * (l2 + l3) + l4) / _DEGREE) * scale
        whole_y, whole_x = np.rint(y), np.rint(x)
        margin = 0.5 - ERROR * scale
        sure = (
            h <= LONGEST_M
            and abs(lat) <= STEEPEST
            and abs(lon) <= EASTERNMOST
            and abs(y - whole_y) < margin
            and abs(x - whole_x) < margin
        )
        unsure[i] = not sure
        found += not sure
        out_latitude[i], out_longitude[i] = whole_y / scale + 0.0, whole_x / scale + 0.0
    return found
