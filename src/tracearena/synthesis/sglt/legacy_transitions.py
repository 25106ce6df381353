"""Aggregate mobility as the published program computes it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis.sglt.preparation import DaySeeds
from tracearena.traces import Places


def legacy_mobility(seeds: DaySeeds, profiles: MobilityProfiles, places: Places) -> AggregateMobility:
    """Return how the population moves: half counted, half by distance alone.

    Transitions are counted over all seeds together, each day's last instant leading to its first, with
    1 / places added to every count; the other half of a row falls with the square of the distance.

    Notes
    -----
    A place has no distance to itself: staying has its counted half alone.

    Examples
    --------
    >>> from tracearena.traces import Clock, Traces
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
    >>> traces = Traces.from_dense([[0, 0, 0, 1]], places, clock)
    >>> found = legacy_mobility(DaySeeds.of(traces), MobilityProfiles.of(traces), places)
    >>> found.moves[0].round(3).tolist()
    [[0.312, 0.688], [0.875, 0.125]]
    """
    usual = AggregateMobility.of(profiles, places)
    of_time, m = profiles.periods.of_time, len(places)
    number = usual.pairs[of_time, np.roll(of_time, -1)]
    counted = np.full(usual.moves.shape, 1 / m)
    here, there = seeds.places, np.roll(seeds.places, -1, axis=1)
    known = np.broadcast_to(number >= 0, here.shape)
    step = np.broadcast_to(number, here.shape)[known]
    np.add.at(counted, (step, here[known], there[known]), 1.0)
    counted /= counted.sum(axis=2, keepdims=True)
    near = _by_distance(places)
    moves = (counted + near) / (1 + (near.sum(axis=1) > 0))[:, None]
    return AggregateMobility(usual.periods, usual.visits, usual.pairs, moves)


def _by_distance(places: Places) -> NDArray[np.float64]:
    """Return rows that fall with the square of the distance and sum to 1; all 0 for a lone place."""
    distance = places.distance_table_km
    apart = distance > 0
    near = np.where(apart, 1 / np.where(apart, distance, 1) ** 2, 0.0)
    total = near.sum(axis=1, keepdims=True)
    return np.asarray(near / np.where(total > 0, total, 1))
