"""Inner loops of what a user's habits say, and of the answer that costs least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def fill_profile(
    times: Array,
    places: Array,
    counts: Array,
    in_time: Array,
    offsets: Array,
    members: Array,
    weights: Array,
    population: Array,
    others: float,
    profile: Array,
) -> None:
    """Write P_t(x) of one user into ``profile[x, t]``; her visits come sorted by place.

    `in_time[s]` spreads a visit at time s over the day, `weights` spreads it over the places around,
    and `others` is the weight of the whole population beside her own of 1.
    """
    length = profile.shape[1]
    profile[:] = 0.0
    own = np.zeros(length)
    total = np.zeros(length)
    k = 0
    while k < places.shape[0]:
        place = places[k]
        own[:] = 0.0
        while k < places.shape[0] and places[k] == place:
            for t in range(length):
                own[t] += counts[k] * in_time[times[k], t]
            k += 1
        for t in range(length):
            total[t] += own[t]
        for e in range(offsets[place], offsets[place + 1]):
            row = profile[members[e]]
            for t in range(length):
                row[t] += weights[e] * own[t]
    seen = total.sum() > 0
    for t in range(length):
        total[t] = 1.0 / (total[t] * (1.0 + others)) if seen and total[t] > 0 else 0.0
    share = others / (1.0 + others) if seen else 1.0
    for x in range(profile.shape[0]):
        for t in range(length):
            profile[x, t] = profile[x, t] * total[t] + share * population[x, t]


@njit(cache=True, nogil=True)
def habit_gains(
    profile: Array,
    population: Array,
    common: Array,
    share: float,
    sensitivity: Array,
    offsets: Array,
    members: Array,
    worth: Array,
    gains: Array,
) -> None:
    """Write into ``gains[c, t]`` what answering c at t is worth by the profile alone.

    `common` is what it is worth by the population's, of which the profile holds this `share`: a
    user's own places are few, and only these are gone through.
    """
    length = profile.shape[1]
    row = np.empty(length)
    for c in range(profile.shape[0]):
        for t in range(length):
            gains[c, t] = share * common[c, t]
    for x in range(profile.shape[0]):
        is_own = False
        for t in range(length):
            row[t] = profile[x, t] - share * population[x, t]
            is_own = is_own or row[t] != 0.0
        if not is_own:
            continue
        for e in range(offsets[x], offsets[x + 1]):
            factor = sensitivity[x] * worth[e]
            gain = gains[members[e]]
            for t in range(length):
                gain[t] += factor * row[t]


@njit(cache=True, nogil=True)
def best_answers(gains: Array, answers: Array) -> None:
    """Write the best answer at each time of day."""
    best = gains[0].copy()
    answers[:] = 0
    for c in range(1, gains.shape[0]):
        for t in range(gains.shape[1]):
            if gains[c, t] > best[t]:
                best[t] = gains[c, t]
                answers[t] = c


@njit(cache=True, nogil=True)
def foretell(
    offsets: Array,
    places: Array,
    times: Array,
    days: Array,
    tables: Array,
    population: Array,
    others: float,
    likely: Array,
) -> int:
    """Add up how likely each visit is by its user's visits on other days, as logarithms; return how many.

    ``tables[s, t, r]`` is how a visit at s counts for t by rhythm r.
    """
    n_rhythms = tables.shape[2]
    own = np.empty(n_rhythms)
    total = np.empty(n_rhythms)
    told = 0
    for u in range(offsets.shape[0] - 1):
        for e in range(offsets[u], offsets[u + 1]):
            own[:] = 0.0
            total[:] = 0.0
            for f in range(offsets[u], offsets[u + 1]):
                if days[f] == days[e]:
                    continue
                counts = tables[times[f], times[e]]
                for r in range(n_rhythms):
                    total[r] += counts[r]
                if places[f] == places[e]:
                    for r in range(n_rhythms):
                        own[r] += counts[r]
            if total[0] == 0.0:
                continue
            told += 1
            common = others * population[places[e], times[e]]
            for r in range(n_rhythms):
                likely[r] += np.log((own[r] / total[r] + common) / (1.0 + others))
    return told
