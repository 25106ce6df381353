"""Reference replay: people do tomorrow what they did yesterday."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import TraceInferenceAttack
from tracearena.attacks.matching import check_places
from tracearena.checks import require_fitted, require_kind
from tracearena.engine import SeedLike, seed_sequence, uniforms
from tracearena.errors import DataError
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(kw_only=True)
class ReferenceReplay(TraceInferenceAttack):
    """Answer with the user's own reference trace, day after day, time of day by time of day.

    It never looks at the anonymized traces, and still beat every sample attack of the short
    preliminary round of 2019 (REFERENCE of the contest: s_T of about 0.80 on two days).

    Notes
    -----
    The k-th day is answered with the k-th reference day, over and over if there are fewer. Where
    the user has no reference event then, her most recent earlier one of that day stands in, then
    the next later one; without any, a random place.
    """

    name: ClassVar[str] = "Replay-T"

    def fit(self, reference: Traces) -> Self:
        """Remember the reference traces."""
        require_kind(self, reference, Traces)
        self.reference_ = reference
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the reference places in the stead of the anonymized ones."""
        require_fitted(self, "reference_")
        require_kind(self, anonymized, ObfuscatedTraces)
        clock, reference = anonymized.clock, self.reference_
        check_places(reference, anonymized)
        if clock.instants_per_day != reference.clock.instants_per_day:
            raise DataError(
                f"the reference traces have {reference.clock.instants_per_day} instants a day, "
                f"the anonymized ones {clock.instants_per_day}"
            )
        instants = np.arange(*anonymized.span)
        day = clock.day_of(instants) - clock.day_of(anonymized.span[0])
        known = _days(reference)
        table = known[:, day % known.shape[1], clock.time_of_day(instants)]
        chance = uniforms(seed_sequence(seed), table.size).reshape(table.shape)
        table = np.where(table < 0, (chance * len(reference.places)).astype(np.int32), table)
        return Traces.from_dense(
            table, anonymized.places, clock, user_ids=reference.user_ids, first_instant=anonymized.span[0]
        )


def _days(reference: Traces) -> NDArray[np.int32]:
    """Return users × days × times of day, gaps filled from the same day, -1 where a day is empty."""
    clock = reference.clock
    first = int(clock.day_of(reference.span[0]))
    days = max(int(clock.day_of(max(reference.span[1] - 1, 0))) - first + 1, 1)
    table = np.full((reference.n_users, days, clock.instants_per_day), -1, np.int32)
    day, time = clock.day_of(reference.instants) - first, clock.time_of_day(reference.instants)
    table[reference.user_index, day, time] = reference.place_index
    for filled in (table, table[..., ::-1]):
        for time_of_day in range(1, clock.instants_per_day):
            now, before = filled[..., time_of_day], filled[..., time_of_day - 1]
            now[now < 0] = before[now < 0]
    return table
