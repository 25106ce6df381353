"""Compiled loops of the matching attacks, the Markov attacks, smoothing and Viterbi decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tracearena.attacks.candidate_search import CandidateIndex, Candidates, TraceKeys


Array = NDArray[Any]

# Visits and sets. A code from 0 on is a place, -1 is nothing, -2 - s is set s of places.
#
#   item_offsets       the codes of trace p are item_codes[item_offsets[p]:item_offsets[p + 1]]
#   event_offsets      the same for all events of trace p in order, in event_codes
#   bounds             visitors of all members of a set, a user counted once for each member
#   named              the sets that are worked out
#   place_offsets      the visitors of place x are place_offsets[x]:place_offsets[x + 1] of the next two
#   visitors           users who visited the place
#   probabilities      the visit probability of each
#   set_offsets        the members of set s are set_members[set_offsets[s]:set_offsets[s + 1]]
#   unseen             probability of a place that a user never visited
#   scores             traces × users: log-likelihoods


@njit(cache=True, nogil=True)
def cut_by_sets(item_offsets: Array, item_codes: Array, bounds: Array, most: int) -> Array:
    """Cut the traces into parts whose sets have together at most `most` visitors, or of one trace each.

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
def compute_set_gains(
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

    The sum is the same as that of `find_best_candidates` but for a constant and for rounding, which
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


# Choices from a full table: `scores` is rows × columns (traces × users).
#
#   tolerance          scores that are at most this far apart are equal
#   best, chosen       column of each row
#   taken              columns that another row has already
#   first              column that stands first in the list of each row
#   ranked             rows × length of a list: columns by falling score


@njit(cache=True, nogil=True)
def choose_best(scores: Array, tolerance: float, best: Array) -> None:
    """Write the column of each row's largest score; within the tolerance the first column wins."""
    for row in range(scores.shape[0]):
        best[row] = _find_first_best(scores[row], tolerance)


@njit(cache=True, nogil=True)
def choose_exclusively(scores: Array, tolerance: float, taken: Array, chosen: Array) -> None:
    """Let row after row take its best column that is still free (-1 if none) and mark it taken."""
    for row in range(scores.shape[0]):
        one = scores[row].copy()
        one[taken] = -np.inf
        column = _find_first_best(one, tolerance)
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
def _find_first_best(row: Array, tolerance: float) -> int:
    limit = row.max() - tolerance
    for column in range(row.shape[0]):
        if row[column] >= limit:
            return column
    return 0


# Candidate search: the best few users of each trace. `CandidateIndex`, `TraceKeys` and `Candidates` say what
# their arrays are.
#
#   index, items, found        a `CandidateIndex`, the `TraceKeys`, and the `Candidates` that are filled in
#   offsets, users, values     the users of key k are offsets[k]:offsets[k + 1] of the other two, or, where
#   offsets, keys, values      they are grouped by user, the keys of user u are offsets[u]:offsets[u + 1]
#   key_offsets, key_users, key_values
#                      the same for one tile, users counted from the first of the tile
#   item_keys, item_weights    keys of one trace, and how much each counts
#   kept               users who stay, in their new order
#   free               whether each user can be taken still
#   tie                scores that are at most this far apart are equal
#   shared, touched    what each user of a tile shares with the trace; the users for whom it is not 0
#   count, left_out    users listed for each trace; the highest score of those who are not
#   row                users and scores of one trace's list
#   weights            weight of each key in one trace, 0 for the others

TILE = 1 << 13


@njit(cache=True, nogil=True)
def group_by_user(n_users: int, offsets: Array, users: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the keys of each user, ascending, and the value of each, from the users of each key."""
    new_offsets = np.zeros(n_users + 1, np.int64)
    for user in users:
        new_offsets[user + 1] += 1
    new_offsets[:] = np.cumsum(new_offsets)
    free = new_offsets[:-1].copy()
    keys, new_values = np.empty(len(users), np.int32), np.empty(len(users))
    for key in range(len(offsets) - 1):
        for k in range(offsets[key], offsets[key + 1]):
            at = free[users[k]]
            keys[at], new_values[at] = key, values[k]
            free[users[k]] += 1
    return new_offsets, keys, new_values


@njit(cache=True, nogil=True)
def select_users(kept: Array, offsets: Array, keys: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the keys of some users alone."""
    new_offsets = np.zeros(len(kept) + 1, np.int64)
    for k in range(len(kept)):
        new_offsets[k + 1] = new_offsets[k] + offsets[kept[k] + 1] - offsets[kept[k]]
    new_keys, new_values = np.empty(new_offsets[-1], np.int32), np.empty(new_offsets[-1])
    for k in range(len(kept)):
        for shift in range(new_offsets[k + 1] - new_offsets[k]):
            new_keys[new_offsets[k] + shift] = keys[offsets[kept[k]] + shift]
            new_values[new_offsets[k] + shift] = values[offsets[kept[k]] + shift]
    return new_offsets, new_keys, new_values


@njit(cache=True, nogil=True)
def group_by_tile(n_keys: int, offsets: Array, keys: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return the users of each key tile by tile, counted from the tile's first, and the value of each."""
    n_users = len(offsets) - 1
    n_tiles = -(-n_users // TILE)
    new_offsets = np.zeros(n_tiles * n_keys + 1, np.int64)
    for user in range(n_users):
        for k in range(offsets[user], offsets[user + 1]):
            new_offsets[user // TILE * n_keys + keys[k] + 1] += 1
    new_offsets[:] = np.cumsum(new_offsets)
    free = new_offsets[:-1].copy()
    users, new_values = np.empty(len(keys), np.uint16), np.empty(len(keys))
    for user in range(n_users):
        for k in range(offsets[user], offsets[user + 1]):
            part = user // TILE * n_keys + keys[k]
            users[free[part]], new_values[free[part]] = user % TILE, values[k]
            free[part] += 1
    return new_offsets, users, new_values


@njit(cache=True, nogil=True)
def find_best_users(
    index: CandidateIndex, items: TraceKeys, free: Array, tie: float, found: Candidates
) -> None:
    """Write for every trace its best free users by score, the first of the best, and the first left out."""
    n, most = found.users.shape
    base, by_base, group_ends = index.base, index.by_base, index.group_ends
    n_users, n_keys = len(base), index.n_keys
    n_tiles = -(-n_users // TILE)
    shared = np.zeros(TILE)
    touched = np.empty(TILE + 1, np.int64)
    count, left_out = np.zeros(n, np.int64), np.full(n, -np.inf)
    found.users[:], found.scores[:], found.beyond[:] = -1, -np.inf, n_users
    scores = found.scores
    for tile in range(n_tiles):
        begin, end = tile * TILE, min((tile + 1) * TILE, n_users)
        offsets = index.offsets[tile * n_keys : (tile + 1) * n_keys + 1]
        for p in range(n):
            own = slice(items.offsets[p], items.offsets[p + 1])
            n_touched = _add_shared(
                offsets, index.users, index.values, items.keys[own], items.weights[own], shared, touched
            )
            row = found.users[p], scores[p]
            for k in range(n_touched):
                user = begin + touched[k]
                score = base[user] + shared[touched[k]]
                if (count[p] < most or score >= scores[p, most - 1] - tie) and free[user]:
                    _insert_candidate(user, score, tie, p, row, count, left_out, found.beyond)
            k = begin
            while k < end:
                user = by_base[k]
                if count[p] == most and base[user] < scores[p, most - 1] - tie:
                    break
                k += 1
                if shared[user - begin] == 0.0 and free[user]:
                    listed = _insert_candidate(user, base[user], tie, p, row, count, left_out, found.beyond)
                    # Those of the same base that follow would not be listed either, nor come before her.
                    k = k if listed else group_ends[k - 1]
            for k in range(n_touched):
                shared[touched[k]] = 0.0
    weights = np.zeros(n_keys)
    for p in range(n):
        if left_out[p] < scores[p, most - 1] - tie:
            found.beyond[p] = n_users
        _set_key_weights(items, p, weights, True)
        found.best[p] = _find_first_free_user(index, free, tie, found, p, weights)
        _set_key_weights(items, p, weights, False)


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

    Nothing that is added may be negative, so a user who is touched is not at 0 any more.
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
def _insert_candidate(
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
def _set_key_weights(items: TraceKeys, p: int, weights: Array, on: bool) -> None:
    """Lay out the weights of a trace by key, or take them away again."""
    for item in range(items.offsets[p], items.offsets[p + 1]):
        weights[items.keys[item]] = items.weights[item] if on else 0.0


@njit(cache=True, nogil=True)
def _find_first_free_user(
    index: CandidateIndex, free: Array, tie: float, found: Candidates, p: int, weights: Array
) -> int:
    """Return the first free user at most `tie` below the highest score; -1 if nobody is free."""
    users, scores = found.users[p], found.scores[p]
    first, limit = users[0], scores[0] - tie
    for k in range(len(users)):
        if scores[k] >= limit:
            first = min(first, users[k])
    if scores[-1] >= limit:
        for user in range(found.beyond[p], first):
            if free[user] and index.base[user] + _sum_shared(index, weights, user) >= limit:
                return user
    return int(first)


@njit(cache=True, nogil=True)
def _sum_shared(index: CandidateIndex, weights: Array, user: int) -> float:
    """Return what one user shares with a trace, added up in the order of keys as for all of them."""
    shared = 0.0
    for k in range(index.row_offsets[user], index.row_offsets[user + 1]):
        shared += weights[index.row_keys[k]] * index.row_values[k]
    return shared


# Greedy assignment from the lists of candidates: `chosen` has the user of each trace.

NOBODY = -1
NOT_LISTED = -2


@njit(cache=True, nogil=True)
def take_listed(first: int, stop: int, found: Candidates, tie: float, free: Array, chosen: Array) -> int:
    """Let trace after trace take its best user who is still free (-1 if none), and return where that ends.

    It ends early at a trace whose list does not tell.
    """
    for p in range(first, stop):
        user = _pick_from_list(found, p, tie, free)
        if user == NOT_LISTED:
            return p
        chosen[p] = user
        if user != NOBODY:
            free[user] = False
    return stop


@njit(cache=True, nogil=True)
def find_short_lists(first: int, stop: int, found: Candidates, tie: float, free: Array, fewest: int) -> Array:
    """Return the traces with a full list that names fewer free users, or that does not tell."""
    rows = np.empty(stop - first, np.int64)
    n = 0
    for p in range(first, stop):
        left = 0
        for user in found.users[p]:
            left += user < 0 or free[user]
        rows[n] = p
        n += (left < fewest and found.users[p, -1] >= 0) or _pick_from_list(found, p, tie, free) == NOT_LISTED
    return rows[:n]


@njit(cache=True, nogil=True)
def _pick_from_list(found: Candidates, p: int, tie: float, free: Array) -> int:
    """Return the first free user at most `tie` below the best free one, if the list tells."""
    users, scores = found.users[p], found.scores[p]
    first, limit = NOBODY, -np.inf
    for k in range(len(users)):
        user = users[k]
        if user < 0 or scores[k] < limit:
            break
        if not free[user]:
            continue
        if first < 0:
            first, limit = user, scores[k] - tie
        first = min(first, user)
    if first < 0:
        return NOBODY if users[-1] < 0 else NOT_LISTED
    if first < found.beyond[p] or scores[-1] < limit:
        return first
    # Somebody who is not listed may come before her. Who it is was found out for the highest score.
    best = found.best[p]
    return best if free[best] and limit == scores[0] - tie else NOT_LISTED


# Smoothing of trajectories. Rows of `values` are points, columns axes; the points of trajectory t are rows
# offsets[t]:offsets[t + 1], in order.


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


# Markov attacks on synthetic traces: sparse sums over the users who made a transition.
#
#   chain_offsets      the steps of chain c are steps[chain_offsets[c]:chain_offsets[c + 1]]
#   steps              number of the transition that each step makes, -1 if no user made it
#   owner_offsets      who made transition s is in owner_offsets[s]:owner_offsets[s + 1] of the next two
#   owners             users (indices)
#   gains              how much more likely the step is for her than if she had never made it, as a logarithm
#   bases              logarithm of the ratio of the step for those who never made it
#   scores, touched, is_touched
#                      sums of the present chain by user, and the users who have any


@njit(cache=True, nogil=True)
def find_likeliest_users(
    first: int,
    stop: int,
    chain_offsets: Array,
    steps: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    n_users: int,
    tolerance: float,
    best: Array,
) -> None:
    """Write for chains first..stop, from ``best[0]`` on, the user under whom each is most likely.

    A user's log-likelihood is a constant plus the gains of the steps she made herself, none below
    0; within the tolerance the first user wins.
    """
    scores = np.zeros(n_users)
    touched = np.empty(n_users, np.int64)
    is_touched = np.zeros(n_users, np.bool_)
    for chain in range(first, stop):
        n_touched = _add_gains(
            chain, chain_offsets, steps, owner_offsets, owners, gains, scores, touched, is_touched
        )
        top = 0.0
        for k in range(n_touched):
            top = max(top, scores[touched[k]])
        winner = 0 if top <= tolerance else n_users
        for k in range(n_touched):
            user = touched[k]
            if scores[user] >= top - tolerance and user < winner:
                winner = user
            scores[user] = 0.0
            is_touched[user] = False
        best[chain - first] = winner


@njit(cache=True, nogil=True)
def raise_largest_ratios(
    first: int,
    stop: int,
    chain_offsets: Array,
    steps: Array,
    bases: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    largest: Array,
) -> None:
    """Raise ``largest[n]`` to the largest log-likelihood ratio of user n over chains first..stop.

    The ratio of a chain is the sum of its steps' bases plus the gains, none below 0, of the steps
    that n made herself. So a chain without any such step counts for n with its base alone, and the
    largest base bounds everybody from below.
    """
    n_users = len(largest)
    scores = np.zeros(n_users)
    touched = np.empty(n_users, np.int64)
    is_touched = np.zeros(n_users, np.bool_)
    floor = -np.inf
    for chain in range(first, stop):
        base = 0.0
        for at in range(chain_offsets[chain], chain_offsets[chain + 1]):
            if steps[at] >= 0:
                base += bases[steps[at]]
        floor = max(floor, base)
        n_touched = _add_gains(
            chain, chain_offsets, steps, owner_offsets, owners, gains, scores, touched, is_touched
        )
        for k in range(n_touched):
            user = touched[k]
            largest[user] = max(largest[user], base + scores[user])
            scores[user] = 0.0
            is_touched[user] = False
    for user in range(n_users):
        largest[user] = max(largest[user], floor)


@njit(cache=True, nogil=True)
def _add_gains(
    chain: int,
    chain_offsets: Array,
    steps: Array,
    owner_offsets: Array,
    owners: Array,
    gains: Array,
    scores: Array,
    touched: Array,
    is_touched: Array,
) -> int:
    """Add a chain's gains to the scores, and list the users that had any."""
    n_touched = 0
    for at in range(chain_offsets[chain], chain_offsets[chain + 1]):
        step = steps[at]
        if step < 0:
            continue
        for k in range(owner_offsets[step], owner_offsets[step + 1]):
            user = owners[k]
            if not is_touched[user]:
                is_touched[user] = True
                touched[n_touched] = user
                n_touched += 1
            scores[user] += gains[k]
    return n_touched


# Viterbi decoding of the sets that a person sent.
#
#   chain_offsets      the events of chain c, a person's day, are chain_offsets[c]:chain_offsets[c + 1]
#   set_offsets        event e sent the places members[set_offsets[e]:set_offsets[e + 1]]
#   visits             probability of each place
#   guess              place of each event, the result

Places = NDArray[np.int32]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def decode_chains(
    first: int,
    stop: int,
    chain_offsets: Ints,
    gaps: Ints,
    set_offsets: Ints,
    members: Places,
    visits: NDArray[np.float64],
    powers: NDArray[np.float32],
    guess: Places,
) -> None:
    """Write the most probable place of each event of the chains first..stop.

    ``gaps[e]`` instants lie between event e and the one before; ``powers[g - 1]`` is the transition
    matrix of g steps. After more steps than there are powers a person may be anywhere (`visits`).
    """
    for chain in range(first, stop):
        low, high = chain_offsets[chain], chain_offsets[chain + 1]
        if low == high:
            continue
        total = set_offsets[high] - set_offsets[low]
        back = np.zeros(total, np.int64)
        base = set_offsets[low]
        score = np.empty(total)
        for k in range(set_offsets[low], set_offsets[low + 1]):
            score[k - base] = visits[members[k]]
        for e in range(low + 1, high):
            top = 1e-300
            for i in range(set_offsets[e - 1], set_offsets[e]):
                top = max(top, score[i - base])
            for i in range(set_offsets[e - 1], set_offsets[e]):
                score[i - base] /= top
            for j in range(set_offsets[e], set_offsets[e + 1]):
                best, at = -1.0, set_offsets[e - 1]
                for i in range(set_offsets[e - 1], set_offsets[e]):
                    if gaps[e] <= len(powers):
                        value = score[i - base] * powers[gaps[e] - 1, members[i], members[j]]
                    else:
                        value = score[i - base] * visits[members[j]]
                    if value > best:
                        best, at = value, i
                score[j - base] = best
                back[j - base] = at
        best_at = set_offsets[high - 1]
        for k in range(set_offsets[high - 1], set_offsets[high]):
            if score[k - base] > score[best_at - base]:
                best_at = k
        for e in range(high - 1, low - 1, -1):
            guess[e] = members[best_at]
            best_at = back[best_at - base]
