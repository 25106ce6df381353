"""A hidden Markov model of each user's day: states are places, emissions E(y|x), decoded forward-backward.

Transitions are (1-γ)P_{u,t} + γQ, Q the population's. The posteriors of the candidate traces are mixed with
their weights W[u,p], and the answer maximises Σ_x q(x) w(x) (1 - G(x, c)). With γ = 0 events are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.attacks.bayesian.channel import NOTHING, Channel
from tracearena.attacks.bayesian.pairs import CandidatePairs
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.engine import block_ranges, run_blocks
from tracearena.mobility.transitions import departures
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(frozen=True)
class TrackingSettings:
    """Constants of the hidden Markov model and of the decision."""

    transition_share: float = 0.85
    """γ: share of the population's transitions; the rest is the user's time profile. How it was
    tuned is not recorded. Markov-R has a γ of its own (`LikelihoodSettings.transition_share`)."""
    beam: float = 3e-3
    """Places less likely than this share of the likeliest one are left out at an instant; 0 keeps all.
    Changes 0.4 % of the answers (benchmarks/bench_tracking.py)."""
    ignored_share: float = 1e-2
    """The same for the places that the decision sums over."""
    doubt: float = 0.02
    """ε: probability that no released trace is the user's. Chosen by hand, not tuned."""
    prior_transitions: float = 5.0
    """Prior transitions from each place, distributed as the population at that time of day. Chosen by
    hand, not tuned."""
    min_traces: int = 8
    """Candidate traces of a user that are followed where there are many events. Chosen by hand, not tuned."""
    max_traces: int = 32
    """The same where there are few events. Chosen by hand, not tuned."""
    enough_posterior: float = 0.95
    """Traces are followed until their posteriors sum to this. Chosen by hand, not tuned."""
    min_posterior: float = 1e-3
    """Traces with a smaller posterior are not followed. Chosen by hand, not tuned."""
    disguised_traces: int = 4
    """Traces followed where whole traces are disguised. Tuned on 700 users of team 77
    (docs/measurements/winners.md)."""
    disguised_share: float = 0.6
    """Largest γ there: moved visits are not transitions. Tuned on the same users."""
    max_work: float = 6.4e6
    """Traces followed times events. Chosen by hand, not tuned."""
    users_per_block: int = 8
    """Users who are answered at a time. Chosen by hand, not tuned."""


SETTINGS = TrackingSettings()


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
        total = np.bincount(origin, counts, m) + SETTINGS.prior_transitions
        offsets = np.searchsorted(origin, np.arange(m + 1)).astype(np.int64)
        return cls(
            offsets,
            target.astype(np.int32),
            counts / total[origin],
            np.asarray(SETTINGS.prior_transitions / total),
        )


def keep_likeliest_traces(
    pairs: CandidatePairs, weights: Floats, events: int, *, few: bool = False
) -> CandidateTraces:
    """Keep for each user her likeliest traces, up to nearly all of the certainty.

    With few `events` more traces can be followed. Only a `few` are where traces are disguised as a whole and
    followed by transitions: the others mislead, and time profiles answer better.
    """
    most = (
        SETTINGS.disguised_traces
        if few
        else int(np.clip(SETTINGS.max_work / max(events, 1), SETTINGS.min_traces, SETTINGS.max_traces))
    )
    offsets, order = pairs.by_user()
    user, own = pairs.users[order], weights[order]
    ranked = np.lexsort((-own, user))
    user, own, trace = user[ranked], own[ranked], pairs.traces[order][ranked]
    before = np.cumsum(own) - own
    before -= before[offsets[user]]
    rank = np.arange(len(user)) - offsets[user]
    is_likely = (before < SETTINGS.enough_posterior) & (own > SETTINGS.min_posterior)
    kept = is_likely & (rank < most)
    bounds = np.searchsorted(user[kept], np.arange(pairs.n_users + 1))
    return CandidateTraces(bounds.astype(np.int64), trace[kept].astype(np.int64), own[kept])


@dataclass(frozen=True, eq=False)
class PlaceModel:
    """What is known of the defence and of people when their places are inferred.

    Attributes
    ----------
    channel
        E(y|x).
    profiles, movement
        P_{u,t}(x) of the users, and Q of the population.
    neighbourhoods
        The places c with G(x, c) < 1 for each place x.
    sensitive
        w(x): weight of each place in the score.
    limit_km
        The distance from which on G is 1.
    """

    channel: Channel
    profiles: TimeProfiles
    movement: PopulationMovement
    neighbourhoods: Neighbourhoods
    sensitive: Floats
    limit_km: float


def infer_places(
    anonymized: ObfuscatedTraces,
    observed: Ints32,
    model: PlaceModel,
    candidates: CandidateTraces,
    *,
    share: float,
    settings: TrackingSettings = SETTINGS,
) -> Ints32:
    """Return users × instants of answers.

    Parameters
    ----------
    observed
        The observation of each anonymized event.
    candidates
        The traces that may be each user's, with the posteriors W[u,p].
    share
        γ; with 0 events are independent.
    """
    from tracearena.attacks.bayesian._tracking_kernels import infer_users

    table = np.full((anonymized.n_users, anonymized.n_instants), NOTHING, np.int32)
    kept = observed != NOTHING
    table[anonymized.user_index[kept], anonymized.instants[kept] - anonymized.span[0]] = observed[kept]
    channel, profiles, near = model.channel, model.profiles, model.neighbourhoods
    answers = np.empty((profiles.n_users, anonymized.n_instants), np.int32)
    worth = np.maximum(1 - near.distance_km / model.limit_km, 0.0)
    common = profiles.compute_population_gains(near, worth, model.sensitive)
    first_time = int(anonymized.clock.time_of_day(anonymized.span[0]))

    def work(block: int, first: int, stop: int) -> None:
        infer_users(
            first, stop, *candidates, table,
            channel.offsets, channel.places, channel.values, channel.floor, profiles.arrays,
            *model.movement, share, settings.beam, settings.doubt, settings.ignored_share,
            near.offsets, near.members, worth, model.sensitive, common, first_time, answers,
        )  # fmt: skip

    run_blocks(work, block_ranges(profiles.n_users, settings.users_per_block))
    return answers
