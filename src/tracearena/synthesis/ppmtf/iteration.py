"""One iteration of the chain, in pieces that can be done in different places.

The rows of A belong to users, so a block of users draws its own and hands on two small sums: the
sufficient statistics for B, and, when B is drawn, those for C and D. Every piece has a random stream
of its own, so that it can be done anywhere, and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import stream
from tracearena.synthesis.ppmtf.conditionals import RowStatistics, UserStep, draw_rows
from tracearena.synthesis.ppmtf.hyperprior import Gaussian, Hyperprior, Moments

Matrix = NDArray[np.float64]
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

    def following(self, drawn: Drawn) -> Iteration:
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
class Drawn:
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
