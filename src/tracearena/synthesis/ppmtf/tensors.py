"""The two tensors of PPMTF: how often a user went from place to place, and where she was when."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, generator
from tracearena.formats.ppmtf import SparseTensor
from tracearena.mobility.transitions import transitions
from tracearena.traces import Traces


def transition_counts(traces: Traces) -> SparseTensor:
    """Count each user's transitions from place to place.

    References
    ----------
    [ppmtf] section 3.2; what a transition is: `tracearena.mobility.transitions.transitions`.

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
    start = transitions(traces)
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


def trimmed(tensor: SparseTensor, limit: int, *, seed: SeedLike = None) -> SparseTensor:
    """Keep at most `limit` positive cells of each user, chosen at random, with their full counts.

    References
    ----------
    [ppmtf] section 3.2, "Trimming" (λ).
    """
    offsets = tensor.offsets
    if len(tensor) == 0 or np.diff(offsets).max() <= limit:
        return tensor
    order = np.lexsort((generator(seed).random(len(tensor)), tensor.users))
    rank = np.empty(len(tensor), np.int64)
    rank[order] = np.arange(len(tensor)) - offsets[tensor.users]
    return _kept(tensor, rank < limit)


def truncated(tensor: SparseTensor, largest: int) -> SparseTensor:
    """Cut every count to `largest` (r_max)."""
    counts = np.minimum(tensor.counts, np.int32(min(largest, np.iinfo(np.int32).max)))
    return SparseTensor(tensor.shape, tensor.users, tensor.i, tensor.j, counts)


def _kept(tensor: SparseTensor, mask: NDArray[np.bool_]) -> SparseTensor:
    columns = (column[mask] for column in (tensor.users, tensor.i, tensor.j, tensor.counts))
    return SparseTensor(tensor.shape, *columns)
