"""Who holds the cells of the users and draws their rows of A: this process, or the workers of a cluster.

Rows of A depend on the user's own cells, B, C, D and Ψ_A, not on the rows before. So a worker needs
nothing of the others, and what a dead one held can be made anew from the traces of its users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import Cluster, PairwiseSum, blocks, run_blocks, stream, sum_blocks
from tracearena.engine.cluster import shares, task, worker_threads
from tracearena.synthesis.ppmtf.cells import CellRules, arrange
from tracearena.synthesis.ppmtf.conditionals import (
    Cells,
    RowStatistics,
    UserStep,
    step_users,
    target_statistics,
)
from tracearena.synthesis.ppmtf.hyperprior import Gaussian
from tracearena.synthesis.ppmtf.tensors import transition_counts, visit_counts
from tracearena.synthesis.ppmtf.weighted_cells import arrange_weighted
from tracearena.traces import Traces

Matrix = NDArray[np.float64]
Zeros = Literal["sampled", "all"]
USERS_PER_BLOCK = 256
WEIGHTED_USERS_PER_BLOCK = 1024
"""Blocks without sampled zeros have fewer cells, so that more users share the cost of a block."""
CELL_STREAM, USER_STREAM = 0, 3


@dataclass(frozen=True, eq=False)
class Arrangement:
    """How the cells of a block of users are made from their traces.

    Attributes
    ----------
    root
        Seed of the chain.
    rules
        Which cells of the transition and of the visit tensor are kept.
    zeros
        Whether zero cells are sampled or all weighed.
    scales
        What all zeros of each tensor weigh.
    tensors
        Which tensors the chain factorises.
    """

    root: np.random.SeedSequence
    rules: tuple[CellRules, CellRules]
    zeros: Zeros = "sampled"
    scales: tuple[float, float] = (1.0, 1.0)
    tensors: tuple[bool, bool] = (True, True)

    @property
    def users_per_block(self) -> int:
        """Size of a block."""
        return WEIGHTED_USERS_PER_BLOCK if self.zeros == "all" else USERS_PER_BLOCK

    def cells(self, traces: Traces, block: int) -> Cells:
        """Return the cells of a block, given the traces of its users alone."""
        moves = transition_counts(traces) if self.tensors[0] else None
        visits = visit_counts(traces) if self.tensors[1] else None
        rng = stream(self.root, CELL_STREAM, block)
        if self.zeros == "all":
            return arrange_weighted(moves, visits, self.rules, self.scales, rng)
        return arrange(moves, visits, self.rules, rng)


class LeanCells(Sequence[Cells]):
    """Blocks that are arranged anew whenever they are looked at: the same cells, and no memory for them."""

    def __init__(self, traces: Traces, arrangement: Arrangement, number: int = 0) -> None:
        self.traces = traces
        self.arrangement = arrangement
        self.number = number
        self._ranges = blocks(traces.n_users, arrangement.users_per_block)

    def __len__(self) -> int:
        return len(self._ranges)

    @overload
    def __getitem__(self, block: int) -> Cells: ...
    @overload
    def __getitem__(self, block: slice) -> list[Cells]: ...
    def __getitem__(self, block: int | slice) -> Cells | list[Cells]:
        if isinstance(block, slice):
            return [self[at] for at in range(*block.indices(len(self)))]
        mine = self.traces.take_users(slice(*self._ranges[block]))
        return self.arrangement.cells(mine, self.number + block)


@dataclass(frozen=True, eq=False)
class Given:
    """What the rows of A are drawn from, apart from the users' own cells."""

    places: Matrix
    targets: Matrix
    alpha: float
    prior: Gaussian


class UserBlocks(Protocol):
    """Blocks of users, wherever they are held.

    Rows of A are handed around as a token, since only `collected` needs to bring them here.
    """

    weight: float
    users_per_block: int

    def draw(self, iteration: int, given: Given) -> tuple[Any, UserStep]:
        """Draw everybody's row; return a token of the rows, and what B and Ψ_A need to know."""

    def target_statistics(self, rows: Any, places: Matrix) -> RowStatistics:
        """Sum up what C and D need to know, given the new B."""

    def collected(self, rows: Any) -> Matrix:
        """Return the matrix A of a token."""


