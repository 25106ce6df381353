"""Compiled loops of uniqueness: draws of known points, and who explains them best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Draws of known points, and whether they single a person out. A code is a pair (cell, window).
#
#   uniform            draws × points: the uniform numbers of each draw
#   own                codes of the person, ascending
#   chosen             positions in `own` that were drawn, in the order in which they become known
#   visitor_offsets    the visitors of code c are visitors[visitor_offsets[c]:visitor_offsets[c + 1]]
#   visitors           users who have the code, ascending


@njit(cache=True, nogil=True)
def _first_at_least(values: Any, first: int, stop: int, wanted: float) -> int:
    """Return the first position from `first` to `stop` at which the ascending values reach `wanted`."""
    while first < stop:
        middle = (first + stop) // 2
        if values[middle] < wanted:
            first = middle + 1
        else:
            stop = middle
    return first


@njit(cache=True, nogil=True)
def draw_distinct(uniform: Any, m: int, chosen: Any) -> int:
    """Fill `chosen` with different numbers below m, the first k of which are a draw of k; return how many.

    The numbers are the beginning of a permutation of 0..m-1, so who knows k + 1 of them knows the first k.
    """
    size = min(len(chosen), m)
    taken = np.empty(size, np.int64)
    for i in range(size):
        pick = min(int(uniform[i] * (m - i)), m - i - 1)
        at = 0
        while at < i and taken[at] <= pick:
            pick += 1
            at += 1
        for later in range(i, at, -1):
            taken[later] = taken[later - 1]
        taken[at] = pick
        chosen[i] = pick
    return size


@njit(cache=True, nogil=True)
def count_ties(total: Any, listed: Any, top: float, target: int) -> tuple[int, bool]:
    """Return how many of the users listed have the highest total, and whether `target` is one of them."""
    ties, right = 0, False
    least = top * (1 - 1e-12)
    for user in listed:
        if total[user] >= least:
            ties += 1
            right |= user == target
    return ties, right


@njit(cache=True, nogil=True)
def count_singling_draws(own: Any, uniform: Any, visitor_offsets: Any, visitors: Any, target: int) -> Any:
    """Count, for 1, 2, … points, the draws of the codes `own` that only `target` has all of.

    ``uniform[d]`` drives draw d, see `draw_distinct`.
    """
    hits = np.zeros(uniform.shape[1], np.int64)
    chosen = np.empty(uniform.shape[1], np.int64)
    for d in range(len(uniform)):
        size = draw_distinct(uniform[d], len(own), chosen)
        alone = False
        for k in range(uniform.shape[1]):
            if not alone and k < size:
                alone = _is_only_visitor(own, chosen[: k + 1], visitor_offsets, visitors, target)
            hits[k] += alone
    return hits


@njit(cache=True, nogil=True)
def _is_only_visitor(own: Any, chosen: Any, offsets: Any, visitors: Any, target: int) -> bool:
    """Whether nobody but `target` has all chosen codes; `offsets` are `visitor_offsets`."""
    rarest, fewest = -1, 2**62
    for i in range(len(chosen)):
        row = own[chosen[i]]
        if offsets[row + 1] - offsets[row] < fewest:
            rarest, fewest = row, offsets[row + 1] - offsets[row]
    for v in range(offsets[rarest], offsets[rarest + 1]):
        if visitors[v] == target:
            continue
        everywhere = True
        for i in range(len(chosen)):
            row = own[chosen[i]]
            at = _first_at_least(visitors, offsets[row], offsets[row + 1], visitors[v])
            if at == offsets[row + 1] or visitors[at] != visitors[v]:
                everywhere = False
                break
        if everywhere:
            return False
    return True


# Linking. The chance of a known item (cell and window) for a released user is the largest share · table value
# over her points near it, times the weight of the user; the evidence is log(1 + chance / floor), the floor
# being the chance of the item for anybody.
#
#   item_window, item_y, item_longitude, item_width
#                      window of each item, and its cell's centre: metres north, degrees east, metres a degree
#   windows            windows with released points, ascending; of window w the points are
#                      window_offsets[w]:window_offsets[w + 1] of the next four, from south to north
#   point_y, point_longitude, point_ms, point_user
#                      metres north, degrees east, time and user of each released point
#   weight             one over the cells and windows that each user fills, 0 for users without points
#   lag_ms             upper ends of ranges of the time between item and point; the first is 0
#   first_table        the tables of range b are first_table[b]:first_table[b + 1] of the next four
#   share              share of the points that each table stands for
#   tables             chance by |east| and |north| of the point from the item, on knots of a quarter plane
#   per_step, reach    knots per metre, and knots on a side
#   miss, anywhere     share of points with no released one near; chance of an item for somebody unknown
#   best, touched      chance of the present item by user, and the users who have one
#   credit             by number of known items less 1: summed credit of the draws


@njit(cache=True, nogil=True)
def _interpolate_chance(table: Any, per_step: float, reach: int, x: float, y: float) -> Any:
    """Read a table of a quarter plane between its knots; 0 beyond it."""
    a, b = abs(x) * per_step, abs(y) * per_step
    i, j = int(a), int(b)
    if i + 1 >= reach or j + 1 >= reach:
        return 0.0
    a, b = a - i, b - j
    near = table[i, j] * (1 - b) + table[i, j + 1] * b
    far = table[i + 1, j] * (1 - b) + table[i + 1, j + 1] * b
    return near * (1 - a) + far * a


@njit(cache=True, nogil=True)
def explain_item(
    window: int, y: float, longitude: float, width: float, window_ms: int,
    windows: Any, window_offsets: Any, point_y: Any, point_longitude: Any, point_ms: Any, point_user: Any,
    weight: Any, lag_ms: Any, first_table: Any, share: Any, tables: Any, per_step: Any, reach: Any,
    best: Any, touched: Any,
) -> int:  # fmt: skip
    """Fill ``best[user]`` with the chance of one known cell and window for each user with points near.

    Returns how many users were `touched`.
    """
    count = 0
    bins = len(lag_ms)
    around = int((lag_ms[bins - 1] + window_ms - 1) // window_ms)
    start, stop = window * window_ms, (window + 1) * window_ms - 1
    at = _first_at_least(windows, 0, len(windows), window - around)
    while at < len(windows) and windows[at] <= window + around:
        band = 0.0
        for b in range(bins):
            if (windows[at] == window) == (b == 0):
                for c in range(first_table[b], first_table[b + 1]):
                    band = max(band, reach[c] / per_step[c])
        first = _first_at_least(point_y, window_offsets[at], window_offsets[at + 1], y - band)
        for p in range(first, window_offsets[at + 1]):
            if point_y[p] > y + band:
                break
            lag = max(0, start - point_ms[p], point_ms[p] - stop)
            b = 0
            while b < bins and lag > lag_ms[b]:
                b += 1
            if b == bins:
                continue
            turn = point_longitude[p] - longitude
            if turn > 180:
                turn -= 360
            elif turn < -180:
                turn += 360
            chance = 0.0
            for c in range(first_table[b], first_table[b + 1]):
                chance += share[c] * _interpolate_chance(
                    tables[c], per_step[c], reach[c], turn * width, point_y[p] - y
                )
            if chance <= 0:
                continue
            user = point_user[p]
            chance *= weight[user]
            if best[user] == 0:
                touched[count] = user
                count += 1
            best[user] = max(best[user], chance)
        at += 1
    return count


@njit(cache=True, nogil=True)
def add_link_credit(
    item_window: Any, item_y: Any, item_longitude: Any, item_width: Any, window_ms: int,
    windows: Any, window_offsets: Any, point_y: Any, point_longitude: Any, point_ms: Any, point_user: Any,
    weight: Any, lag_ms: Any, first_table: Any, share: Any, tables: Any, per_step: Any, reach: Any,
    miss: float, anywhere: float, n_candidates: int, target: int, uniform: Any, credit: Any,
) -> None:  # fmt: skip
    """Draw items of one user, and add to ``credit[k]`` what the draws of k + 1 items give `target`.

    A draw gives 1 over the number of users who explain it best, if `target` is one of them.
    """
    users = len(weight)
    most = uniform.shape[1]
    best, touched = np.zeros(users), np.empty(users, np.int64)
    begin, end = np.full(len(item_y), -1), np.zeros(len(item_y), np.int64)
    size, held = 1024, 0
    who, gain = np.empty(size, np.int64), np.empty(size)
    total, listed = np.zeros(users), np.empty(users, np.int64)
    chosen = np.empty(most, np.int64)
    for d in range(len(uniform)):
        known = draw_distinct(uniform[d], len(item_y), chosen)
        n_listed, top, ties, right = 0, 0.0, n_candidates, False
        for k in range(most):
            if k < known:
                i = chosen[k]
                if begin[i] < 0:
                    count = explain_item(
                        item_window[i], item_y[i], item_longitude[i], item_width[i], window_ms,
                        windows, window_offsets, point_y, point_longitude, point_ms, point_user,
                        weight, lag_ms, first_table, share, tables, per_step, reach, best, touched,
                    )  # fmt: skip
                    mean = 0.0
                    for t in range(count):
                        mean += best[touched[t]]
                    floor = miss * (anywhere + mean / n_candidates)
                    if held + count > size:
                        size = 2 * (held + count)
                        more_who, more_gain = np.empty(size, np.int64), np.empty(size)
                        more_who[:held], more_gain[:held] = who[:held], gain[:held]
                        who, gain = more_who, more_gain
                    begin[i] = held
                    for t in range(count):
                        user = touched[t]
                        evidence = np.log1p(best[user] / floor)
                        best[user] = 0.0
                        if evidence > 0:
                            who[held], gain[held] = user, evidence
                            held += 1
                    end[i] = held
                for e in range(begin[i], end[i]):
                    user = who[e]
                    if total[user] == 0:
                        listed[n_listed] = user
                        n_listed += 1
                    total[user] += gain[e]
                    top = max(top, total[user])
                if top > 0:
                    ties, right = count_ties(total, listed[:n_listed], top, target)
                else:
                    right = weight[target] > 0 if target >= 0 else False
            if right:
                credit[k] += 1 / ties
        for t in range(n_listed):
            total[listed[t]] = 0.0
