"""Rhythm: how much a visit says of other times of day, found on days that are held out of the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Clock, Traces

TEMPORAL_KERNELS = ((1.0, 0.5), (1.0, 0.3), (1.0, 0.2), (0.5, 0.3), (0.5, 0.2), (2.0, 0.5))
"""A visit counts for other times of day by e^(-hours apart / the first), but for the second, which is the
share of it that counts for the whole day alike."""
CLEARLY = 0.01
"""The first is kept unless another makes a visit likelier by so much, in the mean of its logarithm."""

_MOST_COMPARED = 2e7


def build_temporal_kernel(clock: Clock, hours: float, any_time: float) -> NDArray[np.float64]:
    """Return in row s how a visit at time s counts for every time of day."""
    hour = np.arange(clock.instants_per_day) * clock.interval_s / 3600
    near = np.exp(-np.abs(hour[:, None] - hour[None, :]) / hours)
    near /= near.sum(axis=0)
    return np.asarray(any_time / len(hour) + (1 - any_time) * near)


def fit_temporal_kernel(
    reference: Traces, population: NDArray[np.float64], others: float
) -> NDArray[np.float64]:
    """Return how a visit counts for every time of day where people are as regular as these.

    Every visit of some users is foretold from their other days and from what everybody does. People
    whose days are alike are foretold best by visits at that very time of day; where days differ, or are
    few, visits at other times say as much.

    Parameters
    ----------
    population
        Places × times of day: where everybody tends to be.
    others
        Weight of the population beside the user's own visits of 1.
    """
    from tracearena.attacks.bayesian._matching_kernels import score_held_out_visits

    tables = np.stack([build_temporal_kernel(reference.clock, *one) for one in TEMPORAL_KERNELS], axis=2)
    some = _sample_users(reference)
    times, days = some.clock.time_of_day(some.instants), some.clock.day_of(some.instants)
    likely = np.zeros(len(TEMPORAL_KERNELS))
    told = score_held_out_visits(
        some.offsets, some.place_index, times, days, tables, population, others, likely
    )
    if not told:
        return tables[:, :, 0].copy()
    likely /= told
    best = int(likely.argmax()) if likely.max() - likely[0] > CLEARLY else 0
    return tables[:, :, best].copy()


def _sample_users(reference: Traces) -> Traces:
    """Return users all over the list, as many as can be looked at with every two of their visits."""
    compared = np.diff(reference.offsets).astype(np.float64) ** 2
    every = max(int(np.ceil(compared.sum() / _MOST_COMPARED)), 1)
    return reference.take_users(np.arange(0, reference.n_users, every))
