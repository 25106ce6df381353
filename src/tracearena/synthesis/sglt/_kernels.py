"""Kernels of SGLT: the semantic graph, fake traces, merged places, deniability, bisection."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Places = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


# The semantic graph, places × places: w(r, r') = Σ_(u<v) Σ_τ P(τ) · similarity(u, v) over the periods in
# which r and r' have the same rank among the places of u and of v; similarity(u, v) =
# Σ_τ P(τ) Σ_k min(π of u's k-th place, π of v's k-th place).
#
#   shares             P(τ)
#   own                offsets, places and probabilities: row u · periods + τ has the places of u in period τ,
#                      by rank
#   by_rank            offsets, users, places and probabilities: row τ · ranks + k as explained below
#   similarity         of the present u with each v, scratch
@njit(cache=True, nogil=True)
def add_pairs(
    first: int, stop: int, shares: Floats, own: tuple[Ints, Places, Floats],
    by_rank: tuple[Ints, Places, Places, Floats], weighted: bool, similarity: Floats, graph: Floats,
) -> None:  # fmt: skip
    """Add P(τ) · similarity(u, v) to ``graph[r, r']`` for u in first..stop and every later user v.

    If `weighted`, times the smaller of the two visit probabilities.

    The k-th place of u pairs with the k-th of v, so users stand ready rank by rank: row
    ``τ * ranks + k`` of the rank arrays lists, in ascending order, the users who have a k-th place
    in period τ. Then both loops run along contiguous memory, and one row of the graph stays in cache.
    """
    offsets, places, probabilities = own
    rank_offsets, rank_users, rank_places, rank_probabilities = by_rank
    t = len(shares)
    ranks = (len(rank_offsets) - 1) // t
    for u in range(first, stop):
        similarity[u + 1 :] = 0.0
        for tau in range(t):
            begin = offsets[u * t + tau]
            for k in range(offsets[u * t + tau + 1] - begin):
                low, high = rank_offsets[tau * ranks + k], rank_offsets[tau * ranks + k + 1]
                mine = probabilities[begin + k]
                for j in range(low + np.searchsorted(rank_users[low:high], u + 1), high):
                    similarity[rank_users[j]] += shares[tau] * min(mine, rank_probabilities[j])
        for tau in range(t):
            begin = offsets[u * t + tau]
            for k in range(offsets[u * t + tau + 1] - begin):
                low, high = rank_offsets[tau * ranks + k], rank_offsets[tau * ranks + k + 1]
                row, mine = places[begin + k], probabilities[begin + k]
                for j in range(low + np.searchsorted(rank_users[low:high], u + 1), high):
                    weight = min(mine, rank_probabilities[j]) if weighted else 1.0
                    graph[row, rank_places[j]] += shares[tau] * similarity[rank_users[j]] * weight


# Fake traces. Places of class c are members[class_offsets[c]:class_offsets[c + 1]]. A fake is the path
# through the candidates of each instant that maximises the product of p(t - 1, t) · f, f a random factor
# from 1 to par_v: Viterbi decoding. `arrivals` are transposed transition matrices, step_of[t] the number of
# that of step t; `cuts`, `large_offsets` and `large` single out the most probable moves, tried first.
#
#   seeds, seed_rows   rows × instants: real traces; the row that each fake starts from
#   random_seeds       seed of the small generator of each fake, used unless `secret`; then `rng` draws
#   class_of           class of each place
#   start              probability of the first place
#   par_c, par_m, par_l
#                      probabilities that a place of the seed's own class is left out, that one of a class
#                      visited k instants away joins (par_m^k), and that the seed's own place is left out
#   thin_once, dropped whether par_c leaves places out once per fake, and which places it left out then
#   state              state of the small generator, one number
#   chosen             marks places that are listed already, scratch
#   before, after      candidates of two neighbouring instants
#   score, fresh       product of the best path to each place at `before`; the same by position in `after`
#   back               instants × places: best place before each
#   out                fakes × instants; log_likelihood is that of each fake under the transition matrices
@njit(cache=True, nogil=True)
def _draw_uniform(state: NDArray[np.uint64], rng: np.random.Generator, secret: bool) -> float:
    """Return a number from [0, 1): of the generator if it is secret, else of a SplitMix64 state."""
    if secret:
        return float(rng.random())
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def _list_candidates(
    seed: Places, t: int, class_of: Places, class_offsets: Ints, members: Places, par_c: float,
    par_m: float, par_l: float, thin_once: bool, dropped: NDArray[np.bool_], state: NDArray[np.uint64],
    rng: np.random.Generator, secret: bool, chosen: NDArray[np.bool_], out: Places,
) -> int:  # fmt: skip
    """Write the places from which the fake may choose at instant t; return how many."""
    own, length, count = class_of[seed[t]], len(seed), 0
    for m in range(class_offsets[own], class_offsets[own + 1]):
        place = members[m]
        if thin_once and place != seed[t]:
            if dropped[place]:
                continue
        elif _draw_uniform(state, rng, secret) < (par_l if place == seed[t] else par_c):
            continue
        out[count] = place
        count += 1
    for direction in (-1, 1):
        at = t + direction
        while 0 <= at < length and class_of[seed[at]] == own:
            at += direction
        if at < 0 or at >= length:
            continue
        chance, other = par_m ** abs(at - t), class_of[seed[at]]
        for m in range(class_offsets[other], class_offsets[other + 1]):
            place = members[m]
            if not chosen[place] and _draw_uniform(state, rng, secret) < chance:
                chosen[place] = True
                out[count] = place
                count += 1
    for k in range(count):
        chosen[out[k]] = False
    if count == 0:
        for place in range(len(class_of)):
            if place != seed[t] or len(class_of) == 1 or _draw_uniform(state, rng, secret) >= par_l:
                out[count] = place
                count += 1
    return count


@njit(cache=True, nogil=True)
def _extend_paths(
    before: Places, after: Places, arrivals: Floats, cut: Floats, large_offsets: Ints, large: Places,
    par_v: float, state: NDArray[np.uint64], rng: np.random.Generator, secret: bool, score: Floats,
    fresh: Floats, back: Places,
) -> None:  # fmt: skip
    """Find the best predecessor of each place of `after`; `score` is indexed by place.

    ``arrivals[q, r]`` is the probability to go from r to q. Each is multiplied by its own random
    number from [1, par_v], but a number is drawn only for a move that could win at par_v. First
    come the few probable moves to q (``large``); the others from r are below ``cut[r]``, so that in
    descending order of ``score · cut`` the search may stop early. This changes nothing but the time.
    """
    bounds = np.empty(len(before))
    for i in range(len(before)):
        bounds[i] = -score[before[i]] * cut[before[i]]
    order = np.argsort(bounds)
    for j in range(len(after)):
        q, best, at = after[j], 0.0, before[order[0]]
        for e in range(large_offsets[q], large_offsets[q + 1]):
            r = large[e]
            value = score[r] * arrivals[q, r]
            if value * par_v > best:
                value *= 1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret)
                if value > best:
                    best, at = value, r
        for i in order:
            r = before[i]
            if -bounds[i] * par_v <= best:
                break
            if arrivals[q, r] < cut[r]:
                value = score[r] * arrivals[q, r]
                if value * par_v > best:
                    value *= 1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret)
                    if value > best:
                        best, at = value, r
        fresh[j] = best
        back[q] = at


@njit(cache=True, nogil=True)
def make_fakes(
    seeds: Places, seed_rows: Ints, random_seeds: NDArray[np.uint64], rng: np.random.Generator,
    secret: bool, class_of: Places, class_offsets: Ints, members: Places, start: Floats, step_of: Ints,
    arrivals: Floats, cuts: Floats, large_offsets: Ints, large: Places, par_c: float, par_m: float,
    par_l: float, par_v: float, thin_once: bool, out: Places, log_likelihood: Floats,
) -> None:  # fmt: skip
    """Make one fake of each seed row by randomised Viterbi decoding."""
    length, n = seeds.shape[1], len(class_of)
    sets, back = np.empty((length, n), np.int32), np.empty((length, n), np.int32)
    counts = np.empty(length, np.int64)
    score, fresh = np.zeros(n), np.empty(n)
    chosen, state = np.zeros(n, np.bool_), np.zeros(1, np.uint64)
    dropped = np.zeros(n, np.bool_)
    for f in range(len(seed_rows)):
        seed = seeds[seed_rows[f]]
        state[0] = random_seeds[f]
        if thin_once:
            for place in range(n):
                dropped[place] = _draw_uniform(state, rng, secret) < par_c
        for t in range(length):
            counts[t] = _list_candidates(
                seed,
                t,
                class_of,
                class_offsets,
                members,
                par_c,
                par_m,
                par_l,
                thin_once,
                dropped,
                state,
                rng,
                secret,
                chosen,
                sets[t],
            )
        for place in sets[0, : counts[0]]:
            score[place] = start[place] * (1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret))
        for t in range(1, length):
            before, after, k = sets[t - 1, : counts[t - 1]], sets[t, : counts[t]], step_of[t - 1]
            _extend_paths(
                before,
                after,
                arrivals[k],
                cuts[k],
                large_offsets[k],
                large,
                par_v,
                state,
                rng,
                secret,
                score,
                fresh,
                back[t],
            )
            score[before] = 0.0
            top = fresh[: counts[t]].max()
            for j in range(counts[t]):
                score[after[j]] = fresh[j] / top
        at = sets[length - 1, 0]
        for place in sets[length - 1, : counts[length - 1]]:
            if score[place] > score[at]:
                at = place
        score[sets[length - 1, : counts[length - 1]]] = 0.0
        for t in range(length - 1, -1, -1):
            out[f, t] = at
            if t > 0:
                at = back[t, at]
        total = np.log(start[out[f, 0]])
        for t in range(1, length):
            total += np.log(arrivals[step_of[t - 1], out[f, t], out[f, t - 1]])
        log_likelihood[f] = total


# Merged places. `points` are rows of coordinates, `weight` what each counts, `alive` those not joined yet.


@njit(cache=True, nogil=True)
def _find_nearest_later(
    points: Floats, weight: Floats, alive: NDArray[np.bool_], i: int
) -> tuple[int, float]:
    """Return the later point that is cheapest to join with i, and the cost; (-1, inf) if none is left."""
    best, cost = -1, np.inf
    for j in range(i + 1, len(points)):
        if alive[j]:
            squared = 0.0
            for d in range(points.shape[1]):
                squared += (points[i, d] - points[j, d]) ** 2
            value = np.sqrt(squared) * weight[i] * weight[j]
            if value < cost:
                best, cost = j, value
    return best, cost


@njit(cache=True, nogil=True)
def join_nearest(points: Floats, weight: Floats, wanted: int) -> Ints:
    """Join the two points with the smallest distance · weight · weight until `wanted` are left.

    Each point remembers its cheapest later partner, so a join costs one pass over the points and
    no table of distances is held. Returns for each point the one that took it in.
    """
    n = len(points)
    alive, label = np.ones(n, np.bool_), np.arange(n)
    partner, cost = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        partner[i], cost[i] = _find_nearest_later(points, weight, alive, i)
    for _ in range(n - max(wanted, 1)):
        i = 0
        for k in range(n):
            if alive[k] and (not alive[i] or cost[k] < cost[i]):
                i = k
        j = partner[i]
        both = weight[i] + weight[j]
        for d in range(points.shape[1]):
            points[i, d] = (weight[i] * points[i, d] + weight[j] * points[j, d]) / both
        weight[i] = both
        alive[j] = False
        label[j] = i
        for k in range(n):
            if not alive[k]:
                continue
            if k == i or partner[k] == i or partner[k] == j:
                partner[k], cost[k] = _find_nearest_later(points, weight, alive, k)
            elif k < i:
                squared = 0.0
                for d in range(points.shape[1]):
                    squared += (points[k, d] - points[i, d]) ** 2
                value = np.sqrt(squared) * weight[k] * weight[i]
                if value < cost[k]:
                    partner[k], cost[k] = i, value
    for k in range(n):
        at = k
        while label[at] != at:
            at = label[at]
        label[k] = at
    return label


@njit(cache=True, nogil=True)
def count_alternatives(
    shares: Floats, offsets: Ints, ranked: Floats, to_seed: Floats, alternative_offsets: Ints,
    alternative_ranked: Floats, tolerance: float, wanted: int, out: Ints,
) -> None:  # fmt: skip
    """Count the alternatives that are as semantically similar to each fake as its seed is.

    Counting stops at `wanted`. Row f · periods + τ of `offsets` has the visit probabilities `ranked` of
    fake f in period τ, descending, and likewise `alternative_offsets` and `alternative_ranked` those of the
    alternatives; `shares` is P(τ), `to_seed` the
    similarity of each fake to its seed, `tolerance` how far another one may be from it.
    """
    t = len(shares)
    others = (len(alternative_offsets) - 1) // t
    for f in range(len(out)):
        out[f] = 0
        for a in range(others):
            similarity = 0.0
            for tau in range(t):
                x, y = f * t + tau, a * t + tau
                common = min(offsets[x + 1] - offsets[x], alternative_offsets[y + 1] - alternative_offsets[y])
                for i in range(common):
                    mine, theirs = ranked[offsets[x] + i], alternative_ranked[alternative_offsets[y] + i]
                    similarity += shares[tau] * min(mine, theirs)
            # The thresholds are round numbers that sums of shares meet exactly, but for the last bits.
            if abs(similarity - to_seed[f]) <= tolerance + 1e-9:
                out[f] += 1
                if out[f] == wanted:
                    break


# Repeated bisection. `weights` is places × places, `side` 0 or 1 for each place.

ROUNDS = 40
"""Passes over the places in which a bisection may still move one; it ends long before."""


@njit(cache=True, nogil=True)
def improve_bisection(
    weights: NDArray[np.float64], orders: NDArray[np.int64], side: NDArray[np.int8]
) -> float:
    """Move places between two sides while √(weight within 0) + √(weight within 1) rises; return it.

    Weights are symmetric and count both ways, loops once. Row ``k`` of `orders` is the order in which
    places are asked in pass k. No side is left empty.
    """
    n = len(weights)
    link = np.zeros((2, n))
    within, count = np.zeros(2), np.zeros(2, np.int64)
    for v in range(n):
        count[side[v]] += 1
        for u in range(n):
            link[side[u], v] += weights[u, v]
    for v in range(n):
        within[side[v]] += link[side[v], v]
    for k in range(len(orders)):
        moved = False
        for v in orders[k]:
            here = side[v]
            there = 1 - here
            if count[here] == 1:
                continue
            left = max(within[here] - 2 * link[here, v] + weights[v, v], 0.0)
            joined = within[there] + 2 * link[there, v] + weights[v, v]
            if np.sqrt(left) + np.sqrt(joined) > np.sqrt(within[0]) + np.sqrt(within[1]) + 1e-12:
                within[here], within[there] = left, joined
                count[here] -= 1
                count[there] += 1
                side[v] = there
                for u in range(n):
                    link[here, u] -= weights[v, u]
                    link[there, u] += weights[v, u]
                moved = True
        if not moved:
            break
    return float(np.sqrt(within[0]) + np.sqrt(within[1]))


# The published SGLT program: thinned classes, merged classes, decoding that can fail. Arrays are those of
# `make_fakes`, but for log-probabilities of the first place (`log_start`) and of moves (`log_moves`, matrices
# × places × places). `kept` marks the places that thinning leaves in their classes, `draws` are its random
# numbers.

Flags = NDArray[np.bool_]

LEAST_KEPT = 3
"""Places of a class that are kept at least, whatever par_c."""


@njit(cache=True, nogil=True)
def _thin_classes(
    class_offsets: Ints, members: Places, par_c: float, state: NDArray[np.uint64],
    rng: np.random.Generator, secret: bool, draws: Floats, kept: Flags,
) -> None:  # fmt: skip
    """Drop each place with probability par_c, but not the last three of its class."""
    for c in range(len(class_offsets) - 1):
        first, stop = class_offsets[c], class_offsets[c + 1]
        for i in range(first, stop):
            draws[i] = _draw_uniform(state, rng, secret)
        spared = 0.0
        if stop - first >= LEAST_KEPT:
            spared = np.partition(draws[first:stop], stop - first - LEAST_KEPT)[stop - first - LEAST_KEPT]
        for i in range(first, stop):
            kept[members[i]] = draws[i] >= min(par_c, spared)


@njit(cache=True, nogil=True)
def list_allowed(
    seed: Places, t: int, class_of: Places, class_offsets: Ints, members: Places, kept: Flags,
    par_m: float, par_l: float, state: NDArray[np.uint64], rng: np.random.Generator, secret: bool,
    chosen: Flags, out: Places,
) -> int:  # fmt: skip
    """Write the places from which the fake may choose at instant t; return how many.

    Of the class visited k instants away the first par_m^(k²) of the kept places join, rounded down; one
    visited before counts as an instant nearer, but for the last.
    """
    own, count = class_of[seed[t]], 0
    for i in range(class_offsets[own], class_offsets[own + 1]):
        place = members[i]
        if kept[place] and not (place == seed[t] and _draw_uniform(state, rng, secret) < par_l):
            out[count] = place
            count += 1
    for direction in (-1, 1):
        at = t + direction
        while 0 <= at < len(seed) and class_of[seed[at]] == own:
            at += direction
        if at < 0 or at >= len(seed):
            continue
        first, stop = class_offsets[class_of[seed[at]]], class_offsets[class_of[seed[at]] + 1]
        many = 0
        for i in range(first, stop):
            many += kept[members[i]]
        far = abs(at - t)
        if direction < 0:
            far = max(far - 1, 1)
        left = int(par_m ** (far**2) * many)
        for i in range(first, stop):
            place = members[i]
            if left > 0 and kept[place]:
                left -= 1
                if not chosen[place]:
                    chosen[place] = True
                    out[count] = place
                    count += 1
    for k in range(count):
        chosen[out[k]] = False
    return count


@njit(cache=True, nogil=True)
def make_legacy_fakes(
    seeds: Places, seed_rows: Ints, random_seeds: NDArray[np.uint64], rng: np.random.Generator,
    secret: bool, class_of: Places, class_offsets: Ints, members: Places, log_start: Floats,
    step_of: Ints, log_moves: Floats, par_c: float, par_m: float, par_l: float, par_v: float, fails: bool,
    out: Places, log_likelihood: Floats,
) -> None:  # fmt: skip
    """Make one fake of each seed row by randomised Viterbi decoding.

    Where no place is left at an instant, decoding ends if it `fails`: this and all later instants are
    at place 0. Otherwise every place may be chosen, the seed's own unless par_l drops it.
    """
    length, n = seeds.shape[1], len(class_of)
    sets, back = np.empty((length, n), np.int32), np.empty((length, n), np.int32)
    counts, score, fresh = np.empty(length, np.int64), np.empty(n), np.empty(n)
    chosen, kept, draws = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.empty(n)
    state = np.zeros(1, np.uint64)
    for f in range(len(seed_rows)):
        seed = seeds[seed_rows[f]]
        state[0] = random_seeds[f]
        _thin_classes(class_offsets, members, par_c, state, rng, secret, draws, kept)
        end = length
        for t in range(length):
            counts[t] = list_allowed(
                seed,
                t,
                class_of,
                class_offsets,
                members,
                kept,
                par_m,
                par_l,
                state,
                rng,
                secret,
                chosen,
                sets[t],
            )
            if counts[t] == 0 and fails:
                end = t
                break
            if counts[t] == 0:
                for place in range(n):
                    if place != seed[t] or n == 1 or _draw_uniform(state, rng, secret) >= par_l:
                        sets[t, counts[t]] = place
                        counts[t] += 1
        out[f] = 0
        for t in range(end):
            for j in range(counts[t]):
                q = sets[t, j]
                if t == 0:
                    fresh[q] = log_start[q] + np.log(1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret))
                    continue
                best, at = -np.inf, sets[t - 1, 0]
                for i in range(counts[t - 1]):
                    r = sets[t - 1, i]
                    factor = 1.0 + (par_v - 1.0) * _draw_uniform(state, rng, secret)
                    value = score[r] + log_moves[step_of[t - 1], r, q] + np.log(factor)
                    if value > best:
                        best, at = value, r
                fresh[q] = best
                back[t, q] = at
            for j in range(counts[t]):
                score[sets[t, j]] = fresh[sets[t, j]]
        if end > 0:
            at = sets[end - 1, 0]
            for place in sets[end - 1, : counts[end - 1]]:
                if score[place] > score[at]:
                    at = place
            for t in range(end - 1, -1, -1):
                out[f, t] = at
                if t > 0:
                    at = back[t, at]
        log_likelihood[f] = log_start[out[f, 0]]
        for t in range(1, length):
            log_likelihood[f] += log_moves[step_of[t - 1], out[f, t - 1], out[f, t]]
