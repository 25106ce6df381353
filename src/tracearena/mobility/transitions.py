"""Transitions between consecutive events, and their probabilities.

Two consecutive events of a user are a transition if the second lies exactly one instant after the
first, on the same day ([ppmtf] section 3.2). So a missing instant and midnight break the chain, two
events at one instant are no transition, and of several events at an instant only the last can lead
on and only the first can be led to. Staying is a transition.

Papers differ in two points, which are options of `departures`, and of nothing else:

========================  ============  ============  =================================================
Consecutive events        ``adjacent``  ``midnight``  Who counts them
========================  ============  ============  =================================================
at adjacent instants      True          False         the synthesizers, mobility profiles, the
                                                      reference of every metric
of a day                  False         False         metrics and attacks, of synthetic days
of a user                 False         True          the Markov attacks, of the traces they learn from
========================  ============  ============  =================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.mobility.weighted import WeightedEvents, build_weighted_events
from tracearena.traces import Clock, Traces
from tracearena.traces._arrays import mark_readonly

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from tracearena.mobility.weighted import AnyTraces


class Events(Protocol):
    """Events in the order of user and time."""

    @property
    def clock(self) -> Clock:
        """What the instants mean."""

    @property
    def user_index(self) -> NDArray[np.int32]:
        """User of each event."""

    @property
    def instants(self) -> NDArray[np.int32]:
        """Instant of each event."""


def departures(events: Events, *, adjacent: bool = True, midnight: bool = False) -> NDArray[np.int64]:
    """Return the events from which a transition starts: event ``e`` leads to event ``e + 1``.

    Parameters
    ----------
    adjacent
        The second event must lie exactly one instant after the first; if False, gaps and events
        at the same instant count as well.
    midnight
        A transition may lead from one day to a later one.

    References
    ----------
    [ppmtf] section 3.2.

    Examples
    --------
    >>> from tracearena.traces import Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 1, -1, 1, 0]], places, Clock(instants_per_day=4))
    >>> departures(traces).tolist()
    [0]
    >>> departures(traces, adjacent=False).tolist()
    [0, 1]
    >>> departures(traces, adjacent=False, midnight=True).tolist()
    [0, 1, 2]
    """
    follows = np.diff(events.user_index) == 0
    if adjacent:
        follows &= np.diff(events.instants) == 1
    if not midnight:
        follows &= np.diff(events.clock.day_of(events.instants)) == 0
    return np.flatnonzero(follows)


def has_transitions(traces: AnyTraces) -> bool:
    """Whether any user is seen at two successive instants of a day."""
    return len(departures(build_weighted_events(traces))) > 0


def transition_matrix(traces: AnyTraces | WeightedEvents, *, adjacent: bool = True) -> csr_array:
    """Return the places × places matrix of probabilities to go from one place to the next.

    The counts of all users and times are pooled, and each row is scaled to sum to 1. A place that nobody is
    seen to leave has probability 1 on the diagonal. The weight of an event with several places is divided
    evenly among them.

    Parameters
    ----------
    adjacent
        As in `departures`.

    Examples
    --------
    >>> from tracearena.traces import Places
    >>> places, clock = Places([0, 1], [0, 0]), Clock(instants_per_day=3)
    >>> transition_matrix(Traces.from_dense([[0, 0, 1]], places, clock)).toarray().tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    from scipy.sparse import csr_array

    events = traces if isinstance(traces, WeightedEvents) else build_weighted_events(traces)
    first = departures(events, adjacent=adjacent)
    n = events.n_codes
    pairs = (np.ones(len(first)), (events.codes[first], events.codes[first + 1]))
    counts = csr_array(pairs, shape=(n, n))
    if events.spread is not None:
        counts = csr_array(events.spread.T @ counts @ events.spread)
    return step_probabilities(counts)


def step_probabilities(counts: csr_array) -> csr_array:
    """Return how likely each step is, from how often it was counted: see `transition_matrix`."""
    from scipy.sparse import csr_array, dia_array

    m = counts.shape[0]
    totals = counts.sum(axis=1)
    lonely = totals == 0
    scale = dia_array((1 / np.where(lonely, 1, totals)[None, :], [0]), shape=(m, m))
    loops = dia_array((lonely.astype(np.float64)[None, :], [0]), shape=(m, m))
    return csr_array(scale @ counts + loops)


