"""Loops along trips."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def cut_from(xyz: Any, piece: Any, ends: Any, step: int, distance_m: float, cut: Any) -> None:
    """Set `cut` from each end on, in steps of 1 or -1, while points are near it and of its piece."""
    limit = distance_m * distance_m
    for end in ends:
        i = end
        while 0 <= i < len(piece) and piece[i] == piece[end]:
            x, y, z = xyz[i, 0] - xyz[end, 0], xyz[i, 1] - xyz[end, 1], xyz[i, 2] - xyz[end, 2]
            if x * x + y * y + z * z > limit:
                break
            cut[i] = True
            i += step
