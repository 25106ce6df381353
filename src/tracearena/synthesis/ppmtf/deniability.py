"""Plausible deniability: the people who could have produced a synthetic trace ([ppmtf] section 3.5).

A trace y was made for its own user u. Its likelihood under the model of a user v falls into a bucket,

    L_v(y) = log π_v(y_1) + Σ_t log P_v(y_t | y_{t-1}, slot t)        bucket_v(y) = floor(-L_v(y) / η)

and k′ = 1 + the number of users v ≠ u in U* with bucket_v(y) = bucket_u(y). The trace passes if k′ ≥ k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_fitted, require_number, require_whole
from tracearena.dataframes import Result
from tracearena.engine import (
    BroadcastValue,
    Checkpoint,
    SeedLike,
    block_ranges,
    current_cluster,
    current_progress,
    fold_blocks,
    generator,
    report,
    thread_count,
    use,
)
from tracearena.errors import DataError, ParameterError
from tracearena.files import write_csv
from tracearena.synthesis.ppmtf.generation import TraceModel
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf.model import PPMTF


_FARTHEST = 2**53
_ROOM = 1e-9
"""Far more than sums of logarithms in float64 round away, relative to the sum."""


@dataclass(frozen=True, eq=False)
class Deniability(Result):
    """Number of people who could have produced each synthetic trace.

    Attributes
    ----------
    k_prime
        For each trace, the number k′ of users in U* under whose model its likelihood is about the same as
        under that of the input user, who is included.
    k, eta
        Parameters of the test: a trace passes if k′ ≥ k, and likelihoods are about the same if they are in
        the same bucket of width η on the log scale.
    verifiers
        Number of users in U*.
    early_stop
        Whether counting stopped at k, so that no k′ is larger.
    """

    k_prime: NDArray[np.int32]
    k: int
    eta: float
    verifiers: int
    early_stop: bool

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Whether each trace passes."""
        return self.k_prime >= self.k

    @property
    def pass_rate(self) -> float:
        """Share of the traces that pass."""
        return float(self.passed.mean()) if len(self.k_prime) else 0.0

    def pass_rate_at(self, k: int) -> float:
        """Return the share of traces that pass with another k; with an early stop, at most the tested k."""
        if self.early_stop and k > self.k:
            raise ParameterError(f"the scan stopped at k = {self.k}, so nothing is known about k = {k}")
        return float((self.k_prime >= k).mean()) if len(self.k_prime) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "pass_rate": self.pass_rate,
            "passed": int(self.passed.sum()),
            "traces": len(self.k_prime),
            "k": self.k,
            "eta": self.eta,
            "verifiers": self.verifiers,
            "early_stop": self.early_stop,
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write k′ and pass (0 or 1) of each trace, and the totals, as the PPMTF tools do."""
        rows: list[tuple[Any, ...]] = [(k, int(k >= self.k)) for k in self.k_prime.tolist()]
        totals = ("-", "-", int(self.passed.sum()), len(self.k_prime), f"{self.pass_rate:.6f}")
        write_csv(path, None, [*rows, totals])


@dataclass(frozen=True, kw_only=True)
class DeniabilityTest:
    """The test of synthetic traces for (k, η)-plausible deniability.

    Parameters
    ----------
    k
        A trace passes if at least this many users could have made it, including its own user.
    eta
        Width of a bucket of log-likelihoods, above 0.
    verifiers
        Size of U*, a random sample of the training users; by default all of them.
    early_stop
        Stop counting when a trace passes; its k′ is then k.
    """

    k: int = 10
    eta: float = 1.0
    verifiers: int | None = None
    early_stop: bool = False

    def __post_init__(self) -> None:
        require_whole("k", self.k, at_least=1)
        require_number("eta", self.eta, above=0)
        if self.verifiers is not None:
            require_whole("verifiers", self.verifiers, at_least=1)


def bucket_of(log_likelihood: Any, eta: float) -> NDArray[np.float64]:
    """Return the bucket of each log-likelihood: i for −(i + 1) η < L ≤ −i η.

    References
    ----------
    [ppmtf] equation 6.

    Examples
    --------
    >>> bucket_of([0.0, -0.5, -1.0, -1.5], eta=1).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    return np.asarray(np.floor(-np.asarray(log_likelihood, float) / eta) + 0.0)


