"""The normal-Wishart hyperprior of the factor matrices, and draws from its conditional."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scatter = Literal["centred", "uncentred"]


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Mean and precision of the rows of a factor matrix (Ψ of [ppmtf] section 3.3)."""

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]

    @property
    def shift(self) -> NDArray[np.float64]:
        """Precision times mean, the prior's part in the mean of a row."""
        return self.precision @ self.mean


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
