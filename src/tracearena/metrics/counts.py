"""Counts of traces for the utility metrics, and the diversity of virtual users.

All counts are whole numbers, so that the sum over chunks of users is that of all users to the last bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, generator
from tracearena.errors import DataError
from tracearena.metrics.distributions import FRACTION_BINS, fraction_cells, slot_shares
from tracearena.mobility.transitions import departures, step_probabilities
from tracearena.mobility.weighted import build_weighted_events
from tracearena.traces import Clock, Places, Traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CellCounts:
    """Cells of a table, by number and ascending, and how often each was counted; others were not.

    Examples
    --------
    >>> both = CellCounts.of(np.array([5, 1, 5])) + CellCounts.of(np.array([1]))
    >>> both.numbers.tolist(), both.counts.tolist()
    ([1, 5], [2, 2])
    >>> (both - CellCounts.of(np.array([1, 1]))).numbers.tolist()
    [5]
    """

    numbers: Ints
    counts: Ints

    @classmethod
    def of(cls, numbers: Ints) -> Self:
        """Count cells."""
        return cls(*np.unique(numbers, return_counts=True))

    def __add__(self, other: CellCounts) -> CellCounts:
        return self._add_counts(other.numbers, other.counts)

    def __sub__(self, other: CellCounts) -> CellCounts:
        return self._add_counts(other.numbers, -other.counts)

    def _add_counts(self, numbers: Ints, counts: Ints) -> CellCounts:
        known, index = np.unique(np.concatenate([self.numbers, numbers]), return_inverse=True)
        sums = np.zeros(len(known), np.int64)
        np.add.at(sums, index, np.concatenate([self.counts, counts]))
        return CellCounts(known[sums > 0], sums[sums > 0])

    @property
    def total(self) -> int:
        """How much was counted in all cells."""
        return int(self.counts.sum())

    def part(self, number: int, size: int) -> CellCounts:
        """Return part `number` of parts of `size` cells, its own cells counted from 0."""
        first, stop = np.searchsorted(self.numbers, [number * size, (number + 1) * size])
        return CellCounts(self.numbers[first:stop] - number * size, self.counts[first:stop])

    def dense(self, rows: int, columns: int) -> Ints:
        """Return all cells as a table."""
        table = np.zeros(rows * columns, np.int64)
        table[self.numbers] = self.counts
        return table.reshape(rows, columns)


class Distributions(NamedTuple):
    """What metrics compare.

    Attributes
    ----------
    population
        Slots × places (`population`).
    moves
        Places × places (`transition_matrix`); None is the uniform one.
    fractions
        Places × 24 (`visit_fractions`).
    """

    population: NDArray[np.float64]
    moves: csr_array | None
    fractions: Ints


@dataclass(frozen=True)
class TraceCounts:
    """What was counted of traces: all days together, or each day by itself.

    Attributes
    ----------
    visits
        Events by day, slot and place.
    moves
        Transitions by day, place and next place.
    fractions
        `visit_fractions` by day, place and bin.
    expected
        How many events complete traces of the same users would have.
    again
        Events at the same instant as the one before.

    Examples
    --------
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=2)
    >>> traces = Traces.from_dense([[0, 1], [1, 1]], places, clock)
    >>> first, second = (TraceCounts.of(traces.take_users([user])) for user in (0, 1))
    >>> (first + second).on_day(0).population.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    places: Places
    clock: Clock
    visits: CellCounts
    moves: CellCounts
    fractions: CellCounts
    expected: int
    again: int

    @classmethod
    def of(cls, traces: Traces, *, by_day: bool = False) -> Self:
        """Count traces; `by_day` as in `tm_tv`."""
        events, clock, m = build_weighted_events(traces), traces.clock, len(traces.places)
        user, instants, place = events.user_index, events.instants, events.codes
        day = np.zeros(len(place), np.int64)
        if by_day:
            day += clock.day_of(instants) // clock.days_per_cycle
        first = departures(events, adjacent=not by_day)
        begins = np.ones(len(place), bool)
        begins[1:] = (np.diff(user) != 0) | (np.diff(day) != 0)
        trace, cell = fraction_cells(np.cumsum(begins) - 1, place, m)
        return cls(
            traces.places,
            clock,
            visits=CellCounts.of((day * clock.slots_per_day + clock.slot_of(instants)) * m + place),
            moves=CellCounts.of((day[first] * m + place[first]) * m + place[first + 1]),
            fractions=CellCounts.of(day[begins][trace] * (m * FRACTION_BINS) + cell),
            expected=traces.n_users * traces.n_instants,
            again=int(((np.diff(user) == 0) & (np.diff(instants) == 0)).sum()),
        )

    def __add__(self, other: TraceCounts) -> TraceCounts:
        return self._combine(operator.add, other)

    def __sub__(self, other: TraceCounts) -> TraceCounts:
        return self._combine(operator.sub, other)

    def _combine(self, how: Callable[[Any, Any], Any], other: TraceCounts) -> TraceCounts:
        names = ("visits", "moves", "fractions", "expected", "again")
        return replace(self, **{name: how(getattr(self, name), getattr(other, name)) for name in names})

    @property
    def is_complete(self) -> bool:
        """Whether every user has exactly one event at every instant."""
        return self.visits.total == self.expected and not self.again

    @property
    def has_moves(self) -> bool:
        """Whether there are transitions."""
        return len(self.moves.numbers) > 0

    def on_day(self, day: int) -> Distributions:
        """Return the distributions of a day; day 0 is all of them where they were counted together."""
        from scipy.sparse import csr_array

        slots, m = self.clock.slots_per_day, len(self.places)
        moves = self.moves.part(day, m * m)
        steps = csr_array(
            (moves.counts.astype(np.float64), np.divmod(moves.numbers, max(m, 1))), shape=(m, m)
        )
        return Distributions(
            slot_shares(self.visits.part(day, slots * m).dense(slots, m).astype(np.float64)),
            step_probabilities(steps),
            self.fractions_on(day),
        )

    def fractions_on(self, day: int) -> Ints:
        """Return the visit fractions of a day."""
        m = len(self.places)
        return self.fractions.part(day, m * FRACTION_BINS).dense(m, FRACTION_BINS)

    def days(self) -> Iterator[Distributions]:
        """Yield the distributions of each day that has events, one at a time."""
        if not self.visits.total:
            raise DataError("there are no events to compare")
        for day in np.unique(self.visits.numbers // (self.clock.slots_per_day * len(self.places))):
            yield self.on_day(int(day))

    def uniform(self) -> Distributions:
        """Return the distributions of any place at any time."""
        slots, m = self.clock.slots_per_day, len(self.places)
        return Distributions(np.full((slots, m), 1 / max(m, 1)), None, np.zeros((m, FRACTION_BINS), np.int64))


class Countable(Protocol):
    """Traces of which all users or some can be counted, wherever they are."""

    @property
    def n_users(self) -> int:
        """Number of users."""

    def count_events(self, *, by_day: bool = False, users: Ints | None = None) -> TraceCounts:
        """Count all users, or some by their ascending indices."""


@dataclass(frozen=True)
class WholeTraces:
    """Traces that are counted at once."""

    traces: Traces

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.traces.n_users

    def count_events(self, *, by_day: bool = False, users: Ints | None = None) -> TraceCounts:
        """Count all users, or some by their ascending indices."""
        return TraceCounts.of(self.traces if users is None else self.traces.take_users(users), by_day=by_day)


# Diversity of virtual users: do two teams get the same people?


@dataclass(frozen=True)
class Diversity(Result):
    """Total variation between the populations of pairs of users from two teams.

    Attributes
    ----------
    same_tv, diff_tv
        Mean over the pairs with the same number, and over pairs with different numbers. A
        synthesizer without diversity has a smaller `same_tv`.
    same_sd, diff_sd
        Standard deviation over the pairs.
    pairs
        Number of pairs of each kind.
    """

    same_tv: float
    diff_tv: float
    same_sd: float
    diff_sd: float
    pairs: int

    @property
    def gap(self) -> float:
        """`diff_tv` minus `same_tv`, in standard deviations; about 0 if teams have different users."""
        spread = max(self.same_sd, self.diff_sd)
        return (self.diff_tv - self.same_tv) / spread if spread else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self) | {"gap": self.gap}


