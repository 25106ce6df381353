"""Scores S_f(p,u) of one kind of evidence, and the weights w_f.

Histograms are compared by a Pólya (Dirichlet-multinomial) likelihood. A person u has A_u(b) rows in bin b, a
trace p has B_p(b), and α_b = a · usual(b); n rows count as n / (1 + n/200), and sums over b have no index:

    S = Σ_b Σ_{k < B_p(b)} log(α_b + A_u(b) + k) / (α_b + k) - Σ_{k < B_p} log(a + A_u + k) / (a + k)

The counts need not be whole: `polya_scores` has the same with gamma functions. Scalars are compared by the
correlation ρ of their normal scores z: S = -(ρ² z_p² - 2ρ z_p z_u + ρ² z_u²) / 2(1 - ρ²).

Weights w ≥ 0 of S = Σ_f w_f S_f maximise the likelihood of the true pairs between two parts of the known
days, less λ/2 · |w|².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import Floats, Ints
from tracearena.attacks.bayesian.likelihoods import Evidence
from tracearena.attacks.bayesian.pairs import CandidatePairs, double_centre
from tracearena.attacks.linking.evidence import Histogram, Kind, Likelihood, Scalar
from tracearena.attacks.linking.observations import Observations
from tracearena.engine import block_ranges, one_library_thread, run_blocks
from tracearena.traces._arrays import correlate


@dataclass(frozen=True)
class LinkSettings:
    """Constants of the scores and of their calibration."""

    saturation: float = 200.0
    """n rows of one person count as n / (1 + n / saturation), because they depend on each other. Fixed
    before the first run, not tuned."""
    prior_rows: float = 30.0
    """a: rows of the population that are added to a person's own. On check-ins of the city (seed 99) 3 to
    300 find nearly the same share of people."""
    max_correlation: float = 0.98
    """Largest ρ of a scalar. Chosen by hand, not tuned."""
    min_correlation: float = 0.1
    """Scalars that correlate less between two periods of the same people are left out. Chosen
    by hand, not tuned."""
    default_correlation: float = 0.5
    """ρ where there is nobody to calibrate on. Chosen by hand, not tuned."""
    event_penalty: float = 3.0
    """λ for events: λ/2 · |w|² is added to the loss. Chosen on check-ins of the city (seeds 98 and 99)."""
    point_penalty: float = 100.0
    """λ for GPS points, whose known days tell everybody apart, so that weights would grow without end.
    Chosen on the fleet (seeds 98 and 99)."""
    max_iterations: int = 60
    """Iterations of L-BFGS-B. Chosen by hand, not tuned."""
    tolerance: float = 1e-5
    """Relative decrease of the loss at which they end. Chosen by hand, not tuned."""
    weight_decimals: int = 3
    """Decimals of a weight: the tolerance tells no further ones, and they differ between processors."""
    loss_rounds: int = 20
    """Rounds of Sinkhorn's scaling in the loss, which begin from the last call's. Chosen by hand, not
    tuned."""
    min_deviation: float = 1e-9
    """Kinds whose scores vary less are left out."""


SETTINGS = LinkSettings()


@dataclass(frozen=True, eq=False)
class ComparisonSide:
    """One side of a comparison: what is known of people, or what was released, in one draw or several."""

    draws: tuple[Observations, ...]

    @property
    def n_users(self) -> int:
        """Number of people, or of traces."""
        return self.draws[0].n_users

    def take_users(self, users: Ints) -> ComparisonSide:
        """Return some of them."""
        return ComparisonSide(tuple(draw.take_users(users) for draw in self.draws))

    def bins(self, kind: Histogram) -> tuple[Ints, Ints, Floats]:
        """Return user, bin and weight of every row of all draws that counts."""
        users, bins, weights = [], [], []
        for draw in self.draws:
            rows = draw.by_member if kind.by_member else draw
            found = kind.bins(rows)
            counted = found >= 0
            users.append(rows.user[counted])
            bins.append(found[counted])
            weights.append(rows.weight[counted] / len(self.draws))
        return np.concatenate(users), np.concatenate(bins), np.concatenate(weights)

    def values(self, kind: Scalar) -> Floats:
        """Return the number of each person, in the mean over the draws."""
        every = np.stack([kind.value(draw) for draw in self.draws])
        known = np.isfinite(every)
        total = np.where(known, every, 0.0).sum(axis=0)
        found = np.full(every.shape[1], np.nan)
        np.divide(total, known.sum(axis=0), out=found, where=known.any(axis=0))
        return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """Released traces next to what is known of people.

    Attributes
    ----------
    seen, known
        The released traces, and what the defence makes of the known days.
    pairs
        The pairs of a trace and a person that are scored.
    likelihoods
        Likelihoods through the defence's channel (`attacks.bayesian`) of the same pairs; None without.
    """

    seen: ComparisonSide
    known: ComparisonSide
    pairs: CandidatePairs
    likelihoods: Evidence | None = None

    def scores(self, kind: Kind, correlation: float) -> Floats:
        """Return the score of each pair by one kind of evidence; the correlation is that of a scalar."""
        if isinstance(kind, Likelihood):
            assert self.likelihoods is not None
            return self.likelihoods(kind.likelihood)
        if isinstance(kind, Histogram):
            return BinCounts.of(kind, self).scores(self.by_person)
        return scalar_scores(
            normal_scores(self.seen.values(kind))[self.pairs.traces],
            normal_scores(self.known.values(kind))[self.pairs.users],
            correlation,
        )

    @cached_property
    def by_person(self) -> PairsByPerson:
        """The pairs in the order of the people."""
        offsets, order = self.pairs.by_user()
        return PairsByPerson(offsets, self.pairs.traces[order], order)


class PairsByPerson(NamedTuple):
    """The pairs of person u are those from ``offsets[u]`` on; `order` is where each stands among `Pairs`."""

    offsets: Ints
    traces: Ints
    order: Ints


@dataclass(frozen=True, eq=False)
class BinCounts:
    """How the rows of both sides are distributed over the bins that occur on both.

    Attributes
    ----------
    seen, known
        Sparse tables, traces × bins and people × bins.
    n_seen, n_known
        Rows of each trace and of each person, in whatever bin.
    usual
        How often each bin occurs, in the mean of both sides.
    """

    seen: Any
    known: Any
    n_seen: Floats
    n_known: Floats
    usual: Floats

    @classmethod
    def of(cls, kind: Histogram, compared: Comparison) -> BinCounts:
        """Count."""
        from scipy.sparse import coo_array

        sides = (compared.seen, compared.known)
        rows = [side.bins(kind) for side in sides]
        n_bins, numbers = _number_shared_bins(rows[0][1], rows[1][1])
        tables, totals, usual = [], [], np.zeros(n_bins)
        for side, (user, _, weight), number in zip(sides, rows, numbers, strict=True):
            totals.append(np.bincount(user, weight, side.n_users).astype(np.float64))
            both = number >= 0
            cells = (user[both], number[both])
            tables.append(coo_array((weight[both], cells), shape=(side.n_users, n_bins)).tocsr())
            usual += np.bincount(number[both], weight[both], n_bins) / max(float(weight.sum()), 1e-12) / 2
        return cls(tables[0], tables[1], totals[0], totals[1], usual)

    def scores(self, pairs: PairsByPerson) -> Floats:
        """Return the log-likelihood ratio of each pair, in the order of `Pairs`.

        Counts are drawn with reinforcement (Pólya, Dirichlet-multinomial) from a prior of a rows that are
        distributed as `usual`. Before, n rows are scaled down to n_eff = n / (1 + n / 200).
        """
        from tracearena.attacks.linking._kernels import polya_prior, polya_scores

        ordered = np.empty(len(pairs.order))
        alpha = SETTINGS.prior_rows * np.maximum(self.usual, 1e-12)
        seen, known = _scale_counts(self.seen, self.n_seen), _scale_counts(self.known, self.n_known)
        without = polya_prior(*seen[1:], alpha)
        rows = (
            *np.unique(_effective_counts(self.n_seen), return_inverse=True),
            _effective_counts(self.n_known),
        )

        def work(block: int, first: int, stop: int) -> None:
            polya_scores(
                first,
                stop,
                pairs.offsets,
                pairs.traces,
                *seen,
                *known,
                without,
                *rows,
                alpha,
                SETTINGS.prior_rows,
                ordered,
            )

        run_blocks(work, block_ranges(len(self.n_known), 64))
        scores = np.empty(len(ordered))
        scores[pairs.order] = ordered
        return scores


def _scale_counts(table: Any, rows: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the rows of a sparse table, their counts scaled to what they are worth."""
    factor = np.repeat(_effective_counts(rows) / np.maximum(rows, 1e-12), np.diff(table.indptr))
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data * factor


