"""Training in a cluster: blocks of users in its workers, and traces that only the workers read.

`RemoteUsers` does there what `gibbs.LocalUsers` does here, and `PartitionedTraces` are the files of more
users than one process holds. What a dead worker held is made again from the traces of its users, and the
iterations that were lost with it are drawn again: Dask repeats the tasks that led to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena import io
from tracearena.engine import Cluster, block_ranges
from tracearena.engine.blocks import Node, join_sums
from tracearena.engine.cluster import split_evenly, worker_context, worker_threads
from tracearena.errors import FileError
from tracearena.synthesis.ppmtf.gibbs import (
    Iteration,
    IterationResult,
    LocalUsers,
    Psi,
    RowStatistics,
    UserSums,
    run_iteration,
)
from tracearena.synthesis.ppmtf.tensors import CellArrangement
from tracearena.synthesis.ppmtf.training import USERS_PER_DIGEST, TrainingFrame
from tracearena.traces import Places, Traces

Matrix = NDArray[np.float64]
MAX_CHAIN = 10
"""Iterations that are submitted at once, each from the results of the one before. The next begins from here,
so that a worker that dies costs this many iterations at most."""


class RemoteUsers:
    """Blocks of users in the workers of a cluster: one range of blocks for each worker.

    In an iteration the sums of all workers' blocks go to the worker that draws B, and B goes to all; then the
    same for C and D. The rows of A stay where they were drawn. B, C and D of every iteration arrive here.

    Parameters
    ----------
    iterations
        Where training ends; no iteration after it is submitted.
    """

    def __init__(
        self,
        cluster: Cluster,
        traces: Traces | PartitionedTraces,
        arrangement: CellArrangement,
        *,
        lean: bool = False,
        iterations: int,
    ) -> None:
        self.cluster = cluster
        self.iterations = iterations
        self._homes = cluster.workers
        self.users_per_block = size = arrangement.users_per_block
        how = cluster.keep((arrangement, lean))
        if isinstance(traces, PartitionedTraces):
            pieces: list[tuple[int, Any]] = traces.split_files(len(self._homes))
            self.n_users = traces.frame.n_users
        else:
            ranges = split_evenly(-(-traces.n_users // size), len(self._homes))
            bare = traces.without_timestamps()
            pieces = [
                (first * size, bare.take_users(slice(first * size, stop * size))) for first, stop in ranges
            ]
            self.n_users = traces.n_users
        self._homes = self._homes[: len(pieces)]
        self._held = [
            cluster.submit(_arrange_cells, cluster.keep(piece), how, first // size, worker=home)
            for (first, piece), home in zip(pieces, self._homes, strict=True)
        ]
        self._results: deque[Any] = deque()
        each = cluster.gather([cluster.submit(_read_weights, held) for held in self._held])
        self.weight = sum(weight for weights in each for weight in weights)

    def run(self, iteration: Iteration) -> IterationResult:
        """Run an iteration; those after it are submitted along with it."""
        if not self._results:
            self._results.extend(self._submit_iterations(iteration))
        result: IterationResult
        [result] = self.cluster.gather([self._results.popleft()])
        return result

    def _submit_iterations(self, iteration: Iteration) -> Iterator[Any]:
        """Submit the tasks of the next iterations; yield the result of each.

        The last is one after which training saves its state, so that the rows of A are at hand.
        """
        self._homes = _assign_workers(self._homes, self.cluster.workers)
        last = min(self.iterations, iteration.number - iteration.number % MAX_CHAIN + MAX_CHAIN)
        begun = self.cluster.keep(iteration)
        for _ in range(iteration.number, last):
            result = run_iteration(self, begun)
            begun = self.apply(Iteration.next, begun, result)
            yield result

    def apply(self, step: Callable[..., Any], *given: Any) -> Any:
        """Submit a step to the first worker."""
        return self.cluster.submit(_apply, step, *given, worker=self._homes[0])

    def draw_users(self, begun: Any, psi: Any) -> Any:
        """Submit the draws of A, and their sums."""
        return self._sum(self._submit_to_all(_draw_user_blocks, begun, psi))

    def sum_targets(self, begun: Any, B: Any) -> Any:
        """Submit the sums for C and D."""
        return self._sum(self._submit_to_all(_sum_target_blocks, begun, B))

    def _submit_to_all(self, task: Callable[..., Any], *given: Any) -> list[Any]:
        """Submit what each worker does for its own blocks."""
        return [
            self.cluster.submit(task, held, *given, worker=home)
            for held, home in zip(self._held, self._homes, strict=True)
        ]

    def _sum(self, parts: list[Any]) -> Any:
        """Submit the sum of what all workers have summed up."""
        return self.apply(_join_sums, *self.cluster.join_sums(parts))

    def rows_of(self, iteration: Iteration) -> Matrix:
        """Bring the rows of A here, those of one worker after the other."""
        # Workers would end the iterations that were submitted ahead before they send rows.
        self._results.clear()
        matrix = np.empty((self.n_users, iteration.places.shape[1]))
        first, asked = 0, self._submit_to_all(_read_rows, self.cluster.keep(iteration))
        for at, future in enumerate(asked):
            asked[at] = None
            [part] = self.cluster.gather([future])
            matrix[first : first + len(part)] = part
            first += len(part)
        return matrix


def _assign_workers(homes: list[str], alive: list[str]) -> list[str]:
    """Give what a dead worker held, or one too many holds, to a worker that holds less.

    >>> _assign_workers(["a", "b", "c"], ["a", "c", "d"])
    ['a', 'd', 'c']
    >>> _assign_workers(["a", "b", "c"], ["c"]), _assign_workers(["c", "c", "c"], ["a", "c"])
    (['c', 'c', 'c'], ['c', 'c', 'a'])
    """
    most = -(-len(homes) // len(alive))
    placed: list[str | None] = []
    for home in homes:
        stays = home in alive and placed.count(home) < most
        placed.append(home if stays else None)
    for at, kept in enumerate(placed):
        if kept is None:
            placed[at] = min(alive, key=placed.count)
    return [home for home in placed if home is not None]


def _arrange_cells(piece: Traces | Files, how: tuple[CellArrangement, bool], number: int) -> LocalUsers:
    with worker_context(worker_threads()):
        read = [(piece, None)] if isinstance(piece, Traces) else piece.read()
        parts = [traces.without_timestamps() for traces, _ in read]
        return LocalUsers.of(parts, how[0], number=number, lean=how[1])


def _read_weights(held: LocalUsers) -> list[float]:
    return held.weights


def _apply(step: Callable[..., Any], *given: Any) -> Any:
    with worker_context():
        return step(*given)


def _draw_user_blocks(held: LocalUsers, begun: Iteration, psi: Psi) -> list[Node[UserSums]]:
    # `held` keeps the rows of A, so that `_sum_target_blocks` need not draw them again.
    with worker_context(worker_threads()):
        return held.draw_user_blocks(begun, psi).nodes


def _sum_target_blocks(held: LocalUsers, begun: Iteration, B: Matrix) -> list[Node[RowStatistics]]:
    with worker_context(worker_threads()):
        return held.sum_target_blocks(begun, B).nodes


def _join_sums(*sums: list[Node[Any]]) -> Any:
    return join_sums(sums).total()


def _read_rows(held: LocalUsers, iteration: Iteration) -> Matrix:
    with worker_context(worker_threads()):
        return held.rows_of(iteration)


@dataclass(frozen=True)
class Files:
    """Some files, and how to read them."""

    paths: tuple[str, ...]
    places: Places
    choices: io.Choices

    def read(self) -> list[tuple[Traces, io.Report]]:
        """Read one after the other."""
        found: list[tuple[Traces, io.Report]] = []
        for path in self.paths:
            if not Path(path).exists():
                raise FileError.whole(path, "cannot be found by a worker", "missing")
            found.append(io.read(path, "table", places=self.places, choices=self.choices).as_events())
        return found


class PartitionedTraces:
    """Traces of many users in several files, each with a range of users.

    The workers read the files twice: once to find the users, and once to load the users they work on. The
    main process never holds the events. Every worker must reach the folder under the same name.

    Parameters
    ----------
    folder
        A folder of Parquet files as ``tracearena convert --to partitions`` writes them: events with
        dates, users in ascending order from file to file, and in every file but the last a number of
        users such that blocks of users do not cross files.
    places
        The places, because no single file has all of them.
    cluster
        The cluster whose workers read.
    choices
        Choice of instants.

    Attributes
    ----------
    frame
        Properties of all users together.
    report
        Rows that were read and dropped in all files.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        places: Places,
        cluster: Cluster,
        *,
        choices: io.Choices | None = None,
    ) -> None:
        from tracearena.io.tables import list_parquet_files

        paths = list_parquet_files(folder)
        if not paths:
            raise FileError.whole(folder, "has no .parquet files", "empty")
        files = Files(tuple(str(path.resolve()) for path in paths), places, choices or io.Choices())

        def look(block: int, first: int, stop: int) -> tuple[TrainingFrame, io.Report]:
            [(traces, report)] = replace(files, paths=files.paths[first:stop]).read()
            return TrainingFrame.of(traces), report

        found = cluster.run(look, block_ranges(len(paths), 1), report=True)
        parts = [part for part, _ in found]
        _check_partitions(paths, parts)
        self.files, self.frame = files, TrainingFrame.join_parts(parts)
        self.report = io.Report(str(folder), "partitions", sum(report.rows for _, report in found))
        for _, report in found:
            self.report.add(report)
        self._first_users = np.cumsum([0, *(part.n_users for part in parts)]).tolist()

    def split_files(self, workers: int) -> list[tuple[int, Files]]:
        """Return the number of the first user and the files of each worker."""
        return [
            (self._first_users[first], replace(self.files, paths=self.files.paths[first:stop]))
            for first, stop in split_evenly(len(self.files.paths), workers)
        ]


def _check_partitions(paths: list[Path], parts: list[TrainingFrame]) -> None:
    """Refuse files without dates, or whose users, file after file, are not in order or in whole blocks."""
    for path, part in zip(paths, parts, strict=True):
        if part.clock.first_day is None:
            raise FileError.whole(path, "has numbers as times; on a cluster times must be dates", "no-dates")
        if part.n_users % USERS_PER_DIGEST and path != paths[-1]:
            problem = f"has {part.n_users:,} users, which is not a multiple of {USERS_PER_DIGEST:,}"
            raise FileError.whole(path, f"{problem}; `convert --to partitions` writes such files", "users")
    for path, (before, part) in zip(paths[1:], pairwise(parts), strict=True):
        last, first = before.user_ids[-1], part.user_ids[0]
        if before.user_ids.dtype.kind != part.user_ids.dtype.kind or not last < first:
            problem = f"begins with user {first!s}, after user {last!s}"
            raise FileError.whole(path, f"{problem}: users must ascend from file to file", "users")
