"""The conditional distributions of rows of factor matrices, and what they need to know of the cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.synthesis.ppmtf.cells import BlockCells
from tracearena.synthesis.ppmtf.hyperprior import Gaussian, Moments
from tracearena.synthesis.ppmtf.weighted_cells import WeightedCells

Matrix = NDArray[np.float64]
Cells: TypeAlias = BlockCells | WeightedCells


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """What the rows of a factor matrix need to know of the cells: Σ x xᵀ and Σ r x for each row."""

    gram: NDArray[np.float64]
    weighted: Matrix

    def __add__(self, other: RowStatistics) -> RowStatistics:
        return RowStatistics(self.gram + other.gram, self.weighted + other.weighted)

    def __iadd__(self, other: RowStatistics) -> RowStatistics:
        np.add(self.gram, other.gram, out=self.gram)
        np.add(self.weighted, other.weighted, out=self.weighted)
        return self


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
