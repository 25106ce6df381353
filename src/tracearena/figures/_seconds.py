"""How long work takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def growth(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent of a power law of seconds over size; None for fewer than two sizes.

    >>> round(growth([(1, 3.0), (2, 6.0), (4, 12.0)]) or 0, 6)
    1.0
    """
    if len({size for size, _ in points}) < 2:
        return None
    size, seconds = np.log(np.array(points, float)).T
    return float(np.polyfit(size, seconds, 1)[0])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Do the work; return its result and the seconds it took."""
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin
