"""Inner loops of the matching attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def add_visit_likelihoods(
    first: int,
    stop: int,
    item_offsets: Array,
    item_codes: Array,
    item_counts: Array,
    place_offsets: Array,
    visitors: Array,
    probabilities: Array,
    gains: Array,
    set_offsets: Array,
    set_members: Array,
    unseen: float,
    scores: Array,
) -> None:
    """Add to ``scores[p - first, u]`` the log-likelihood of user u for pseudonym p, up to a constant.

    A place that u never visited has probability `unseen`, so only visitors of the places in p's
    trace gain anything over the constant: ``gains = log(probabilities) - log(unseen)``, listed by
    place. A set of k places has the mean probability of its members.
    """
    n_users = scores.shape[1]
    total = np.zeros(n_users)
    members_seen = np.zeros(n_users, np.int64)
    touched = np.empty(n_users, np.int64)
    for p in range(first, stop):
        row = scores[p - first]
        for item in range(item_offsets[p], item_offsets[p + 1]):
            code = item_codes[item]
            count = item_counts[item]
            if code >= 0:
                for v in range(place_offsets[code], place_offsets[code + 1]):
                    row[visitors[v]] += count * gains[v]
                continue
            start, end = set_offsets[-2 - code], set_offsets[-1 - code]
            n_touched = 0
            for m in range(start, end):
                place = set_members[m]
                for v in range(place_offsets[place], place_offsets[place + 1]):
                    u = visitors[v]
                    if members_seen[u] == 0:
                        touched[n_touched] = u
                        n_touched += 1
                    members_seen[u] += 1
                    total[u] += probabilities[v]
            size = end - start
            for k in range(n_touched):
                u = touched[k]
                mean = (total[u] + (size - members_seen[u]) * unseen) / size
                row[u] += count * np.log(mean / unseen)
                total[u] = 0.0
                members_seen[u] = 0


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

    The sum is the same as that of `add_visit_likelihoods` but for a constant and for rounding, which
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