def measure_deniability(
    model: PPMTF,
    synthetic: Traces,
    test: DeniabilityTest = DeniabilityTest(),
    *,
    seed: SeedLike = None,
    checkpoint: Checkpoint | None = None,
) -> Deniability:
    """Count the users who could have made each synthetic trace, and test it for plausible deniability.

    Parameters
    ----------
    model
        The model that made the traces.
    synthetic
        Whole days with ids of training users; every day is a trace.
    test
        Parameters of the test.
    seed
        Seed of U*.
    checkpoint
        Stores the counts of finished verifiers, to resume from them.

    References
    ----------
    [ppmtf] section 3.5; V. Bindschaedler, R. Shokri and C. Gunter, Plausible deniability for
    privacy-preserving data synthesis, PVLDB 2017.

    Notes
    -----
    The authors' program takes the first users as U*; here U* is random, as in the paper.
    """
    require_fitted(model, "transition_factors_")
    eta, n_users = float(test.eta), len(model.user_ids_)
    size = n_users if test.verifiers is None else min(test.verifiers, n_users)
    chosen = generator(seed).permutation(n_users)[:size]
    table, owner = model.days_of(synthetic)
    found = np.empty(len(table), np.int32)
    for kind, (one, rows) in enumerate(model.trace_model_.split_by_day_kind(model.day_numbers(synthetic))):
        running, own = estimate_own_likelihoods(one, table[rows], owner[rows], eta)
        if len(own) and not (-own / eta < _FARTHEST).all():
            raise DataError(f"eta = {eta} is too small for log-likelihoods down to {own.min():.3g}")
        scan = VerifierScan(one, table[rows], owner[rows], running, bucket_of(own, eta), eta)
        kept = {} if checkpoint is None else checkpoint.rows.get(str(kind), {})

        def keep(done: int, counts: NDArray[np.int32], kind: int = kind) -> None:
            if checkpoint is not None:
                checkpoint.add(str(kind), {"done": done, "counts": counts.tolist()})

        found[rows] = scan.count(
            chosen,
            int(test.k) if test.early_stop else None,
            done=kept.get("done", 0),
            counts=np.array(kept["counts"], np.int32) if kept else None,
            finished=keep,
        )
    return Deniability(found, int(test.k), eta, size, test.early_stop)


