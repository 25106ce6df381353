"""Whether Markov chains have mixed: R̂ and the effective number of draws.

References
----------
A. Gelman et al., Bayesian Data Analysis, 3rd edition, section 11.4; A. Vehtari et al.,
Rank-normalization, folding, and localization: an improved R̂, Bayesian Analysis 2021 [vehtari].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError

Draws = NDArray[np.float64]


def split_r_hat(draws: Draws) -> float:
    """Return R̂ of a quantity, draws given as chains × iterations: 1 if all halves of chains are alike.

    Each chain is cut in two; R̂ is the root of the total variance over the mean variance within halves.
    Values are replaced by normal scores of their ranks, so that outliers do not hide a difference. Below
    1.01 chains have mixed [vehtari]; 1.1 was the older rule.

    >>> rng = np.random.default_rng(1)
    >>> round(split_r_hat(rng.normal(size=(4, 1000))), 2)
    1.0
    >>> split_r_hat(rng.normal(size=(4, 1000)) + [[0], [0], [0], [5]]) > 1.5
    True
    """
    from scipy.stats import norm, rankdata

    halves = _halves(draws)
    if np.ptp(halves) == 0:
        return 1.0
    ranks = rankdata(halves).reshape(halves.shape)
    scores = norm.ppf((ranks - 0.375) / (halves.size + 0.25))
    n = halves.shape[1]
    within = float(scores.var(axis=1, ddof=1).mean())
    between = n * float(scores.mean(axis=1).var(ddof=1))
    if within == 0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / (n * within)))


def effective_draws(draws: Draws) -> float:
    """Return how many independent draws tell as much of the mean as these, chains × iterations, do.

    Autocorrelations of all halves of chains are summed in pairs until a pair is negative (Geyer). Chains
    that do not agree have almost none, however long they are.

    >>> rng = np.random.default_rng(1)
    >>> 3000 < effective_draws(rng.normal(size=(4, 1000))) < 5000
    True
    """
    halves = _halves(draws)
    chains, n = halves.shape
    total = float(chains * n)
    if np.ptp(halves) == 0:
        return total
    within_chain = np.array([_autocovariance(one) for one in halves])
    within = float(within_chain[:, 0].mean()) * n / (n - 1)
    pooled = within * (n - 1) / n + float(halves.mean(axis=1).var(ddof=1))
    correlation = 1 - (within - within_chain.mean(axis=0)) / pooled
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    falling = np.minimum.accumulate(pairs[:stop]) if stop else np.zeros(0)
    length = max(2 * float(falling.sum()) - 1, 1 / float(np.log10(total)))
    return total / length


def _halves(draws: Draws) -> Draws:
    values = np.asarray(draws, np.float64)
    if values.ndim != 2 or values.shape[1] < 4:
        raise DataError("draws are chains × at least 4 iterations")
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _autocovariance(values: Draws) -> Draws:
    n = len(values)
    spectrum = np.fft.rfft(values - values.mean(), 2 * n)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[:n] / n)
