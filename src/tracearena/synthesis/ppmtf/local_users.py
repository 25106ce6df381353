"""Who holds the cells of the users and draws their rows of A.

Rows of A depend on the user's own cells, B, C, D and Ψ_A, not on the rows before, so blocks of users
can be held anywhere: by this process (here), or by the workers of a cluster (`distributed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import PairwiseSum, block_ranges, run_blocks, stream, sum_blocks
from tracearena.synthesis.ppmtf.cells import CellRules, arrange, arrange_weighted
from tracearena.synthesis.ppmtf.conditionals import (
    Cells,
    RowStatistics,
    UserStep,
    step_users,
    target_statistics,
)
from tracearena.synthesis.ppmtf.gibbs import USERS_PER_BLOCK, Iteration, IterationResult
from tracearena.synthesis.ppmtf.tensors import transition_counts, visit_counts
from tracearena.traces import Traces

Matrix = NDArray[np.float64]
Zeros = Literal["sampled", "all"]
WEIGHTED_USERS_PER_BLOCK = 1024
"""Blocks without sampled zeros have fewer cells, so that more users share the cost of a block."""
_CELL_STREAM = 0


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
        rng = stream(self.root, _CELL_STREAM, block)
        if self.zeros == "all":
            return arrange_weighted(moves, visits, self.rules, self.scales, rng)
        return arrange(moves, visits, self.rules, rng)


class LeanCells(Sequence[Cells]):
    """Blocks that are arranged anew whenever they are looked at: the same cells, and no memory for them.

    Parameters
    ----------
    parts
        Traces of users that follow each other; all but the last have a whole number of blocks.
    arrangement
        How cells are made.
    number
        Number of the first block.
    """

    def __init__(self, parts: Sequence[Traces], arrangement: Arrangement, number: int = 0) -> None:
        self.parts = parts
        self.arrangement = arrangement
        self.number = number
        size = arrangement.users_per_block
        self._where = [(part, limits) for part in parts for limits in block_ranges(part.n_users, size)]

    def __len__(self) -> int:
        return len(self._where)

    @overload
    def __getitem__(self, block: int) -> Cells: ...
    @overload
    def __getitem__(self, block: slice) -> list[Cells]: ...
    def __getitem__(self, block: int | slice) -> Cells | list[Cells]:
        if isinstance(block, slice):
            return [self[at] for at in range(*block.indices(len(self)))]
        part, limits = self._where[block]
        return self.arrangement.cells(part.take_users(slice(*limits)), self.number + block)


class LocalUsers:
    """Blocks of users in this process.

    Parameters
    ----------
    cells
        The cells, a block of users each.
    number
        Number of the first block.
    """

    def __init__(self, cells: Sequence[Cells], *, number: int = 0) -> None:
        self.cells = cells
        self.number = number
        each = run_blocks(_size_and_weight(cells), block_ranges(len(cells), 1))
        self.weights = [weight for _, weight in each]
        ends = np.cumsum([size for size, _ in each]).tolist()
        self._ranges = list(zip([0, *ends[:-1]], ends, strict=True))
        self.users_per_block = int(ends[0])
        self.weight = sum(self.weights)
        self._latest: tuple[Iteration, Matrix] | None = None

    @classmethod
    def of(
        cls, parts: Sequence[Traces], arrangement: Arrangement, *, number: int = 0, lean: bool = False
    ) -> LocalUsers:
        """Arrange the cells of some traces, whose first block has a number."""
        anew = LeanCells(parts, arrangement, number)
        cells: Sequence[Cells] = anew
        if not lean:
            cells = run_blocks(lambda block, *_: anew[block], block_ranges(len(anew), 1))
        return cls(cells, number=number)

    def __sizeof__(self) -> int:
        """Tell a scheduler what moving this would cost."""
        if isinstance(self.cells, LeanCells):
            return sum(part.instants.nbytes + part.place_index.nbytes for part in self.cells.parts)
        return sum(block.nbytes for block in self.cells)

    def run(self, iteration: Iteration) -> tuple[Matrix, IterationResult]:
        """Draw A, B, C and D."""
        rows, sums = self.draw_users(iteration)
        handed = sums.total()
        places = iteration.draw_places(handed)
        both = self.target_sums(rows, places).total()
        return rows, IterationResult(
            places, *iteration.draw_targets(both), handed.moments, handed.squared_error
        )

    def draw_users(self, iteration: Iteration) -> tuple[Matrix, PairwiseSum[UserStep]]:
        """Draw the rows of these blocks; the sums can be joined with those of others."""
        rows = np.empty((self._ranges[-1][1], iteration.places.shape[1]))
        given = (iteration.places, iteration.targets, iteration.alpha, iteration.priors[0])

        def work(block: int, first: int, stop: int) -> UserStep:
            cells = self.cells[block - self.number]
            rows[first:stop], handed = step_users(cells, *given, iteration.user_stream(block))
            return handed

        sums = sum_blocks(work, self._ranges, number=self.number)
        self._latest = iteration, rows
        return rows, sums

    def rows(self, iteration: Iteration) -> Matrix:
        """Return the rows that an iteration draws, those at hand or drawn again."""
        if self._latest is not None and self._latest[0].is_same(iteration):
            return self._latest[1]
        return self.draw_users(iteration)[0]

    def target_sums(self, rows: Matrix, places: Matrix) -> PairwiseSum[RowStatistics]:
        """Sum up what C and D need to know of these blocks, given the new B."""

        def work(block: int, first: int, stop: int) -> RowStatistics:
            return target_statistics(self.cells[block - self.number], rows[first:stop], places)

        return sum_blocks(work, self._ranges, number=self.number)

    def collected(self, rows: Matrix) -> Matrix:
        """Return A."""
        return rows


def _size_and_weight(cells: Sequence[Cells]) -> Any:
    def work(block: int, *_: int) -> tuple[int, float]:
        mine = cells[block]
        return mine.n_users, mine.weight

    return work
