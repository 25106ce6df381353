"""One to one, beside trying every permutation; and how sure it is who is who."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from tracearena.attacks.bayesian import pairs as assignment
from tracearena.attacks.bayesian.pairs import (
    CandidatePairs,
    assign_users,
    build_all_pairs,
    compute_posteriors,
)

Floats = NDArray[np.float64]


def some_pairs(n_traces: int, n_users: int, share: float, seed: int) -> CandidatePairs:
    rng = np.random.default_rng(seed)
    trace, user = np.nonzero(rng.random((n_traces, n_users)) < share)
    return CandidatePairs.of(trace, user, n_traces, n_users)


def largest_sum(pairs: CandidatePairs, scores: Floats) -> tuple[int, float]:
    """Return how many traces can have a user, and the largest sum with that many, by trying all."""
    n_traces, n_users = len(pairs.offsets) - 1, pairs.n_users
    known = dict(zip(zip(pairs.traces.tolist(), pairs.users.tolist(), strict=True), scores, strict=True))
    best = (0, 0.0)
    for users in itertools.permutations([*range(n_users), *[-1] * n_traces], n_traces):
        own = [(p, u) for p, u in enumerate(users) if u >= 0]
        if all(pair in known for pair in own):
            best = max(best, (len(own), sum(known[pair] for pair in own)))
    return best


@pytest.mark.parametrize("solve", ["_assign_on_table", "_assign_on_pairs"])
@pytest.mark.parametrize(("n_traces", "n_users"), [(4, 4), (3, 5), (4, 3), (1, 1), (4, 1)])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_the_sum_is_the_largest(n_traces: int, n_users: int, share: float, solve: str) -> None:
    for seed in range(3):
        pairs = some_pairs(n_traces, n_users, share, seed)
        scores = np.random.default_rng(seed).normal(0, 50, len(pairs.users))
        chosen = getattr(assignment, solve)(pairs, scores)
        given = chosen[chosen >= 0]
        assert len(np.unique(given)) == len(given)
        right = chosen[pairs.traces] == pairs.users
        number, total = largest_sum(pairs, scores)
        assert right.sum() == len(given) == number
        assert scores[right].sum() == pytest.approx(total)


@pytest.mark.parametrize(("n_traces", "n_users"), [(60, 60), (40, 70), (70, 40)])
def test_it_is_the_same_on_the_pairs_alone(n_traces: int, n_users: int) -> None:
    pairs = some_pairs(n_traces, n_users, 0.3, 1)
    scores = np.random.default_rng(2).normal(0, 50, len(pairs.users))
    found = [solve(pairs, scores) for solve in (assignment._assign_on_table, assignment._assign_on_pairs)]
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(("n_traces", "n_users"), [(6, 6), (4, 9), (9, 4), (5, 0), (0, 5)])
def test_what_is_left_takes_what_is_free(n_traces: int, n_users: int) -> None:
    pairs = some_pairs(n_traces, n_users, 0.2, 0)
    chosen = assign_users(pairs, np.zeros(len(pairs.users)))
    given = chosen[chosen >= 0]
    assert len(given) == min(n_traces, n_users)
    assert len(np.unique(given)) == len(given)
    can_be = np.zeros((n_traces, n_users), int)
    can_be[pairs.traces, pairs.users] = 1
    most = (maximum_bipartite_matching(csr_array(can_be)) >= 0).sum()
    assert (chosen[pairs.traces] == pairs.users).sum() == most


def slow_sinkhorn(scores: Floats, elsewhere: float) -> Floats:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    for _ in range(40):
        weights /= weights.sum(axis=1, keepdims=True) + np.exp(-elsewhere) * weights.max(
            axis=1, keepdims=True
        )
        weights /= weights.sum(axis=0)
    return weights


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_certainty_is_shared_out_among_traces_and_users(scale: float) -> None:
    scores = np.random.default_rng(1).normal(0, scale, (7, 7))
    found = compute_posteriors(build_all_pairs(7, 7), scores.ravel()).reshape(7, 7)
    assert found == pytest.approx(slow_sinkhorn(scores, 7.0), abs=1e-12)
    assert found.sum(axis=0) == pytest.approx(1)
    assert found.sum(axis=1) == pytest.approx(1, abs=0.05)


def test_some_pairs_are_as_certain_as_when_the_others_are_impossible() -> None:
    pairs = some_pairs(8, 8, 0.5, 3)
    scores = np.random.default_rng(1).normal(0, 3, len(pairs.users))
    table = np.full((8, 8), -np.inf)
    table[pairs.traces, pairs.users] = scores
    assert (np.isfinite(table).any(axis=0) & np.isfinite(table).any(axis=1)).all()
    assert compute_posteriors(pairs, scores) == pytest.approx(
        slow_sinkhorn(table, 7.0)[pairs.traces, pairs.users]
    )


def test_scores_far_apart_leave_no_doubt() -> None:
    scores = np.array([[0.0, -1e6, -1e6], [-1e6, 0.0, -50.0], [-1e6, -1e6, -1e6]])
    found = compute_posteriors(build_all_pairs(3, 3), scores.ravel()).reshape(3, 3)
    assert np.isfinite(found).all()
    assert found == pytest.approx(np.eye(3), abs=0.02)
