"""Synthetic traces follow the Metropolis-Hastings chain of the paper, and their likelihood is exact."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.io.ppmtf import read_parameters, read_synthetic
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.generation import TraceModel


@pytest.fixture(scope="module", params=[True, False], ids=["shared", "apart"])
def small(request: pytest.FixtureRequest) -> TraceModel:
    """Three users, seven places, three slots of two instants; some expected counts are negative.

    Visits have the user and place factors of transitions, or their own.
    """
    rng = np.random.default_rng(1)
    a, b, c, d = (rng.normal(0.6, 0.6, size=(n, 3)) for n in (3, 7, 7, 3))
    a2, b2 = (a, b) if request.param else (rng.normal(0.6, 0.6, size=(n, 3)) for n in (3, 7))
    return TraceModel(a, b, c, a2, b2, d, np.array([0, 0, 1, 1, 2, 2]), 1e-3)


def slow_matrices(model: TraceModel, user: int) -> tuple[np.ndarray, np.ndarray]:
    """π and Q of every slot, cell by cell from equation 5 of the paper."""
    a, b, c, d = model.users[user], model.places, model.next_places, model.slots
    a2, b2 = model.visit_users[user], model.visit_places
    n, slots = len(b), len(d)
    pi, q = np.empty((slots, n)), np.empty((slots, n, n))
    star = np.array([[max((a * b[i] * c[j]).sum(), model.smallest) for j in range(n)] for i in range(n)])
    star /= star.sum(axis=1, keepdims=True)
    for t in range(slots):
        pi[t] = [max((a2 * b2[i] * d[t]).sum(), model.smallest) for i in range(n)]
        pi[t] /= pi[t].sum()
        for i in range(n):
            for j in range(n):
                ratio = pi[t, j] * star[j, i] / (pi[t, i] * star[i, j])
                q[t, i, j] = star[i, j] * min(1, ratio)
            q[t, i, i] = 1 - (q[t, i].sum() - q[t, i, i])
    return pi, q


def test_visit_probabilities_are_stationary_for_every_slot(small):
    for user in range(3):
        pi = small.visit_probabilities(user)
        slow_pi, slow_q = slow_matrices(small, user)
        assert np.allclose(pi, slow_pi)
        for slot in range(3):
            matrix = small.transition_probabilities(user, slot)
            assert np.allclose(matrix, slow_q[slot])
            assert np.allclose(matrix.sum(axis=1), 1)
            assert np.allclose(pi[slot] @ matrix, pi[slot])
            assert (matrix >= 0).all()


@pytest.mark.slow
def test_drawn_steps_have_the_probabilities_of_the_matrices(small):
    days = 40_000
    traces = small.draw(days, np.random.SeedSequence(3))
    for user in range(3):
        pi, q = slow_matrices(small, user)
        first = np.bincount(traces[user, :, 0], minlength=7) / days
        assert np.abs(first - pi[0]).max() < 5 * np.sqrt(0.25 / days)
        for t in range(1, 6):
            slot = t // 2
            for place in range(7):
                here = traces[user, :, t - 1] == place
                if here.sum() > 500:
                    share = np.bincount(traces[user, here, t], minlength=7) / here.sum()
                    assert np.abs(share - q[slot, place]).max() < 5 * np.sqrt(0.25 / here.sum())


@pytest.mark.slow
def test_places_follow_the_visit_distribution_of_their_slot(small):
    """Within a slot the chain converges to π; after one step it has already moved towards it."""
    traces = small.draw(40_000, np.random.SeedSequence(4))
    pi, q = slow_matrices(small, 0)
    expected = pi[0] @ q[0] @ q[1] @ q[1] @ q[2] @ q[2]
    last = np.bincount(traces[0, :, -1], minlength=7) / 40_000
    assert np.abs(last - expected).max() < 5 * np.sqrt(0.25 / 40_000)


def test_log_likelihoods_are_products_of_matrix_entries(small):
    traces = small.draw(20, np.random.SeedSequence(5))
    users = np.repeat(np.arange(3), 20)
    table = traces.reshape(60, 6)
    running = small.log_likelihoods(table, users)
    for row, user in enumerate(users):
        pi, q = slow_matrices(small, user)
        steps = [pi[0, table[row, 0]]]
        steps += [q[t // 2, table[row, t - 1], table[row, t]] for t in range(1, 6)]
        assert np.allclose(running[row], np.cumsum(np.log(steps)))


def test_one_place_is_always_visited():
    one = np.ones((1, 2))
    model = TraceModel(one, one, one, one, one, one, np.zeros(4, np.int64))
    traces = model.draw(2, np.random.SeedSequence(1))
    assert (traces == 0).all()
    assert np.allclose(model.log_likelihoods(traces[0], np.zeros(2, np.int64)), 0)


@pytest.mark.slow
def test_published_log_likelihoods_follow_from_the_published_parameters(tokyo, tokyo_training):
    model = PPMTF.import_parameters(tokyo, tokyo_training, alpha=200)
    published = read_synthetic(
        tokyo / "syntraces_ppmtf_Itr100.csv.gz", tokyo_training.places, tokyo_training.clock
    )
    ours = model.log_likelihoods(published.traces)
    assert np.abs(ours - published.loglikelihood).max() < 1e-5


def test_parameters_go_out_as_they_came_in(tokyo, tokyo_training, tmp_path):
    model = PPMTF.import_parameters(tokyo, tokyo_training, alpha=200)
    model.export_parameters(tmp_path)
    again = read_parameters(tmp_path, 100)
    for name in "ABCD":
        assert np.array_equal(getattr(again, name), getattr(read_parameters(tokyo, 100), name))
    assert (tmp_path / "modelparameter_Itr100_A.csv").read_bytes() == (
        tokyo / "modelparameter_Itr100_A.csv"
    ).read_bytes()
