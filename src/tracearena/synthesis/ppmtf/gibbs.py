"""Gibbs sampling of the factor matrices.

The rows of A belong to users, so a block of users draws its own and hands on two small sums: the
sufficient statistics for B, and, when B is drawn, those for C and D. Blocks have a fixed size and
are summed in a fixed tree; a block needs nothing of the others but B, C, D and Ψ_A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import blocks, fold_blocks, stream
from tracearena.formats.ppmtf import Parameters
from tracearena.synthesis.ppmtf.conditionals import RowStatistics, draw_rows
from tracearena.synthesis.ppmtf.holding import USERS_PER_BLOCK, Given, UserBlocks
from tracearena.synthesis.ppmtf.hyperprior import Gaussian, Hyperprior, Moments

Matrix = NDArray[np.float64]
_INITIAL_STREAM, _ITERATION_STREAM = 1, 2
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
        self._latest = factors
        self._rows: Any = None
        self._user_moments = _moments(factors.users, users.users_per_block)

    @property
    def factors(self) -> Factors:
        """The state after the last whole iteration; rows of A are fetched from who holds them."""
        if self._rows is not None:
            self._latest.users = self.users.collected(self._rows)
            self._rows = None
        return self._latest

    def step(self, iteration: int) -> float:
        """Run one iteration in the order Ψ, A, B, C, D; return the mean squared error of the seen cells.

        The error is that of the new A with the B, C and D it was drawn with.
        """
        old, alpha = self._latest, self.alpha
        rng = stream(self.root, _ITERATION_STREAM, iteration)
        moments = [self._user_moments, *(Moments.of(getattr(old, mode)) for mode in _MODES[1:])]
        priors = [self.hyperprior.draw(rows, rng) for rows in moments]
        targets = np.vstack([old.next_places, old.slots])
        rows, handed = self.users.draw(iteration, Given(old.places, targets, alpha, priors[0]))
        places, _ = draw_rows(handed.places, alpha, priors[1], rng)
        both = self.users.target_statistics(rows, places)
        n = len(old.next_places)
        next_places, _ = draw_rows(RowStatistics(both.gram[:n], both.weighted[:n]), alpha, priors[2], rng)
        slots, _ = draw_rows(RowStatistics(both.gram[n:], both.weighted[n:]), alpha, priors[3], rng)
        drawn = priors[0], priors[1], priors[2], priors[3]
        self._latest = Factors(old.users, places, next_places, slots, drawn)
        self._rows = rows
        self._user_moments = handed.moments
        return max(handed.squared_error, 0.0) / max(self.users.weight, 1)


def _moments(users: Matrix, users_per_block: int) -> Moments:
    def work(block: int, first: int, stop: int) -> Moments:
        return Moments.of(users[first:stop])

    return fold_blocks(work, blocks(len(users), users_per_block))


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C, D of so many rows from independent uniform numbers in [0, 1]."""
    users = [
        stream(root, _INITIAL_STREAM, block + 1).random((stop - first, factors))
        for block, (first, stop) in enumerate(blocks(rows[0], USERS_PER_BLOCK))
    ]
    rng = stream(root, _INITIAL_STREAM, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(np.vstack(users), places, next_places, slots, (blank, blank, blank, blank))
