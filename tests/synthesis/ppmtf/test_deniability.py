"""A trace passes if enough people could have made it; counted as by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.errors import DataError, ParameterError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.deniability import (
    Deniability,
    DeniabilityTest,
    bucket_of,
    distinct_steps,
    measure_deniability,
)
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def trained(checkins: Traces) -> PPMTF:
    parameters = {"factors": 3, "alpha": 20, "iterations": 10, "zero_transitions": 20, "zero_visits": 20}
    return PPMTF(**parameters).fit(checkins, seed=7)


def slow_log_likelihood(model: PPMTF, user: int, trace: np.ndarray) -> float:
    """From the whole matrices of the user."""
    whole = model.trace_model_
    total = np.log(whole.visit_probabilities(user)[0, trace[0]])
    for instant in range(1, len(trace)):
        matrix = whole.transition_probabilities(user, int(whole.slot_of[instant]))
        total += np.log(matrix[trace[instant - 1], trace[instant]])
    return float(total)


def slow_k_prime(model: PPMTF, synthetic: Traces, eta: float) -> np.ndarray:
    days = synthetic.n_instants // 24
    table = synthetic.dense().reshape(-1, 24)
    owner = np.repeat(np.arange(synthetic.n_users), days)
    likelihood = np.array(
        [[slow_log_likelihood(model, user, trace) for user in range(synthetic.n_users)] for trace in table]
    )
    bucket = np.floor(-likelihood / eta)
    return (bucket == bucket[np.arange(len(table)), owner][:, None]).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [1.0, *(pytest.param(eta, marks=pytest.mark.long) for eta in (0.3, 5.0))])
def test_k_prime_equals_a_count_over_whole_matrices(trained, eta):
    synthetic = trained.synthesize(2, seed=3)
    found = measure_deniability(trained, synthetic, DeniabilityTest(k=3, eta=eta))
    assert np.array_equal(found.k_prime, slow_k_prime(trained, synthetic, eta))
    assert found.verifiers == trained.trace_model_.users.shape[0]


def test_bucket_borders_belong_to_the_bucket_below():
    """−(i + 1) η < L ≤ −i η, to the last bit."""
    for eta in (1.0, 0.5, 2.0):
        for i in range(5):
            border = -i * eta
            assert bucket_of(border, eta) == i
            assert bucket_of(np.nextafter(border, -np.inf), eta) == i
            if i:
                assert bucket_of(np.nextafter(border, np.inf), eta) == i - 1


def test_an_early_stop_cuts_k_prime_at_k(trained):
    synthetic = trained.synthesize(3, seed=4)
    exact = measure_deniability(trained, synthetic, DeniabilityTest(k=4, eta=1))
    early = measure_deniability(trained, synthetic, DeniabilityTest(k=4, eta=1, early_stop=True))
    assert np.array_equal(early.k_prime, np.minimum(exact.k_prime, 4))
    assert early.pass_rate == exact.pass_rate
    with pytest.raises(ParameterError, match="stopped"):
        early.pass_rate_at(5)


def test_everybody_is_plausible_if_buckets_are_wide_and_nobody_if_k_is_large(trained):
    synthetic = trained.synthesize(1, seed=5)
    wide = measure_deniability(trained, synthetic, DeniabilityTest(k=31, eta=1e6))
    assert wide.pass_rate == 1
    assert (wide.k_prime == 31).all()
    assert measure_deniability(trained, synthetic, DeniabilityTest(k=32, eta=1e6)).pass_rate == 0


def test_the_input_user_always_counts(trained):
    synthetic = trained.synthesize(2, seed=6)
    alone = measure_deniability(trained, synthetic, DeniabilityTest(k=1, eta=1e-6, verifiers=1), seed=1)
    assert (alone.k_prime >= 1).all()
    assert alone.pass_rate == 1


def test_verifiers_are_a_random_subset(trained):
    synthetic = trained.synthesize(2, seed=6)
    few = [
        measure_deniability(trained, synthetic, DeniabilityTest(eta=4, verifiers=10), seed=seed).k_prime
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(few[0], few[1])
    assert not np.array_equal(few[0], few[2])
    everyone = measure_deniability(trained, synthetic, DeniabilityTest(eta=4)).k_prime
    assert (few[0] <= everyone).all()
    assert measure_deniability(trained, synthetic, DeniabilityTest(eta=4, verifiers=1_000)).verifiers == 31


def test_the_result_does_not_depend_on_threads(trained):
    synthetic = trained.synthesize(2, seed=6)
    one, three = (
        on_threads(threads, lambda: measure_deniability(trained, synthetic, DeniabilityTest(eta=2), seed=1))
        for threads in (1, 3)
    )
    assert np.array_equal(one.k_prime, three.k_prime)


def test_days_that_were_left_out_do_not_matter(trained):
    synthetic = trained.synthesize(3, seed=6)
    kept = np.random.default_rng(1).random(3 * synthetic.n_users) < 0.5
    some = synthetic.keep(np.repeat(kept, 24))
    whole = measure_deniability(trained, synthetic, DeniabilityTest(eta=2)).k_prime
    assert np.array_equal(measure_deniability(trained, some, DeniabilityTest(eta=2)).k_prime, whole[kept])


def test_pass_rates_fall_with_k(trained):
    found = measure_deniability(trained, trained.synthesize(4, seed=1), DeniabilityTest(eta=1))
    rates = [found.pass_rate_at(k) for k in range(1, 32)]
    assert rates[0] == 1
    assert all(a >= b for a, b in pairwise(rates))


def test_the_file_is_that_of_the_ppmtf_tools(tmp_path):
    Deniability(np.array([3, 12], np.int32), 10, 1.0, 50, False).write(tmp_path / "k.csv")
    assert (tmp_path / "k.csv").read_text() == "3,0\n12,1\n-,-,1,2,0.500000\n"


def test_steps_are_numbered_by_slot_place_and_next_place():
    table = np.array([[0, 1, 1], [0, 1, 2], [2, 1, 1]], np.int32)
    offsets, slot, target, steps = distinct_steps(table, np.array([0, 0, 1]), 3, 2)
    place = np.repeat(np.arange(3), np.diff(offsets))
    assert np.array_equal(place[steps], table[:, :-1])
    assert np.array_equal(target[steps], table[:, 1:])
    assert slot[steps].tolist() == [[0, 1]] * 3
    assert len(slot) == 4


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": 1.5}, {"eta": 0}, {"eta": float("inf")}, {"verifiers": 0}])
def test_parameters_are_checked(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        DeniabilityTest(**bad)


def test_a_bucket_too_narrow_to_number_is_refused(trained):
    with pytest.raises(DataError, match="too small"):
        measure_deniability(trained, trained.synthesize(1, seed=1), DeniabilityTest(eta=1e-300))


def test_traces_of_strangers_and_broken_days_are_refused(trained):
    synthetic = trained.synthesize(1, seed=1)
    with pytest.raises(DataError, match="not one of"):
        measure_deniability(trained, synthetic.with_user_ids(np.arange(100, 131)))
    with pytest.raises(DataError, match="whole days"):
        measure_deniability(trained, synthetic.take_instants(0, 23))
