"""Training in a cluster: blocks of users in its workers, and traces that only the workers read.

`RemoteUsers` does there what `gibbs.LocalUsers` does here, and `PartitionedTraces` are the files of more
users than one process holds. What a dead worker held is made anew from the traces of its users, and the
round of iterations in which it died is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena import io
from tracearena.engine import Cluster, PairwiseSum, block_ranges
from tracearena.engine.blocks import Node, S
from tracearena.engine.cluster import even_ranges, task, worker_threads
from tracearena.engine.meetings import LostError, Seat, meet
from tracearena.engine.parcels import packed, unpacked
from tracearena.errors import ClusterError, FileError
from tracearena.synthesis.ppmtf.gibbs import Iteration, IterationResult, LocalUsers, RowStatistics, UserStep
from tracearena.synthesis.ppmtf.tensors import Arrangement
from tracearena.synthesis.ppmtf.training import USERS_PER_DIGEST, TrainingFrame
from tracearena.traces import Places, Traces

Matrix = NDArray[np.float64]
FRESH_EVERY = 10
"""Workers go on to the next iteration by themselves, but every tenth begins from here: where a worker dies,
ten iterations at most are drawn again."""
ROUND_S = 1.0
"""So long a round of iterations may take before it is told of."""
ATTEMPTS = 4


class RemoteUsers:
    """Blocks of users in the workers of a cluster: one range of blocks for each worker.

    A round of iterations is a meeting of the workers (`engine.meetings`). What travels in an iteration:
    from each worker to each other the sums of its blocks for the rows that the other draws, of B and
    then of C and D, and these rows to all. The rows of A stay where they were drawn. Here arrive B, C
    and D of all iterations of a round.

    Parameters
    ----------
    iterations
        Where training ends: no round goes further.
    """

    def __init__(
        self,
        cluster: Cluster,
        traces: Traces | PartitionedTraces,
        arrangement: Arrangement,
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
            pieces: list[tuple[int, Any]] = traces.dealt_out(len(self._homes))
            self.n_users = traces.frame.n_users
        else:
            pieces = _dealt_out(traces, size, len(self._homes))
            self.n_users = traces.n_users
        self._homes = self._homes[: len(pieces)]
        self._held = [
            cluster.submit(_arranged, cluster.keep(piece), how, first // size, worker=home)
            for (first, piece), home in zip(pieces, self._homes, strict=True)
        ]
        self._drawn: tuple[int, list[IterationResult]] = (0, [])
        self._at_once = 1
        each = cluster.gather([cluster.submit(_weights, held) for held in self._held])
        self.weight = sum(weight for weights in each for weight in weights)

    def run(self, iteration: Iteration) -> tuple[Iteration, IterationResult]:
        """Draw A, B, C and D.

        The token of the rows of A is the iteration, from which they can be drawn again.
        """
        number, drawn = self._drawn
        if iteration.number != number or not drawn:
            drawn = self._round(iteration)
        self._drawn = iteration.number + 1, drawn[1:]
        return iteration, drawn[0]

    def _round(self, iteration: Iteration) -> list[IterationResult]:
        """Draw the next iterations, so many that it takes a second, and no more than ten.

        Rounds end where training saves its state, so that the rows of A are at hand.
        """
        left = min(self.iterations - iteration.number, FRESH_EVERY - iteration.number % FRESH_EVERY)
        count = max(min(left, self._at_once), 1)
        started = perf_counter()
        for _ in range(ATTEMPTS):
            self._homes = _placed(self._homes, self.cluster.workers)
            seats = {home: (packed(iteration), count, *self._of(home)) for home in dict.fromkeys(self._homes)}
            try:
                drawn = meet(self.cluster, _draw_round, seats)
            except LostError:
                continue
            self._at_once = int(min(ROUND_S * count / (perf_counter() - started), FRESH_EVERY))
            return drawn
        raise ClusterError("one worker after another was lost in training, for want of memory?")

    def _of(self, home: str) -> list[Any]:
        return [held for held, its_home in zip(self._held, self._homes, strict=True) if its_home == home]

    def collected(self, rows: Iteration) -> Matrix:
        """Bring the rows of A here, those of one worker after the other."""
        matrix = np.empty((self.n_users, rows.places.shape[1]))
        first, kept = 0, self.cluster.keep(rows)
        asked = [
            self.cluster.submit(_rows, held, kept, worker=home)
            for held, home in zip(self._held, self._homes, strict=True)
        ]
        for at, future in enumerate(asked):
            asked[at] = None
            [part] = self.cluster.gather([future])
            matrix[first : first + len(part)] = part
            first += len(part)
        return matrix


def _placed(homes: list[str], alive: list[str]) -> list[str]:
    """Give what a dead worker held, or one too many holds, to a worker that holds less.

    >>> _placed(["a", "b", "c"], ["a", "c", "d"])
    ['a', 'd', 'c']
    >>> _placed(["a", "b", "c"], ["c"]), _placed(["c", "c", "c"], ["a", "c"])
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


