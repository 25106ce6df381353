"""Training in a cluster: blocks of users in its workers, and traces that only the workers read.

`RemoteUsers` does there what `gibbs.LocalUsers` does here, and `PartitionedTraces` are the files of more
users than one process holds. What a dead worker held is made anew from the traces of its users, and the
rows it had drawn from B, C, D and Ψ of the same iteration, which the scheduler still has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena import formats, intake
from tracearena.engine import Cluster, PairwiseSum, block_ranges
from tracearena.engine.cluster import even_ranges, task, worker_threads
from tracearena.engine.parcels import packed, unpacked
from tracearena.engine.summing import Node, S
from tracearena.errors import FileError
from tracearena.synthesis.ppmtf.arrangement import Arrangement
from tracearena.synthesis.ppmtf.conditionals import Moments, RowStatistics, UserStep
from tracearena.synthesis.ppmtf.frame import USERS_PER_DIGEST, TrainingFrame
from tracearena.synthesis.ppmtf.gibbs import Iteration, IterationResult, LocalUsers
from tracearena.traces import Places, Traces

Matrix = NDArray[np.float64]
FRESH_EVERY = 10
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
            pieces: list[tuple[int, Any]] = traces.dealt_out(len(self._homes))
            self.n_users = traces.frame.n_users
        else:
            pieces = _dealt_out(traces, size, len(self._homes))
            self.n_users = traces.n_users
        self._held = [
            cluster.submit(_arranged, cluster.keep(piece), how, first // size, worker=home)
            for (first, piece), home in zip(pieces, self._homes, strict=False)
        ]
        self._ahead: tuple[int, list[Any]] = (-1, [])
        each = cluster.gather([cluster.submit(_weights, held) for held in self._held])
        self.weight = sum(weight for weights in each for weight in weights)

    def run(self, iteration: Iteration) -> tuple[Iteration, IterationResult]:
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


def _dealt_out(traces: Traces, size: int, workers: int) -> list[tuple[int, Traces]]:
    """Return, for each worker, the number of its first user, and the traces of its users."""
    ranges = even_ranges(-(-traces.n_users // size), workers)
    bare = traces.without_timestamps()
    return [(first * size, bare.take_users(slice(first * size, stop * size))) for first, stop in ranges]


def _arranged(piece: Traces | Files, how: tuple[Arrangement, bool], number: int) -> LocalUsers:
    with task(worker_threads()):
        read = [(piece, None)] if isinstance(piece, Traces) else piece.read()
        parts = [traces.without_timestamps() for traces, _ in read]
        return LocalUsers.of(parts, how[0], number=number, lean=how[1])


def _weights(held: LocalUsers) -> list[float]:
    return held.weights


@dataclass(frozen=True, eq=False)
class _Handed:
    """What B's drawing leaves for the rest of the iteration."""

    places: Matrix
    users: Moments
    squared_error: float


def _draw_users(held: LocalUsers, iteration: bytes) -> list[Node[UserStep]]:
    with task(worker_threads()):
        return held.draw_users(unpacked(iteration))[1].nodes


def _draw_following(held: LocalUsers, iteration: Iteration, drawn: IterationResult) -> list[Node[UserStep]]:
    with task(worker_threads()):
        return held.draw_users(iteration.following(drawn))[1].nodes


def _draw_places(iteration: bytes, *sums: list[Node[UserStep]]) -> _Handed:
    with task():
        handed = _joined(sums)
        places = unpacked(iteration).draw_places(handed)
        return _Handed(places, handed.moments, handed.squared_error)


def _target_sums(held: LocalUsers, iteration: Iteration, handed: _Handed) -> list[Node[RowStatistics]]:
    with task(worker_threads()):
        return held.target_sums(held.rows(iteration), handed.places).nodes


def _draw_targets(iteration: Iteration, handed: _Handed, *sums: list[Node[RowStatistics]]) -> IterationResult:
    with task():
        targets = iteration.draw_targets(_joined(sums))
        return IterationResult(handed.places, *targets, handed.users, handed.squared_error)


def _rows(held: LocalUsers, iteration: Iteration) -> Matrix:
    with task(worker_threads()):
        return held.rows(iteration)


