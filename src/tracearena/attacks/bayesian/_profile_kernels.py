"""Compiled loops of the time profiles P_{u,t}(x).

They fill the profile of a user, choose the best answers by it alone, and sum it over rings of distance, from
which `channel_estimation` estimates an unknown channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tracearena.attacks.bayesian.profiles import ProfileArrays

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def fill_profile(user: int, profiles: ProfileArrays, profile: Array) -> None:
    """Write P_t(x) of one user into ``profile[x, t]``; her visits come sorted by place.

    ``in_time[s]`` spreads a visit at time s over the day, ``weights`` spreads it over the places around,
    and `others` is the weight of the whole population; her own is 1.
    """
    visit_offsets, times, places, counts, in_time, offsets, members, weights, population, others = profiles
    length = profile.shape[1]
    profile[:] = 0.0
    own = np.zeros(length)
    total = np.zeros(length)
    k, stop = visit_offsets[user], visit_offsets[user + 1]
    while k < stop:
        place = places[k]
        own[:] = 0.0
        while k < stop and places[k] == place:
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
        total[t] = 1.0 / (total[t] * (1.0 + others)) if seen else 0.0
    share = others / (1.0 + others) if seen else 1.0
    for x in range(profile.shape[0]):
        for t in range(length):
            profile[x, t] = profile[x, t] * total[t] + share * population[x, t]


@njit(cache=True, nogil=True)
def compute_profile_gains(
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
    """Write into ``gains[c, t]`` the expected gain of answering c at time t by the profile alone.

    The gain is Σ_x P_{u,t}(x) w(x) (1 - G(x, c)). The profile is `share` times the population's plus the
    user's own places; these are few, and only they are summed here.

    profile[x, t], population[x, t]     P_{u,t}(x) and P_t(x)
    common[c, t]        the gain by the population's profile
    sensitivity[x]      w(x)
    offsets, members, worth     the places c near x, with 1 - G(x, c)
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
def choose_best_answers(gains: Array, answers: Array) -> None:
    """Write into ``answers[t]`` the answer c with the largest ``gains[c, t]``; of equals the first."""
    best = gains[0].copy()
    answers[:] = 0
    for c in range(1, gains.shape[0]):
        for t in range(gains.shape[1]):
            if gains[c, t] > best[t]:
                best[t] = gains[c, t]
                answers[t] = c


@njit(cache=True, nogil=True)
def score_held_out_visits(
    offsets: Array,
    places: Array,
    times: Array,
    days: Array,
    tables: Array,
    population: Array,
    others: float,
    likely: Array,
) -> int:
    """Add to ``likely[r]`` the log-likelihood of each visit given the same user's visits on other days.

    Returns how many visits were scored.

    offsets, places, times, days    visits of user u: ``offsets[u]:offsets[u + 1]``
    tables[s, t, r]     how a visit at time s counts for time t by temporal kernel r
    population[x, t]    P_t(x), with weight `others`
    """
    n_kernels = tables.shape[2]
    own = np.empty(n_kernels)
    total = np.empty(n_kernels)
    scored = 0
    for u in range(offsets.shape[0] - 1):
        for e in range(offsets[u], offsets[u + 1]):
            own[:] = 0.0
            total[:] = 0.0
            for f in range(offsets[u], offsets[u + 1]):
                if days[f] == days[e]:
                    continue
                counts = tables[times[f], times[e]]
                for r in range(n_kernels):
                    total[r] += counts[r]
                if places[f] == places[e]:
                    for r in range(n_kernels):
                        own[r] += counts[r]
            if total[0] == 0.0:
                continue
            scored += 1
            common = others * population[places[e], times[e]]
            for r in range(n_kernels):
                likely[r] += np.log((own[r] / total[r] + common) / (1.0 + others))
    return scored


@njit(cache=True, nogil=True)
def compute_ring_shares(
    observed: Array, times: Array, profile: Array, offsets: Array, places: Array, rings: Array, shares: Array
) -> None:
    """Write into ``shares[k, r]`` the probability that the user of event k is in ring r around its place.

    Event k is released as ``observed[k]`` at time of day ``times[k]``. Rows ``offsets[y]:offsets[y + 1]`` of
    `places` and `rings` are the places around place y and their rings; all other places are in the last
    ring. ``profile[x, t]`` is P_{u,t}(x).
    """
    last = shares.shape[1] - 1
    for k in range(observed.shape[0]):
        y, t = observed[k], times[k]
        shares[k] = 0.0
        for x in range(profile.shape[0]):
            shares[k, last] += profile[x, t]
        for e in range(offsets[y], offsets[y + 1]):
            here = profile[places[e], t]
            shares[k, rings[e]] += here
            shares[k, last] -= here
