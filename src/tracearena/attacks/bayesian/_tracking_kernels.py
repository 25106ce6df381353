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
"""An observation whose floor is no higher comes from the places that are listed for it alone."""
UNEXPLAINED = 0.02
"""With a beam, so small a share of an observation may come from places that are not listed for it."""
MANY_PLACES = 4096
"""With more places nobody is followed through instants at which nothing is said: habits answer there."""


@njit(cache=True, nogil=True)
def infer_users(
    first: int,
    stop: int,
    match_offsets: Array,
    match_rows: Array,
    match_weights: Array,
    observed: Array,
    emission_offsets: Array,
    emission_places: Array,
    emission_values: Array,
    floor: Array,
    profiles: ProfileArrays,
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
    """Write ``answers[u, i]`` for users from `first` up to `stop`: the place with the largest expected gain.

    Each candidate trace of a user is followed by a hidden Markov model. Its states are places, its
    transitions (1-γ) P_{u,t}(y) + γ Q(y|x), and its emissions E(y|x). The posteriors of the places,
    weighted by those of the traces, give q(x), and the gain of an answer c is Σ_x q(x) w(x) (1 - G(x, c)).

    match_offsets, match_rows, match_weights    candidate traces of user u and their posteriors W[u,p]
    observed[p, i]      observation of trace p at instant i, -1 where there is none
    emission_offsets, emission_places, emission_values, floor
                        E(y|x): the places of observation y with their probabilities, and that of all others
    move_offsets, move_targets, move_values, move_rest
                        Q(y|x): targets of place x with their shares, and the share that is distributed as the
                        population at that time of day
    share, beam, doubt, ignored     γ; least share of the likeliest place that is kept; ε; the same as `beam`
                        for the answer
    near_offsets, near_members, near_worth      the places c near x, with 1 - G(x, c)
    sensitivity[x]      w(x)
    common[c, t]        gain of answer c by the population's profile at time of day t
    first_time          time of day of instant 0
    profiles            P_{u,t}(x) of all users, by which a user's own table is filled
    """
    population, others = profiles.population, profiles.population_weight
    n_places, length = population.shape
    n_instants = observed.shape[1]
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
        fill_profile(u, profiles, profile)
        part = others / (1.0 + others) if profiles.visit_offsets[u + 1] > profiles.visit_offsets[u] else 1.0
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
                    if observed[row, start + i] >= 0:
                        tells = True
                        break
                if not tells:
                    continue
                known += match_weights[k]
                run_forward(
                    observed[row, start : start + span], t0, by_time, everybody,
                    emission_offsets, emission_places, emission_values, floor,
                    move_offsets, move_targets, move_values, move_rest, share, beam,
                    support, sizes, ahead, fits, predicted,
                )  # fmt: skip
                run_backward(
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
    """Add to ``predicted[y]`` what the population's moves bring there: γ Σ_x Q(y|x) times the filtered x.

    before, ahead       the places x that are kept at the instant before, and their filtered probabilities
    share               γ
    move_offsets, move_targets, move_values     Q(y|x), as in `infer_users`
    """
    for s in range(before.shape[0]):
        x = before[s]
        mass = share * ahead[s]
        for e in range(move_offsets[x], move_offsets[x + 1]):
            predicted[move_targets[e]] += mass * move_values[e]


@njit(cache=True, nogil=True)
def run_forward(
    observed: Array,
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
    """Write the filtered probabilities of places at each instant, given the observations up to it.

    observed, t0        observations of one trace on one day, and the time of day of the first
    profile[t, x], population[t, x]     P_{u,t}(x) and P_t(x)
    offsets, places, values, floor      E(y|x), as in `infer_users`
    move_offsets, move_targets, move_values, move_rest, share, beam
                        Q(y|x), γ and the beam, as in `infer_users`
    support[i, s], sizes[i]     out: the places that are kept at instant i, and how many
    ahead[i, s]         out: their filtered probabilities
    fits[i, s]          out: E(y_i|x) of these places
    predicted[x]        scratch: probability of place x before its observation
    """
    n_places = profile.shape[1]
    for i in range(observed.shape[0]):
        t, y = t0 + i, observed[i]
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
        # Where the places that are listed for an observation explain it well, no other is looked at.
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
def run_backward(
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
    """Write ``back[i, s]``, proportional to the likelihood of all later observations from each kept place.

    span                number of instants
    t0, profile, population, move_offsets, move_targets, move_values, move_rest, share
                        as in `run_forward`
    support, sizes, fits    what `run_forward` has written
    later[x]            scratch, all 0 before and after
    """
    back[span - 1, : sizes[span - 1]] = 1.0
    for i in range(span - 2, -1, -1):
        if share == 0.0 or sizes[i + 1] == 0:
            back[i, : sizes[i]] = 1.0
            continue
        by_profile, by_others = 0.0, 0.0
        for s in range(sizes[i + 1]):
            x = support[i + 1, s]
            later[x] = fits[i + 1, s] * back[i + 1, s]
            by_profile += profile[t0 + i + 1, x] * later[x]
            by_others += population[t0 + i + 1, x] * later[x]
        largest = 0.0
        for s in range(sizes[i]):
            x = support[i, s]
            moved = 0.0
            for e in range(move_offsets[x], move_offsets[x + 1]):
                moved += move_values[e] * later[move_targets[e]]
            back[i, s] = (1 - share) * by_profile + share * (moved + move_rest[x] * by_others)
            largest = max(largest, back[i, s])
        for s in range(sizes[i]):
            back[i, s] = back[i, s] / largest if largest > 0 else 1.0
        for s in range(sizes[i + 1]):
            later[support[i + 1, s]] = 0.0
