"""Membership inference and re-identification from the parameters of a trained PPMTF model.

The attacker reconstructs the counts of each candidate from the factor matrices; a small error speaks for a
member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_fitted
from tracearena.dataframes import Result
from tracearena.errors import DataError
from tracearena.mobility.transitions import SparseTensor, transition_counts, visit_counts
from tracearena.traces import Traces

if TYPE_CHECKING:
    from tracearena.synthesis.ppmtf import PPMTF, Factors


Released = Literal["BCD", "ABCD"]
Matrix = NDArray[np.float64]
_FALSE_ALARMS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of non-members above the thresholds that are tried."""
_UNSURE = 0.05
"""Probability that a bound does not hold."""


@dataclass(frozen=True)
class ParameterLeak(Result):
    """How well the parameters reveal who was in the training data.

    Attributes
    ----------
    released
        "BCD": the factors of places and of slots. "ABCD": also those of the users.
    advantage
        Advantage of membership inference at the best threshold: 0 is guessing, 1 is certainty.
    chance
        The advantage that the best threshold does not exceed in 19 of 20 cases if there is nothing to
        distinguish.
    epsilon_at_least
        Lower bound of ε with 95 % confidence, as shown by this attack. The true ε may be much larger.
    reidentification_rate
        Share of the rows of A whose user is found among the training users; None if A is not released.
    members, non_members
        Number of candidates of each kind.
    """

    released: Released
    advantage: float
    chance: float
    epsilon_at_least: float
    reidentification_rate: float | None
    members: int
    non_members: int


def attack_parameters(
    model: PPMTF, training: Traces, testing: Traces, released: Released = "BCD"
) -> ParameterLeak:
    """Attack published parameters with knowledge of the traces of all candidates.

    The counts of each candidate are reconstructed from the parameters, with the row of A that fits the
    candidate best; if A is not released, the row is estimated from the candidate's own trace. Candidates with
    a small error are called members, because the factors were trained to reconstruct members. If A is
    released, its rows are assigned to candidates one to one with the smallest total error, and a candidate
    without a row is not a member.

    Parameters
    ----------
    model
        Trained on the training traces.
    training, testing
        Traces of members, and of similar people who are not members.
    released
        The parameters that the attacker has. The prior of A is part of "BCD", because synthesis needs it.

    References
    ----------
    [ppmtf] sections 3.5 and 5 assume that it is hard to infer training traces from (B, C, D), and leave their
    release for future work.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> from tracearena.synthesis import PPMTF
    >>> people = simulate(users=60, days=1, seed=1)
    >>> known, others = people.take_users(range(30)), people.take_users(range(30, 60))
    >>> model = PPMTF(factors=8, iterations=10).fit(known, seed=1)
    >>> attack_parameters(model, known, others, "ABCD").reidentification_rate > 0.5
    True
    """
    from scipy.optimize import linear_sum_assignment

    require_choice("released", released, get_args(Released))
    require_fitted(model, "transition_factors_")
    if not training.n_users or not testing.n_users:
        raise DataError("an attack on parameters needs training users and testing users")
    if not np.array_equal(training.user_ids, model.user_ids_):
        raise DataError("the training traces are not those of the users of the model")
    rate = None
    if released == "BCD":
        members, others = (score_best_fit(model, traces) for traces in (training, testing))
    else:
        errors = np.vstack([compute_errors_by_row(model, traces) for traces in (training, testing)])
        candidate, row = linear_sum_assignment(errors)
        scores = np.full(len(errors), -np.inf)
        scores[candidate] = -errors[candidate, row]
        members, others = np.split(scores, [training.n_users])
        user, row = linear_sum_assignment(errors[: training.n_users])
        rate = float((user == row).mean())
    thresholds = np.append(np.unique(np.concatenate([members, others])), np.inf)
    hits = len(members) - np.searchsorted(np.sort(members), thresholds)
    alarms = len(others) - np.searchsorted(np.sort(others), thresholds)
    return ParameterLeak(
        released,
        advantage=float((hits / len(members) - alarms / len(others)).max()),
        chance=float(np.sqrt(-np.log(_UNSURE) / 2 * (1 / len(members) + 1 / len(others)))),
        epsilon_at_least=_bound_epsilon(members, others),
        reidentification_rate=rate,
        members=len(members),
        non_members=len(others),
    )


