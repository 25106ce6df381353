"""Inner loops of trace inference: forward and backward through a day, and the answer that costs least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.attacks.bayesian._profile_kernels import (
    choose_best_answers,
    compute_profile_gains,
    fill_profile,
)

if TYPE_CHECKING:
    from tracearena.attacks.bayesian.profiles import ProfileArrays

Array = NDArray[Any]

NEGLIGIBLE = 1e-8
"""A symbol whose floor is no higher comes from the places that are listed for it alone."""
UNEXPLAINED = 0.02
"""With a beam, so small a share of a symbol may come from places that are not listed for it."""
MANY_PLACES = 4096
"""With more places nobody is followed through instants at which nothing is said: habits answer there."""


@njit(cache=True, nogil=True)
def infer_users(
    first: int,
    stop: int,
    match_offsets: Array,
    match_rows: Array,
    match_weights: Array,
    said: Array,
    emission_offsets: Array,
    emission_places: Array,
    emission_values: Array,
    floor: Array,
    habits: ProfileArrays,
    others: float,
    move_offsets: Array,
    move_targets: Array,
    move_values: Array,
    move_rest: Array,
    share: float,
    beam: float,
    doubt: float,
    ignored: float,
    near_offsets: Array,
    near_members: Array,
    near_worth: Array,
    sensitivity: Array,
    common: Array,
    first_time: int,
    answers: Array,
) -> None:
    """Write the answers of some users, users × instants.

    ``said[p, i]`` is the symbol of trace p at instant i, -1 where it says nothing. User u is trace
    ``match_rows[k]`` with ``match_weights[k]``, k from ``match_offsets[u]``. The moves are the
    population's, ``move_values`` rows of targets, ``move_rest`` the part of a row that is anybody's.
    `common` is what each answer is worth by the population's habits.
    """
    population = habits.population
    n_places, length = population.shape
    n_instants = said.shape[1]
    profile = np.empty((n_places, length))
    usual = np.empty((n_places, length))
    # One time of day after the other is looked at, all places of each: that is how tables lie in memory.
    by_time = np.empty((length, n_places))
    worth = np.empty((length, n_places))
    everybody = population.T.copy()
    by_habit = np.empty(length, np.int32)
    # What may be where, at each instant of a day: places, forward and backward probabilities.
    support = np.empty((length, n_places), np.int32)
    sizes = np.zeros(length, np.int64)
    ahead = np.empty((length, n_places))
    fits = np.empty((length, n_places))
    back = np.empty((length, n_places))
    belief = np.zeros((length, n_places))
    predicted = np.zeros(n_places)
    later = np.zeros(n_places)
    touched = np.empty((length, n_places), np.int32)
    n_touched = np.zeros(length, np.int64)
    gain = np.empty(n_places)
    # Weight of the traces that say nothing at an instant, which habits alone then answer.
    silent = np.zeros(length)
    for u in range(first, stop):
        fill_profile(u, habits, others, profile)
        part = others / (1.0 + others) if habits.visit_offsets[u + 1] > habits.visit_offsets[u] else 1.0
        compute_profile_gains(
            profile, population, common, part, sensitivity, near_offsets, near_members, near_worth, usual
        )
        choose_best_answers(usual, by_habit)
        by_time[:] = profile.T
        worth[:] = usual.T
        start = 0
        while start < n_instants:
            t0 = (first_time + start) % length
            span = min(length - t0, n_instants - start)
            known = 0.0
            for k in range(match_offsets[u], match_offsets[u + 1]):
                row = match_rows[k]
                tells = False
                for i in range(span):
                    if said[row, start + i] >= 0:
                        tells = True
                        break
                if not tells:
                    continue
                known += match_weights[k]
                _forward(
                    said[row, start : start + span], t0, by_time, everybody,
                    emission_offsets, emission_places, emission_values, floor,
                    move_offsets, move_targets, move_values, move_rest, share, beam,
                    support, sizes, ahead, fits, predicted,
                )  # fmt: skip
                _backward(
                    t0, span, by_time, everybody, move_offsets, move_targets, move_values, move_rest, share,
                    support, sizes, fits, back, later,
                )  # fmt: skip
                for i in range(span):
                    if sizes[i] == 0:
                        silent[i] += match_weights[k]
                        continue
                    total = 0.0
                    for s in range(sizes[i]):
                        total += ahead[i, s] * back[i, s]
                    if total <= 0:
                        continue
                    for s in range(sizes[i]):
                        x = support[i, s]
                        if belief[i, x] == 0.0:
                            touched[i, n_touched[i]] = x
                            n_touched[i] += 1
                        belief[i, x] += match_weights[k] * ahead[i, s] * back[i, s] / total + 1e-300
            rest = 1.0 - (1.0 - doubt) * min(known, 1.0)
            for i in range(span):
                if known == 0.0:
                    answers[u, start + i] = by_habit[t0 + i]
                    continue
                scale = (1.0 - doubt) / max(known, 1.0)
                by_habits = rest + scale * silent[i]
                silent[i] = 0.0
                for c in range(n_places):
                    gain[c] = by_habits * worth[t0 + i, c]
                top = 0.0
                for k in range(n_touched[i]):
                    x = touched[i, k]
                    top = max(top, belief[i, x] * sensitivity[x])
                for k in range(n_touched[i]):
                    x = touched[i, k]
                    value = belief[i, x] * sensitivity[x]
                    belief[i, x] = 0.0
                    if value < ignored * top:
                        continue
                    value *= scale
                    for e in range(near_offsets[x], near_offsets[x + 1]):
                        gain[near_members[e]] += value * near_worth[e]
                n_touched[i] = 0
                best = 0
                for c in range(1, n_places):
                    if gain[c] > gain[best]:
                        best = c
                answers[u, start + i] = best
            start += span


@njit(cache=True, nogil=True)
def _predict_moves(
    before: Array,
    ahead: Array,
    share: float,
    move_offsets: Array,
    move_targets: Array,
    move_values: Array,
    predicted: Array,
) -> None:
    """Add to what is predicted where the population goes from where one may have been."""
    for s in range(before.shape[0]):
        x = before[s]
        mass = share * ahead[s]
        for e in range(move_offsets[x], move_offsets[x + 1]):
            predicted[move_targets[e]] += mass * move_values[e]


@njit(cache=True, nogil=True)
def _forward(
    said: Array,
    t0: int,
    profile: Array,
    population: Array,
    offsets: Array,
    places: Array,
    values: Array,
    floor: Array,
    move_offsets: Array,
    move_targets: Array,
    move_values: Array,
    move_rest: Array,
    share: float,
    beam: float,
    support: Array,
    sizes: Array,
    ahead: Array,
    fits: Array,
    predicted: Array,
) -> None:
    """Write what may be where at each instant, from what was said up to then.

    `profile` and `population` are times of day × places.
    ``fits[i, s]`` is how likely what was said at i is at the place ``support[i, s]``.
    """
    n_places = profile.shape[1]
    for i in range(said.shape[0]):
        t, y = t0 + i, said[i]
        if y < 0 and (share == 0.0 or n_places > MANY_PLACES):
            sizes[i] = 0
            continue
        follows = i > 0 and share > 0 and sizes[i - 1] > 0
        own = 1.0 - share if follows else 1.0
        rest = 0.0
        if follows:
            for s in range(sizes[i - 1]):
                rest += ahead[i - 1, s] * move_rest[support[i - 1, s]]
            rest *= share
        # Where the places that are listed for a symbol explain it well, no other is looked at.
        narrow = y >= 0 and (floor[y] <= NEGLIGIBLE or beam > 0)
        size, top = 0, 0.0
        if narrow:
            for e in range(offsets[y], offsets[y + 1]):
                x = places[e]
                predicted[x] = own * profile[t, x] + rest * population[t, x]
            if follows:
                _predict_moves(support[i - 1, : sizes[i - 1]], ahead[i - 1], share,
                      move_offsets, move_targets, move_values, predicted)  # fmt: skip
            explained = 0.0
            for e in range(offsets[y], offsets[y + 1]):
                x = places[e]
                support[i, size] = x
                ahead[i, size] = predicted[x] * (values[e] + floor[y])
                explained += ahead[i, size]
                top = max(top, ahead[i, size])
                size += 1
            narrow = floor[y] <= NEGLIGIBLE or explained * UNEXPLAINED >= floor[y]
        if not narrow:
            for x in range(n_places):
                predicted[x] = own * profile[t, x] + rest * population[t, x]
            if follows:
                _predict_moves(support[i - 1, : sizes[i - 1]], ahead[i - 1], share,
                      move_offsets, move_targets, move_values, predicted)  # fmt: skip
            top = 0.0
            if y >= 0:
                for x in range(n_places):
                    ahead[i, x] = predicted[x] * floor[y]
                for e in range(offsets[y], offsets[y + 1]):
                    ahead[i, places[e]] += predicted[places[e]] * values[e]
            else:
                for x in range(n_places):
                    ahead[i, x] = predicted[x]
            for x in range(n_places):
                support[i, x] = x
                top = max(top, ahead[i, x])
            size = n_places
        kept, total = 0, 0.0
        for s in range(size):
            value = ahead[i, s]
            if value > 0 and value >= beam * top:
                x = support[i, s]
                support[i, kept] = x
                ahead[i, kept] = value
                fits[i, kept] = value / predicted[x]
                total += value
                kept += 1
        for s in range(kept):
            ahead[i, s] /= total
        sizes[i] = kept


@njit(cache=True, nogil=True)
def _backward(
    t0: int,
    span: int,
    profile: Array,
    population: Array,
    move_offsets: Array,
    move_targets: Array,
    move_values: Array,
    move_rest: Array,
    share: float,
    support: Array,
    sizes: Array,
    fits: Array,
    back: Array,
    later: Array,
) -> None:
    """Write how likely what is said later is from each place; `later` comes and is left all 0."""
    back[span - 1, : sizes[span - 1]] = 1.0
    for i in range(span - 2, -1, -1):
        if share == 0.0 or sizes[i + 1] == 0:
            back[i, : sizes[i]] = 1.0
            continue
        by_habit, by_others = 0.0, 0.0
        for s in range(sizes[i + 1]):
            x = support[i + 1, s]
            later[x] = fits[i + 1, s] * back[i + 1, s]
            by_habit += profile[t0 + i + 1, x] * later[x]
            by_others += population[t0 + i + 1, x] * later[x]
        largest = 0.0
        for s in range(sizes[i]):
            x = support[i, s]
            moved = 0.0
            for e in range(move_offsets[x], move_offsets[x + 1]):
                moved += move_values[e] * later[move_targets[e]]
            back[i, s] = (1 - share) * by_habit + share * (moved + move_rest[x] * by_others)
            largest = max(largest, back[i, s])
        for s in range(sizes[i]):
            back[i, s] = back[i, s] / largest if largest > 0 else 1.0
        for s in range(sizes[i + 1]):
            later[support[i + 1, s]] = 0.0
