"""Random walks of whole days."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Places = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def walk_aggregate(start: Floats, steps: Floats, step_of: Ints, draws: Floats, out: Places) -> None:
    """Walk on cumulative transition rows; `draws` are uniform, one an instant."""
    last = len(start) - 1
    for f in range(len(out)):
        at = min(np.searchsorted(start, draws[f, 0], side="right"), last)
        out[f, 0] = at
        for t in range(1, out.shape[1]):
            at = min(np.searchsorted(steps[step_of[t - 1], at], draws[f, t], side="right"), last)
            out[f, t] = at


@njit(cache=True, nogil=True)
def _draw_index(low: int, high: int, probabilities: Floats, draw: float) -> int:
    total = 0.0
    for k in range(low, high):
        total += probabilities[k]
        if draw < total:
            return k
    return high - 1


@njit(cache=True, nogil=True)
def walk_own(
    users: Ints,
    period_of: Ints,
    n_periods: int,
    visit_offsets: Ints,
    visit_places: Places,
    visit_probabilities: Floats,
    move_offsets: Ints,
    move_places: Places,
    move_probabilities: Floats,
    draws: Floats,
    out: Places,
) -> None:
    """Walk on the profile of each row's user; -1 in a period in which she was never seen.

    Where a period begins with a place that she never visits in it, her visits of the period draw
    the next place.
    """
    for f in range(len(out)):
        entry = -1
        for t in range(out.shape[1]):
            row = users[f] * n_periods + period_of[t]
            low, high = visit_offsets[row], visit_offsets[row + 1]
            place = -1
            if entry >= 0:
                move = entry * n_periods + period_of[t]
                k = _draw_index(move_offsets[move], move_offsets[move + 1], move_probabilities, draws[f, t])
                place = move_places[k]
            at = low + np.searchsorted(visit_places[low:high], place) if place >= 0 else high
            if low == high:
                entry = -1
                out[f, t] = -1
                continue
            if at == high or visit_places[at] != place:
                at = _draw_index(low, high, visit_probabilities, draws[f, t])
            entry = at
            out[f, t] = visit_places[at]
