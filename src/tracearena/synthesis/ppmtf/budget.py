"""Differential privacy of the model's parameters: how large ε is, and sampling until it is smaller."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_fitted, require_number, require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.synthesis.ppmtf.model import PPMTF
from tracearena.traces import Traces

_VALUES_PER_PIECE = 2**21


@dataclass(frozen=True)
class PrivacyBudget(Result):
    """Differential privacy of the trained parameters, if they were published.

    Both ε are very large for any useful α, and give no protection. Publish only synthetic traces, and keep
    the parameters secret.

    Attributes
    ----------
    epsilon_trace
        ε for data sets that differ in the whole trace of one user.
    epsilon_location
        ε for data sets that differ in one location. It is exact for ρ = 0; with sampled zeros, the true value
        is larger.
    kappa
        Largest distance of reconstructed counts from the range 0 to r_max.
    alpha
        Precision of the counts.
    """

    epsilon_trace: float
    epsilon_location: float
    kappa: float
    alpha: float


def privacy_budget(model: PPMTF, kappa: float | None = None) -> PrivacyBudget:
    """Return ε of a model whose hyperparameters are drawn from their posterior.

    Parameters
    ----------
    model
        A trained model, or any model if κ is given.
    kappa
        κ to assume, such as 0 for the smallest possible ε; by default it is measured.

    References
    ----------
    [ppmtf] section 3.5, equation 9, and appendix F.

    Examples
    --------
    >>> round(privacy_budget(PPMTF(alpha=0.4), kappa=0).epsilon_location, 1)
    45.6
    """
    if model.zeros == "all":
        raise ParameterError("ε is only known for zeros='sampled'; there is no proof for all zeros")
    used = measure_kappa(model) if kappa is None else kappa
    require_number("kappa", used, at_least=0)
    total = 0.0
    for kept, zeros, largest in (
        (model.kept_transitions, model.zero_transitions, model.largest_transition),
        (model.kept_visits, model.zero_visits, model.largest_visit),
    ):
        total += min(3 * kept, kept + zeros) * (largest + used) ** 2
    location = 4 * model.largest_transition + 8 * model.largest_visit + 12 * used - 6
    return PrivacyBudget(float(model.alpha * total), float(model.alpha * location), used, model.alpha)


def measure_kappa(model: PPMTF) -> float:
    """Return the smallest κ with every reconstructed count in [−κ, r_max + κ].

    All cells of both tensors are computed: O(users · places² · factors).
    """
    require_fitted(model, "transition_factors_")
    moves, visits = model.transition_factors_, model.visit_factors_
    parts = (
        (moves.users, moves.places, moves.next_places, model.largest_transition),
        (visits.users, visits.places, visits.slots, model.largest_visit),
    )
    return max(_measure_overshoot(*part) for part in parts)


def _measure_overshoot(
    users: NDArray[np.float64], places: NDArray[np.float64], targets: NDArray[np.float64], largest: int
) -> float:
    """Return how far Σ_k a b c reaches beyond 0 and `largest`."""
    size = max(_VALUES_PER_PIECE // max(len(places) * len(targets), 1), 1)

    def work(block: int, first: int, stop: int) -> float:
        values = (users[first:stop, None, :] * places[None]).reshape(-1, users.shape[1]) @ targets.T
        return max(0.0, -float(values.min()), float(values.max()) - largest)

    return max(run_blocks(work, block_ranges(len(users), size)))


def fit_bounded(
    model: PPMTF, traces: Traces, *, kappa: float, attempts: int = 10, seed: SeedLike = None
) -> tuple[PPMTF, int]:
    """Repeat the training until κ is at most a bound ("retry if fail").

    Parameters
    ----------
    model
        The parameters to train with; it is not changed.
    traces
        Training traces.
    kappa
        The bound, at least 0.
    attempts
        Largest number of trainings.
    seed
        Seed from which the seeds of all attempts are derived.

    Returns
    -------
    model, attempts
        The first model within the bound, and the number of trainings.

    References
    ----------
    [ppmtf] section 3.5: the accepted parameters are a sample of the posterior, given the bound.
    """
    require_number("kappa", kappa, at_least=0)
    require_whole("attempts", attempts, at_least=1)
    root = seed_sequence(seed)
    closest = np.inf
    for attempt in range(attempts):
        tried = replace(model).fit(traces, seed=child_seed(root, attempt))
        found = measure_kappa(tried)
        if found <= kappa:
            return tried, attempt + 1
        closest = min(closest, found)
    raise DataError(
        f"no model with κ of at most {kappa} in {attempts} trainings; the smallest was {closest:.3g}"
    )
