"""Whether chains have mixed, against cases with a known answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import run_chains
from tracearena.synthesis.ppmtf.diagnostics import effective_draws, split_r_hat
from tracearena.traces import Traces


def autoregressive(correlation: float, chains: int = 4, length: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(2)
    draws = np.empty((chains, length))
    draws[:, 0] = rng.normal(size=chains)
    scale = np.sqrt(1 - correlation**2)
    for t in range(1, length):
        draws[:, t] = correlation * draws[:, t - 1] + scale * rng.normal(size=chains)
    return draws


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_draws_of_an_autoregression(correlation: float) -> None:
    expected = 4 * 4000 * (1 - correlation) / (1 + correlation)
    assert effective_draws(autoregressive(correlation)) == pytest.approx(expected, rel=0.2)


def test_chains_that_agree_and_chains_that_do_not() -> None:
    draws = autoregressive(0.5)
    assert split_r_hat(draws) < 1.01
    apart = draws + 3 * np.arange(4)[:, None]
    assert split_r_hat(apart) > 1.5
    assert effective_draws(apart) < 20
    drifting = draws + np.linspace(0, 4, draws.shape[1])
    assert split_r_hat(drifting) > 1.2


def test_a_quantity_that_never_moves_is_mixed_if_all_chains_have_it() -> None:
    assert split_r_hat(np.ones((2, 10))) == 1
    assert split_r_hat(np.array([[0.0] * 10, [1.0] * 10])) == np.inf
    with pytest.raises(DataError, match="at least 4"):
        split_r_hat(np.ones((2, 3)))


def test_chains_watch_what_the_model_says(make_check_ins: Callable[..., Traces]) -> None:
    traces = make_check_ins()
    model = PPMTF(factors=2, iterations=24, kept_visits=3, zero_visits=5, zero_transitions=5)
    report = run_chains(model, traces, chains=3, watched=4, seed=1)
    assert report.draws.shape[1:] == (3, 24)
    assert {name.split()[0] for name in report.names} >= {"error", "visit", "population"}
    told = report.to_dict()
    assert told["r_hat_median"] <= told["r_hat_largest"]
    again = run_chains(model, traces, chains=3, watched=4, seed=1)
    assert np.array_equal(again.draws, report.draws)
    assert not np.array_equal(report.draws[0, 0], report.draws[0, 1])
    with pytest.raises(DataError, match="from 8 to 24 iterations"):
        report.r_hat(25)


def test_the_first_chain_reconstructs_what_its_factors_say(make_walks: Callable[..., Traces]) -> None:
    """With nothing random about the cells, a chain is the training of a model."""
    traces = make_walks(users=10, days=1, side=3)
    plain = PPMTF(factors=2, iterations=10, zeros="all")
    report = run_chains(plain, traces, chains=2, watched=1, seed=5)
    root = seed_sequence(5)
    for number in (0, 1):
        trained = PPMTF(factors=2, iterations=10, zeros="all").fit(traces, seed=child_seed(root, 2, number))
        assert report.draws[0, number].tolist() == pytest.approx(trained.error_)
