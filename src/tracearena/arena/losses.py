"""What attackers missed of each user, so that users can be drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.scoring import Scoring
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.metrics.contest_scores import places_at
from tracearena.results import Result
from tracearena.traces import Traces

DRAWS = 1000
"""How often the users are drawn anew."""
SURE = 0.95
"""Share of these draws that an interval holds."""

_DRAWS_AT_ONCE = 50


@dataclass(frozen=True)
class Interval(Result):
    """A number, and where 95 % of the draws of other users put it."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


class Losses(NamedTuple):
    """What an attacker missed of each user, and how much there was to find."""

    missed: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, original: Traces, inferred: Traces, scoring: Scoring) -> Losses:
        """Weigh the distances of each user's answers as `trace_inference_score` does."""
        if not original.n_events:
            raise DataError("there are no events to score")
        distance = original.places.distance_km(original.place_index, places_at(inferred, original))
        sensitive = original.places.sensitive[original.place_index]
        weight = np.where(sensitive, scoring.sensitive_weight, 1.0)
        missed = weight * np.minimum(distance / scoring.inference_limit_km, 1)
        user, count = original.user_index, original.n_users
        sums = [np.bincount(user, one, count).astype(np.float64) for one in (missed, weight)]
        return cls(sums[0], sums[1])

    @property
    def score(self) -> float:
        """s_T."""
        return float(self.missed.sum() / self.weight.sum())

    def interval(self, seed: SeedLike, beside: Losses | None = None) -> Interval:
        """Return the score, or its difference to another of the same users, and its interval."""
        value = self.score - (0.0 if beside is None else beside.score)
        missed = self.missed if beside is None else self.missed - beside.missed
        rng, users = generator(seed), len(missed)
        drawn = []
        for _ in range(0, DRAWS, _DRAWS_AT_ONCE):
            times = rng.multinomial(users, np.full(users, 1 / users), _DRAWS_AT_ONCE)
            weight = times @ self.weight
            drawn.append((times @ missed)[weight > 0] / weight[weight > 0])
        low, high = np.quantile(np.concatenate(drawn), [(1 - SURE) / 2, (1 + SURE) / 2])
        return Interval(value, float(low), float(high))