def measure_diversity(
    first: Traces, second: Traces, *, pairs: int = 1_000, seed: SeedLike = None
) -> Diversity:
    """Compare user i of the first team with user i and with another user of the second team.

    Parameters
    ----------
    first, second
        The traces of two teams with the same number of users.
    pairs
        Number of pairs of each kind; at most half the number of users.
    seed
        Seed for choosing the users to compare.

    References
    ----------
    [contest] appendix B.1.

    Notes
    -----
    Total variation, with the other user in the second team, as the paper says. The published
    numbers are sums of squared differences, with the other user in the first team.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=1)
    >>> team = Traces.from_dense([[0, 0], [1, 1]], places, clock)
    >>> measure_diversity(team, team, seed=1)
    Diversity(same_tv=0.0, diff_tv=1.0, same_sd=0.0, diff_sd=0.0, pairs=1)
    """
    require_whole("pairs", pairs, at_least=1)
    users = first.n_users
    if users != second.n_users or len(first.places) != len(second.places):
        raise DataError("diversity needs two teams with the same number of users and the same places")
    if users < 2 or not (np.diff(first.offsets).all() and np.diff(second.offsets).all()):
        raise DataError("diversity needs at least two users, each with an event")
    count = min(pairs, users // 2)
    chosen = generator(seed).permutation(users)[: 2 * count]
    one, two = chosen[:count], chosen[count:]
    here, there = _user_populations(first), _user_populations(second)
    same, diff = (np.asarray(abs(here[one] - there[other]).sum(axis=1)).ravel() / 2 for other in (one, two))
    return Diversity(float(same.mean()), float(diff.mean()), float(same.std()), float(diff.std()), count)


def _user_populations(traces: Traces) -> csr_array:
    """Return users × places: the share of each user's events at each place."""
    from scipy.sparse import csr_array

    offsets, place, counts = traces.visit_counts()
    shares = counts / np.repeat(np.diff(traces.offsets), np.diff(offsets))
    return csr_array((shares, place, offsets), shape=(traces.n_users, len(traces.places)))