class HeldUsers:
    """Blocks of users in this process.

    Parameters
    ----------
    cells
        The cells, a block of users each.
    root
        Seed of the chain; draws of iteration t depend on nothing but root, t and the block.
    number
        Number of the first block.
    threads
        Threads to use.
    """

    def __init__(
        self,
        cells: Sequence[Cells],
        root: np.random.SeedSequence,
        *,
        number: int = 0,
        threads: int | None = None,
    ) -> None:
        self.cells = cells
        self.root = root
        self.number = number
        self.threads = threads
        each = run_blocks(_size_and_weight(cells), blocks(len(cells), 1), threads=threads)
        self.weights = [weight for _, weight in each]
        ends = np.cumsum([size for size, _ in each]).tolist()
        self._ranges = list(zip([0, *ends[:-1]], ends, strict=True))
        self.users_per_block = int(ends[0])
        self.weight = sum(self.weights)

    @classmethod
    def of(
        cls,
        traces: Traces,
        arrangement: Arrangement,
        *,
        number: int = 0,
        lean: bool = False,
        threads: int | None = None,
    ) -> HeldUsers:
        """Arrange the cells of some traces, whose first block has a number."""
        anew = LeanCells(traces, arrangement, number)
        cells: Sequence[Cells] = anew
        if not lean:
            cells = run_blocks(lambda block, *_: anew[block], blocks(len(anew), 1), threads=threads)
        return cls(cells, arrangement.root, number=number, threads=threads)

    def __sizeof__(self) -> int:
        """Tell a scheduler what moving this would cost."""
        if isinstance(self.cells, LeanCells):
            return sum(getattr(self.cells.traces, name).nbytes for name in ("instants", "place_index"))
        return sum(block.nbytes for block in self.cells)

    def draw(self, iteration: int, given: Given) -> tuple[Matrix, UserStep]:
        """Draw everybody's row."""
        rows, sums = self.draw_sums(iteration, given)
        return rows, sums.total()

    def draw_sums(self, iteration: int, given: Given) -> tuple[Matrix, PairwiseSum[UserStep]]:
        """Draw the rows of these blocks; the sums can be joined with those of others."""
        rows = np.empty((self._ranges[-1][1], given.places.shape[1]))

        def work(block: int, first: int, stop: int) -> UserStep:
            rng = stream(self.root, USER_STREAM, iteration, block)
            cells = self.cells[block - self.number]
            rows[first:stop], handed = step_users(
                cells, given.places, given.targets, given.alpha, given.prior, rng
            )
            return handed

        return rows, sum_blocks(work, self._ranges, number=self.number, threads=self.threads)

    def target_statistics(self, rows: Matrix, places: Matrix) -> RowStatistics:
        """Sum up what C and D need to know."""
        return self.target_sums(rows, places).total()

    def target_sums(self, rows: Matrix, places: Matrix) -> PairwiseSum[RowStatistics]:
        """Sum up what C and D need to know of these blocks."""

        def work(block: int, first: int, stop: int) -> RowStatistics:
            return target_statistics(self.cells[block - self.number], rows[first:stop], places)

        return sum_blocks(work, self._ranges, number=self.number, threads=self.threads)

    def collected(self, rows: Matrix) -> Matrix:
        """Return A."""
        return rows


def _size_and_weight(cells: Sequence[Cells]) -> Any:
    def work(block: int, *_: int) -> tuple[int, float]:
        mine = cells[block]
        return mine.n_users, mine.weight

    return work


class RemoteUsers:
    """Blocks of users in the workers of a cluster: one range of blocks for each worker.

    What travels in an iteration: B, C, D and Ψ_A to every worker, and from each the sums of its
    blocks. The rows of A stay where they were drawn.
    """

    def __init__(
        self, cluster: Cluster, traces: Traces, arrangement: Arrangement, *, lean: bool = False
    ) -> None:
        self.cluster = cluster
        self._homes = cluster.workers
        self.users_per_block = size = arrangement.users_per_block
        how = cluster.keep((arrangement, lean))
        self._held = []
        for at, (first, stop) in enumerate(shares(-(-traces.n_users // size), len(self._homes))):
            mine = traces.take_users(slice(first * size, stop * size))
            self._held.append(
                cluster.submit(_arranged, cluster.keep(mine), how, first, worker=self._homes[at])
            )
        each = cluster.gather([cluster.submit(_weights, held) for held in self._held])
        self.weight = sum(weight for weights in each for weight in weights)

    def draw(self, iteration: int, given: Given) -> tuple[list[Any], UserStep]:
        """Draw everybody's row."""
        sent = self.cluster.keep(given)
        drawn = self._each(_draw, [(sent, iteration)] * len(self._held))
        sums = self.cluster.gather([self.cluster.submit(_second, both) for both in drawn])
        return drawn, PairwiseSum(node for nodes in sums for node in nodes).total()

    def target_statistics(self, rows: list[Any], places: Matrix) -> RowStatistics:
        """Sum up what C and D need to know."""
        sent = self.cluster.keep(places)
        sums = self.cluster.gather(self._each(_target_sums, [(drawn, sent) for drawn in rows]))
        total: RowStatistics = PairwiseSum(node for nodes in sums for node in nodes).total()
        return total

    def collected(self, rows: list[Any]) -> Matrix:
        """Bring the rows of A here."""
        return np.vstack(self.cluster.gather([self.cluster.submit(_first, both) for both in rows]))

    def _each(self, work: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [
            self.cluster.submit(work, held, *own, worker=home)
            for held, own, home in zip(self._held, arguments, self._homes, strict=False)
        ]


def _arranged(traces: Traces, how: tuple[Arrangement, bool], number: int) -> HeldUsers:
    with task(worker_threads()):
        return HeldUsers.of(traces, how[0], number=number, lean=how[1])


def _weights(held: HeldUsers) -> list[float]:
    return held.weights


def _draw(held: HeldUsers, given: Given, iteration: int) -> tuple[Matrix, list[Any]]:
    with task(worker_threads()):
        rows, sums = held.draw_sums(iteration, given)
        return rows, sums.nodes


def _target_sums(held: HeldUsers, drawn: tuple[Matrix, Any], places: Matrix) -> list[Any]:
    with task(worker_threads()):
        return held.target_sums(drawn[0], places).nodes


def _first(both: tuple[Matrix, Any]) -> Matrix:
    return both[0]


def _second(both: tuple[Any, list[Any]]) -> list[Any]:
    return both[1]
