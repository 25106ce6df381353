"""Counts as sparse tensors: how often a user went from place to place, and where she was when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.mobility.transitions import departures
from tracearena.traces import Traces


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """The positive cells of a users × i × j tensor of counts, sorted by user, i and j.

    Attributes
    ----------
    shape
        Users, places, and places (transitions) or slots (visits).
    users, i, j
        Where each cell stands.
    counts
        What it holds, at least 1.
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
        """Sum cells given in any order, each counting once unless `counts` says otherwise.

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
        arrays = (array.astype(np.int32) for array in (user, at_i, at_j, total))
        return cls(shape, *(_read_only(array) for array in arrays))


def _read_only(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array


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
