"""Compiled loops of the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tracearena.arena._kernels import count_ties, draw_distinct


@njit(cache=True, nogil=True)
def credit_sightings(
    own_window: Any, own_xyz: Any, uniform: Any, windows: Any, offsets: Any, spot_xyz: Any, spot_offsets: Any,
    point_user: Any, scale: float, floor: float, n_candidates: int, target: int, n_users: int, credit: Any,
) -> None:  # fmt: skip
    """Draw sightings of one person and add to ``credit[k]`` what k + 1 of them give `target`.

    Every released user is scored by Σ log(1 + exp(-d / scale) / floor) over the known sightings, d being the
    distance of her nearest point in the same window. Equals share.

    own_window, own_xyz     window and position (metres) of each sighting of the person
    uniform                 draws × sightings: the numbers that draw
    windows, offsets        windows with released points, ascending; window w has the spots
                            offsets[w]:offsets[w + 1]
    spot_xyz, spot_offsets, point_user
                            position of spot s; the users point_user[spot_offsets[s]:spot_offsets[s + 1]] are
                            there
    """
    most = uniform.shape[1]
    total = np.zeros(n_users)
    best = np.zeros(n_users)
    listed = np.empty(n_users, np.int64)
    touched = np.empty(n_users, np.int64)
    chosen = np.empty(most, np.int64)
    dimensions = own_xyz.shape[1]
    for draw in range(len(uniform)):
        known = draw_distinct(uniform[draw], len(own_window), chosen)
        n_listed, value, top = 0, 0.0, 0.0
        for k in range(most):
            if k < known:
                window = np.searchsorted(windows, own_window[chosen[k]])
                count = 0
                if window < len(windows) and windows[window] == own_window[chosen[k]]:
                    for spot in range(offsets[window], offsets[window + 1]):
                        square = 0.0
                        for axis in range(dimensions):
                            square += (own_xyz[chosen[k], axis] - spot_xyz[spot, axis]) ** 2
                        gain = np.exp(-np.sqrt(square) / scale)
                        if gain < 1e-12:
                            continue
                        gain = np.log1p(gain / floor)
                        for at in range(spot_offsets[spot], spot_offsets[spot + 1]):
                            user = point_user[at]
                            if best[user] == 0.0:
                                touched[count] = user
                                count += 1
                            best[user] = max(best[user], gain)
                for t in range(count):
                    user = touched[t]
                    if total[user] == 0.0:
                        listed[n_listed] = user
                        n_listed += 1
                    total[user] += best[user]
                    best[user] = 0.0
                    top = max(top, total[user])
                ties, right = count_ties(total, listed[:n_listed], top, target)
                if n_listed == 0:
                    value = 1.0 / n_candidates if target >= 0 else 0.0
                else:
                    value = 1.0 / ties if right else 0.0
            credit[k] += value
        for t in range(n_listed):
            total[listed[t]] = 0.0


@njit(cache=True, nogil=True)
def nearest_two(own: Any, others: Any, skip: int) -> Any:
    """Return the two smallest distances of the row `own` to the rows of others; row `skip` is left out.

    Rows are shares; the distance is half of the sum of the absolute differences.
    """
    first, second = np.inf, np.inf
    for row in range(len(others)):
        if row == skip:
            continue
        distance = 0.0
        for column in range(len(own)):
            distance += abs(own[column] - others[row, column])
            if distance / 2 >= second:
                break
        distance /= 2
        if distance < first:
            first, second = distance, first
        elif distance < second:
            second = distance
    return first, second
