"""The factor matrices, and the conditional distributions that Gibbs sampling draws them from.

First Ψ, the mean and precision of the rows of a matrix, given the matrix; then the rows, given Ψ, the
other matrices and the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, stream
from tracearena.formats.ppmtf import Parameters
from tracearena.synthesis.ppmtf.arrangement import USERS_PER_BLOCK
from tracearena.synthesis.ppmtf.cells import Cells

Matrix = NDArray[np.float64]
Scatter = Literal["centred", "uncentred"]
_INITIAL_STREAM = 1


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean and precision of the rows of a factor matrix (Ψ of [ppmtf] section 3.3)."""

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]

    @property
    def shift(self) -> NDArray[np.float64]:
        """Precision times mean, the prior's part in the mean of a row."""
        return self.precision @ self.mean


Priors = tuple[Gaussian, Gaussian, Gaussian, Gaussian]


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


def initial_factors(rows: tuple[int, int, int, int], factors: int, root: np.random.SeedSequence) -> Factors:
    """Start A, B, C, D of so many rows from independent uniform numbers in [0, 1]."""
    users = np.empty((rows[0], factors))
    for block, (first, stop) in enumerate(block_ranges(rows[0], USERS_PER_BLOCK), start=1):
        stream(root, _INITIAL_STREAM, block).random(out=users[first:stop])
    rng = stream(root, _INITIAL_STREAM, 0)
    blank = Gaussian(np.zeros(factors), np.eye(factors))
    places, next_places, slots = (rng.random((count, factors)) for count in rows[1:])
    return Factors(users, places, next_places, slots, (blank, blank, blank, blank))


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of rows, their sum, and the sum of their outer products: all that Ψ needs to know."""

    count: int
    total: NDArray[np.float64]
    outer: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Moments:
        """Sum over the rows of a factor matrix."""
        return cls(len(rows), rows.sum(axis=0), rows.T @ rows)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.count + other.count, self.total + other.total, self.outer + other.outer)


@dataclass(frozen=True)
class Hyperprior:
    """Normal-Wishart: Λ ~ Wishart(scale · I, nu), μ ~ Normal(mean, (beta Λ)⁻¹).

    Parameters
    ----------
    mean, beta, nu, scale
        μ0 (of every component), β0, ν0 (at least the number of factors), W0 = scale · identity.
    scatter
        "centred" is the exact conditional. "uncentred" leaves the mean in the scatter matrix, as
        the authors' program does; the draws of Λ are then smaller.
    """

    mean: float
    beta: float
    nu: float
    scale: float
    scatter: Scatter = "centred"

    def draw(self, rows: Moments, rng: np.random.Generator) -> Gaussian:
        """Draw (μ, Λ) given the rows of a factor matrix.

        References
        ----------
        R. Salakhutdinov and A. Mnih, Bayesian probabilistic matrix factorization using Markov chain
        Monte Carlo, ICML 2008, equation 14, with the scatter about the mean.
        """
        n, z = rows.count, len(rows.total)
        prior_mean = np.full(z, self.mean)
        average = rows.total / n if n else prior_mean
        scatter = rows.outer - (n * np.outer(average, average) if self.scatter == "centred" else 0)
        away = prior_mean - average
        inverse = np.eye(z) / self.scale + scatter + self.beta * n / (self.beta + n) * np.outer(away, away)
        precision = wishart(np.asarray(np.linalg.inv(inverse), np.float64), self.nu + n, rng)
        centre = (self.beta * prior_mean + n * average) / (self.beta + n)
        lower = np.linalg.cholesky((self.beta + n) * precision)
        return Gaussian(centre + np.linalg.solve(lower.T, rng.standard_normal(z)), precision)


def wishart(scale: NDArray[np.float64], degrees: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw from the Wishart distribution by Bartlett's decomposition."""
    z = len(scale)
    factor = np.tril(rng.standard_normal((z, z)), -1)
    factor[np.diag_indices(z)] = np.sqrt(rng.chisquare(degrees - np.arange(z)))
    root = np.linalg.cholesky((scale + scale.T) / 2) @ factor
    return np.asarray(root @ root.T)


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """What the rows of a factor matrix need to know of the cells: Σ x xᵀ and Σ r x for each row."""

    gram: NDArray[np.float64]
    weighted: Matrix

    def rows(self, first: int, stop: int) -> RowStatistics:
        """Return what some rows need to know."""
        return RowStatistics(self.gram[first:stop], self.weighted[first:stop])

    def halved(self) -> RowStatistics:
        """Return the lower halves of Σ x xᵀ alone, a line each: all that drawing looks at."""
        n, z = self.weighted.shape
        lower = np.empty((n, z * (z + 1) // 2))
        for i, (first, stop) in enumerate(_lines(z)):
            lower[:, first:stop] = self.gram[:, i, : i + 1]
        return RowStatistics(lower, self.weighted)

    def unhalved(self) -> RowStatistics:
        """Undo `halved`; upper halves are 0."""
        n, z = self.weighted.shape
        gram = np.zeros((n, z, z))
        for i, (first, stop) in enumerate(_lines(z)):
            gram[:, i, : i + 1] = self.gram[:, first:stop]
        return RowStatistics(gram, self.weighted)

    def __add__(self, other: RowStatistics) -> RowStatistics:
        return RowStatistics(self.gram + other.gram, self.weighted + other.weighted)

    def __iadd__(self, other: RowStatistics) -> RowStatistics:
        np.add(self.gram, other.gram, out=self.gram)
        np.add(self.weighted, other.weighted, out=self.weighted)
        return self


def _lines(z: int) -> Iterator[tuple[int, int]]:
    """Return where the lines of a lower half begin and end."""
    return pairwise(line * (line + 1) // 2 for line in range(z + 1))


def draw_rows(
    statistics: RowStatistics,
    alpha: float,
    prior: Gaussian,
    rng: np.random.Generator,
    *,
    part: tuple[int, int] | None = None,
) -> tuple[Matrix, float]:
    """Draw every row from its normal conditional; also return Σ (xᵀ G x − 2 xᵀ h).

    With `part` the statistics are those of some rows: they are drawn as they would be among all, of
    which there are ``part[1]``, from row ``part[0]`` on.
    """
    from tracearena.synthesis.ppmtf import _gibbs_kernels

    rows = np.empty_like(statistics.weighted)
    first, total = part or (0, len(rows))
    noise = rng.standard_normal((total, rows.shape[1]))[first : first + len(rows)]
    gram, weighted = statistics.gram, statistics.weighted
    error = _gibbs_kernels.draw_rows(gram, weighted, alpha, prior.precision, prior.shift, noise, rows)
    return rows, float(error)


@dataclass(frozen=True, eq=False)
class UserStep:
    """What a block of users hands on after it drew its rows of A."""

    places: RowStatistics
    moments: Moments
    squared_error: float

    def __add__(self, other: UserStep) -> UserStep:
        error = self.squared_error + other.squared_error
        return UserStep(self.places + other.places, self.moments + other.moments, error)

    def __iadd__(self, other: UserStep) -> UserStep:
        places = self.places
        places += other.places
        return UserStep(places, self.moments + other.moments, self.squared_error + other.squared_error)


def step_users(
    cells: Cells,
    places: Matrix,
    targets: Matrix,
    alpha: float,
    prior: Gaussian,
    rng: np.random.Generator,
) -> tuple[Matrix, UserStep]:
    """Draw the block's rows of A given B, C and D, and sum up what B needs to know."""
    from tracearena.synthesis.ppmtf._gibbs_kernels import weighted_sum

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
    from tracearena.synthesis.ppmtf._gibbs_kernels import weighted_sum

    gram = cells.target_gram(users, places)
    weighted = np.zeros((len(gram), users.shape[1]))
    weighted_sum(users, places, cells.user, cells.place, cells.target, cells.value, weighted)
    return RowStatistics(gram, weighted)
