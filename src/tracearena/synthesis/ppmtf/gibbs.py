"""Gibbs sampling of the factor matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, stream
from tracearena.formats.ppmtf import Parameters
from tracearena.synthesis.ppmtf.conditionals import (
    Gaussian,
    Hyperprior,
    Moments,
    RowStatistics,
    UserStep,
    draw_rows,
)

Matrix = NDArray[np.float64]
USERS_PER_BLOCK = 256
_INITIAL_STREAM = 1


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
    priors: Priors

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


class UserBlocks(Protocol):
    """Blocks of users, wherever they are held.

    Rows of A are handed around as a token, since only `collected` needs to bring them here.
    """

    weight: float
    users_per_block: int

    def run(self, iteration: Iteration) -> tuple[Any, IterationResult]:
        """Draw A, B, C and D; return a token of the rows of A, and the rest."""

    def collected(self, rows: Any) -> Matrix:
        """Return the matrix A of a token."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a chain is after a whole iteration.

    Attributes
    ----------
    factors
        All matrices, but A only at the start.
    rows
        Token of the rows of A, if any have been drawn.
    """

    factors: Factors
    rows: Any


class Chain:
    """One Markov chain over (A, B, C, D).

    Parameters
    ----------
    users
        Who holds the cells and draws the rows of A.
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
        users: UserBlocks,
        factors: Factors,
        alpha: float,
        hyperprior: Hyperprior,
        root: np.random.SeedSequence,
    ) -> None:
        self.users = users
        self.alpha = alpha
        self.hyperprior = hyperprior
        self.root = root
        self.state = State(factors, None)
        self._user_moments = _moments(factors.users, users.users_per_block)

    @property
    def factors(self) -> Factors:
        """The matrices after the last whole iteration."""
        return self.factors_of(self.state)

    def factors_of(self, state: State) -> Factors:
        """Return the matrices of a state, the rows of A from who holds them."""
        if state.rows is None:
            return state.factors
        return replace(state.factors, users=self.users.collected(state.rows))

    def step(self, iteration: int) -> float:
        """Run one iteration in the order Ψ, A, B, C, D; return the mean squared error of the seen cells.

        The error is that of the new A with the B, C and D it was drawn with.
        """
        old = self.state.factors
        begun = Iteration.begun(
            iteration,
            self.root,
            self.alpha,
            self.hyperprior,
            self._user_moments,
            (old.places, old.next_places, old.slots),
        )
        rows, drawn = self.users.run(begun)
        self._user_moments = drawn.users
        nobody = old.users[:0].copy()
        factors = Factors(nobody, drawn.places, drawn.next_places, drawn.slots, begun.priors)
        self.state = State(factors, rows)
        return max(drawn.squared_error, 0.0) / max(self.users.weight, 1)


@dataclass(frozen=True, eq=False)
class TrainingState:
    """How far training is: iterations, their errors, and where the chains are."""

    iterations: int
    errors: tuple[float, ...]
    states: list[State]

    def next(self, chains: list[Chain]) -> TrainingState:
        """Run an iteration of every chain."""
        errors = [chain.step(self.iterations) for chain in chains]
        weights = [chain.users.weight for chain in chains]
        error = float(np.sqrt(np.dot(errors, weights) / sum(weights)))
        return TrainingState(self.iterations + 1, (*self.errors, error), [chain.state for chain in chains])


def _moments(users: Matrix, users_per_block: int) -> Moments:
    def work(block: int, first: int, stop: int) -> Moments:
        return Moments.of(users[first:stop])

    return fold_blocks(work, block_ranges(len(users), users_per_block))


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C, D of so many rows from independent uniform numbers in [0, 1]."""
    users = np.empty((rows[0], factors))
    for block, (first, stop) in enumerate(block_ranges(rows[0], USERS_PER_BLOCK), start=1):
        stream(root, _INITIAL_STREAM, block).random(out=users[first:stop])
    rng = stream(root, _INITIAL_STREAM, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(users, places, next_places, slots, (blank, blank, blank, blank))


Priors = tuple[Gaussian, Gaussian, Gaussian, Gaussian]
CHECKPOINT_EVERY = 10
_ITERATION_STREAM, _USER_STREAM = 2, 3
_PRIORS, _PLACES, _TARGETS = range(3)


@dataclass(frozen=True, eq=False)
class Iteration:
    """An iteration that has begun.

    Attributes
    ----------
    number, root
        Draws depend on the number of the iteration and the seed of the chain.
    alpha
        Precision of the counts (α).
    hyperprior
        Prior of Ψ.
    places, next_places, slots
        B, C and D before it.
    priors
        Ψ of A, B, C and D: the first thing an iteration draws.
    """

    number: int
    root: np.random.SeedSequence
    alpha: float
    hyperprior: Hyperprior
    places: Matrix
    next_places: Matrix
    slots: Matrix
    priors: Priors

    @classmethod
    def begun(
        cls,
        number: int,
        root: np.random.SeedSequence,
        alpha: float,
        hyperprior: Hyperprior,
        users: Moments,
        matrices: tuple[Matrix, Matrix, Matrix],
    ) -> Iteration:
        """Draw Ψ, given the moments of A, and B, C and D."""
        rng = stream(root, _ITERATION_STREAM, number, _PRIORS)
        a, b, c, d = (hyperprior.draw(rows, rng) for rows in (users, *map(Moments.of, matrices)))
        return cls(number, root, alpha, hyperprior, *matrices, (a, b, c, d))

    def following(self, drawn: IterationResult) -> Iteration:
        """Begin the next iteration, given what this one has drawn."""
        matrices = drawn.places, drawn.next_places, drawn.slots
        return self.begun(self.number + 1, self.root, self.alpha, self.hyperprior, drawn.users, matrices)

    @cached_property
    def targets(self) -> Matrix:
        """C and D as one matrix."""
        return np.vstack([self.next_places, self.slots])

    def is_same(self, other: Iteration) -> bool:
        """Whether both draw the same."""
        return self.number == other.number and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("places", "next_places", "slots")
        )

    def user_stream(self, block: int) -> np.random.Generator:
        """Return what a block draws its rows of A from."""
        return stream(self.root, _USER_STREAM, self.number, block)

    def draw_places(self, handed: UserStep) -> Matrix:
        """Draw B, given the sums of all blocks."""
        rng = stream(self.root, _ITERATION_STREAM, self.number, _PLACES)
        return draw_rows(handed.places, self.alpha, self.priors[1], rng)[0]

    def draw_targets(self, both: RowStatistics) -> tuple[Matrix, Matrix]:
        """Draw C and D, given the sums of all blocks."""
        rng = stream(self.root, _ITERATION_STREAM, self.number, _TARGETS)
        n = len(self.next_places)
        upper = RowStatistics(both.gram[:n], both.weighted[:n])
        lower = RowStatistics(both.gram[n:], both.weighted[n:])
        next_places, _ = draw_rows(upper, self.alpha, self.priors[2], rng)
        slots, _ = draw_rows(lower, self.alpha, self.priors[3], rng)
        return next_places, slots


@dataclass(frozen=True, eq=False)
class IterationResult:
    """What an iteration has drawn, apart from A.

    Attributes
    ----------
    places, next_places, slots
        B, C and D.
    users
        Moments of the rows of A.
    squared_error
        Of the seen cells, with the new A and the B, C and D before.
    """

    places: Matrix
    next_places: Matrix
    slots: Matrix
    users: Moments
    squared_error: float
