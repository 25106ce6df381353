"""Loops over the points of GPS traces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def find_stays(
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
def piece_starts(time_ms: Any, offsets: Any, window_ms: float) -> NDArray[np.int64]:
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
