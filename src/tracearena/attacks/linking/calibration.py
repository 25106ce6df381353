"""What each kind of evidence is worth, learned on the attacker's own knowledge.

The known days are cut in two. What the defence makes of the earlier part stands for what is known, and what
it makes of the later part for the release; here the attacker knows who is who.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.bayesian.candidates import CandidatePairs
from tracearena.attacks.bayesian.learning import double_centre
from tracearena.attacks.linking.evidence import Kind, Scalar
from tracearena.attacks.linking.observations import Floats
from tracearena.attacks.linking.scoring import Comparison, correlation_of
from tracearena.engine import one_library_thread

Tables = NDArray[np.float32]
"""Scores of kinds × traces × people."""
LEAST_CORRELATION = 0.1
"""Scalars that agree less than this between two periods of the same people are left out."""
USUAL_CORRELATION = 0.5
"""Of scalars, where there is nobody to calibrate on."""
PENALTY_OF_EVENTS, PENALTY_OF_POINTS = 3.0, 100.0
"""Half of this times the squared weights is added to the loss. With many points, two parts of the known days
tell everybody apart, and weights would grow without end. Chosen on check-ins of the city and on the fleet
(seeds 98 and 99)."""
_ROUNDS = 60
_TOLERANCE = 1e-5
_SINKHORN_ROUNDS = 20
_NOTHING = 1e-9


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
            if correlation <= LEAST_CORRELATION:
                continue
        scores = centre_pair_scores(compared.pairs, compared.scores(kind, correlation))
        scale = float(scores.std())
        if scale > _NOTHING:
            prepared.append(CalibratedEvidence(kind, correlation, scale))
            tables.append((scores / scale).astype(np.float32).reshape(n, n))
    return prepared, np.array(tables, np.float32).reshape(len(tables), n, n)


def prepare_uncalibrated(kinds: Sequence[Kind], compared: Comparison) -> list[CalibratedEvidence]:
    """Return the kinds of evidence with the usual correlation, where there is nobody to calibrate on."""
    found = []
    for kind in kinds:
        scores = centre_pair_scores(compared.pairs, compared.scores(kind, USUAL_CORRELATION))
        if float(scores.std()) > _NOTHING:
            found.append(CalibratedEvidence(kind, USUAL_CORRELATION, float(scores.std())))
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
            _MatchingLoss(tables, penalty), np.full(n_kinds, 1 / n_kinds), jac=True, method="L-BFGS-B",
            bounds=[(0, None)] * n_kinds, options={"maxiter": _ROUNDS, "ftol": _TOLERANCE},
        )  # fmt: skip
    # Further digits are not what the tolerance allows to know, and differ between processors.
    return np.asarray(found.x).round(3)


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
        for _ in range(_SINKHORN_ROUNDS):
            down = 1 / (table @ across)
            across = 1 / np.maximum(down @ table, 1e-200)
        table *= down[:, None] * across
        self.of_trace = self.of_trace + np.log(down)
        self.of_person = self.of_person + np.log(across)
        value = -self.of_trace.sum() - self.of_person.sum() - weights @ self.true
        gradient = self.flat @ table.ravel().astype(self.flat.dtype) - self.true + self.penalty * weights
        return float(value + self.penalty / 2 * weights @ weights), gradient
