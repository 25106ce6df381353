"""Gibbs sampling of the factor matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import blocks, fold_blocks, stream
from tracearena.formats.ppmtf import Parameters
from tracearena.synthesis.ppmtf.holding import USERS_PER_BLOCK, UserBlocks
from tracearena.synthesis.ppmtf.hyperprior import Gaussian, Hyperprior, Moments
from tracearena.synthesis.ppmtf.iteration import Iteration, Priors

Matrix = NDArray[np.float64]
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
class Done:
    """How far training is: iterations, their errors, and where the chains are."""

    iterations: int
    errors: tuple[float, ...]
    states: list[State]

    def next(self, chains: list[Chain]) -> Done:
        """Run an iteration of every chain."""
        errors = [chain.step(self.iterations) for chain in chains]
        weights = [chain.users.weight for chain in chains]
        error = float(np.sqrt(np.dot(errors, weights) / sum(weights)))
        return Done(self.iterations + 1, (*self.errors, error), [chain.state for chain in chains])


def _moments(users: Matrix, users_per_block: int) -> Moments:
    def work(block: int, first: int, stop: int) -> Moments:
        return Moments.of(users[first:stop])

    return fold_blocks(work, blocks(len(users), users_per_block))


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C, D of so many rows from independent uniform numbers in [0, 1]."""
    users = np.empty((rows[0], factors))
    for block, (first, stop) in enumerate(blocks(rows[0], USERS_PER_BLOCK), start=1):
        stream(root, _INITIAL_STREAM, block).random(out=users[first:stop])
    rng = stream(root, _INITIAL_STREAM, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(users, places, next_places, slots, (blank, blank, blank, blank))
