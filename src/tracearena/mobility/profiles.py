"""Mobility profiles: visit and transition probabilities of users."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.errors import DataError, ParameterError
from tracearena.mobility.transitions import departures
from tracearena.traces import Clock, Places, Traces


@dataclass(frozen=True, eq=False)
class MobilityProfiles:
    """Visit and transition probabilities of many users in each time period ([1] section 3.1).

    Attributes
    ----------
    n_users, n_places
        Number of users and of places.
    periods
        The time periods of a day.
    visit_offsets
        Row ``u * len(periods) + τ`` has the visited places of user u in period τ.
    visit_places, visit_probabilities
        π_r^τ(u): visited places, ascending in a row, and their probabilities.
    move_offsets
        Row ``e * len(periods) + τ'`` has the next places after visit entry ``e`` (a user, period and place)
        if the next instant is in τ'.
    move_places, move_probabilities
        p_{r,r'}^{τ,τ'}(u): next places, ascending in a row, and their probabilities.

    References
    ----------
    .. [1] Bindschaedler and Shokri, Synthesizing plausible privacy-preserving location traces,
       IEEE S&P 2016 [sglt].

    Notes
    -----
    Probabilities are relative frequencies. If a user is never seen to leave a visited place, the profile
    stays there, so that every profile is complete and has similarity 1 to itself.
    """

    n_users: int
    n_places: int
    periods: Periods
    visit_offsets: NDArray[np.int64]
    visit_places: NDArray[np.int32]
    visit_probabilities: NDArray[np.float64]
    move_offsets: NDArray[np.int64]
    move_places: NDArray[np.int32]
    move_probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, traces: Traces, periods: int | str = 1) -> MobilityProfiles:
        """Count the visits and transitions of every user.

        Parameters
        ----------
        periods
            Number of time periods of equal length in a day, at least 1 and at most the number of instants of
            a day; or the hours at which periods begin, such as ``6-12-18-22`` (`Periods.of`). Use long
            periods, such as morning, afternoon, evening and night: with one event per period, all profiles
            are alike.

        Examples
        --------
        >>> from tracearena.traces import Places
        >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=4)
        >>> profiles = MobilityProfiles.of(Traces.from_dense([[0, 0, 0, 1]], places, clock))
        >>> profiles.visit_places.tolist(), profiles.visit_probabilities.tolist()
        ([0, 1], [0.75, 0.25])
        """
        cut = Periods.of(traces.clock, periods)
        m, t = max(len(traces.places), 1), len(cut)
        visit_rows = traces.user_index.astype(np.int64) * t + cut.of_instants(traces.clock, traces.instants)
        cells, entry, counts = np.unique(
            visit_rows * m + traces.place_index, return_inverse=True, return_counts=True
        )
        visits, visited = _split_rows(cells, counts, traces.n_users * t, m), cells % m
        # Moves of a visit entry to each period; where none was seen, the user stays.
        leaving = departures(traces)
        rows = entry[leaving] * t + cut.of_instants(traces.clock, traces.instants[leaving + 1])
        n_rows = len(visited) * t
        staying = np.setdiff1d(np.arange(n_rows), rows)
        steps = [rows * m + traces.place_index[leaving + 1], staying * m + visited[staying // t]]
        moves = _split_rows(*np.unique(np.concatenate(steps), return_counts=True), n_rows, m)
        return cls(traces.n_users, len(traces.places), cut, *visits, *moves)

    def of_user(self, user: int) -> MobilityProfiles:
        """Return the profile of one user."""
        t = len(self.periods)
        visits = self.visit_offsets[user * t : (user + 1) * t + 1]
        entries = slice(visits[0], visits[-1])
        moves = self.move_offsets[visits[0] * t : visits[-1] * t + 1]
        steps = slice(moves[0], moves[-1])
        return MobilityProfiles(
            1,
            self.n_places,
            self.periods,
            visits - visits[0],
            self.visit_places[entries],
            self.visit_probabilities[entries],
            moves - moves[0],
            self.move_places[steps],
            self.move_probabilities[steps],
        )

    @property
    def place_counts(self) -> NDArray[np.int64]:
        """Number of places of each user in each period, users × periods."""
        return np.diff(self.visit_offsets).reshape(self.n_users, len(self.periods))

    def visit_table(self) -> NDArray[np.float64]:
        """Return π as users × periods × places; for small data."""
        rows = np.repeat(np.arange(len(self.visit_offsets) - 1), np.diff(self.visit_offsets))
        table = np.zeros((len(self.visit_offsets) - 1, self.n_places))
        table[rows, self.visit_places] = self.visit_probabilities
        return table.reshape(self.n_users, len(self.periods), self.n_places)


@dataclass(frozen=True, eq=False)
class Periods:
    """Time periods of a day.

    Attributes
    ----------
    of_time
        Period τ of each instant of a day, from 0. A period may have several parts of the day, such as the
        hours before and after work.
    shares
        P(τ): share of a day's instants in each period.
    pair_shares
        P(τ, τ'): share of a day's steps from an instant in τ to the next in τ'.
    """

    of_time: NDArray[np.int64]
    shares: NDArray[np.float64]
    pair_shares: NDArray[np.float64]

    @classmethod
    def of(cls, clock: Clock, periods: int | str) -> Periods:
        """Divide a day into periods of equal length (to an instant), or at given hours.

        Parameters
        ----------
        periods
            Number of periods; or the hours at which they begin, in ascending order and joined by ``-``. The
            hours before the first one belong to the last period, which continues after midnight. Periods
            without instants are dropped.

        Examples
        --------
        >>> Periods.of(Clock(instants_per_day=5), 2).of_time.tolist()
        [0, 0, 0, 1, 1]
        >>> Periods.of(Clock(instants_per_day=12, interval_s=7200), "6-12-22").of_time.tolist()
        [2, 2, 2, 0, 0, 0, 1, 1, 1, 1, 1, 2]
        """
        length = clock.instants_per_day
        if isinstance(periods, str):
            starts = np.array(parse_period_hours(periods))
            hours = clock.second_of_day(np.arange(length)) / 3600
            named = (np.searchsorted(starts, hours, side="right") - 1) % len(starts)
            of_time = np.unique(named, return_inverse=True)[1].astype(np.int64)
        else:
            require_whole("periods", periods, at_least=1, at_most=length)
            of_time = np.arange(length) * int(periods) // length
        count = int(of_time.max()) + 1
        pairs = np.zeros((count, count))
        np.add.at(pairs, (of_time[:-1], of_time[1:]), 1.0)
        # A day of one instant has no steps; its only pair of periods then has the whole weight.
        pairs = pairs / pairs.sum() if length > 1 else np.ones((1, 1))
        return cls(of_time, np.bincount(of_time, minlength=count) / length, pairs)

    def __len__(self) -> int:
        return len(self.shares)

    def of_instants(self, clock: Clock, instants: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the period of each instant."""
        return self.of_time[clock.time_of_day(instants)]


def parse_period_hours(text: str) -> list[int]:
    """Read the hours at which periods begin, such as ``6-12-18-22``.

    >>> parse_period_hours("6-12-18-22")
    [6, 12, 18, 22]
    """
    hours = [int(part) for part in text.split("-")] if re.fullmatch(r"\d{1,2}(-\d{1,2})*", text) else []
    if not hours or hours != sorted(set(hours)) or hours[-1] > 23:
        raise ParameterError.of("periods", text, "a number, or rising hours from 0 to 23 such as 6-12-18-22")
    return hours


def _split_rows(
    cells: NDArray[np.int64], counts: NDArray[np.int64], n_rows: int, n_places: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return offsets of rows, places, and their share of a row, from counted cells row · places + place."""
    row, place = np.divmod(cells, n_places)
    offsets = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64)
    totals = np.bincount(row, weights=counts, minlength=n_rows)
    return offsets, place.astype(np.int32), counts / totals[row]


# Aggregate mobility: how the whole population moves.

EPSILON = 5e-4


@dataclass(frozen=True, eq=False)
class AggregateMobility:
    """Mean of mobility profiles, with a small probability for every possible move.

    Attributes
    ----------
    periods
        Time periods of a day, for which visits are averaged; moves are averaged for pairs of periods that
        follow each other.
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
            Weight of an unseen move, above 0.

        Notes
        -----
        The paper mentions a small constant that decreases with distance, but neither its size nor its form.
        The default was chosen so that SGLT comes close to its published results on people-flow data;
        agreement with them is therefore not an independent check.

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
        t, m = len(profiles.periods), profiles.n_places
        rows = np.repeat(np.arange(len(profiles.visit_offsets) - 1), np.diff(profiles.visit_offsets))
        entries = np.repeat(np.arange(len(profiles.move_offsets) - 1), np.diff(profiles.move_offsets))
        nearness = epsilon / (1 + places.distance_table_km)
        matrices = []
        for tau, then in zip(*np.nonzero(used), strict=True):
            step = (rows[entries // t] % t == tau) & (entries % t == then)
            origins = profiles.visit_places[entries[step] // t].astype(np.int64)
            weights = profiles.move_probabilities[step] / profiles.n_users
            counts = np.bincount(origins * m + profiles.move_places[step], weights, m * m)
            matrices.append(counts.reshape(m, m) + nearness)
        moves = np.stack(matrices)
        moves /= moves.sum(axis=2, keepdims=True)
        cells = rows % t * m + profiles.visit_places
        total = np.bincount(cells, weights=profiles.visit_probabilities, minlength=t * m).reshape(t, m)
        # In a period without events all places are equally likely.
        sums = total.sum(axis=1, keepdims=True)
        visits = np.where(sums > 0, total / np.where(sums > 0, sums, 1), 1 / m)
        return cls(profiles.periods, visits, pairs, moves)

    def at_steady_state(self) -> AggregateMobility:
        """Return the same with visits where a population that moves by the matrices settles.

        [sglt] section 4.2 calls π̄ the steady state of p̄. The mean of the users' visits is not, in general:
        users who move more often weigh more in p̄. A day's steps are taken in their order, the last instant
        leading to the first of the next day, and the distribution that returns after a day is averaged over
        the instants of each period.

        Examples
        --------
        >>> from tracearena.traces import Clock, Traces
        >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=5)
        >>> traces = Traces.from_dense([[0, 0, 0, 1, 0]], places, clock)
        >>> mobility = AggregateMobility.of(MobilityProfiles.of(traces), places)
        >>> mobility.at_steady_state().visits.round(2).tolist()
        [[0.75, 0.25]]
        """
        of_time, m = self.periods.of_time, self.visits.shape[1]
        back = self.pairs[of_time[-1], of_time[0]]
        steps = list(self.step_numbers) + ([back] if back >= 0 else [])
        day = np.eye(m)
        for number in steps:
            day = day @ self.moves[number]
        # The distribution p with p · day = p and sum 1; every move is possible, so there is exactly one.
        equations = np.vstack([day.T - np.eye(m), np.ones(m)])
        now = np.linalg.lstsq(equations, np.append(np.zeros(m), 1.0), rcond=None)[0]
        visits = np.zeros_like(self.visits)
        for time, tau in enumerate(of_time):
            visits[tau] += now
            if time < len(of_time) - 1:
                now = now @ self.moves[self.step_numbers[time]]
        visits = np.maximum(visits, 0.0)
        return replace(self, visits=visits / visits.sum(axis=1, keepdims=True))

    @property
    def step_numbers(self) -> NDArray[np.int64]:
        """Number of the transition matrix of each step of a day (one fewer than its instants)."""
        of_time = self.periods.of_time
        return self.pairs[of_time[:-1], of_time[1:]]

    def starts(self, smallest: float = 1e-9) -> NDArray[np.float64]:
        """Return the distribution of the first place of a day; every place is possible."""
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
