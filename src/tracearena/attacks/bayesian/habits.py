"""Habits: where a user tends to be at each time of day, and the attack that knows nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.kinds import TraceInferenceAttack, setting
from tracearena.attacks.bayesian.surroundings import Surroundings, Weighted
from tracearena.attacks.matching import check_places
from tracearena.checks import HEAVIEST, LARGEST_KM, require_fitted, require_kind, require_number
from tracearena.engine import SeedLike, block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.traces import Clock, ObfuscatedTraces, Traces

HOURS = 1.0
"""A visit counts for other times of day by e^(-hours apart / HOURS), …"""
ANY_TIME = 0.5
"""… but for this share of it, which counts for the whole day alike."""
NEARBY = 0.3
"""Share of a visit that counts for the places around, …"""
NEARBY_KM = 0.5
"""… by e^(-distance / NEARBY_KM)."""
OTHERS = 0.4
"""Weight of the population's habits beside the user's own of 1."""

_USERS_PER_BLOCK = 16


class ProfileArrays(NamedTuple):
    """What the kernels need to work out the profile of a user, in their order."""

    visit_offsets: NDArray[np.int64]
    times: NDArray[np.int32]
    places: NDArray[np.int32]
    counts: NDArray[np.float64]
    in_time: NDArray[np.float64]
    space_offsets: NDArray[np.int64]
    space_members: NDArray[np.int32]
    space_weights: NDArray[np.float64]
    population: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Habits:
    """P_{u,t}(x) of every user, worked out for one user at a time.

    Attributes
    ----------
    n_places, clock
        What the numbers mean.
    offsets, times, places, counts
        Visits of each user by place and time of day: user ``u`` has rows ``offsets[u]:offsets[u + 1]``.
    in_time
        Row s: how a visit at time s counts for every time of day.
    in_space
        How a visit to a place counts for the places around.
    population
        Places × times of day: P_t(x) of everybody together.
    """

    n_places: int
    clock: Clock
    offsets: NDArray[np.int64]
    times: NDArray[np.int32]
    places: NDArray[np.int32]
    counts: NDArray[np.float64]
    in_time: NDArray[np.float64]
    in_space: Weighted
    population: NDArray[np.float64]

    @classmethod
    def of(cls, traces: Traces | ObfuscatedTraces, around: Surroundings) -> Habits:
        """Count the visits of every user; of a set of places each counts for a part of a visit."""
        event, place, weight = _visits(traces)
        clock, m = traces.clock, len(traces.places)
        length = clock.instants_per_day
        time = clock.time_of_day(traces.instants[event])
        keys = (traces.user_index[event].astype(np.int64) * m + place) * length + time
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, weight, len(distinct))
        rest, times = np.divmod(distinct, length)
        users, places = np.divmod(rest, max(m, 1))
        spread = np.where(around.distance_km > 0, NEARBY * np.exp(-around.distance_km / NEARBY_KM), 0.0)
        in_space = _with_own(around, spread)
        in_time = _in_time(clock)
        table = np.zeros((m, length))
        np.add.at(table, (places, times), counts)
        population = _population(table, in_time, in_space)
        offsets = np.searchsorted(users, np.arange(traces.n_users + 1)).astype(np.int64)
        return cls(
            m,
            clock,
            offsets,
            times.astype(np.int32),
            places.astype(np.int32),
            counts.astype(np.float64),
            in_time,
            in_space,
            population,
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    @property
    def arrays(self) -> ProfileArrays:
        """Everything that the kernels need to work out a profile, in their order."""
        space = self.in_space
        visits = self.offsets, self.times, self.places, self.counts
        return ProfileArrays(
            *visits, self.in_time, space.offsets, space.members, space.weights, self.population
        )

    def of_user(self, user: int, profile: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return places × times of day: where the user tends to be."""
        from tracearena.attacks.bayesian._profile_kernels import fill_profile

        if profile is None:
            profile = np.empty((self.n_places, self.clock.instants_per_day))
        own = slice(self.offsets[user], self.offsets[user + 1])
        fill_profile(
            self.times[own],
            self.places[own],
            self.counts[own],
            self.in_time,
            self.in_space.offsets,
            self.in_space.members,
            self.in_space.weights,
            self.population,
            OTHERS,
            profile,
        )
        return profile

    def common_gains(
        self, around: Surroundings, worth: NDArray[np.float64], sensitive: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return places × times of day: what each answer is worth by the population's habits."""
        from tracearena.attacks.bayesian._profile_kernels import habit_gains

        gains, nothing = np.empty_like(self.population), np.zeros_like(self.population)
        near = around.offsets, around.members, worth
        habit_gains(self.population, nothing, nothing, 0.0, sensitive, *near, gains)
        return gains


def _visits(
    traces: Traces | ObfuscatedTraces,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return event, place and weight of every visit."""
    if isinstance(traces, ObfuscatedTraces):
        return traces.pairs()
    return np.arange(traces.n_events), traces.place_index, np.ones(traces.n_events)


def _with_own(around: Surroundings, spread: NDArray[np.float64]) -> Weighted:
    """Give the places around a place their share, and the place itself the rest."""
    rows = np.repeat(np.arange(len(around.offsets) - 1), np.diff(around.offsets))
    own = around.members == rows
    spread = np.where(own, 0.0, spread)
    total = np.bincount(rows, spread, len(around.offsets) - 1)[rows]
    share = np.where(total > 0, NEARBY, 0.0)
    weights = np.where(own, 1.0 - share, spread * share / np.where(total > 0, total, 1.0))
    return Weighted(around.offsets, around.members, weights)


def _in_time(clock: Clock) -> NDArray[np.float64]:
    hours = np.arange(clock.instants_per_day) * clock.interval_s / 3600
    near = np.exp(-np.abs(hours[:, None] - hours[None, :]) / HOURS)
    near /= near.sum(axis=0)
    return ANY_TIME / len(hours) + (1 - ANY_TIME) * near


def _population(
    table: NDArray[np.float64], in_time: NDArray[np.float64], in_space: Weighted
) -> NDArray[np.float64]:
    from scipy.sparse import csr_array

    m = len(table)
    spread = csr_array((in_space.weights, in_space.members, in_space.offsets), shape=(m, m))
    smooth = np.asarray(spread.T @ (table @ in_time))
    total = smooth.sum(axis=0)
    uniform = 1.0 / max(m, 1)
    known = np.where(total > 0, smooth / np.where(total > 0, total, 1.0), uniform)
    return np.ascontiguousarray(0.999 * known + 0.001 * uniform)


@dataclass(kw_only=True)
class HabitsInference(TraceInferenceAttack):
    """Answer what the reference traces alone make the best answer, the release not even read.

    So it is a ceiling of what any defence can be worth against an attacker with these reference
    traces: whatever a release hides, habits are not in it. The answer at each time of day is the
    place c with the least expected score, argmax_c Σ_x P_{u,t}(x) w(x) (1 - G(x, c)).

    Parameters
    ----------
    sensitive_weight, limit_km
        How answers are scored: the weight w of sensitive places, and the distance at which G is 1.
    """

    name: ClassVar[str] = "Habits-T"

    sensitive_weight: float = setting(10.0)
    limit_km: float = setting(2.0)

    def __post_init__(self) -> None:
        require_number("sensitive_weight", self.sensitive_weight, above=0, at_most=HEAVIEST)
        require_number("limit_km", self.limit_km, above=0, at_most=LARGEST_KM)

    def fit(self, reference: Traces) -> Self:
        """Learn where every user tends to be at each time of day."""
        require_kind(self, reference, Traces)
        if not reference.n_users:
            raise DataError("the reference traces have no users")
        around = Surroundings.of(reference.places, self.limit_km)
        self.reference_ = reference
        self.answers_ = habit_answers(
            Habits.of(reference, around), around, self.limit_km, sensitivity(reference, self.sensitive_weight)
        )
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the best answer for each user and time of day, every day the same."""
        require_fitted(self, "answers_")
        require_kind(self, anonymized, ObfuscatedTraces)
        check_places(self.reference_, anonymized)
        check_times(self.reference_, anonymized)
        instants = np.arange(*anonymized.span)
        table = self.answers_[:, anonymized.clock.time_of_day(instants)]
        return Traces.from_dense(
            table,
            anonymized.places,
            anonymized.clock,
            user_ids=self.reference_.user_ids,
            first_instant=anonymized.span[0],
        )


def sensitivity(reference: Traces, sensitive_weight: float) -> NDArray[np.float64]:
    """Return what finding somebody at each place is worth."""
    return np.where(reference.places.sensitive, sensitive_weight, 1.0)


def check_times(reference: Traces, anonymized: ObfuscatedTraces) -> None:
    """Refuse to compare times of day of different clocks."""
    known, asked = reference.clock.instants_per_day, anonymized.clock.instants_per_day
    if known != asked:
        raise DataError(f"the reference traces have {known} instants a day, the anonymized ones {asked}")


def habit_answers(
    habits: Habits, around: Surroundings, limit_km: float, sensitive: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Return users × times of day: the answer with the least expected score."""
    from tracearena.attacks.bayesian._profile_kernels import best_answers, habit_gains

    length = habits.clock.instants_per_day
    answers = np.empty((habits.n_users, length), np.int32)
    worth = np.maximum(1 - around.distance_km / limit_km, 0.0)
    common = habits.common_gains(around, worth, sensitive)

    def work(block: int, first: int, stop: int) -> None:
        profile, gains = np.empty((2, habits.n_places, length))
        for user in range(first, stop):
            habits.of_user(user, profile)
            share = OTHERS / (1 + OTHERS) if habits.offsets[user + 1] > habits.offsets[user] else 1.0
            near = around.offsets, around.members, worth
            habit_gains(profile, habits.population, common, share, sensitive, *near, gains)
            best_answers(gains, answers[user])

    run_blocks(work, block_ranges(habits.n_users, _USERS_PER_BLOCK))
    return answers