class FactoredTensor(NamedTuple):
    """One tensor of counts, and the factors that reconstruct it.

    Attributes
    ----------
    cells, values
        The positive cells, and their counts up to the largest that the model counts.
    factors, targets
        The factors of the model, and those of the tensor's third side: next places or slots.
    zeros
        What all zeros of a user weigh together.
    """

    cells: SparseTensor
    values: Matrix
    factors: Factors
    targets: Matrix
    zeros: float

    def products(self) -> Matrix:
        """Return for each cell the element-wise product of its place's and target's rows."""
        return self.factors.places[self.cells.i] * self.targets[self.cells.j]

    def sum_all_cells(self) -> Matrix:
        """Return Σ φ φᵀ over all cells of a user."""
        b, c = self.factors.places, self.targets
        return np.asarray((b.T @ b) * (c.T @ c))

    def zero_weight(self, positive: int) -> float:
        """Return what one of the zero cells counts: as many in sum as are drawn for a user."""
        others = self.cells.shape[1] * self.cells.shape[2] - positive
        return min(self.zeros / max(others, 1), 1.0)


def build_tensors(model: PPMTF, traces: Traces) -> tuple[FactoredTensor, FactoredTensor]:
    """Return the transitions and the visits of traces, with the factors of a model."""
    moves, visits = transition_counts(traces), visit_counts(traces)
    one, other = model.transition_factors_, model.visit_factors_
    cut_moves = np.minimum(moves.counts, model.largest_transition).astype(np.float64)
    cut_visits = np.minimum(visits.counts, model.largest_visit).astype(np.float64)
    return (
        FactoredTensor(moves, cut_moves, one, one.next_places, float(model.zero_transitions)),
        FactoredTensor(visits, cut_visits, other, other.slots, float(model.zero_visits)),
    )


def score_best_fit(model: PPMTF, traces: Traces) -> Matrix:
    """Return minus the squared error of each user's counts with the row that fits her best."""
    found = np.zeros(traces.n_users)
    both = build_tensors(model, traces)
    # Users have one row for both tensors, or one for each.
    groups: list[tuple[FactoredTensor, ...]] = [both] if model.shared_factors else [(one,) for one in both]
    for group in groups:
        prior = group[0].factors.psi.A
        products = [one.products() for one in group]
        every = [one.sum_all_cells() for one in group]
        offsets = [one.cells.offsets for one in group]
        for user in range(traces.n_users):
            precision, shift = prior.precision.copy(), prior.shift.copy()
            mine = []
            for one, phi, whole, at in zip(group, products, every, offsets, strict=True):
                own = slice(at[user], at[user + 1])
                gram, weight = phi[own].T @ phi[own], one.zero_weight(at[user + 1] - at[user])
                precision += model.alpha * (gram + weight * (whole - gram))
                shift += model.alpha * (phi[own].T @ one.values[own])
                mine.append((phi[own], one.values[own]))
            row = np.linalg.solve(precision, shift)
            found[user] -= sum(float(((phi @ row - values) ** 2).sum()) for phi, values in mine)
    return found


def compute_errors_by_row(model: PPMTF, traces: Traces) -> Matrix:
    """Return the squared error of each user's counts with each row of A, users × rows."""
    found = np.zeros((traces.n_users, len(model.user_ids_)))
    for one in build_tensors(model, traces):
        users, offsets = one.factors.users, one.cells.offsets
        empty = np.einsum("nk,kl,nl->n", users, one.sum_all_cells(), users)
        products = one.products()
        for user in range(traces.n_users):
            own = slice(offsets[user], offsets[user + 1])
            guessed = products[own] @ users.T
            weight = one.zero_weight(int(offsets[user + 1] - offsets[user]))
            found[user] += ((guessed - one.values[own, None]) ** 2).sum(axis=0)
            found[user] += weight * (empty - (guessed**2).sum(axis=0))
    return found


def _bound_epsilon(members: Matrix, others: Matrix) -> float:
    """Return a lower bound of ε (0 if nothing is shown): ln(hits / false alarms) at the best threshold.

    Larger scores speak for members. The bound holds with probability 1 - `_UNSURE`.
    """
    from scipy.stats import beta

    unsure = _UNSURE / (2 * len(_FALSE_ALARMS))
    best = 0.0
    for share in _FALSE_ALARMS:
        threshold = np.quantile(others, 1 - share, method="higher")
        hits, alarms = int((members > threshold).sum()), int((others > threshold).sum())
        least = beta.ppf(unsure, hits, len(members) - hits + 1) if hits else 0.0
        most = beta.ppf(1 - unsure, alarms + 1, len(others) - alarms) if alarms < len(others) else 1.0
        if least > 0:
            best = max(best, float(np.log(least / most)))
    return best
