"""Gibbs sampling of the factor matrices.

The rows of A belong to users, so a block of users draws its own and hands on two small sums: the
sufficient statistics for B, and, when B is drawn, those for C and D. Blocks have a fixed size and
are summed in order; a block needs nothing of the others but B, C, D and Ψ_A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import blocks, fold_blocks, stream
from tracearena.formats.ppmtf import Parameters
from tracearena.synthesis.ppmtf.cells import BlockCells
from tracearena.synthesis.ppmtf.hyperprior import Gaussian, Hyperprior, Moments
from tracearena.synthesis.ppmtf.weighted_cells import WeightedCells

Matrix = NDArray[np.float64]
Cells: TypeAlias = BlockCells | WeightedCells
USERS_PER_BLOCK = 256
WEIGHTED_USERS_PER_BLOCK = 1024
"""Blocks without sampled zeros have fewer cells, so that more users share the cost of a block."""
_CELLS, _INITIAL, _ITERATION, _USERS = range(4)
_MODES = ("users", "places", "next_places", "slots")


@dataclass(eq=False)
class Factors:
    """The factor matrices after an iteration, and the Ψ they were drawn with.

    Attributes
    ----------
    users, places, next_places, slots
        A, B, C and D; rows × factors.
    priors
        (μ, Λ) of A, B, C and D.
    """

    users: Matrix
    places: Matrix
    next_places: Matrix
    slots: Matrix
    priors: tuple[Gaussian, Gaussian, Gaussian, Gaussian]

    @classmethod
    def from_parameters(cls, parameters: Parameters) -> Factors:
        """Take the matrices of the PPMTF tools' files; Ψ is standard normal where they have none."""
        z = parameters.n_factors
        priors = [
            Gaussian(parameters.mu.get(name, np.zeros(z)), parameters.Lambda.get(name, np.eye(z)))
            for name in "ABCD"
        ]
        matrices = (parameters.A, parameters.B, parameters.C, parameters.D)
        return cls(*matrices, (priors[0], priors[1], priors[2], priors[3]))

    def to_parameters(self) -> Parameters:
        """Return the matrices under the paper's letters."""
        means = {name: prior.mean for name, prior in zip("ABCD", self.priors, strict=True)}
        precisions = {name: prior.precision for name, prior in zip("ABCD", self.priors, strict=True)}
        return Parameters(self.users, self.places, self.next_places, self.slots, means, precisions)

    @property
    def n_factors(self) -> int:
        """Number of columns (z)."""
        return int(self.users.shape[1])


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """What the rows of a factor matrix need to know of the cells: Σ x xᵀ and Σ r x for each row."""

    gram: NDArray[np.float64]
    weighted: Matrix

    def __add__(self, other: RowStatistics) -> RowStatistics:
        return RowStatistics(self.gram + other.gram, self.weighted + other.weighted)


@dataclass(frozen=True, eq=False)
class UserStep:
    """What a block of users hands on after it drew its rows of A."""

    places: RowStatistics
    moments: Moments
    squared_error: float

    def __add__(self, other: UserStep) -> UserStep:
        error = self.squared_error + other.squared_error
        return UserStep(self.places + other.places, self.moments + other.moments, error)


def draw_rows(
    statistics: RowStatistics, alpha: float, prior: Gaussian, rng: np.random.Generator
) -> tuple[Matrix, float]:
    """Draw every row from its normal conditional; also return Σ (xᵀ G x − 2 xᵀ h)."""
    from tracearena.synthesis.ppmtf import _kernels

    rows = np.empty_like(statistics.weighted)
    noise = rng.standard_normal(rows.shape)
    gram, weighted = statistics.gram, statistics.weighted
    error = _kernels.draw_rows(gram, weighted, alpha, prior.precision, prior.shift, noise, rows)
    return rows, float(error)


def step_users(
    cells: Cells,
    places: Matrix,
    targets: Matrix,
    alpha: float,
    prior: Gaussian,
    rng: np.random.Generator,
) -> tuple[Matrix, UserStep]:
    """Draw the block's rows of A given B, C and D, and sum up what B needs to know."""
    from tracearena.synthesis.ppmtf._kernels import weighted_sum

    z = places.shape[1]
    mine = np.zeros((cells.n_users, z))
    weighted_sum(places, targets, cells.place, cells.target, cells.user, cells.value, mine)
    users, error = draw_rows(RowStatistics(cells.user_gram(places, targets), mine), alpha, prior, rng)
    weighted = np.zeros_like(places)
    weighted_sum(users, targets, cells.user, cells.target, cells.place, cells.value, weighted)
    statistics = RowStatistics(cells.place_gram(users, targets), weighted)
    return users, UserStep(statistics, Moments.of(users), error + cells.squared_values)


