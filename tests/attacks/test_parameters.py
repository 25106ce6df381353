"""Attacks on the parameters of PPMTF, where the answer is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.attacks import attack_parameters
from tracearena.attacks.parameters import build_tensors, compute_errors_by_row, score_best_fit
from tracearena.errors import DataError, ParameterError
from tracearena.mobility.transitions import transition_counts, visit_counts
from tracearena.synthesis import PPMTF
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def people(make_walks: Callable[..., Traces]) -> tuple[Traces, Traces]:
    walks = make_walks(users=80, days=1, side=5, seed=4)
    return walks.take_users(np.arange(40)), walks.take_users(np.arange(40, 80))


@pytest.fixture(scope="module", params=[True, False], ids=["shared", "apart"])
def model(people: tuple[Traces, Traces], request: pytest.FixtureRequest) -> PPMTF:
    return PPMTF(factors=10, iterations=30, shared_factors=request.param).fit(people[0], seed=1)


def test_rows_of_users_name_them(model: PPMTF, people: tuple[Traces, Traces]) -> None:
    found = attack_parameters(model, *people, "ABCD")
    assert found.reidentification_rate is not None
    assert found.reidentification_rate > 0.7
    assert found.advantage > found.chance
    assert (found.members, found.non_members) == (40, 40)


def test_profiles_of_places_tell_less_than_those_of_users(
    model: PPMTF, people: tuple[Traces, Traces]
) -> None:
    less, more = (attack_parameters(model, *people, released) for released in ("BCD", "ABCD"))
    assert 0 <= less.advantage <= more.advantage
    assert less.reidentification_rate is None


def test_people_of_no_training_are_told_from_others_by_chance(people: tuple[Traces, Traces]) -> None:
    training, testing = people
    half, rest = (testing.take_users(np.arange(first, 40, 2)) for first in (0, 1))
    model = PPMTF(factors=4, iterations=10).fit(training, seed=1)
    model.user_ids_ = half.user_ids
    found = attack_parameters(model, half, rest, "BCD")
    assert found.advantage <= found.chance
    assert found.epsilon_at_least == 0


def test_the_error_of_a_row_is_that_of_all_its_cells(people: tuple[Traces, Traces]) -> None:
    training, testing = people
    model = PPMTF(factors=3, iterations=5, zero_transitions=50, zero_visits=50).fit(training, seed=1)
    found = compute_errors_by_row(model, testing)
    slow = np.zeros_like(found)
    for one, counts in zip(build_tensors(model, testing), (transition_counts, visit_counts), strict=True):
        tensor = counts(testing)
        dense = np.zeros(tensor.shape)
        dense[tensor.users, tensor.i, tensor.j] = np.minimum(tensor.counts, 10)
        said = np.einsum("nk,ik,jk->nij", one.factors.users, one.factors.places, one.targets)
        for user, mine in enumerate(dense):
            weight = np.where(mine > 0, 1, 50 / (mine == 0).sum())
            slow[user] += (weight * (said - mine) ** 2).sum(axis=(1, 2))
    assert np.allclose(found, slow)
    assert (score_best_fit(model, testing) <= 0).all()


def test_what_cannot_be_attacked_is_refused(people: tuple[Traces, Traces]) -> None:
    training, testing = people
    model = PPMTF(factors=2, iterations=2).fit(training, seed=1)
    with pytest.raises(ParameterError, match="released"):
        attack_parameters(model, training, testing, "A")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not those of the users of the model"):
        attack_parameters(model, testing, training)
    with pytest.raises(DataError, match="needs training users"):
        attack_parameters(model, training, testing.take_users([]))


def test_a_row_fits_as_the_mean_of_its_conditional(people: tuple[Traces, Traces]) -> None:
    """Ridge regression on all cells of a person, zeros weighing 50 in all, with the prior of the rows."""
    training, testing = people
    model = PPMTF(factors=3, iterations=5, alpha=20, zero_transitions=50, zero_visits=50)
    model.fit(training, seed=1)
    both = build_tensors(model, testing)
    prior = both[0].factors.psi.A
    precision = np.tile(prior.precision, (testing.n_users, 1, 1))
    shift = np.tile(prior.precision @ prior.mean, (testing.n_users, 1))
    tables = []
    for one, counts in zip(both, (transition_counts, visit_counts), strict=True):
        tensor = counts(testing)
        dense = np.zeros(tensor.shape)
        dense[tensor.users, tensor.i, tensor.j] = np.minimum(tensor.counts, 10)
        cells = np.einsum("ik,jk->ijk", one.factors.places, one.targets)
        for user, mine in enumerate(dense):
            weight = np.where(mine > 0, 1, 50 / (mine == 0).sum())
            precision[user] += 20 * np.einsum("ij,ijk,ijl->kl", weight, cells, cells)
            shift[user] += 20 * np.einsum("ij,ijk->k", mine, cells)
        tables.append((dense, cells))
    rows = np.linalg.solve(precision, shift[:, :, None])[:, :, 0]
    slow = np.zeros(testing.n_users)
    for dense, cells in tables:
        slow -= ((np.einsum("ijk,nk->nij", cells, rows) - dense) ** 2 * (dense > 0)).sum(axis=(1, 2))
    assert score_best_fit(model, testing) == pytest.approx(slow)