def _draw_round(seat: Seat, iteration: bytes, count: int, *held: LocalUsers) -> list[IterationResult]:
    """Draw some iterations together with the others; the first seat says what came out."""
    begun: Iteration = unpacked(iteration)
    drawn: list[IterationResult] = []
    with task(worker_threads()):
        for step in range(count):
            begun = begun.following(drawn[-1]) if step else begun
            drawn.append(_draw_together(seat, begun, held))
    return drawn if seat.number == 0 else []


def _draw_together(seat: Seat, iteration: Iteration, held: Sequence[LocalUsers]) -> IterationResult:
    """Draw A, B, C and D: own rows of A, and one part of the rows of B, C and D."""
    own = [one.draw_users(iteration) for one in held]
    steps = [node for _, sums in own for node in sums.nodes]
    cuts = _shares(len(iteration.places), seat.count)
    handed = _joined(seat.exchange([_step_of_rows(steps, *cut) for cut in cuts]))
    mine = iteration.draw_places(handed.places.unhalved(), cuts[seat.number][0])
    places = np.concatenate(seat.exchange([mine] * seat.count))
    sums = [one.target_sums(rows, places).nodes for one, (rows, _) in zip(held, own, strict=True)]
    both = [node for nodes in sums for node in nodes]
    cuts = _shares(len(iteration.targets), seat.count)
    statistics = _joined(seat.exchange([_some_rows(both, *cut) for cut in cuts]))
    pairs = seat.exchange([iteration.draw_targets(statistics.unhalved(), cuts[seat.number][0])] * seat.count)
    next_places, slots = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return IterationResult(places, next_places, slots, handed.moments, handed.squared_error)


def _shares(rows: int, count: int) -> list[tuple[int, int]]:
    cuts = [rows * seat // count for seat in range(count + 1)]
    return list(pairwise(cuts))


def _step_of_rows(nodes: list[Node[UserStep]], first: int, stop: int) -> list[Node[UserStep]]:
    return [
        node._replace(value=replace(node.value, places=node.value.places.rows(first, stop).halved()))
        for node in nodes
    ]


def _some_rows(nodes: list[Node[RowStatistics]], first: int, stop: int) -> list[Node[RowStatistics]]:
    return [node._replace(value=node.value.rows(first, stop).halved()) for node in nodes]


def _rows(held: LocalUsers, iteration: Iteration) -> Matrix:
    with task(worker_threads()):
        return held.rows(iteration)


def _joined(sums: Sequence[list[Node[S]]]) -> S:
    nodes = (node for part in sums for node in part)
    return PairwiseSum(sorted(nodes, key=lambda node: node.first)).total()


@dataclass(frozen=True)
class Files:
    """Some files, and how to read them."""

    paths: tuple[str, ...]
    places: Places
    choices: io.Choices

    def read(self) -> list[tuple[Traces, io.Report]]:
        """Read one after the other."""
        return [self._read(path) for path in self.paths]

    def _read(self, path: str) -> tuple[Traces, io.Report]:
        if not Path(path).exists():
            raise FileError.whole(path, "is not where a worker looks for it", "missing")
        return io.read(path, "table", places=self.places, choices=self.choices).as_events()


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
        choices: io.Choices | None = None,
    ) -> None:
        from tracearena.io.tables import list_parquet_files

        paths = list_parquet_files(folder)
        if not paths:
            raise FileError.whole(folder, "holds no .parquet files", "empty")
        self.files = Files(tuple(str(path.resolve()) for path in paths), places, choices or io.Choices())
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


def _look(files: Files) -> Callable[..., tuple[TrainingFrame, io.Report]]:
    def work(block: int, first: int, stop: int) -> tuple[TrainingFrame, io.Report]:
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


def _summed(folder: str | PathLike[str], reports: list[io.Report]) -> io.Report:
    """Add up what was read and dropped."""
    total = io.Report(str(folder), "partitions", sum(report.rows for report in reports))
    for report in reports:
        total.add(report)
    return total