class UserTransitions(NamedTuple):
    """Maximum-likelihood transition matrices of many users, listed by transition.

    Attributes
    ----------
    cells
        All transitions that occur, as from × places + to, ascending.
    offsets
        The users who made transition ``c`` are ``users[offsets[c]:offsets[c + 1]]``.
    users, probabilities
        Users of each transition, and its probability given its first place.
    """

    n_users: int
    n_places: int
    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    users: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, *groups: Traces) -> Self:
        """Learn from all consecutive events of each user; users are numbered across all groups."""
        m = max(len(groups[0].places), 1)
        n_users = sum(traces.n_users for traces in groups)
        keys, before = [], 0
        for traces in groups:
            if len(traces.places) != len(groups[0].places):
                raise DataError(
                    f"traces with {len(groups[0].places):,} and with {len(traces.places):,} places "
                    "cannot be combined: they must have the same places"
                )
            start = departures(traces, adjacent=False, midnight=True)
            place = traces.place_index.astype(np.int64)
            user = traces.user_index[start].astype(np.int64) + before
            keys.append((place[start] * m + place[start + 1]) * n_users + user)
            before += traces.n_users
        key, counts = np.unique(np.concatenate(keys), return_counts=True)
        cell, owner = np.divmod(key, max(n_users, 1))
        _, row_index = np.unique((cell // m) * n_users + owner, return_inverse=True)
        leaving = np.bincount(row_index, weights=counts)
        cells, starts = np.unique(cell, return_index=True)
        return cls(
            n_users,
            m,
            cells,
            np.append(starts, len(cell)).astype(np.int64),
            owner.astype(np.int32),
            counts / leaving[row_index] if len(key) else np.zeros(0),
        )

    def find(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each transition; -1 if it does not occur."""
        if not len(self.cells):
            return np.full(len(cells), -1, np.int64)
        at = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[at] == cells, at, -1)

    def sums(self) -> NDArray[np.float64]:
        """Return for each transition the sum of its probabilities over all users."""
        if not len(self.cells):
            return np.zeros(0)
        return np.add.reduceat(self.probabilities, self.offsets[:-1])

    def user_counts(self) -> NDArray[np.int64]:
        """Return how many users made each transition."""
        return np.diff(self.offsets)


# Counts as sparse tensors: how often a user went from place to place, and where she was when.


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """The positive cells of a users × i × j tensor of counts, sorted by user, i and j.

    Attributes
    ----------
    shape
        Users, places, and places (transitions) or slots (visits).
    users, i, j
        Position of each cell.
    counts
        Count of each cell, at least 1.
    """

    shape: tuple[int, int, int]
    users: NDArray[np.int32]
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensor):
            return NotImplemented
        return self.shape == other.shape and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("users", "i", "j", "counts")
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Cells of user ``u`` are ``offsets[u]:offsets[u + 1]``."""
        return np.searchsorted(self.users, np.arange(self.shape[0] + 1)).astype(np.int64)

    @classmethod
    def from_cells(
        cls,
        shape: tuple[int, int, int],
        users: NDArray[np.integer],
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        counts: NDArray[np.integer] | None = None,
    ) -> SparseTensor:
        """Sum cells in any order; each counts once unless `counts` is given.

        >>> SparseTensor.from_cells((1, 2, 2), np.array([0, 0]), np.array([1, 1]), np.array([0, 0])).counts
        array([2], dtype=int32)
        """
        for name, values, size in (("users", users, shape[0]), ("i", i, shape[1]), ("j", j, shape[2])):
            if len(values) and not (values.min() >= 0 and values.max() < size):
                raise DataError(f"{name} of a tensor of shape {shape} must be from 0 to {size - 1}")
        key = (np.asarray(users, np.int64) * shape[1] + i) * shape[2] + j
        cells, index = np.unique(key, return_inverse=True)
        weight = None if counts is None else np.asarray(counts, np.float64)
        total = np.bincount(index, weights=weight, minlength=len(cells))
        rest, at_j = np.divmod(cells, shape[2])
        user, at_i = np.divmod(rest, shape[1])
        return cls(shape, *(mark_readonly(array.astype(np.int32)) for array in (user, at_i, at_j, total)))


def transition_counts(traces: Traces) -> SparseTensor:
    """Count each user's transitions from place to place.

    References
    ----------
    [ppmtf] section 3.2; what a transition is: `tracearena.mobility.departures`.

    Examples
    --------
    The trace s_1 of [ppmtf] Figure 1: twice from x_3 to x_4.

    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=9, instants_per_slot=3)
    >>> trace = Traces.from_dense([[1, 2, 3, -1, 2, 3, 4, -1, 4]], Places([0] * 5, range(5)), clock)
    >>> tensor = transition_counts(trace)
    >>> list(zip(tensor.i.tolist(), tensor.j.tolist(), tensor.counts.tolist()))
    [(1, 2, 1), (2, 3, 2), (3, 4, 1)]
    """
    start = departures(traces)
    place, n = traces.place_index, len(traces.places)
    shape = (traces.n_users, n, n)
    return SparseTensor.from_cells(shape, traces.user_index[start], place[start], place[start + 1])


def visit_counts(traces: Traces) -> SparseTensor:
    """Count each user's visits to a place in a slot; every event counts.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=9, instants_per_slot=3)
    >>> trace = Traces.from_dense([[1, 2, 3, -1, 2, 3, 4, -1, 4]], Places([0] * 5, range(5)), clock)
    >>> tensor = visit_counts(trace)
    >>> list(zip(tensor.i.tolist(), tensor.j.tolist(), tensor.counts.tolist()))
    [(1, 0, 1), (2, 0, 1), (2, 1, 1), (3, 0, 1), (3, 1, 1), (4, 2, 2)]
    """
    slot = traces.clock.slot_of(traces.instants)
    shape = (traces.n_users, len(traces.places), traces.clock.slots_per_day)
    return SparseTensor.from_cells(shape, traces.user_index, traces.place_index, slot)
