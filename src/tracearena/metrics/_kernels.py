"""Loops of the metrics over arrays."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def sum_sliced_distances(
    difference: NDArray[np.float64], order: NDArray[np.int64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum, for each row, the one-dimensional earth mover's distances over all directions.

    ``difference`` is rows × cells, ``order`` directions × cells (cells by their coordinate along
    the direction) and ``gaps`` the steps between neighbours in that order.
    """
    rows, cells = difference.shape
    distances = np.zeros(rows)
    for row in range(rows):
        values = difference[row]
        if not values.any():
            continue
        for direction in range(order.shape[0]):
            moved = 0.0
            for at in range(cells - 1):
                moved += values[order[direction, at]]
                distances[row] += abs(moved) * gaps[direction, at]
    return distances


@njit(cache=True, nogil=True)
def legacy_argsort(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices that sort the values, by the quicksort that older NumPy releases used.

    It splits at the median of the first, middle and last value and sorts ranges of at most 16
    values by insertion; which of two equal values comes first follows from that alone.
    """
    order = np.arange(len(values))
    ranges = np.empty((128, 2), np.int64)
    ranges[0, 0], ranges[0, 1] = 0, len(values) - 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, high = ranges[waiting, 0], ranges[waiting, 1]
        while high - low > 15:
            middle = _partition_range(values, order, low, high)
            # The shorter side goes on at once, so that few ranges ever wait.
            if middle - low < high - middle:
                ranges[waiting, 0], ranges[waiting, 1] = middle + 1, high
                high = middle - 1
            else:
                ranges[waiting, 0], ranges[waiting, 1] = low, middle - 1
                low = middle + 1
            waiting += 1
        for at in range(low + 1, high + 1):
            one = order[at]
            hole = at
            while hole > low and values[one] < values[order[hole - 1]]:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = one
    return order


@njit(cache=True, nogil=True)
def _partition_range(values: NDArray[np.float64], order: NDArray[np.int64], low: int, high: int) -> int:
    """Part a range so that nothing before the returned place exceeds what stands after it."""
    middle = low + (high - low) // 2
    for a, b in ((low, middle), (middle, high), (low, middle)):
        if values[order[b]] < values[order[a]]:
            order[a], order[b] = order[b], order[a]
    pivot = values[order[middle]]
    left, right = low, high - 1
    order[middle], order[right] = order[right], order[middle]
    while True:
        left += 1
        while values[order[left]] < pivot:
            left += 1
        right -= 1
        while pivot < values[order[right]]:
            right -= 1
        if left >= right:
            break
        order[left], order[right] = order[right], order[left]
    order[left], order[high - 1] = order[high - 1], order[left]
    return left
