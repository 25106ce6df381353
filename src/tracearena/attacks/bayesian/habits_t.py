"""Habits-T: where people tend to be at that time of day, the release not even read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import TraceInferenceAttack, setting
from tracearena.attacks.bayesian.habits import OTHERS, Habits, check_times, sensitivity
from tracearena.attacks.bayesian.surroundings import Surroundings
from tracearena.attacks.matching import check_places
from tracearena.checks import HEAVIEST, LARGEST_KM, require_fitted, require_kind, require_number
from tracearena.engine import SeedLike, block_ranges, run_blocks
from tracearena.errors import DataError
from tracearena.traces import ObfuscatedTraces, Traces

_USERS_PER_BLOCK = 16


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
        habits = Habits.in_rhythm(reference, around)
        worth = sensitivity(reference, self.sensitive_weight)
        self.answers_ = habit_answers(habits, around, self.limit_km, worth)
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
