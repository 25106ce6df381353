"""Inner loops of matching by what traces and users share: the best few users, and who is still free.

Users are looked at a tile at a time, so that what is added up for them stays in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

TILE = 1 << 13


@njit(cache=True, nogil=True)
def in_tiles(n_users: int, offsets: Array, users: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the users of each key tile by tile, counted from the tile's first, and the value of each."""
    n_keys = len(offsets) - 1
    n_tiles = -(-n_users // TILE)
    new_offsets = np.zeros(n_tiles * n_keys + 1, np.int64)
    for key in range(n_keys):
        for k in range(offsets[key], offsets[key + 1]):
            new_offsets[users[k] // TILE * n_keys + key + 1] += 1
    new_offsets[:] = np.cumsum(new_offsets)
    free = new_offsets[:-1].copy()
    new_users, new_values = np.empty(len(users), np.uint16), np.empty(len(users))
    for key in range(n_keys):
        for k in range(offsets[key], offsets[key + 1]):
            part = users[k] // TILE * n_keys + key
            new_users[free[part]], new_values[free[part]] = users[k] % TILE, values[k]
            free[part] += 1
    return new_offsets, new_users, new_values


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
    user comes first in `users`. No user below `beyond` who is not listed has a score that is at most
    `tie` below that of the last listed.
    """
    n_users, most = len(base), users.shape[1]
    n_tiles = -(-n_users // TILE)
    n_keys = (len(key_offsets) - 1) // max(n_tiles, 1)
    n = len(item_offsets) - 1
    shared = np.zeros(TILE)
    touched = np.empty(TILE + 1, np.int64)
    count, left_out = np.zeros(n, np.int64), np.full(n, -np.inf)
    beyond[:] = n_users
    for tile in range(n_tiles):
        begin, end = tile * TILE, min((tile + 1) * TILE, n_users)
        offsets = key_offsets[tile * n_keys : (tile + 1) * n_keys + 1]
        for p in range(n):
            items = slice(item_offsets[p], item_offsets[p + 1])
            n_touched = _add_shared(
                offsets, key_users, key_values, item_keys[items], item_weights[items], shared, touched
            )
            row = users[p], scores[p]
            for k in range(n_touched):
                user = begin + touched[k]
                score = base[user] + shared[touched[k]]
                if count[p] < most or score >= scores[p, most - 1] - tie:
                    _consider(user, score, tie, p, row, count, left_out, beyond)
            k = begin
            while k < end:
                user = by_base[k]
                if count[p] == most and base[user] < scores[p, most - 1] - tie:
                    break
                k += 1
                if shared[user - begin] == 0.0:
                    listed = _consider(user, base[user], tie, p, row, count, left_out, beyond)
                    # Those of the same base that follow would not be listed either, nor come before her.
                    k = k if listed else group_ends[k - 1]
            for k in range(n_touched):
                shared[touched[k]] = 0.0
    for p in range(n):
        if left_out[p] < scores[p, most - 1] - tie:
            beyond[p] = n_users
        first, limit = users[p, 0], scores[p, 0] - tie
        for k in range(most):
            if scores[p, k] >= limit:
                first = min(first, users[p, k])
        if scores[p, most - 1] >= limit and beyond[p] < first:
            first = -1
        best[p] = first


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
    best: Array,
    users: Array,
    scores: Array,
    beyond: Array,
    taken: Array,
    chosen: Array,
) -> int:
    """Let trace after trace take its best user who is still free (-1 if none); return how many looked anew.

    A trace takes a listed user if nobody who is not listed can come before her, and otherwise, or where
    all its listed users are taken, compares all users again. So does a trace whose `best` is not known (-1).
    """
    n_users = len(base)
    n_tiles = -(-n_users // TILE)
    n_keys = (len(key_offsets) - 1) // max(n_tiles, 1)
    shared = np.zeros(n_tiles * TILE)
    touched = np.empty(n_users + 1, np.int64)
    tiles = np.arange(n_tiles) * TILE
    nobody, from_here = np.zeros(n_users, np.bool_), tiles.copy()
    looked_anew = 0
    for p in range(len(item_offsets) - 1):
        user, limit = _listed_and_free(users[p], scores[p], tie, taken)
        again = user < 0 or (user > beyond[p] and scores[p, -1] >= limit)
        if again or best[p] < 0:
            looked_anew += 1
            items = slice(item_offsets[p], item_offsets[p + 1])
            n_touched = 0
            for tile in range(n_tiles):
                offsets = key_offsets[tile * n_keys : (tile + 1) * n_keys + 1]
                here, new = shared[tiles[tile] : tiles[tile] + TILE], touched[n_touched:]
                count = _add_shared(
                    offsets, key_users, key_values, item_keys[items], item_weights[items], here, new
                )
                new[:count] += tiles[tile]
                n_touched += count
            all_touched = touched[:n_touched]
            if best[p] < 0:
                start = tiles.copy()
                best[p] = _first_free(base, by_base, group_ends, shared, all_touched, start, tie, nobody)
            if again:
                user = _first_free(base, by_base, group_ends, shared, all_touched, from_here, tie, taken)
            for one in all_touched:
                shared[one] = 0.0
        chosen[p] = user
        if user >= 0:
            taken[user] = True
    return looked_anew


@njit(cache=True, nogil=True)
def _add_shared(
    key_offsets: Array,
    key_users: Array,
    key_values: Array,
    item_keys: Array,
    item_weights: Array,
    shared: Array,
    touched: Array,
) -> int:
    """Add what the users of a tile share with a trace, note whom that touches, and return how many they are.

    Nothing that is added may be negative, so whoever is touched is not at 0 any more.
    """
    n_touched = 0
    for item in range(len(item_keys)):
        key, weight = item_keys[item], item_weights[item]
        for k in range(key_offsets[key], key_offsets[key + 1]):
            value = weight * key_values[k]
            if value != 0.0:
                user = key_users[k]
                before = shared[user]
                touched[n_touched] = user
                n_touched += before == 0.0
                shared[user] = before + value
    return n_touched


@njit(cache=True, nogil=True)
def _consider(
    user: int,
    score: float,
    tie: float,
    p: int,
    row: tuple[Array, Array],
    count: Array,
    left_out: Array,
    beyond: Array,
) -> bool:
    """List a user in order of scores if there is room or she is better, and remember who is left out.

    `left_out` is the highest score of those whom `beyond` stands for. It is forgotten when the last
    one listed is better by more than the tie.
    """
    users, scores = row
    most = len(users)
    out, out_score = user, score
    is_listed = count[p] < most or _is_better(user, score, users[most - 1], scores[most - 1])
    if is_listed:
        if count[p] == most:
            out, out_score = users[most - 1], scores[most - 1]
            at = most - 1
        else:
            out = -1
            at = count[p]
            count[p] += 1
        while at > 0 and _is_better(user, score, users[at - 1], scores[at - 1]):
            users[at], scores[at] = users[at - 1], scores[at - 1]
            at -= 1
        users[at], scores[at] = user, score
    if out >= 0:
        limit = scores[most - 1] - tie
        if left_out[p] < limit:
            left_out[p], beyond[p] = -np.inf, np.iinfo(np.int64).max
        if out_score >= limit:
            left_out[p], beyond[p] = max(left_out[p], out_score), min(beyond[p], out)
    return is_listed


@njit(cache=True, nogil=True)
def _is_better(user: int, score: float, other: int, other_score: float) -> bool:
    return score > other_score or (score == other_score and user < other)


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
def _first_free(
    base: Array,
    by_base: Array,
    group_ends: Array,
    shared: Array,
    touched: Array,
    from_here: Array,
    tie: float,
    taken: Array,
) -> int:
    """Return the first free user at most `tie` below the best free one, of all users; -1 if all are taken.

    Before ``from_here[t]`` all users of tile t are taken; it moves on with them.
    """
    highest, first = -np.inf, len(base)
    for user in touched:
        if not taken[user]:
            highest = max(highest, base[user] + shared[user])
    for tile in range(len(from_here)):
        end = min((tile + 1) * TILE, len(base))
        while from_here[tile] < end and taken[by_base[from_here[tile]]]:
            from_here[tile] += 1
        for k in range(from_here[tile], end):
            user = by_base[k]
            if base[user] <= highest:
                break
            if not taken[user] and shared[user] == 0.0:
                highest = base[user]
    limit = highest - tie
    for user in touched:
        if not taken[user] and base[user] + shared[user] >= limit:
            first = min(first, user)
    for tile in range(len(from_here)):
        k, end = from_here[tile], min((tile + 1) * TILE, len(base))
        while k < end and base[by_base[k]] >= limit:
            user = by_base[k]
            k += 1
            if not taken[user] and shared[user] == 0.0:
                first = min(first, user)
                k = group_ends[k - 1]
    return first if first < len(base) else -1
