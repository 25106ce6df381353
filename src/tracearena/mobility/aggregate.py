"""Aggregate mobility: how the whole population moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.errors import DataError
from tracearena.mobility.profiles import MobilityProfiles, Periods
from tracearena.traces import Places

EPSILON = 5e-4


@dataclass(frozen=True, eq=False)
class AggregateMobility:
    """Mean of many mobility profiles, with a small probability for every possible move.

    Attributes
    ----------
    periods
        Time periods of a day.
    visits
        π̄: periods × places, the mean of the users' visit distributions.
    pairs
        Periods × periods: number of the transition matrix for a step from τ to τ', -1 where no
        step of a day is one.
    moves
        p̄: matrices × places × places, all positive, rows sum to 1.

    References
    ----------
    [sglt] section 4.2.
    """

    periods: Periods
    visits: NDArray[np.float64]
    pairs: NDArray[np.int64]
    moves: NDArray[np.float64]

    @classmethod
    def of(cls, profiles: MobilityProfiles, places: Places, *, epsilon: float = EPSILON) -> AggregateMobility:
        """Average the profiles: p̄ ∝ mean over users of p + ε / (1 + distance in km).

        Parameters
        ----------
        epsilon
            Weight of a move that nobody was seen to make, above 0.

        Notes
        -----
        The paper says that a small constant shrinks with distance, not how small nor how it shrinks.
        The default was chosen among several so that SGLT comes near its published results on
        people-flow data; agreement with them is therefore no independent check.

        Examples
        --------
        >>> from tracearena.traces import Clock, Traces
        >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
        >>> traces = Traces.from_dense([[0, 0, 0, 1]], places, clock)
        >>> mobility = AggregateMobility.of(MobilityProfiles.of(traces), places)
        >>> mobility.moves[0].round(3).tolist()
        [[0.667, 0.333], [0.0, 1.0]]
        """
        require_number("epsilon", epsilon, above=0)
        if profiles.n_users == 0 or not len(profiles.visit_places):
            raise DataError("aggregate mobility needs at least one user with an event")
        used = profiles.periods.pair_shares > 0
        pairs = np.where(used, np.cumsum(used).reshape(used.shape) - 1, -1)
        nearness = epsilon / (1 + places.distance_table_km)
        moves = np.stack(
            [_mean_moves(profiles, tau, then) + nearness for tau, then in zip(*np.nonzero(used), strict=True)]
        )
        moves /= moves.sum(axis=2, keepdims=True)
        return cls(profiles.periods, _mean_visits(profiles), pairs, moves)

    @property
    def step_numbers(self) -> NDArray[np.int64]:
        """Number of the transition matrix of each step of a day (one fewer than its instants)."""
        of_time = self.periods.of_time
        return self.pairs[of_time[:-1], of_time[1:]]

    def starts(self, smallest: float = 1e-9) -> NDArray[np.float64]:
        """Return the distribution of a day's first place, every place being possible."""
        first = self.visits[self.periods.of_time[0]] + smallest
        return np.asarray(first / first.sum())

    def visit_similarity(self, other: AggregateMobility) -> float:
        """Return the zeroth-order geographic similarity of two populations, from 0 to 1."""
        overlap = np.minimum(self.visits, other.visits).sum(axis=1)
        return float(np.dot(self.periods.shares, overlap))

    def move_similarity(self, other: AggregateMobility) -> float:
        """Return the first-order geographic similarity to another population, from 0 to 1."""
        total = 0.0
        for tau, then in zip(*np.nonzero(self.pairs >= 0), strict=True):
            number = self.pairs[tau, then]
            overlap = np.minimum(self.moves[number], other.moves[number]).sum(axis=1)
            total += self.periods.pair_shares[tau, then] * float(np.dot(self.visits[tau], overlap))
        return total


def _mean_visits(profiles: MobilityProfiles) -> NDArray[np.float64]:
    t, m = len(profiles.periods), profiles.n_places
    rows = np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))
    cells = rows % t * m + profiles.visit_places
    total = np.bincount(cells, weights=profiles.visit_probabilities, minlength=t * m).reshape(t, m)
    # A period in which nobody was seen says nothing: all places are then alike.
    sums = total.sum(axis=1, keepdims=True)
    return np.where(sums > 0, total / np.where(sums > 0, sums, 1), 1 / m)


def _mean_moves(profiles: MobilityProfiles, tau: int, then: int) -> NDArray[np.float64]:
    t, m = len(profiles.periods), profiles.n_places
    entry_rows = np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))
    entries = np.repeat(np.arange(len(profiles.move_offsets) - 1), np.diff(profiles.move_offsets))
    wanted = (entry_rows[entries // t] % t == tau) & (entries % t == then)
    cells = profiles.visit_places[entries[wanted] // t].astype(np.int64) * m + profiles.move_places[wanted]
    weights = profiles.move_probabilities[wanted] / profiles.n_users
    return np.asarray(np.bincount(cells, weights=weights, minlength=m * m).reshape(m, m), np.float64)
