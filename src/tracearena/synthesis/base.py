"""What every synthesizer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike
from tracearena.errors import DataError, ParameterError
from tracearena.registry import Algorithm, Kind
from tracearena.traces import Clock, Places, Traces


class Synthesizer(Algorithm, ABC):
    """Learns from training traces and makes synthetic ones, some for each training user.

    Write your own as a keyword-only dataclass with a `name`, a `fit` and a `synthesize`.
    """

    kind: ClassVar[Kind] = "synthesizer"

    @abstractmethod
    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Learn from the training traces."""

    @abstractmethod
    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``."""


def trainable(traces: Traces) -> Traces:
    """Refuse traces from which nothing can be learned."""
    if traces.n_users == 0 or traces.n_events == 0:
        raise DataError("training needs at least one user and one event")
    return traces


def traces_of_days(
    table: NDArray[np.int32], places: Places, clock: Clock, user_ids: NDArray[np.generic]
) -> Traces:
    """Turn users × days × instants of a day into traces whose days are numbers, not dates."""
    users, days, length = table.shape
    if length != clock.instants_per_day:
        raise DataError(f"{length} instants a day where the clock has {clock.instants_per_day}")
    dense = table.reshape(users, days * length)
    return Traces.from_dense(dense, places, replace(clock, first_day=None), user_ids=user_ids)


def checked_count(value: int, name: str = "traces_per_user") -> int:
    """Refuse anything but a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError.of(name, value, "a whole number of at least 1")
    return int(value)