def _effective_counts(rows: Floats) -> Floats:
    return np.asarray(rows / (1 + rows / SETTINGS.saturation))


def _number_shared_bins(seen: Ints, known: Ints) -> tuple[int, tuple[Ints, Ints]]:
    """Number the bins that occur on both sides; others get -1."""
    high = max(int(seen.max(initial=0)), int(known.max(initial=0)))
    if high < 4_000_000:
        present = np.zeros((2, high + 1), bool)
        present[0, seen], present[1, known] = True, True
        both = present.all(axis=0)
        number = np.where(both, np.cumsum(both) - 1, -1)
        return max(int(both.sum()), 1), (number[seen], number[known])
    ours, at_seen = np.unique(seen, return_inverse=True)
    theirs, at_known = np.unique(known, return_inverse=True)
    common, first, second = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    numbers = []
    for size, where, at in ((len(ours), first, at_seen), (len(theirs), second, at_known)):
        number = np.full(size, -1, np.int64)
        number[where] = np.arange(len(common))
        numbers.append(number[at])
    return max(len(common), 1), (numbers[0], numbers[1])


def scalar_scores(z_seen: Floats, z_known: Floats, correlation: float) -> Floats:
    """Return the log-likelihood ratio of two normal scores that correlate; 0 where one is missing.

    S = -(ρ² z_R² - 2 ρ z_R z_K + ρ² z_K²) / (2 (1 - ρ²)).
    """
    rho = min(correlation, SETTINGS.max_correlation)
    table = -(rho**2 * z_seen**2 - 2 * rho * z_seen * z_known + rho**2 * z_known**2) / (2 * (1 - rho**2))
    return np.asarray(np.nan_to_num(table))


