"""The sampler draws from the exact conditionals of the model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from tracearena.engine import stream, use
from tracearena.mobility import SparseTensor
from tracearena.synthesis.ppmtf.gibbs import (
    Gaussian,
    GibbsChain,
    Hyperprior,
    LocalUsers,
    Moments,
    RowStatistics,
    draw_block,
    draw_rows,
    draw_wishart,
    initial_factors,
    sum_target_statistics,
)
from tracearena.synthesis.ppmtf.tensors import CellRules, PairGroups, SampledCells, arrange_sampled

ROOT = np.random.SeedSequence(5)


def dense_tensor(counts: np.ndarray) -> SparseTensor:
    user, first, second = np.nonzero(counts)
    return SparseTensor.from_cells(counts.shape, user, first, second, counts[user, first, second])


def small_cells(seed: int = 0) -> tuple[SampledCells, np.ndarray, np.ndarray]:
    """Five users, six places, three slots; also the seen cells as dense masks and values."""
    rng = np.random.default_rng(seed)
    moves, visits = rng.poisson(0.3, (5, 6, 6)), rng.poisson(0.5, (5, 6, 3))
    rules = CellRules(positive=100, largest=3, zeros=7)
    cells = arrange_sampled(dense_tensor(moves), dense_tensor(visits), (rules, rules), rng)
    seen, value = np.zeros((5, 6, 9)), np.zeros((5, 6, 9))
    users = np.repeat(np.arange(5), np.diff(cells.by_user.offsets))
    seen[users, cells.by_user.left, cells.by_user.right] = 1
    value[cells.user, cells.place, cells.target] = cells.value
    assert np.array_equal(value, np.minimum(np.concatenate([moves, visits], axis=2), 3))
    return cells, seen, value


def slow_conditional(
    x: np.ndarray, r: np.ndarray, alpha: float, prior: Gaussian
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a row, written down from the model: r ~ N(x · row, 1/alpha)."""
    precision = prior.precision + alpha * sum((np.outer(v, v) for v in x), np.zeros_like(prior.precision))
    right = prior.precision @ prior.mean + alpha * sum((ri * v for ri, v in zip(r, x, strict=True)), 0)
    return np.linalg.solve(precision, right), np.linalg.inv(precision)


def a_prior(z: int, seed: int) -> Gaussian:
    rng = np.random.default_rng(seed)
    return Gaussian(rng.normal(size=z), draw_wishart(np.eye(z), z + 2, rng))


@pytest.mark.parametrize("mode", ["users", "places", "targets"])
def test_statistics_give_the_conditionals_of_a_slow_dense_sampler(mode):
    cells, seen, value = small_cells()
    rng = np.random.default_rng(1)
    a, b, cd = (rng.normal(size=(n, 4)) for n in (5, 6, 9))
    prior, alpha = a_prior(4, 2), 3.0
    if mode == "users":
        gram = cells.user_gram(b, cd)
        weighted = np.einsum("nit,nit,ik,tk->nk", seen, value, b, cd)
        products = np.einsum("ik,tk->itk", b, cd)
        rows = [(products[seen[n] > 0], value[n][seen[n] > 0]) for n in range(5)]
    elif mode == "places":
        drawn, handed = draw_block(cells, b, cd, alpha, prior, np.random.default_rng(3))
        gram, weighted = handed.place_statistics.gram, handed.place_statistics.weighted
        products = np.einsum("nk,tk->ntk", drawn, cd)
        rows = [(products[seen[:, i] > 0], value[:, i][seen[:, i] > 0]) for i in range(6)]
    else:
        both = sum_target_statistics(cells, a, b)
        gram, weighted = both.gram, both.weighted
        products = np.einsum("nk,ik->nik", a, b)
        rows = [(products[seen[:, :, t] > 0], value[:, :, t][seen[:, :, t] > 0]) for t in range(9)]
    for row, (x, r) in enumerate(rows):
        mean, covariance = slow_conditional(x, r, alpha, prior)
        precision = prior.precision + alpha * gram[row]
        assert np.allclose(np.linalg.inv(precision), covariance)
        assert np.allclose(np.linalg.solve(precision, prior.shift + alpha * weighted[row]), mean)


@pytest.mark.parametrize("z", [1, 3, 8, 15, 16, 17, 40])
@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_sums_over_cells_are_those_of_every_outer_product(z, kind):
    """Of groups without a cell, with one, and with more than are gathered at a time."""
    rng = np.random.default_rng(z)
    sizes = [0, 1, 7, 0, 300, 2]
    left, right = rng.normal(size=(30, z)), rng.normal(size=(20, z))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    pairs = PairGroups(offsets, *(rng.integers(0, n, offsets[-1]).astype(kind) for n in (30, 20)))
    x = left[pairs.left] * right[pairs.right]
    expected = [x[first:stop].T @ x[first:stop] for first, stop in pairwise(offsets)]
    found = pairs.gram(left, right)
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_rows_have_the_mean_and_covariance_of_their_conditional():
    rng = np.random.default_rng(0)
    x, r = rng.normal(size=(9, 3)), rng.normal(size=9)
    prior = a_prior(3, 1)
    mean, covariance = slow_conditional(x, r, 2.0, prior)
    n = 200_000
    same = RowStatistics(np.tile(x.T @ x, (n, 1, 1)), np.tile(x.T @ r, (n, 1)))
    rows, _ = draw_rows(same, 2.0, prior, rng.standard_normal((n, 3)))
    assert np.allclose(rows.mean(axis=0), mean, atol=5 * np.sqrt(np.diag(covariance) / n))
    assert np.allclose(np.cov(rows.T), covariance, atol=0.02 * np.abs(covariance).max())


