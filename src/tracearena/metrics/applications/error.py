"""How far released points are from the truth, and how to estimate the truth from noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.dataframes import Result
from tracearena.errors import DataError
from tracearena.metrics.applications.paired import ComparisonChunks, IdTable, WholeComparison, with_true_ids
from tracearena.traces import GpsTraces
from tracearena.traces.spread import ExactQuantiles

Floats = NDArray[np.float64]
_SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class DistanceError(Result):
    """Geodesic distance in metres between original and released points.

    Attributes
    ----------
    mean_m, median_m, p90_m, p99_m, max_m
        Statistics over all compared points.
    points
        Original points that were compared.
    unmatched
        Number of original points of users without released points.
    """

    mean_m: float
    median_m: float
    p90_m: float
    p99_m: float
    max_m: float
    points: int
    unmatched: int


def distance_error(
    original: GpsTraces, released: GpsTraces, *, id_table: IdTable | None = None
) -> DistanceError:
    """Compare point by point; a point that was not released is compared with the one nearest in time.

    Users are matched by id, or by the `id_table` (pseudonym → user) if the release has other ids.

    >>> traces = GpsTraces.from_points([1, 1], [0, 1000], [0.0, 0.0], [0.0, 1.0])
    >>> round(distance_error(traces, traces.with_positions([0.0, 0.0], [0.0, 0.0])).max_m)
    111319
    """
    return measure_error_in_chunks(WholeComparison(original, with_true_ids(original, released, id_table)))


def measure_error_in_chunks(walk: ComparisonChunks) -> DistanceError:
    """Return what `distance_error` does, of users who are walked through."""
    spread = _summarise_distances(walk)
    keys = spread.keys_of(_SHARES)
    again = walk.visit(lambda part: part.distances_starting_with(keys))
    median, p90, p99 = spread.quantiles(_SHARES, again)
    return DistanceError(
        mean_m=spread.mean,
        median_m=median,
        p90_m=p90,
        p99_m=p99,
        max_m=spread.largest,
        points=spread.count,
        unmatched=int(walk.points.sum()) - spread.count,
    )


def mean_error_m(walk: ComparisonChunks) -> float:
    """Return the mean distance alone, for which all points need to pass but once."""
    return _summarise_distances(walk).mean


def _summarise_distances(walk: ComparisonChunks) -> ExactQuantiles:
    spread = walk.fold(lambda part: ExactQuantiles.of(part.distances))
    if not spread.count:
        raise DataError("no user of the original has released points")
    return spread


# Iterative Bayesian update: from noisy counts back to where people were [geo-ind].


@dataclass(frozen=True)
class BayesianUpdate:
    """An estimated distribution over the cells of a grid.

    Attributes
    ----------
    distribution
        Probability of each cell, rows × columns.
    rounds
        Number of rounds.
    change
        L1 change of the last round.
    """

    distribution: Floats
    rounds: int
    change: float


def bayesian_update(
    counts: Any,
    *,
    side_m: float,
    expected_noise_m: float,
    rounds: int = 50,
    threshold: float = 1e-8,
) -> BayesianUpdate:
    """Estimate the distribution that planar Laplace noise turned into the observed counts.

    One round is p(x) ← p(x) Σ_y q(y) C(x, y) / Σ_x' p(x') C(x', y) with C(x, y) ∝ exp(-ε d(x, y))
    between cell centres, each row of C scaled to sum to 1 on the grid. On a regular grid C is
    a convolution apart from that scale, so a round takes four fast Fourier transforms.

    Parameters
    ----------
    counts
        Noisy counts of cells, rows × columns, at least one of them positive.
    side_m, expected_noise_m
        Side of a cell and 2/ε, in metres.
    rounds
        Largest number of rounds, at least 0.
    threshold
        Stop when the L1 change of a round is below δ.

    References
    ----------
    [geo-ind] section 5.1.

    Examples
    --------
    >>> update = bayesian_update([[0, 8, 0], [9, 40, 9], [0, 8, 0]], side_m=100, expected_noise_m=100)
    >>> bool(update.distribution[1, 1] > 40 / 74), update.rounds
    (True, 50)
    """
    observed = np.asarray(counts, np.float64)
    if observed.ndim != 2 or not np.isfinite(observed).all() or (observed < 0).any() or not observed.any():
        raise DataError("counts must be a rows × columns table of numbers of at least 0, not all 0")
    require_number("side_m", side_m, above=0)
    require_number("expected_noise_m", expected_noise_m, above=0)
    require_whole("rounds", rounds, at_least=0)
    blur = _Blur(observed.shape, side_m * 2 / expected_noise_m)
    scale = blur(np.ones(observed.shape))
    q = observed / observed.sum()
    p = np.full(observed.shape, 1 / observed.size)
    done, change = 0, np.inf
    while done < rounds and change >= threshold:
        expected = blur(p / scale)
        ratio = np.divide(q, expected, out=np.zeros_like(q), where=(q > 0) & (expected > 0))
        updated = p / scale * blur(ratio)
        updated /= updated.sum()
        change = float(np.abs(updated - p).sum())
        p, done = updated, done + 1
    return BayesianUpdate(p, done, change)


class _Blur:
    """Convolution with exp(-rate × distance in cells), never negative."""

    def __init__(self, shape: tuple[int, ...], rate: float) -> None:
        from scipy.fft import next_fast_len, rfft2

        self.shape = shape
        self.padded = tuple(next_fast_len(2 * n - 1, real=True) for n in shape)
        rows, columns = (np.minimum(np.arange(n), n - np.arange(n)) for n in self.padded)
        self.transformed = rfft2(np.exp(-rate * np.hypot(rows[:, None], columns[None, :])))

    def __call__(self, values: Floats) -> Floats:
        from scipy.fft import irfft2, rfft2

        blurred = irfft2(rfft2(values, self.padded) * self.transformed, self.padded)
        return np.asarray(np.maximum(blurred[: self.shape[0], : self.shape[1]], 0.0))