def target_statistics(cells: Cells, users: Matrix, places: Matrix) -> RowStatistics:
    """Sum up what C and D need to know of a block, given its rows of A and the new B."""
    from tracearena.synthesis.ppmtf._kernels import weighted_sum

    gram = cells.target_gram(users, places)
    weighted = np.zeros((len(gram), users.shape[1]))
    weighted_sum(users, places, cells.user, cells.place, cells.target, cells.value, weighted)
    return RowStatistics(gram, weighted)


class Chain:
    """One Markov chain over (A, B, C, D).

    Parameters
    ----------
    cells
        The cells, a block of users each.
    factors
        Where the chain starts.
    alpha
        Precision of the counts (α).
    hyperprior
        Prior of the factor matrices' means and precisions.
    root
        Seed of all draws; those of iteration t depend on nothing but root, t and the block.
    """

    def __init__(
        self,
        cells: Sequence[Cells],
        factors: Factors,
        alpha: float,
        hyperprior: Hyperprior,
        root: np.random.SeedSequence,
    ) -> None:
        self.cells = cells
        self.factors = factors
        self.alpha = alpha
        self.hyperprior = hyperprior
        self.root = root
        ends = np.cumsum([block.n_users for block in cells])
        self._ranges = [(int(end) - block.n_users, int(end)) for end, block in zip(ends, cells, strict=True)]
        self.weight = sum(block.weight for block in cells)
        self._user_moments = Moments.of(factors.users[slice(*self._ranges[0])])
        for first, stop in self._ranges[1:]:
            self._user_moments += Moments.of(factors.users[first:stop])

    def step(self, iteration: int, *, threads: int | None = None) -> float:
        """Run one iteration in the order Ψ, A, B, C, D; return the mean squared error of the seen cells.

        The error is that of the new A with the B, C and D it was drawn with.
        """
        old, alpha = self.factors, self.alpha
        rng = stream(self.root, _ITERATION, iteration)
        moments = [self._user_moments, *(Moments.of(getattr(old, mode)) for mode in _MODES[1:])]
        priors = [self.hyperprior.draw(rows, rng) for rows in moments]
        targets = np.vstack([old.next_places, old.slots])
        users = np.empty_like(old.users)

        def first_half(block: int, first: int, stop: int) -> UserStep:
            mine = stream(self.root, _USERS, iteration, block)
            rows, handed = step_users(self.cells[block], old.places, targets, alpha, priors[0], mine)
            users[first:stop] = rows
            return handed

        handed = fold_blocks(first_half, self._ranges, threads=threads)
        places, _ = draw_rows(handed.places, alpha, priors[1], rng)

        def second_half(block: int, first: int, stop: int) -> RowStatistics:
            return target_statistics(self.cells[block], users[first:stop], places)

        both = fold_blocks(second_half, self._ranges, threads=threads)
        n = len(old.next_places)
        next_places, _ = draw_rows(RowStatistics(both.gram[:n], both.weighted[:n]), alpha, priors[2], rng)
        slots, _ = draw_rows(RowStatistics(both.gram[n:], both.weighted[n:]), alpha, priors[3], rng)
        self.factors = Factors(
            users, places, next_places, slots, (priors[0], priors[1], priors[2], priors[3])
        )
        self._user_moments = handed.moments
        return max(handed.squared_error, 0.0) / max(self.weight, 1)


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C, D of so many rows from independent uniform numbers in [0, 1]."""
    users = [
        stream(root, _INITIAL, block + 1).random((stop - first, factors))
        for block, (first, stop) in enumerate(blocks(rows[0], USERS_PER_BLOCK))
    ]
    rng = stream(root, _INITIAL, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(np.vstack(users), places, next_places, slots, (blank, blank, blank, blank))


def cell_stream(root: np.random.SeedSequence, block: int) -> np.random.Generator:
    """Return the stream that chooses a block's trimmed and zero cells."""
    return stream(root, _CELLS, block)
