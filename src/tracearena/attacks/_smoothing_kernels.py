"""Loops over trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def smooth_symmetrically(values: Any, offsets: Any, k: int) -> NDArray[np.float64]:
    """Mean of each row with its neighbours in a window of k rows, symmetric at the ends."""
    means = np.empty(values.shape)
    for trajectory in range(len(offsets) - 1):
        begin, end = offsets[trajectory], offsets[trajectory + 1]
        for i in range(begin, end):
            before = min(k // 2, i - begin, end - 1 - i + (1 if k % 2 == 0 else 0))
            after = min((k - 1) // 2, before, end - 1 - i)
            for axis in range(values.shape[1]):
                total = 0.0
                for j in range(i - before, i + after + 1):
                    total += values[j, axis]
                means[i, axis] = total / (before + after + 1)
    return means


@njit(cache=True, nogil=True)
def smooth_with_feedback(values: Any, offsets: Any, k: int) -> NDArray[np.float64]:
    """Mean of each row and the k - 1 results before it; the first k - 1 rows use what there is."""
    means = np.empty(values.shape)
    for trajectory in range(len(offsets) - 1):
        begin = offsets[trajectory]
        for i in range(begin, offsets[trajectory + 1]):
            first = max(begin, i - k + 1)
            for axis in range(values.shape[1]):
                total = values[i, axis]
                for j in range(first, i):
                    total += means[j, axis]
                means[i, axis] = total / (i - first + 1)
    return means
