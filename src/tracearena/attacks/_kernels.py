"""Inner loops of the matching attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def cut_by_sets(item_offsets: Array, item_codes: Array, bounds: Array, most: int) -> Array:
    """Cut the traces into parts whose sets have together at most so many visitors, or of one trace each.

    Codes from -2 on downwards are sets; ``bounds[s]`` is the number of visitors of set s. Returns where
    parts begin, and the number of traces.
    """
    n = len(item_offsets) - 1
    limits = np.zeros(n + 1, np.int64)
    seen_in = np.full(len(bounds), -1)
    part, total = 0, 0
    for p in range(n):
        added = 0
        for item in range(item_offsets[p], item_offsets[p + 1]):
            if item_codes[item] < 0 and seen_in[-2 - item_codes[item]] != part:
                added += bounds[-2 - item_codes[item]]
        if total + added > most and p > limits[part]:
            part += 1
            limits[part] = p
            total = 0
        for item in range(item_offsets[p], item_offsets[p + 1]):
            if item_codes[item] < 0 and seen_in[-2 - item_codes[item]] != part:
                seen_in[-2 - item_codes[item]] = part
                total += bounds[-2 - item_codes[item]]
    limits[part + 1] = n
    return limits[: part + 2]


@njit(cache=True, nogil=True)
def set_gains(
    named: Array,
    bounds: Array,
    place_offsets: Array,
    visitors: Array,
    probabilities: Array,
    set_offsets: Array,
    set_members: Array,
    unseen: float,
    n_users: int,
) -> tuple[Array, Array, Array]:
    """Return the visitors of sets of places, and the log of a set's mean probability / `unseen` for each.

    A place that a user never visited has probability `unseen`.
    """
    most = bounds[named].sum()
    offsets = np.zeros(len(named) + 1, np.int64)
    users, gains = np.empty(most, np.int32), np.empty(most)
    total = np.zeros(n_users)
    members_seen = np.zeros(n_users, np.int64)
    end = 0
    for k in range(len(named)):
        begin = end
        first, stop = set_offsets[named[k]], set_offsets[named[k] + 1]
        for m in range(first, stop):
            place = set_members[m]
            for v in range(place_offsets[place], place_offsets[place + 1]):
                u = visitors[v]
                if members_seen[u] == 0:
                    users[end] = u
                    end += 1
                members_seen[u] += 1
                total[u] += probabilities[v]
        size = stop - first
        for at in range(begin, end):
            u = users[at]
            mean = (total[u] + (size - members_seen[u]) * unseen) / size
            gains[at] = np.log(mean / unseen)
            total[u] = 0.0
            members_seen[u] = 0
        offsets[k + 1] = end
    return offsets, users[:end].copy(), gains[:end].copy()


@njit(cache=True, nogil=True)
def add_visit_likelihoods_in_order(
    first: int,
    stop: int,
    event_offsets: Array,
    event_codes: Array,
    place_offsets: Array,
    visitors: Array,
    probabilities: Array,
    set_offsets: Array,
    set_members: Array,
    unseen: float,
    scores: Array,
) -> None:
    """Add the log-likelihoods event by event, as the programs of 2019 did.

    The sum is the same as that of `overlap.best_of` but for a constant and for rounding, which
    decides between users who are equally likely.
    """
    n_users = scores.shape[1]
    log_unseen = np.log(unseen)
    total = np.zeros(n_users)
    members_seen = np.zeros(n_users, np.int64)
    touched = np.empty(n_users, np.int64)
    before = np.empty(n_users)
    for p in range(first, stop):
        row = scores[p - first]
        for event in range(event_offsets[p], event_offsets[p + 1]):
            code = event_codes[event]
            if code == -1:
                continue
            start, end = (0, 1) if code >= 0 else (set_offsets[-2 - code], set_offsets[-1 - code])
            n_touched = 0
            for m in range(start, end):
                place = code if code >= 0 else set_members[m]
                for v in range(place_offsets[place], place_offsets[place + 1]):
                    u = visitors[v]
                    if members_seen[u] == 0:
                        touched[n_touched] = u
                        before[n_touched] = row[u]
                        n_touched += 1
                    members_seen[u] += 1
                    total[u] += probabilities[v]
            for u in range(n_users):
                row[u] += log_unseen
            size = end - start
            for k in range(n_touched):
                u = touched[k]
                row[u] = before[k] + np.log((total[u] + (size - members_seen[u]) * unseen) / size)
                total[u] = 0.0
                members_seen[u] = 0


@njit(cache=True, nogil=True)
def choose_best(scores: Array, tolerance: float, best: Array) -> None:
    """Write the column of each row's largest score; within the tolerance the first column wins."""
    for row in range(scores.shape[0]):
        best[row] = _first_best(scores[row], tolerance)


@njit(cache=True, nogil=True)
def choose_exclusively(scores: Array, tolerance: float, taken: Array, chosen: Array) -> None:
    """Let row after row take its best column that is still free (-1 if none) and mark it taken."""
    for row in range(scores.shape[0]):
        one = scores[row].copy()
        one[taken] = -np.inf
        column = _first_best(one, tolerance)
        if taken[column]:
            chosen[row] = -1
        else:
            chosen[row] = column
            taken[column] = True


@njit(cache=True, nogil=True)
def choose_several(scores: Array, first: Array, ranked: Array) -> None:
    """Write the columns of each row's largest scores, `first` and then the others; of equals the first."""
    most = min(ranked.shape[1], scores.shape[1])
    value = np.empty(most)
    for row in range(scores.shape[0]):
        ranked[row, 0] = first[row]
        count = 1
        for column in range(scores.shape[1]):
            score = scores[row, column]
            if column == first[row] or (count == most and (most == 1 or score <= value[most - 1])):
                continue
            at = min(count, most - 1)
            while at > 1 and score > value[at - 1]:
                ranked[row, at] = ranked[row, at - 1]
                value[at] = value[at - 1]
                at -= 1
            ranked[row, at] = column
            value[at] = score
            count = min(count + 1, most)


@njit(cache=True, nogil=True)
def _first_best(row: Array, tolerance: float) -> int:
    limit = row.max() - tolerance
    for column in range(row.shape[0]):
        if row[column] >= limit:
            return column
    return 0
