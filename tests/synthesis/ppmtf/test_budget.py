"""ε of the parameters, with the numbers of the paper."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.engine import use
from tracearena.errors import DataError, ParameterError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import fit_bounded, measure_kappa, privacy_budget
from tracearena.traces import Traces

SMALL = {"factors": 2, "alpha": 20, "iterations": 4, "zero_transitions": 20, "zero_visits": 20}


def test_one_location_at_alpha_0_4_costs_45_6():
    assert privacy_budget(PPMTF(alpha=0.4), kappa=0).epsilon_location == pytest.approx(45.6)


def test_a_whole_trace_costs_three_lambda_cells_of_each_tensor():
    budget = privacy_budget(PPMTF(alpha=200), kappa=0)
    assert budget.epsilon_trace == pytest.approx(200 * (300 * 100 + 300 * 100))
    few = privacy_budget(PPMTF(alpha=1, zero_transitions=50, zero_visits=0), kappa=2)
    assert few.epsilon_trace == pytest.approx(150 * 144 + 100 * 144)


@pytest.mark.parametrize("shared", [True, False])
def test_kappa_is_how_far_reconstructed_counts_reach_out(checkins: Traces, shared):
    model = PPMTF(**SMALL, shared_factors=shared).fit(checkins, seed=1)
    moves, visits = model.transition_factors_, model.visit_factors_
    values = [
        np.einsum("nk,ik,jk->nij", moves.users, moves.places, moves.next_places),
        np.einsum("nk,ik,tk->nit", visits.users, visits.places, visits.slots),
    ]
    expected = max(max(0, -value.min(), value.max() - 10) for value in values)
    assert measure_kappa(model) == pytest.approx(expected)
    with use(threads=2):
        assert privacy_budget(model).kappa == measure_kappa(model)


def test_training_is_repeated_until_kappa_is_small_enough(checkins: Traces):
    parameters = PPMTF(**SMALL)
    kappas = [measure_kappa(fit_bounded(parameters, checkins, kappa=1e9, seed=seed)[0]) for seed in (1, 2)]
    model, attempts = fit_bounded(parameters, checkins, kappa=min(kappas), seed=int(np.argmin(kappas)) + 1)
    assert attempts == 1
    assert measure_kappa(model) == min(kappas)
    tried, more = fit_bounded(
        parameters, checkins, kappa=max(kappas) * 0.999, attempts=30, seed=int(np.argmax(kappas)) + 1
    )
    assert more > 1
    assert measure_kappa(tried) < max(kappas)
    assert not hasattr(parameters, "transition_factors_")
    with pytest.raises(DataError, match="smallest"):
        fit_bounded(parameters, checkins, kappa=0, attempts=2, seed=1)


def test_no_epsilon_is_claimed_for_all_zeros():
    with pytest.raises(ParameterError, match="sampled"):
        privacy_budget(PPMTF(zeros="all"), kappa=0)
