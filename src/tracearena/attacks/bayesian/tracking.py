"""A hidden Markov model of each user's day: states are places, emissions E(y|x), decoded forward-backward.

Transitions are (1-γ)P_{u,t} + γQ, Q the population's. The posteriors of the candidate traces are mixed with
their weights W[u,p], and the answer maximises Σ_x q(x) w(x) (1 - G(x, c)). With γ = 0 events are independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.attacks.bayesian.channel import NOTHING, Channel
from tracearena.attacks.bayesian.likelihoods import CandidatePairs
from tracearena.attacks.bayesian.profiles import OTHERS, Neighbourhoods, TimeProfiles
from tracearena.engine import block_ranges, run_blocks
from tracearena.mobility.transitions import departures
from tracearena.traces import ObfuscatedTraces, Traces

SHARE = 0.85
"""γ: share of the population's transitions; the rest is the user's time profile."""
BEAM = 3e-3
"""Places less likely than this share of the likeliest one are left out at an instant; 0 keeps all."""
IGNORED = 1e-2
"""The same for the answer."""
DOUBT = 0.02
"""ε: how likely it is that nothing of what was released is the user's."""
REST = 5.0
"""Prior transitions from each place, distributed as the population at that time of day."""
FEWEST, MOST = 8, 32
"""How many candidate traces of a user are followed, at least and at most."""
ENOUGH = 0.95
"""Traces are followed until their posteriors sum to this."""
DISGUISED, DISGUISED_SHARE = 4, 0.6
"""Most traces followed, and largest γ, where whole traces are disguised: moved visits are no transitions."""

_WORK = 6.4e6
_USERS_PER_BLOCK = 8


class CandidateTraces(NamedTuple):
    """The traces that may be each user's: user ``u`` has rows ``offsets[u]:offsets[u + 1]``."""

    offsets: Ints
    traces: Ints
    weights: Floats


class PopulationMovement(NamedTuple):
    """Where the population goes from each place.

    Attributes
    ----------
    offsets, targets, values
        From place ``x`` to ``targets[offsets[x]:offsets[x + 1]]`` with these probabilities, …
    rest
        … and with this one to wherever anybody is at that time of day.
    """

    offsets: Ints
    targets: Ints32
    values: Floats
    rest: Floats

    @classmethod
    def of(cls, reference: Traces) -> PopulationMovement:
        """Count the steps from one instant to the next."""
        m = len(reference.places)
        leaving = departures(reference)
        keys = reference.place_index[leaving].astype(np.int64) * m + reference.place_index[leaving + 1]
        distinct, counts = np.unique(keys, return_counts=True)
        origin, target = np.divmod(distinct, max(m, 1))
        total = np.bincount(origin, counts, m) + REST
        offsets = np.searchsorted(origin, np.arange(m + 1)).astype(np.int64)
        return cls(offsets, target.astype(np.int32), counts / total[origin], np.asarray(REST / total))


def keep_likeliest_traces(
    pairs: CandidatePairs, weights: Floats, events: int, *, few: bool = False
) -> CandidateTraces:
    """Keep for each user her likeliest traces, up to nearly all of the certainty.

    With few `events` more traces can be followed. Only a `few` are where traces are disguised as a whole and
    followed by transitions: the others mislead, and time profiles answer better.
    """
    most = DISGUISED if few else int(np.clip(_WORK / max(events, 1), FEWEST, MOST))
    offsets, order = pairs.by_user()
    user, own = pairs.users[order], weights[order]
    ranked = np.lexsort((-own, user))
    user, own, trace = user[ranked], own[ranked], pairs.traces[order][ranked]
    before = np.cumsum(own) - own
    before -= before[offsets[user]]
    rank = np.arange(len(user)) - offsets[user]
    kept = (rank < most) & (before < ENOUGH) & (own > 1e-3)
    bounds = np.searchsorted(user[kept], np.arange(pairs.n_users + 1))
    return CandidateTraces(bounds.astype(np.int64), trace[kept].astype(np.int64), own[kept])


def infer_places(
    anonymized: ObfuscatedTraces,
    said: Ints32,
    emission: Channel,
    habits: TimeProfiles,
    around: Neighbourhoods,
    movement: PopulationMovement,
    followed: CandidateTraces,
    sensitive: Floats,
    limit_km: float,
    *,
    share: float,
    beam: float = BEAM,
    doubt: float = DOUBT,
    ignored: float = IGNORED,
) -> Ints32:
    """Return users × instants of answers."""
    from tracearena.attacks.bayesian._tracking_kernels import infer_users

    table = np.full((anonymized.n_users, anonymized.n_instants), NOTHING, np.int32)
    kept = said != NOTHING
    table[anonymized.user_index[kept], anonymized.instants[kept] - anonymized.span[0]] = said[kept]
    answers = np.empty((habits.n_users, anonymized.n_instants), np.int32)
    worth = np.maximum(1 - around.distance_km / limit_km, 0.0)
    common = habits.compute_population_gains(around, worth, sensitive)
    first_time = int(anonymized.clock.time_of_day(anonymized.span[0]))

    def work(block: int, first: int, stop: int) -> None:
        infer_users(
            first, stop, *followed, table,
            emission.offsets, emission.places, emission.values, emission.floor,
            habits.arrays, OTHERS, *movement, share, beam, doubt, ignored,
            around.offsets, around.members, worth, sensitive, common, first_time, answers,
        )  # fmt: skip

    run_blocks(work, block_ranges(habits.n_users, _USERS_PER_BLOCK))
    return answers
