"""The two tensors of PPMTF: how often a user went from place to place, and where she was when."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator
from tracearena.traces import Traces
from tracearena.traces.adjacency import transitions


@dataclass(frozen=True, eq=False)
class CountTensor:
    """A sparse tensor users × places × (next places or slots) of positive counts.

    Attributes
    ----------
    shape
        Users, places, and next places (transition counts) or slots (visit counts).
    offsets
        Cells of user ``u`` are ``offsets[u]:offsets[u + 1]``.
    first, second
        Place, and next place or slot, of each cell; ascending for each user.
    counts
        What the cell holds, at least 1.
    """

    shape: tuple[int, int, int]
    offsets: NDArray[np.int64]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def user(self) -> NDArray[np.int64]:
        """User of each cell."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.offsets))

    def take_users(self, first: int, stop: int) -> CountTensor:
        """Return the cells of users `first` up to but not including `stop`, renumbered from 0."""
        cells = slice(self.offsets[first], self.offsets[stop])
        return CountTensor(
            shape=(stop - first, *self.shape[1:]),
            offsets=self.offsets[first : stop + 1] - self.offsets[first],
            first=self.first[cells],
            second=self.second[cells],
            counts=self.counts[cells],
        )

    def trimmed(self, limit: int, *, seed: SeedLike = None) -> CountTensor:
        """Keep at most `limit` cells of each user, chosen at random, with their full counts."""
        sizes = np.diff(self.offsets)
        if len(self) == 0 or sizes.max() <= limit:
            return self
        user = self.user
        order = np.lexsort([generator(seed).random(len(self)), user])
        rank = np.empty(len(self), np.int64)
        rank[order] = np.arange(len(self)) - self.offsets[user]
        kept = rank < limit
        offsets = np.concatenate([[0], np.cumsum(np.minimum(sizes, limit))])
        return replace(
            self,
            offsets=offsets,
            first=self.first[kept],
            second=self.second[kept],
            counts=self.counts[kept],
        )

    def truncated(self, largest: int) -> CountTensor:
        """Cut every count to `largest`."""
        return replace(self, counts=np.minimum(self.counts, largest))


def transition_counts(traces: Traces) -> CountTensor:
    """Count each user's transitions from place to place.

    References
    ----------
    [ppmtf] section 3.2; what a transition is: `tracearena.traces.adjacency.transitions`.

    Examples
    --------
    The trace s_1 of [ppmtf] Figure 1: twice from x_3 to x_4.

    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=9, instants_per_slot=3)
    >>> trace = Traces.from_dense([[1, 2, 3, -1, 2, 3, 4, -1, 4]], Places([0] * 5, range(5)), clock)
    >>> tensor = transition_counts(trace)
    >>> list(zip(tensor.first.tolist(), tensor.second.tolist(), tensor.counts.tolist()))
    [(1, 2, 1), (2, 3, 2), (3, 4, 1)]
    """
    start = transitions(traces)
    place = traces.place_index
    n = len(traces.places)
    return _counted(traces.user_index[start], place[start], place[start + 1], (traces.n_users, n, n))


def visit_counts(traces: Traces) -> CountTensor:
    """Count each user's visits to a place in a slot; every event counts.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=9, instants_per_slot=3)
    >>> trace = Traces.from_dense([[1, 2, 3, -1, 2, 3, 4, -1, 4]], Places([0] * 5, range(5)), clock)
    >>> tensor = visit_counts(trace)
    >>> list(zip(tensor.first.tolist(), tensor.second.tolist(), tensor.counts.tolist()))
    [(1, 0, 1), (2, 0, 1), (2, 1, 1), (3, 0, 1), (3, 1, 1), (4, 2, 2)]
    """
    slot = traces.clock.slot_of(traces.instants)
    shape = (traces.n_users, len(traces.places), traces.clock.slots_per_day)
    return _counted(traces.user_index, traces.place_index, slot, shape)


def _counted(
    user: NDArray[np.integer],
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    shape: tuple[int, int, int],
) -> CountTensor:
    users, places, width = shape
    key = (user.astype(np.int64) * places + first) * width + second
    cells, counts = np.unique(key, return_counts=True)
    rows, column = np.divmod(cells, max(width, 1))
    owner, row = np.divmod(rows, max(places, 1))
    return CountTensor(
        shape=shape,
        offsets=np.searchsorted(owner, np.arange(users + 1)).astype(np.int64),
        first=row.astype(np.int32),
        second=column.astype(np.int32),
        counts=counts.astype(np.int64),
    )
