"""Counting who could have made a trace: by bounds where they decide, by the whole sums where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, current_progress, fold_blocks, report, use
from tracearena.synthesis.ppmtf.sampling import TraceModel

VERIFIERS_PER_BLOCK = 64
"""Verifiers whose tables are made at a time, and who look at a move together."""
_FIRST_ROUND, _LARGEST_ROUND = 256, 2048
_MARGIN = 1e-9
_UNIT = 2.0**-24
_NEAR_0, _NEAR_INF = 1e-290, 1e290
_SMALLEST, _LARGEST = 1e-20, 1e6
"""Between these, no float32 product of factors is lost or infinite."""


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


@dataclass(frozen=True, eq=False)
class Scan:
    """The traces of a test, and the counting of those who could have made them.

    Attributes
    ----------
    model
        Whose users verify.
    table, owner, bucket
        The traces, rows of places; whose they are; and in which buckets their likelihoods are.
    scale
        One over about the probability of each step under the trace's own user.
    eta
        Width of a bucket.
    """

    model: TraceModel
    table: NDArray[np.int32]
    owner: NDArray[np.int64]
    bucket: NDArray[np.float64]
    scale: NDArray[np.float32]
    eta: float

    @classmethod
    def of(
        cls,
        model: TraceModel,
        table: NDArray[np.int32],
        owner: NDArray[np.int64],
        running: NDArray[np.float64],
        bucket: NDArray[np.float64],
        eta: float,
    ) -> Scan:
        """Take traces with their running log-likelihoods under their own users."""
        scale = np.exp(np.clip(running[:, :-1] - running[:, 1:], -60, 60)).astype(np.float32)
        return cls(model, table, owner, bucket, scale, eta)

    def all_of(self, verifiers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return k′ over all verifiers."""
        return 1 + self._counted(np.arange(len(self.table)), verifiers, 0, len(verifiers))

    def until(self, k: int, verifiers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return min(k′, k), scanning in growing rounds and leaving out who has passed."""
        found = np.ones(len(self.table), np.int32)
        start, size = 0, _FIRST_ROUND
        while start < len(verifiers) and (open_ := np.flatnonzero(found < k)).size:
            part = verifiers[start : start + size]
            found[open_] += self._counted(open_, part, start, len(verifiers))
            start, size = start + len(part), min(2 * size, _LARGEST_ROUND)
        report(len(verifiers), len(verifiers))
        return np.minimum(found, np.int32(k))

    def _counted(
        self, traces: NDArray[np.int64], verifiers: NDArray[np.int64], done: int, of: int
    ) -> NDArray[np.int32]:
        m = self.model
        table, owner, bucket = self.table[traces], self.owner[traces], self.bucket[traces]
        steps = Steps.of(table, m.slot_of, len(m.places), self.scale[traces], bucket, self.eta)
        exact = WholeSums(m, table, owner, bucket, self.eta)
        bt, ct = (np.ascontiguousarray(matrix.T.astype(np.float32)) for matrix in (m.places, m.next_places))
        first_slot, bounded = int(m.slot_of[0]), _is_bounded(m)

        def work(block: int, first: int, stop: int, mine: Any, a: Any, a2: Any) -> NDArray[np.int32]:
            from tracearena.synthesis.ppmtf._verdict_kernels import verdicts

            counts = np.zeros(len(table), np.int32)
            if not bounded:
                exact.count(np.arange(len(table)), mine, a, a2, counts)
                return counts
            open_trace, open_verifier = verdicts(
                a, m.places, m.next_places, a2, exact.b2t, m.slots, bt, ct, first_slot, m.smallest, mine,
                *steps[:8], owner, *steps[8:], counts,
            )  # fmt: skip
            for v in np.unique(open_verifier):
                one = slice(v, v + 1)
                exact.count(open_trace[open_verifier == v], mine[one], a[one], a2[one], counts)
            return counts

        def all_reported(blocks_done: int, _: int) -> None:
            told(done + min(blocks_done * VERIFIERS_PER_BLOCK, len(verifiers)), of)

        ranges = block_ranges(len(verifiers), VERIFIERS_PER_BLOCK)
        rows = (verifiers, m.users[verifiers], m.visit_users[verifiers])
        told = current_progress()
        with use(progress=all_reported):
            return fold_blocks(work, ranges, rows=rows, anywhere=True, report=True)


def _is_bounded(model: TraceModel) -> bool:
    """Whether float32 bounds hold: no factor is so large, and φ not so small, that products are lost."""
    largest = [float(np.abs(m).max(initial=0)) for m in (model.users, model.places, model.next_places)]
    return model.smallest >= _SMALLEST and float(np.prod(largest)) * model.users.shape[1] <= _LARGEST


class WholeSums:
    """The count without bounds: every step's probability from whole rows in float64.

    It decides what bounds leave open; `count` depends on neither the other traces nor the other verifiers.
    """

    def __init__(
        self,
        model: TraceModel,
        table: NDArray[np.int32],
        owner: NDArray[np.int64],
        bucket: NDArray[np.float64],
        eta: float,
    ) -> None:
        self.model, self.table, self.owner, self.bucket, self.eta = model, table, owner, bucket, eta
        self.bt, self.ct, self.b2t = (
            np.ascontiguousarray(m.T) for m in (model.places, model.next_places, model.visit_places)
        )

    def count(
        self, traces: NDArray[Any], verifiers: NDArray[np.int64], a: Any, a2: Any, counts: NDArray[np.int32]
    ) -> None:
        """Add to ``counts`` of these traces the verifiers, with rows of A, who could have made them."""
        from tracearena.synthesis.ppmtf._verify_kernels import count_same_bucket

        m, table = self.model, self.table[traces]
        offsets, slot, target, steps = distinct_steps(table, m.slot_of, len(m.places), len(m.slots))
        found = np.zeros(len(table), np.int32)
        count_same_bucket(
            a, m.places, self.bt, m.next_places, self.ct, a2, self.b2t, m.slots, int(m.slot_of[0]),
            m.smallest, verifiers, offsets, slot, target, np.ascontiguousarray(table[:, 0]), steps,
            self.owner[traces], self.bucket[traces], self.eta, found,
        )  # fmt: skip
        counts[traces] += found


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
