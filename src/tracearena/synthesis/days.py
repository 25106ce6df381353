"""Whole days in, whole days out: what every synthesizer is given and makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import require_kind
from tracearena.errors import DataError
from tracearena.traces import Clock, Places, Traces


def trainable(synthesizer: Synthesizer, traces: Traces) -> Traces:
    """Refuse what is not traces, and traces from which nothing can be learned."""
    require_kind(synthesizer, traces, Traces)
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
