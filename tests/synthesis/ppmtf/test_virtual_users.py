"""Virtual users come from the distribution of feature vectors, and nothing of the training users is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.errors import DataError, ParameterError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.generation import (
    TraceModel,
    VirtualUserHabits,
    build_virtual_users,
    sample_rows,
    sample_virtual_model,
)
from tracearena.synthesis.ppmtf.gibbs import Gaussian
from tracearena.synthesis.ppmtf.training import SeenCells
from tracearena.traces import Clock, Places, Traces

SMALL = {"factors": 3, "alpha": 20, "iterations": 6, "zero_transitions": 20, "zero_visits": 20}


@pytest.fixture(scope="module")
def trained(checkins: Traces) -> PPMTF:
    return PPMTF(**SMALL).fit(checkins, seed=7)


@pytest.fixture(scope="module")
def small() -> TraceModel:
    """Two users, five places, four slots of one instant; some expected counts are negative."""
    rng = np.random.default_rng(2)
    a, b, c, d = (rng.normal(0.6, 0.6, size=(n, 3)) for n in (2, 5, 5, 4))
    return TraceModel(a, b, c, a, b, d, np.arange(4), 1e-3)


@pytest.fixture(scope="module")
def seen() -> SeenCells:
    """What two short traces show."""
    clock = Clock(instants_per_day=4)
    table = [[0, 1, 1, 2], [3, 3, 0, 4], [1, 2, 4, 0], [4, 4, 0, 0]]
    return SeenCells.of(Traces.from_dense(table, Places([0] * 5, range(5)), clock))


def slow_matrices(model: TraceModel, user: int, habits: VirtualUserHabits) -> tuple[np.ndarray, np.ndarray]:
    """π and Q of every slot, from whole matrices: unseen cells first, then homes, then the walk."""
    a, n = model.users[user], len(model.places)
    star = np.maximum(np.einsum("k,ik,jk->ij", a, model.places, model.next_places), model.smallest)
    pi = np.maximum(np.einsum("k,ik,tk->ti", a, model.visit_places, model.slots), model.smallest)
    if habits.seen is not None:
        star[~np.isin(np.arange(n * n), habits.seen.moves).reshape(n, n)] = model.smallest
        pi[~np.isin(np.arange(n * len(pi)), habits.seen.visits).reshape(n, len(pi)).T] = model.smallest
    star /= star.sum(axis=1, keepdims=True)
    pi /= pi.sum(axis=1, keepdims=True)
    if habits.homes is not None:
        pi[:, habits.homes[user]] += habits.home_weight
        pi /= pi.sum(axis=1, keepdims=True)
    q = np.empty((len(pi), n, n))
    for t in range(len(pi)):
        q[t] = star * np.minimum(1, pi[t][None, :] * star.T / (pi[t][:, None] * star))
        np.fill_diagonal(q[t], 0)
        np.fill_diagonal(q[t], 1 - q[t].sum(axis=1))
    return pi, q


@pytest.mark.parametrize("home_steps", [0, 1, 3])
@pytest.mark.parametrize("with_seen", [True, False])
def test_days_follow_the_chain_with_homes_and_without_unseen_cells(small, seen, home_steps, with_seen):
    homes = {"homes": np.array([3, 1], np.int32), "home_weight": np.array([20.0, 2.0, 0, 20.0])}
    chosen = homes | {"home_steps": home_steps} if home_steps else {}
    habits = VirtualUserHabits(**chosen, seen=seen if with_seen else None)
    days = 40_000
    traces = small.draw(days, np.random.SeedSequence(3), habits=habits)
    for user in range(2):
        pi, q = slow_matrices(small, user, habits)
        for t in (1, 3):
            q[t] = np.linalg.matrix_power(q[t], max(home_steps, 1))
        expected = pi[0]
        for t in range(4):
            expected = expected if t == 0 else expected @ q[t]
            share = np.bincount(traces[user, :, t], minlength=5) / days
            assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / days)
            if t:
                for place in np.flatnonzero(np.bincount(traces[user, :, t - 1], minlength=5) > 2_000):
                    after = traces[user, traces[user, :, t - 1] == place, t]
                    share = np.bincount(after, minlength=5) / len(after)
                    assert np.abs(share - q[t, place]).max() < 5 * np.sqrt(0.25 / len(after))


def test_no_habits_draw_the_same_traces_as_empty_habits(small):
    root = np.random.SeedSequence(5)
    assert np.array_equal(small.draw(50, root), small.draw(50, root, habits=VirtualUserHabits()))


def test_feature_vectors_have_the_mean_and_precision_of_the_model():
    precision = np.array([[4.0, 1.0], [1.0, 2.0]])
    rows = sample_rows(Gaussian(np.array([1.0, -2.0]), precision), 40_000, np.random.SeedSequence(1))
    assert np.abs(rows.mean(axis=0) - [1, -2]).max() < 0.02
    assert np.abs(np.cov(rows.T) - np.linalg.inv(precision)).max() < 0.02


def test_the_first_users_are_the_same_however_many_follow():
    prior = Gaussian(np.zeros(2), np.eye(2))
    few, many = (sample_rows(prior, n, np.random.SeedSequence(1)) for n in (300, 1_000))
    assert np.array_equal(few[:256], many[:256])


def test_virtual_users_do_not_depend_on_the_training_users_rows(trained):
    other = trained.trace_model_
    shuffled = replace(other, users=other.users[::-1].copy(), visit_users=other.visit_users[::-1].copy())
    prior = trained.transition_factors_.psi.A
    root = np.random.SeedSequence(2)
    pair = [
        build_virtual_users(
            sample_virtual_model(model, (prior, prior), 20, root), root, interval_s=3600
        ).draw(3)
        for model in (other, shuffled)
    ]
    assert np.array_equal(*pair)


def test_everybody_is_at_home_in_the_morning(trained):
    users = trained.virtual_users(200, homes=True, seed=1)
    table = users.draw(20)
    share = (table == users.homes[:, None, None]).mean(axis=(0, 1))
    assert share[0] > 20 / 21 - 0.02
    assert share[:4].min() > share[12]
    assert share[-1] > share[12]
    assert trained.virtual_users(5, seed=1).homes is None


def test_homes_follow_the_users_own_first_visits(trained):
    users = trained.virtual_users(4_000, homes=True, seed=4)
    expected = np.mean([users.model.visit_probabilities(user)[0] for user in range(len(users))], axis=0)
    share = np.bincount(users.homes, minlength=len(expected)) / len(users)
    assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / len(users))


def test_only_seen_moves_are_made(trained, checkins):
    """But for a place from which only moves lead whose expected counts are below zero."""

    def unseen(**options: bool) -> float:
        table = trained.sample_users(200, 5, **options, seed=2).dense().reshape(-1, 24)
        start, end = table[:, :-1].ravel(), table[:, 1:].ravel()
        moved = start != end
        return 1 - np.isin((start * len(checkins.places) + end)[moved], trained.seen_.moves).mean()

    assert unseen(only_seen=True) < unseen() / 3


def test_traces_are_whole_days_of_users_numbered_from_1(trained):
    traces = trained.sample_users(40, 3, seed=1)
    assert traces.is_complete
    assert traces.user_ids.tolist() == list(range(1, 41))
    assert traces.span == (0, 72)
    assert traces.clock.first_day is None


def test_another_seed_gives_other_users_and_threads_do_not_matter(trained):
    one, two = (
        on_threads(threads, lambda: trained.sample_users(300, 2, homes=True, seed=1)) for threads in (1, 3)
    )
    assert one == two
    assert one != trained.sample_users(300, 2, homes=True, seed=2)


def test_users_of_tensors_factorised_apart_have_two_vectors(checkins):
    model = PPMTF(**SMALL, shared_factors=False).fit(checkins, seed=1)
    users = model.virtual_users(10, seed=1)
    assert not np.array_equal(users.model.users, users.model.visit_users)
    assert model.sample_users(10, 2, seed=1).n_events == 10 * 2 * 24


def test_virtual_users_survive_the_model_file(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    again = PPMTF.load(tmp_path / "model.npz")
    options = {"homes": True, "only_seen": True, "seed": 3}
    assert again.sample_users(20, 2, **options) == trained.sample_users(20, 2, **options)


@pytest.mark.parametrize(("n", "days"), [(0, 1), (1, 0), (-3, 1), (2.5, 1), (True, 1), (1, False)])
def test_numbers_of_users_and_days_are_checked(trained, n, days):
    with pytest.raises(ParameterError, match="at least 1"):
        trained.sample_users(n, days)


def test_a_precision_that_is_none_is_refused():
    with pytest.raises(DataError, match="positive definite"):
        sample_rows(Gaussian(np.zeros(2), -np.eye(2)), 3, np.random.SeedSequence(1))


def test_seen_cells_of_unknown_origin_are_checked():
    good = np.array([0, 3], np.int64)
    assert SeenCells.from_arrays(2, 2, good, good).next_places()[1].tolist() == [0, 1]
    for bad in (good[::-1].copy(), np.array([0, 4]), np.array([-1, 0]), good.astype(float), good[None]):
        with pytest.raises(DataError):
            SeenCells.from_arrays(2, 2, bad, good)
