"""Counting who could have made a trace: by bounds where they decide, by the whole sums where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import (
    Shared,
    block_ranges,
    current_cluster,
    current_progress,
    fold_blocks,
    report,
    thread_count,
    use,
)
from tracearena.synthesis.ppmtf.sampling import TraceModel
from tracearena.synthesis.ppmtf.steps import Steps, distinct_steps

VERIFIERS_PER_BLOCK = 64
"""Verifiers whose tables are made at a time, and who look at a move together."""
_FIRST_ROUND, _BLOCKS_A_THREAD = 256, 16
_SMALLEST, _LARGEST = 1e-20, 1e6
"""Between these, no float32 product of factors is lost or infinite."""


class Scan:
    """The traces of a test, and the counting of those who could have made them.

    Parameters
    ----------
    model
        Whose users verify.
    table, owner, bucket
        The traces, rows of places; whose they are; and in which buckets their likelihoods are.
    running
        Running log-likelihoods under their own users.
    eta
        Width of a bucket.
    """

    def __init__(
        self,
        model: TraceModel,
        table: NDArray[np.int32],
        owner: NDArray[np.int64],
        running: NDArray[np.float64],
        bucket: NDArray[np.float64],
        eta: float,
    ) -> None:
        self.model = model
        nobody = model.users[:0]
        bare = replace(model, users=nobody, visit_users=nobody)
        scale = np.exp(np.clip(running[:, :-1] - running[:, 1:], -60, 60)).astype(np.float32)
        steps = Steps.of(table, model.slot_of, len(model.places), scale, bucket, eta)
        exact = WholeSums(bare, table, owner, bucket, eta)
        self._verdicts = Shared(Verdicts(exact, steps if is_bounded(model) else None))
        self._n_traces = len(table)

    def count(
        self,
        verifiers: NDArray[np.int64],
        k: int | None = None,
        *,
        done: int = 0,
        counts: NDArray[np.int32] | None = None,
        finished: Callable[[int, NDArray[np.int32]], None] | None = None,
        rounds: tuple[int, int] | None = None,
    ) -> NDArray[np.int32]:
        """Return k′ of each trace, or min(k′, k): scan in growing rounds, and leave out who has passed.

        Parameters
        ----------
        done, counts
            Verifiers that are finished, and what they have counted.
        finished
            Is called with these after each round.
        rounds
            Verifiers of the first round and of the largest; by default 256, and as many as keep all threads
            at work.
        """
        counts = np.ones(self._n_traces, np.int32) if counts is None else counts.copy()
        smallest, largest = rounds or (_FIRST_ROUND, _largest_round())
        size = largest if k is None else min(smallest, largest)
        most = np.iinfo(np.int32).max if k is None else k
        while done < len(verifiers) and (open_ := np.flatnonzero(counts < most)).size:
            part = verifiers[done : done + size]
            counts[open_] += self._counted(open_, part, done, len(verifiers))
            done, size = done + len(part), min(2 * size, largest)
            if finished is not None:
                finished(done, counts)
        report(len(verifiers), len(verifiers))
        return np.minimum(counts, np.int32(most))

    def _counted(
        self, traces: NDArray[np.int64], verifiers: NDArray[np.int64], done: int, of: int
    ) -> NDArray[np.int32]:
        def work(
            block: int, first: int, stop: int, mine: Any, a: Any, a2: Any, verdicts: Verdicts
        ) -> NDArray[np.int32]:
            return verdicts.count(traces, mine, a, a2)

        def all_reported(blocks_done: int, _: int) -> None:
            told(done + min(blocks_done * VERIFIERS_PER_BLOCK, len(verifiers)), of)

        ranges = block_ranges(len(verifiers), VERIFIERS_PER_BLOCK)
        rows = (verifiers, self.model.users[verifiers], self.model.visit_users[verifiers])
        told = current_progress()
        with use(progress=all_reported):
            return fold_blocks(work, ranges, rows=rows, given=[self._verdicts], anywhere=True, report=True)


def _largest_round() -> int:
    """Return how many verifiers a round has at most: all threads have something to do to its end."""
    cluster = current_cluster()
    threads = thread_count() if cluster is None else cluster.n_threads
    return _BLOCKS_A_THREAD * VERIFIERS_PER_BLOCK * threads


def is_bounded(model: TraceModel) -> bool:
    """Whether float32 bounds hold: no factor is so large, and φ not so small, that products are lost."""
    largest = [float(np.abs(m).max(initial=0)) for m in (model.users, model.places, model.next_places)]
    return model.smallest >= _SMALLEST and float(np.prod(largest)) * model.users.shape[1] <= _LARGEST


class Verdicts:
    """Who could have made which trace.

    Parameters
    ----------
    exact
        The traces, and the count without bounds.
    steps
        Their steps; None if the model is one whose bounds do not hold.
    """

    def __init__(self, exact: WholeSums, steps: Steps | None) -> None:
        self.exact, self.steps = exact, steps
        places = exact.model.places, exact.model.next_places
        self.bt, self.ct = (np.ascontiguousarray(matrix.T.astype(np.float32)) for matrix in places)

    def count(
        self, traces: NDArray[np.int64], verifiers: NDArray[np.int64], a: Any, a2: Any
    ) -> NDArray[np.int32]:
        """Return for each of some traces how many verifiers, with rows of A, could have made it."""
        from tracearena.synthesis.ppmtf._verdict_kernels import verdicts

        m, exact, steps = self.exact.model, self.exact, self.steps
        counts = np.zeros(len(exact.table), np.int32)
        if steps is None:
            exact.count(traces, verifiers, a, a2, counts)
            return counts[traces]
        open_trace, open_verifier = verdicts(
            a, m.places, m.next_places, a2, exact.b2t, m.slots, self.bt, self.ct, int(m.slot_of[0]),
            m.smallest, verifiers, traces, *steps[:8], exact.owner, *steps[8:], counts,
        )  # fmt: skip
        for v in np.unique(open_verifier):
            one = slice(v, v + 1)
            exact.count(open_trace[open_verifier == v], verifiers[one], a[one], a2[one], counts)
        return counts[traces]


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
