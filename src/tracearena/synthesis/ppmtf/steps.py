"""The steps of traces, taken apart for the deniability test, and the limits of their likelihoods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MARGIN = 1e-9
_UNIT = 2.0**-24
_NEAR_0, _NEAR_INF = 1e-290, 1e290


class Steps(NamedTuple):
    """The steps of some traces, moves and stays apart.

    Attributes
    ----------
    first
        First place of each trace.
    offsets, place, target, slot, scale
        The moves of trace r are ``offsets[r]:offsets[r + 1]``; a move's probability is multiplied by its
        scale, so that that of a trace under its own user is about that of its first place and its stays.
    stay_offsets, stays
        The stays of each trace, as slot · places + place.
    edges
        Scaled likelihoods: below which a trace is below its bucket, between which two it is in it, and
        above which it is above.
    least
        As the first edge, with room for the rounding of float32 products.
    """

    first: NDArray[np.int32]
    offsets: NDArray[np.int64]
    place: NDArray[np.int32]
    target: NDArray[np.int32]
    slot: NDArray[np.int32]
    scale: NDArray[np.float32]
    stay_offsets: NDArray[np.int64]
    stays: NDArray[np.int32]
    edges: NDArray[np.float64]
    least: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        table: NDArray[np.int32],
        slot_of: NDArray[np.int64],
        n_places: int,
        scale: NDArray[np.float32],
        bucket: NDArray[np.float64],
        eta: float,
    ) -> Steps:
        """Take apart traces (rows of places) whose steps have scales, and whose buckets are given."""
        slots = np.broadcast_to(slot_of[1:].astype(np.int32), (len(table), table.shape[1] - 1))
        moves = table[:, 1:] != table[:, :-1]
        weights = scale[moves]
        offsets, stay_offsets = _offsets(moves), _offsets(~moves)
        summed = np.concatenate([[0.0], np.cumsum(np.log(weights, dtype=np.float64))])
        edges = _edges(summed[offsets[1:]] - summed[offsets[:-1]], bucket, eta)
        rounded = 1 - (4 * np.diff(offsets) + 32) * _UNIT
        least = np.nextafter((edges[:, 0] * rounded).astype(np.float32), np.float32(-np.inf))
        return cls(
            np.ascontiguousarray(table[:, 0]),
            offsets,
            table[:, :-1][moves],
            table[:, 1:][moves],
            slots[moves],
            weights,
            stay_offsets,
            (slots * np.int32(n_places) + table[:, :-1])[~moves],
            edges,
            least,
        )


def _offsets(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int64)


def _edges(log_scale: NDArray[np.float64], bucket: NDArray[np.float64], eta: float) -> NDArray[np.float64]:
    """Return the four limits of each trace; the margin is far more than sums in float64 round away."""
    below, above = -(bucket + 1) * eta, -bucket * eta
    margin = _MARGIN * (1 + np.abs(below) + np.abs(log_scale))
    logs = (below - margin, below + margin, above - margin, above + margin)
    with np.errstate(over="ignore", under="ignore"):
        least, inside, outside, most = (np.exp(one + log_scale) for one in logs)
    least[least < _NEAR_0] = 0
    most[most > _NEAR_INF] = np.inf
    return np.column_stack([least, np.maximum(inside, _NEAR_0), np.minimum(outside, _NEAR_INF), most])


def distinct_steps(
    table: NDArray[np.int32], slot_of: NDArray[np.int64], n_places: int, n_slots: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Number the different (slot, place, next place) of some traces.

    Returns
    -------
    offsets, slot, target, steps
        The steps that leave place ``i`` are ``offsets[i]:offsets[i + 1]``, each with the slot of the
        instant it leads to and its next place; and the steps of each trace by number.
    """
    key = table[:, :-1].astype(np.int64) * n_slots + slot_of[1:]
    key = key * n_places + table[:, 1:]
    known, steps = np.unique(key, return_inverse=True)
    rest, target = np.divmod(known, n_places)
    place, slot = np.divmod(rest, n_slots)
    offsets = np.searchsorted(place, np.arange(n_places + 1)).astype(np.int64)
    return (
        offsets,
        slot.astype(np.int32),
        target.astype(np.int32),
        np.ascontiguousarray(steps.reshape(key.shape).astype(np.int32)),
    )