def normal_scores(values: Floats) -> Floats:
    """Return the normal quantile of each value's rank; NaN if there is none.

    >>> normal_scores(np.array([3.0, 1.0, np.nan, 2.0])).round(2).tolist()
    [0.97, -0.97, nan, 0.0]
    """
    from scipy.special import ndtri

    known = np.flatnonzero(np.isfinite(values))
    ordered = np.sort(values[known])
    # Equal values share the middle of their ranks.
    below, upto = (np.searchsorted(ordered, values[known], side) for side in ("left", "right"))
    scores = np.full(len(values), np.nan)
    scores[known] = ndtri((below + upto) / 2 / max(len(known), 1))
    return scores


def correlation_of(kind: Scalar, first: ComparisonSide, second: ComparisonSide) -> float:
    """Return how much the normal scores of the same people agree between two periods."""
    return correlate(normal_scores(first.values(kind)), normal_scores(second.values(kind))) or 0.0


# Calibration: weights learned on the known days cut in two.

Tables = NDArray[np.float32]
"""Scores of kinds × traces × people."""


@dataclass(frozen=True)
class CalibratedEvidence:
    """One kind of evidence, ready to be applied.

    Attributes
    ----------
    kind
        The evidence.
    correlation
        That of a scalar between two periods of the same people.
    scale
        Standard deviation of its scores in calibration.
    """

    kind: Kind
    correlation: float
    scale: float

    def scores(self, compared: Comparison) -> Floats:
        """Return the score of each pair, centred, in units of calibration."""
        return centre_pair_scores(compared.pairs, compared.scores(self.kind, self.correlation)) / self.scale


def centre_pair_scores(pairs: CandidatePairs, scores: Floats) -> Floats:
    """Take from scores what speaks for a person whatever the trace, and the reverse."""
    return double_centre(pairs, scores[:, None])[:, 0]