def test_the_error_reported_is_that_of_the_seen_cells():
    cells, seen, value = small_cells()
    rng = np.random.default_rng(1)
    b, cd = rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    users, handed = draw_block(cells, b, cd, 5.0, a_prior(4, 2), rng)
    expected = np.einsum("nk,ik,tk->nit", users, b, cd)
    assert np.isclose(handed.squared_error, (seen * (value - expected) ** 2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("scatter", ["centred", "uncentred"])
def test_wishart_means_follow_the_scatter(scatter):
    rng = np.random.default_rng(0)
    rows = rng.normal(1.5, 0.5, size=(40, 3))
    prior = Hyperprior(0.0, 2.0, 3, 1.0, scatter)
    drawn = [prior.draw(Moments.of(rows), rng) for _ in range(4_000)]
    centre = rows.mean(axis=0)
    spread = rows - centre if scatter == "centred" else rows
    inverse = np.eye(3) + spread.T @ spread + 2 * 40 / 42 * np.outer(centre, centre)
    expected = 43 * np.linalg.inv(inverse)
    assert np.allclose(np.mean([g.precision for g in drawn], axis=0), expected, atol=0.04 * expected.max())
    assert np.allclose(np.mean([g.mean for g in drawn], axis=0), 40 * centre / 42, atol=0.02)


@pytest.mark.parametrize("n_rows", [0, 4])
def test_a_precision_has_the_degrees_of_freedom_of_prior_and_rows(n_rows):
    """If Λ ~ Wishart(V, ν), then vᵀΛv / vᵀVv has a chi-square distribution with ν degrees of freedom."""
    rng = np.random.default_rng(4)
    rows = rng.normal(1.5, 0.5, size=(n_rows, 3))
    prior = Hyperprior(0.0, 2.0, 3, 1.0, "centred")
    moments = Moments.of(rows) if n_rows else Moments.of(np.empty((0, 3)))
    centre = rows.mean(axis=0) if n_rows else np.zeros(3)
    inverse = np.eye(3) + (rows - centre).T @ (rows - centre)
    inverse += 2 * n_rows / (2 + n_rows) * np.outer(centre, centre)
    v = np.array([1.0, -2.0, 0.5])
    drawn = np.array([v @ prior.draw(moments, rng).precision @ v for _ in range(3_000)])
    drawn /= v @ np.linalg.inv(inverse) @ v
    assert stats.kstest(drawn, stats.chi2(3 + n_rows).cdf).pvalue > 0.001
    for wrong in (2 + n_rows, 4 + n_rows):
        assert stats.kstest(drawn, stats.chi2(wrong).cdf).pvalue < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [2_400, pytest.param(6_000, marks=pytest.mark.long)])
def test_a_chain_started_at_the_truth_stays_there_in_distribution(iterations):
    """Geweke's joint test: alternating data and parameters leaves the prior of the parameters alone.

    With the factors' own prior fixed by a strong hyperprior, the marginal of any function of
    (A, B, C, D) under the alternation must be that of independent draws from the model.
    """
    rng = np.random.default_rng(2)
    z, alpha = 2, 0.3
    shape = (4, 3, 3, 2)
    hyper = Hyperprior(0.5, 50.0, 60.0, 1 / 60)
    cells, _, _ = _all_cells(shape)

    def from_prior() -> list[np.ndarray]:
        matrices = []
        for rows in shape:
            precision = draw_wishart(np.eye(z) / 60, 60.0, rng)
            mean = rng.multivariate_normal(np.full(z, 0.5), np.linalg.inv(50 * precision))
            matrices.append(rng.multivariate_normal(mean, np.linalg.inv(precision), size=rows))
        return matrices

    def features(a, b, c, d) -> list[float]:
        return [
            a.mean(),
            b.mean(),
            c.mean(),
            d.mean(),
            (a**2).mean(),
            (b**2).mean(),
            (c * c).mean(),
            (d * d).mean(),
        ]

    independent = np.array([features(*from_prior()) for _ in range(iterations // 2)])
    factors = initial_factors(shape, z, ROOT)
    factors.users, factors.places, factors.next_places, factors.slots = from_prior()
    with use(threads=1):
        chain = GibbsChain(LocalUsers([cells]), factors, alpha, hyper, ROOT)
    walked = []
    for iteration in range(iterations):
        f = chain.factors
        targets = np.vstack([f.next_places, f.slots])
        expected = np.einsum("nk,ik,tk->nit", f.users, f.places, targets)
        noisy = expected + rng.normal(size=expected.shape) / np.sqrt(alpha)
        cells.value[:] = noisy[cells.user, cells.place, cells.target]
        chain.step(iteration)
        f = chain.factors
        walked.append(features(f.users, f.places, f.next_places, f.slots))
    chained = np.array(walked)
    batches = chained.reshape(60, -1, chained.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 60 + independent.var(axis=0, ddof=1) / len(independent))
    assert (np.abs(chained.mean(axis=0) - independent.mean(axis=0)) < 4 * error).all()


def _all_cells(shape: tuple[int, int, int, int]) -> tuple[SampledCells, np.ndarray, np.ndarray]:
    users, places, following, slots = shape
    moves, visits = np.ones((users, places, following), int), np.ones((users, places, slots), int)
    rules = CellRules(positive=100, largest=1, zeros=0)
    return (
        arrange_sampled(dense_tensor(moves), dense_tensor(visits), (rules, rules), stream(ROOT, 9)),
        moves,
        visits,
    )
