"""Inner loops of matching by what traces and users share: the best few users, and who is still free."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def best_users(
    base: Array,
    by_base: Array,
    group_ends: Array,
    key_offsets: Array,
    key_users: Array,
    key_values: Array,
    item_offsets: Array,
    item_keys: Array,
    item_weights: Array,
    tie: float,
    best: Array,
    users: Array,
    scores: Array,
    beyond: Array,
) -> None:
    """Write for every trace its best user, its best few by score, and the first user left out of them.

    `best` is the first user whose score is at most `tie` below the highest. Of equal scores the first
    user comes first in `users`; `beyond` is the first user not listed whose score is at most `tie`
    below that of the last listed, or the number of users if there is none.
    """
    n_users, most = len(base), users.shape[1]
    shared = np.zeros(n_users)
    touched = np.empty(n_users + 1, np.int32)
    for p in range(len(item_offsets) - 1):
        n_touched = _add_shared(
            p, key_offsets, key_users, key_values, item_offsets, item_keys, item_weights, shared, touched
        )
        listed, value = users[p], scores[p]
        count = 0
        for k in range(n_touched):
            user = touched[k]
            count = _insert(user, base[user] + shared[user], count, listed, value)
        for k in range(n_users):
            user = by_base[k]
            if count == most and not _is_better(user, base[user], listed[most - 1], value[most - 1]):
                break
            if shared[user] == 0.0:
                count = _insert(user, base[user], count, listed, value)
        high, low = value[0] - tie, value[count - 1] - tie
        first, outside = listed[0], n_users
        for k in range(n_touched):
            user = touched[k]
            score = base[user] + shared[user]
            if score >= low:
                if score >= high and user < first:
                    first = user
                if user < outside and not _is_listed(user, listed):
                    outside = user
        nobody = listed[:0]
        best[p] = _first_untouched(base, by_base, group_ends, shared, high, nobody, first)
        beyond[p] = _first_untouched(base, by_base, group_ends, shared, low, listed, outside)
        for k in range(n_touched):
            shared[touched[k]] = 0.0


@njit(cache=True, nogil=True)
def choose_among(
    base: Array,
    by_base: Array,
    group_ends: Array,
    key_offsets: Array,
    key_users: Array,
    key_values: Array,
    item_offsets: Array,
    item_keys: Array,
    item_weights: Array,
    tie: float,
    users: Array,
    scores: Array,
    beyond: Array,
    taken: Array,
    chosen: Array,
) -> int:
    """Let trace after trace take its best user who is still free (-1 if none); return how many looked anew.

    A trace takes a listed user if nobody who is not listed can come before her, and otherwise, or where
    all its listed users are taken, compares all users again.
    """
    n_users = len(base)
    shared = np.zeros(n_users)
    touched = np.empty(n_users + 1, np.int32)
    from_here = 0
    looked_anew = 0
    for p in range(len(item_offsets) - 1):
        user, limit = _listed_and_free(users[p], scores[p], tie, taken)
        if user < 0 or (user > beyond[p] and scores[p, -1] >= limit):
            looked_anew += 1
            n_touched = _add_shared(
                p, key_offsets, key_users, key_values, item_offsets, item_keys, item_weights, shared, touched
            )
            while from_here < n_users and taken[by_base[from_here]]:
                from_here += 1
            user = _free(base, by_base, group_ends, shared, touched[:n_touched], from_here, tie, taken)
            for k in range(n_touched):
                shared[touched[k]] = 0.0
        chosen[p] = user
        if user >= 0:
            taken[user] = True
    return looked_anew


@njit(cache=True, nogil=True)
def _add_shared(
    p: int,
    key_offsets: Array,
    key_users: Array,
    key_values: Array,
    item_offsets: Array,
    item_keys: Array,
    item_weights: Array,
    shared: Array,
    touched: Array,
) -> int:
    """Add what users share with trace p, note whom that touches, and return how many they are.

    Nothing that is added may be negative, so whoever is touched is not at 0 any more.
    """
    n_touched = 0
    for item in range(item_offsets[p], item_offsets[p + 1]):
        weight = item_weights[item]
        for k in range(key_offsets[item_keys[item]], key_offsets[item_keys[item] + 1]):
            value = weight * key_values[k]
            if value != 0.0:
                user = key_users[k]
                before = shared[user]
                touched[n_touched] = user
                n_touched += before == 0.0
                shared[user] = before + value
    return n_touched


@njit(cache=True, nogil=True)
def _is_better(user: int, score: float, other: int, other_score: float) -> bool:
    return score > other_score or (score == other_score and user < other)


@njit(cache=True, nogil=True)
def _insert(user: int, score: float, count: int, users: Array, scores: Array) -> int:
    """Put a user into a list in order of scores, if there is room or she is better, and return its length."""
    most = len(users)
    if count == most:
        if not _is_better(user, score, users[most - 1], scores[most - 1]):
            return count
        count -= 1
    at = count
    while at > 0 and _is_better(user, score, users[at - 1], scores[at - 1]):
        users[at], scores[at] = users[at - 1], scores[at - 1]
        at -= 1
    users[at], scores[at] = user, score
    return count + 1


@njit(cache=True, nogil=True)
def _is_listed(user: int, users: Array) -> bool:
    for other in users:  # noqa: SIM110
        if other == user:
            return True
    return False


@njit(cache=True, nogil=True)
def _first_untouched(
    base: Array, by_base: Array, group_ends: Array, shared: Array, limit: float, but: Array, first: int
) -> int:
    """Return the lower of `first` and the first user who shares nothing and has the limit at least."""
    k = 0
    while k < len(by_base) and base[by_base[k]] >= limit:
        user = by_base[k]
        k += 1
        if shared[user] == 0.0 and not _is_listed(user, but):
            first = min(first, user)
            k = group_ends[k - 1]
    return first


@njit(cache=True, nogil=True)
def _listed_and_free(users: Array, scores: Array, tie: float, taken: Array) -> tuple[int, float]:
    """Return the first free user at most `tie` below the best free one, or -1, and that limit."""
    first, limit = -1, -np.inf
    for k in range(len(users)):
        user = users[k]
        if scores[k] < limit:
            break
        if taken[user]:
            continue
        if first < 0:
            first, limit = user, scores[k] - tie
        first = min(first, user)
    return first, limit


@njit(cache=True, nogil=True)
def _free(
    base: Array,
    by_base: Array,
    group_ends: Array,
    shared: Array,
    touched: Array,
    from_here: int,
    tie: float,
    taken: Array,
) -> int:
    """Return the first free user at most `tie` below the best free one, of all users; -1 if all are taken."""
    highest = -np.inf
    for user in touched:
        if not taken[user]:
            highest = max(highest, base[user] + shared[user])
    for k in range(from_here, len(by_base)):
        user = by_base[k]
        if base[user] <= highest:
            break
        if not taken[user] and shared[user] == 0.0:
            highest = base[user]
    limit = highest - tie
    first = len(base)
    for user in touched:
        if not taken[user] and base[user] + shared[user] >= limit:
            first = min(first, user)
    k = from_here
    while k < len(by_base) and base[by_base[k]] >= limit:
        user = by_base[k]
        k += 1
        if not taken[user] and shared[user] == 0.0:
            first = min(first, user)
            k = group_ends[k - 1]
    return first if first < len(base) else -1