def calibrate(kinds: Sequence[Kind], compared: Comparison) -> tuple[list[CalibratedEvidence], Tables]:
    """Score people whose traces are known: trace i belongs to person i, and every pair is scored.

    Returns
    -------
    prepared, tables
        Every kind that says anything, and its scores, kinds × traces × people.
    """
    prepared, tables = [], []
    n = compared.seen.n_users
    for kind in kinds:
        correlation = 0.0
        if isinstance(kind, Scalar):
            correlation = correlation_of(kind, compared.seen, compared.known)
            if correlation <= SETTINGS.min_correlation:
                continue
        scores = centre_pair_scores(compared.pairs, compared.scores(kind, correlation))
        scale = float(scores.std())
        if scale > SETTINGS.min_deviation:
            prepared.append(CalibratedEvidence(kind, correlation, scale))
            tables.append((scores / scale).astype(np.float32).reshape(n, n))
    return prepared, np.array(tables, np.float32).reshape(len(tables), n, n)


def prepare_uncalibrated(kinds: Sequence[Kind], compared: Comparison) -> list[CalibratedEvidence]:
    """Return the kinds of evidence with the usual correlation, where there is nobody to calibrate on."""
    found = []
    for kind in kinds:
        scores = centre_pair_scores(compared.pairs, compared.scores(kind, SETTINGS.default_correlation))
        if float(scores.std()) > SETTINGS.min_deviation:
            found.append(CalibratedEvidence(kind, SETTINGS.default_correlation, float(scores.std())))
    return found


def learn_weights(tables: Tables, penalty: float) -> Floats:
    """Return the non-negative weights that make the true matching, the diagonal, most likely.

    Parameters
    ----------
    tables
        Kinds × traces × people.
    penalty
        Half of this times the squared weights is added to the loss.
    """
    from scipy.optimize import minimize

    n_kinds = len(tables)
    if not n_kinds:
        return np.zeros(0)
    # The products are small: several threads would wait for each other for longer than they work.
    with one_library_thread():
        found = minimize(
            _MatchingLoss(tables, penalty),
            np.full(n_kinds, 1 / n_kinds),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * n_kinds,
            options={"maxiter": SETTINGS.max_iterations, "ftol": SETTINGS.tolerance},
        )
    return np.asarray(found.x).round(SETTINGS.weight_decimals)


class _MatchingLoss:
    """-log likelihood of the true one-to-one matching, and its gradient in the weights.

    With S = Σ_k w_k S_k and Π the doubly stochastic table that Sinkhorn makes of exp(S), the loss is
    F(S) - Σ_i S_ii + (λ/2)|w|². F(S) = max_Π <Π, S> + entropy(Π) stands for the logarithm of the sum over
    all matchings (the permanent); its gradient is Π, so that the loss is convex. What speaks for a person
    whatever the trace, or the reverse, changes nothing in it.
    """

    def __init__(self, tables: Tables, penalty: float) -> None:
        n_kinds, n, _ = tables.shape
        self.flat = tables.reshape(n_kinds, n * n)
        self.true = np.einsum("kii->k", tables, dtype=np.float64)
        self.penalty = penalty
        # Potentials of the last call: the next one is near.
        self.of_trace, self.of_person = np.zeros(n), np.zeros(n)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        n = len(self.of_trace)
        scores = (weights.astype(self.flat.dtype) @ self.flat).astype(np.float64).reshape(n, n)
        self.of_trace = -(scores + self.of_person).max(axis=1)
        table = np.exp(scores + self.of_trace[:, None] + self.of_person)
        across = np.ones(n)
        for _ in range(SETTINGS.loss_rounds):
            down = 1 / (table @ across)
            across = 1 / np.maximum(down @ table, 1e-200)
        table *= down[:, None] * across
        self.of_trace = self.of_trace + np.log(down)
        self.of_person = self.of_person + np.log(across)
        value = -self.of_trace.sum() - self.of_person.sum() - weights @ self.true
        gradient = self.flat @ table.ravel().astype(self.flat.dtype) - self.true + self.penalty * weights
        return float(value + self.penalty / 2 * weights @ weights), gradient