def estimate_own_likelihoods(
    model: TraceModel, table: NDArray[np.int32], owner: NDArray[np.int64], eta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the running log-likelihood of each trace under its own user, and one in its bucket.

    Bounds tell the bucket of nearly all; what lies at a border is weighed exactly.
    """
    if not is_bounded(model):
        running = model.log_likelihoods(table, owner)
        return running, running[:, -1]
    running, low, high = model.bound_log_likelihoods(table, owner)
    room = _ROOM * (1 + np.abs(low))
    open_ = np.flatnonzero(bucket_of(low - room, eta) != bucket_of(high + room, eta))
    if len(open_):
        running[open_] = model.log_likelihoods(table[open_], owner[open_])
        low[open_] = running[open_, -1]
    return running, low


# Counting who could have made a trace: by bounds where they decide, by the whole sums where not.

VERIFIERS_PER_BLOCK = 64
"""Verifiers whose tables are made at a time, and who look at a move together."""
_FIRST_ROUND, _BLOCKS_A_THREAD = 256, 16
_SMALLEST, _LARGEST = 1e-20, 1e6
"""Between these, no float32 product of factors is lost or infinite."""


class VerifierScan:
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
        steps = TraceSteps.of(table, model.slot_of, len(model.places), scale, bucket, eta)
        exact = ExactVerifierCounter(bare, table, owner, bucket, eta)
        self._verdicts = BroadcastValue(VerifierCounter(exact, steps if is_bounded(model) else None))
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
        # A round has as many verifiers as keep all threads at work to its end.
        cluster = current_cluster()
        threads = thread_count() if cluster is None else cluster.n_threads
        smallest, largest = rounds or (_FIRST_ROUND, _BLOCKS_A_THREAD * VERIFIERS_PER_BLOCK * threads)
        size = largest if k is None else min(smallest, largest)
        most = np.iinfo(np.int32).max if k is None else k
        while done < len(verifiers) and (open_ := np.flatnonzero(counts < most)).size:
            part = verifiers[done : done + size]
            counts[open_] += self._count_round(open_, part, done, len(verifiers))
            done, size = done + len(part), min(2 * size, largest)
            if finished is not None:
                finished(done, counts)
        report(len(verifiers), len(verifiers))
        return np.minimum(counts, np.int32(most))

    def _count_round(
        self, traces: NDArray[np.int64], verifiers: NDArray[np.int64], done: int, of: int
    ) -> NDArray[np.int32]:
        def work(
            block: int, first: int, stop: int, mine: Any, a: Any, a2: Any, verdicts: VerifierCounter
        ) -> NDArray[np.int32]:
            return verdicts.count(traces, mine, a, a2)

        progress = current_progress()

        def report_verifiers(blocks_done: int, _: int) -> None:
            progress(done + min(blocks_done * VERIFIERS_PER_BLOCK, len(verifiers)), of)

        ranges = block_ranges(len(verifiers), VERIFIERS_PER_BLOCK)
        rows = (verifiers, self.model.users[verifiers], self.model.visit_users[verifiers])
        with use(progress=report_verifiers):
            return fold_blocks(work, ranges, rows=rows, given=[self._verdicts], anywhere=True, report=True)


def is_bounded(model: TraceModel) -> bool:
    """Whether float32 bounds hold: no factor is so large, and φ not so small, that products are lost."""
    largest = [float(np.abs(m).max(initial=0)) for m in (model.users, model.places, model.next_places)]
    return model.smallest >= _SMALLEST and float(np.prod(largest)) * model.users.shape[1] <= _LARGEST


class VerifierCounter:
    """Who could have made which trace.

    Parameters
    ----------
    exact
        The traces, and the count without bounds.
    steps
        Their steps; None if the model is one whose bounds do not hold.
    """

    def __init__(self, exact: ExactVerifierCounter, steps: TraceSteps | None) -> None:
        self.exact, self.steps = exact, steps
        places = exact.model.places, exact.model.next_places
        self.bt, self.ct = (np.ascontiguousarray(matrix.T.astype(np.float32)) for matrix in places)

    def count(
        self, traces: NDArray[np.int64], verifiers: NDArray[np.int64], a: Any, a2: Any
    ) -> NDArray[np.int32]:
        """Return for each of some traces how many verifiers, with rows of A, could have made it."""
        from tracearena.synthesis.ppmtf._deniability_kernels import count_by_bounds

        m, exact, steps = self.exact.model, self.exact, self.steps
        counts = np.zeros(len(exact.table), np.int32)
        if steps is None:
            exact.count(traces, verifiers, a, a2, counts)
            return counts[traces]
        open_trace, open_verifier = count_by_bounds(
            a, m.places, m.next_places, a2, exact.b2t, m.slots, self.bt, self.ct, int(m.slot_of[0]),
            m.smallest, verifiers, traces, *steps[:8], exact.owner, *steps[8:], counts,
        )  # fmt: skip
        for v in np.unique(open_verifier):
            one = slice(v, v + 1)
            exact.count(open_trace[open_verifier == v], verifiers[one], a[one], a2[one], counts)
        return counts[traces]


class ExactVerifierCounter:
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
        from tracearena.synthesis.ppmtf._deniability_kernels import count_same_bucket

        m, table = self.model, self.table[traces]
        offsets, slot, target, steps = distinct_steps(table, m.slot_of, len(m.places), len(m.slots))
        found = np.zeros(len(table), np.int32)
        count_same_bucket(
            a, m.places, self.bt, m.next_places, self.ct, a2, self.b2t, m.slots, int(m.slot_of[0]),
            m.smallest, verifiers, offsets, slot, target, np.ascontiguousarray(table[:, 0]), steps,
            self.owner[traces], self.bucket[traces], self.eta, found,
        )  # fmt: skip
        counts[traces] += found


# The steps of traces, taken apart for the deniability test, and the limits of their likelihoods.

_MARGIN = 1e-9
_UNIT = 2.0**-24
_NEAR_0, _NEAR_INF = 1e-290, 1e290


class TraceSteps(NamedTuple):
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
    ) -> TraceSteps:
        """Take apart traces (rows of places) whose steps have scales, and whose buckets are given."""
        slots = np.broadcast_to(slot_of[1:].astype(np.int32), (len(table), table.shape[1] - 1))
        moves = table[:, 1:] != table[:, :-1]
        weights = scale[moves]
        offsets, stay_offsets = _offsets(moves), _offsets(~moves)
        summed = np.concatenate([[0.0], np.cumsum(np.log(weights, dtype=np.float64))])
        log_scale = summed[offsets[1:]] - summed[offsets[:-1]]
        # The margin is far more than sums in float64 round away.
        below, above = -(bucket + 1) * eta, -bucket * eta
        margin = _MARGIN * (1 + np.abs(below) + np.abs(log_scale))
        logs = (below - margin, below + margin, above - margin, above + margin)
        with np.errstate(over="ignore", under="ignore"):
            lowest, inside, outside, most = (np.exp(one + log_scale) for one in logs)
        lowest[lowest < _NEAR_0] = 0
        most[most > _NEAR_INF] = np.inf
        edges = np.column_stack([lowest, np.maximum(inside, _NEAR_0), np.minimum(outside, _NEAR_INF), most])
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