def _joined(sums: Sequence[list[Node[S]]]) -> S:
    return PairwiseSum(node for nodes in sums for node in nodes).total()


@dataclass(frozen=True)
class Files:
    """Some files, and how to read them."""

    paths: tuple[str, ...]
    places: Places
    choices: intake.Choices

    def read(self) -> list[tuple[Traces, intake.Report]]:
        """Read one after the other."""
        return [self._read(path) for path in self.paths]

    def _read(self, path: str) -> tuple[Traces, intake.Report]:
        if not Path(path).exists():
            raise FileError.whole(path, "is not where a worker looks for it", "missing")
        return formats.read(path, "table", places=self.places, choices=self.choices).as_events()


class PartitionedTraces:
    """Traces of very many users, a range of them in each file.

    The workers read the files twice: once to find out who is in them, and once to keep the users
    they work on. The process that trains never holds the events. Every worker must reach the folder
    under the same name.

    Parameters
    ----------
    folder
        A folder of Parquet files as ``tracearena convert --to partitions`` writes them: events with
        dates, users in ascending order from file to file, and so many users in every file but the
        last that blocks of users do not cross files.
    places
        The places; no file knows them all.
    cluster
        Whose workers read.
    choices
        Which instants to make of the times.

    Attributes
    ----------
    frame
        What is to be known of all users together.
    report
        What was read, and dropped, in all files.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        places: Places,
        cluster: Cluster,
        *,
        choices: intake.Choices | None = None,
    ) -> None:
        from tracearena.intake.tables import files_of

        paths = files_of(folder)
        if not paths:
            raise FileError.whole(folder, "holds no .parquet files", "empty")
        self.files = Files(tuple(str(path.resolve()) for path in paths), places, choices or intake.Choices())
        found = cluster.run(_look(self.files), block_ranges(len(paths), 1), report=True)
        parts = [part for part, _ in found]
        _check(paths, parts)
        self.frame = TrainingFrame.joined(parts)
        self.report = _summed(folder, [report for _, report in found])
        self._first_users = np.cumsum([0, *(part.n_users for part in parts)]).tolist()

    def dealt_out(self, workers: int) -> list[tuple[int, Files]]:
        """Return, for each worker, the number of its first user, and its files."""
        return [
            (self._first_users[first], self._some(first, stop))
            for first, stop in even_ranges(len(self.files.paths), workers)
        ]

    def _some(self, first: int, stop: int) -> Files:
        return Files(self.files.paths[first:stop], self.files.places, self.files.choices)


def _look(files: Files) -> Callable[..., tuple[TrainingFrame, intake.Report]]:
    def work(block: int, first: int, stop: int) -> tuple[TrainingFrame, intake.Report]:
        [(traces, report)] = Files(files.paths[first:stop], files.places, files.choices).read()
        return TrainingFrame.of(traces), report

    return work


def _check(paths: list[Path], parts: list[TrainingFrame]) -> None:
    """Refuse files whose users, put one after the other, would not be in order or cut into whole blocks."""
    for path, part in zip(paths, parts, strict=True):
        if part.clock.first_day is None:
            raise FileError.whole(path, "has numbers for times; a cluster reads dates only", "no-dates")
        if part.n_users % USERS_PER_DIGEST and path != paths[-1]:
            problem = f"has {part.n_users:,} users, which is no multiple of {USERS_PER_DIGEST:,}"
            raise FileError.whole(path, f"{problem}; convert --to partitions makes such files", "users")
    for path, (before, part) in zip(paths[1:], pairwise(parts), strict=True):
        last, first = before.user_ids[-1], part.user_ids[0]
        if before.user_ids.dtype.kind != part.user_ids.dtype.kind or not last < first:
            problem = f"begins with user {first!s}, after user {last!s}"
            raise FileError.whole(path, f"{problem}: users must ascend from file to file", "users")


def _summed(folder: str | PathLike[str], reports: list[intake.Report]) -> intake.Report:
    """Add up what was read and dropped."""
    total = intake.Report(str(folder), "partitions", sum(report.rows for report in reports))
    for report in reports:
        total.add(report)
    return total
