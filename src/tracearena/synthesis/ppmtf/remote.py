"""Blocks of users in the workers of a cluster.

What a dead worker held is made anew from the traces of its users, and the rows it had drawn from
B, C, D and Ψ of the same iteration, which the scheduler still has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import Cluster, PairwiseSum
from tracearena.engine.cluster import shares, task, worker_threads
from tracearena.engine.parcels import packed, unpacked
from tracearena.engine.summing import Node, S
from tracearena.synthesis.ppmtf.conditionals import RowStatistics, UserStep
from tracearena.synthesis.ppmtf.holding import Arrangement, HeldUsers
from tracearena.synthesis.ppmtf.hyperprior import Moments
from tracearena.synthesis.ppmtf.iteration import CHECKPOINT_EVERY, Drawn, Iteration
from tracearena.synthesis.ppmtf.partitioned import Files, PartitionedTraces
from tracearena.traces import Traces

Matrix = NDArray[np.float64]
FRESH_EVERY = CHECKPOINT_EVERY
"""Workers begin the next iteration by themselves, but every tenth begins from here, so that what a dead
worker knew is made again from ten iterations at most."""


class RemoteUsers:
    """Blocks of users in the workers of a cluster: one range of blocks for each worker.

    What travels in an iteration: B, C, D and Ψ to every worker, and from each the sums of its blocks
    to one of them. The rows of A stay where they were drawn.
    """

    def __init__(
        self,
        cluster: Cluster,
        traces: Traces | PartitionedTraces,
        arrangement: Arrangement,
        *,
        lean: bool = False,
    ) -> None:
        self.cluster = cluster
        self._homes = cluster.workers
        self.users_per_block = size = arrangement.users_per_block
        how = cluster.keep((arrangement, lean))
        if isinstance(traces, PartitionedTraces):
            pieces: list[tuple[int, Any]] = traces.shared_out(len(self._homes))
            self.n_users = traces.frame.n_users
        else:
            pieces = _shared_out(traces, size, len(self._homes))
            self.n_users = traces.n_users
        self._held = [
            cluster.submit(_arranged, cluster.keep(piece), how, first // size, worker=home)
            for (first, piece), home in zip(pieces, self._homes, strict=False)
        ]
        self._ahead: tuple[int, list[Any]] = (-1, [])
        each = cluster.gather([cluster.submit(_weights, held) for held in self._held])
        self.weight = sum(weight for weights in each for weight in weights)

    def run(self, iteration: Iteration) -> tuple[Iteration, Drawn]:
        """Draw A, B, C and D.

        Sums go from worker to worker, B, C and D also through here. The token of the rows of A is
        the iteration, from which they can be drawn again.
        """
        submit, data = self.cluster.submit, packed(iteration)
        begun = submit(unpacked, data)
        number, ahead = self._ahead
        if number != iteration.number:
            self._homes = _replaced(self._homes, self.cluster.workers)
            ahead = self._each(_draw_users, data)
        handed = submit(_draw_places, data, *ahead)
        result = submit(_draw_targets, begun, handed, *self._each(_target_sums, begun, handed))
        self._ahead = -1, []
        if (iteration.number + 1) % FRESH_EVERY:
            self._ahead = iteration.number + 1, self._each(_draw_following, begun, result)
        [drawn] = self.cluster.gather([result])
        return iteration, drawn

    def collected(self, rows: Iteration) -> Matrix:
        """Bring the rows of A here, those of one worker after the other."""
        matrix = np.empty((self.n_users, rows.places.shape[1]))
        first = 0
        for future in self._each(_rows, self.cluster.keep(rows)):
            [part] = self.cluster.gather([future])
            matrix[first : first + len(part)] = part
            first += len(part)
        return matrix

    def _each(self, work: Any, *arguments: Any) -> list[Any]:
        return [
            self.cluster.submit(work, held, *arguments, worker=home)
            for held, home in zip(self._held, self._homes, strict=False)
        ]


def _replaced(homes: list[str], alive: list[str]) -> list[str]:
    """Give what a dead worker held to one that holds nothing, if there is any.

    >>> _replaced(["a", "b", "c"], ["a", "c", "d"])
    ['a', 'd', 'c']
    """
    free = [worker for worker in alive if worker not in homes]
    return [home if home in alive or not free else free.pop() for home in homes]


def _shared_out(traces: Traces, size: int, workers: int) -> list[tuple[int, Traces]]:
    """Return, for each worker, the number of its first user, and the traces of its users."""
    ranges = shares(-(-traces.n_users // size), workers)
    bare = traces.without_timestamps()
    return [(first * size, bare.take_users(slice(first * size, stop * size))) for first, stop in ranges]


def _arranged(piece: Traces | Files, how: tuple[Arrangement, bool], number: int) -> HeldUsers:
    with task(worker_threads()):
        read = [(piece, None)] if isinstance(piece, Traces) else piece.read()
        parts = [traces.without_timestamps() for traces, _ in read]
        return HeldUsers.of(parts, how[0], number=number, lean=how[1])


def _weights(held: HeldUsers) -> list[float]:
    return held.weights


@dataclass(frozen=True, eq=False)
class _Handed:
    """What B's drawing leaves for the rest of the iteration."""

    places: Matrix
    users: Moments
    squared_error: float


def _draw_users(held: HeldUsers, iteration: bytes) -> list[Node[UserStep]]:
    with task(worker_threads()):
        return held.draw_users(unpacked(iteration))[1].nodes


def _draw_following(held: HeldUsers, iteration: Iteration, drawn: Drawn) -> list[Node[UserStep]]:
    with task(worker_threads()):
        return held.draw_users(iteration.following(drawn))[1].nodes


def _draw_places(iteration: bytes, *sums: list[Node[UserStep]]) -> _Handed:
    with task():
        handed = _joined(sums)
        places = unpacked(iteration).draw_places(handed)
        return _Handed(places, handed.moments, handed.squared_error)


def _target_sums(held: HeldUsers, iteration: Iteration, handed: _Handed) -> list[Node[RowStatistics]]:
    with task(worker_threads()):
        return held.target_sums(held.rows(iteration), handed.places).nodes


def _draw_targets(iteration: Iteration, handed: _Handed, *sums: list[Node[RowStatistics]]) -> Drawn:
    with task():
        targets = iteration.draw_targets(_joined(sums))
        return Drawn(handed.places, *targets, handed.users, handed.squared_error)


def _rows(held: HeldUsers, iteration: Iteration) -> Matrix:
    with task(worker_threads()):
        return held.rows(iteration)


def _joined(sums: Sequence[list[Node[S]]]) -> S:
    return PairwiseSum(node for nodes in sums for node in nodes).total()
