"""Visits drawn with reinforcement, beside the double sum with the gamma function; and candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import DEFENCES, released, spelled_out
from tests.threads import on_threads

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian import channel as channels
from tracearena.attacks.bayesian import pairs as assignment
from tracearena.attacks.bayesian.channel import ObservationAlphabet
from tracearena.attacks.bayesian.likelihoods import SETTINGS, ObservationCounts, PolyaModel
from tracearena.attacks.bayesian.pairs import CandidatePairs, build_all_pairs, find_best_pairs
from tracearena.traces import ObfuscatedTraces, Traces

Floats = NDArray[np.float64]


def made(
    reference: Traces, release: ObfuscatedTraces, defence: str
) -> tuple[PolyaModel, ObservationCounts, Floats]:
    """Return the model, what the traces say, and E(y|x) spelled out."""
    alphabet, (observed,) = ObservationAlphabet.of([release])
    channel = channels.derive_channel(catalogue.create(defence), alphabet, reference.places)
    assert channel is not None
    visits = ObservationCounts.of(
        reference.user_index, reference.place_index, reference.n_users, len(reference.places)
    )
    trace_counts = ObservationCounts.of(release.user_index, observed, release.n_users, len(alphabet))
    model = PolyaModel.from_visits(visits, channel, len(reference.places))
    return model, trace_counts, spelled_out(channel, len(reference.places))


def counted(trace_counts: ObservationCounts, alphabet_size: int) -> NDArray[np.int64]:
    table = np.zeros((len(trace_counts.offsets) - 1, alphabet_size), np.int64)
    for p in range(len(table)):
        for k in range(trace_counts.offsets[p], trace_counts.offsets[p + 1]):
            table[p, trace_counts.observations[k]] = trace_counts.counts[k]
    return table


def likelihood(prior: Floats, total: float, observed: NDArray[np.int64]) -> float:
    """Draw with reinforcement: log Π_y Γ(prior_y + b_y) / Γ(prior_y), over the same of all."""
    found = sum(math.lgamma(a + b) - math.lgamma(a) for a, b in zip(prior, observed, strict=True) if b)
    return found - math.lgamma(total + observed.sum()) + math.lgamma(total)


def slow_scores(reference: Traces, trace_counts: ObservationCounts, table: Floats) -> Floats:
    """Return traces × users from the formula."""
    visits = np.zeros((reference.n_users, len(reference.places)))
    np.add.at(visits, (reference.user_index, reference.place_index), 1)
    expected = visits @ table.T
    share = expected.sum(axis=0) + 1e-9
    alpha = SETTINGS.alpha * share / share.sum()
    observed = counted(trace_counts, len(table))
    events = visits.sum(axis=1)
    anybody = alpha * (1 + events.mean() / SETTINGS.alpha)
    return np.array(
        [
            [
                likelihood(alpha + expected[u], SETTINGS.alpha + events[u], one)
                - likelihood(anybody, SETTINGS.alpha + events.mean(), one)
                for u in range(len(visits))
            ]
            for one in observed
        ]
    )


@pytest.mark.parametrize("defence", DEFENCES)
def test_scores_are_the_double_sum(make_walks: Callable[..., Traces], defence: str) -> None:
    reference, original = make_walks(users=9, days=4, side=5, missing=0.2).split_days(2)
    model, trace_counts, table = made(reference, released(original, defence), defence)
    expected = slow_scores(reference, trace_counts, table)
    every = build_all_pairs(original.n_users, reference.n_users)
    assert model.scores(trace_counts, every).reshape(expected.shape) == pytest.approx(expected, abs=1e-8)
    assert model.table(trace_counts)(0, 9) == pytest.approx(expected, abs=1e-8)
    assert model.table(trace_counts)(4, 7) == pytest.approx(expected[:, 4:7], abs=1e-8)
    assert np.abs(expected).max() > 1


def test_traces_of_one_length_have_the_scores_of_the_double_sum(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=6, days=2, side=4).split_days(1)
    model, trace_counts, table = made(reference, released(original, "No"), "No")
    found = model.table(trace_counts)(0, 6)
    assert found == pytest.approx(slow_scores(reference, trace_counts, table), abs=1e-8)


def test_some_pairs_score_as_they_do_among_all(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=9, days=4, side=5).split_days(2)
    model, trace_counts, table = made(reference, released(original.take_users(np.arange(6)), "No"), "No")
    expected = slow_scores(reference, trace_counts, table)
    some = CandidatePairs.of(np.array([5, 0, 0, 3]), np.array([8, 2, 1, 0]), 6, 9)
    found = model.scores(trace_counts, some)
    assert found == pytest.approx(expected[some.traces, some.users], abs=1e-8)
    assert some.traces.tolist() == [0, 0, 3, 5]
    assert some.users.tolist() == [1, 2, 0, 8]


def test_a_trace_that_says_nothing_speaks_for_nobody(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=4, days=2, side=4).split_days(1)
    nothing = ObfuscatedTraces.like(original, np.full(original.n_events, -1))
    model, trace_counts, _ = made(reference, nothing, "No")
    assert model.scores(trace_counts, build_all_pairs(4, 4)) == pytest.approx(0)
    assert model.table(trace_counts)(0, 4) == pytest.approx(0)


def by_brute_force(table: Floats, keep: int) -> set[tuple[int, int]]:
    """Return the best users of each trace (of equals the first) and the best traces of each user."""
    n_traces, n_users = table.shape
    pairs = {(p, u) for p in range(n_traces) for u in np.argsort(-table[p], kind="stable")[:keep]}
    return pairs | {(p, u) for u in range(n_users) for p in np.argsort(-table[:, u], kind="stable")[:keep]}


@pytest.mark.parametrize("n_users", [3, 40])
def test_where_scores_cannot_be_kept_the_candidates_are_the_same(
    n_users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "SETTINGS", replace(assignment.SETTINGS, max_kept_scores=0))
    table = np.random.default_rng(1).normal(size=(30, n_users))
    pairs, kept = find_best_pairs([lambda first, stop: table[:, first:stop].copy()], 30, n_users, 3)
    assert kept is None
    chosen = set(zip(pairs.traces.tolist(), pairs.users.tolist(), strict=True))
    assert chosen == by_brute_force(table, 3)


@pytest.mark.parametrize(("n_traces", "n_users"), [(200, 200), (7, 150), (150, 70), (1, 70), (3, 1)])
@pytest.mark.parametrize("keep", [1, 5])
@pytest.mark.parametrize("levels", [0, 3])
def test_candidates_are_the_best_of_the_whole_table(
    n_traces: int, n_users: int, keep: int, levels: int
) -> None:
    rng = np.random.default_rng(n_traces + keep)
    table = (
        rng.integers(0, levels, (n_traces, n_users)) * 1.0 if levels else rng.normal(size=(n_traces, n_users))
    )
    half = table / 2

    def columns(first: int, stop: int) -> Floats:
        return half[:, first:stop].copy()

    looked = [
        on_threads(count, lambda: find_best_pairs([columns, columns], n_traces, n_users, keep))
        for count in (1, 3)
    ]
    found = [pairs for pairs, _ in looked]
    for pairs, kept in looked:
        assert kept is not None
        assert all(np.array_equal(one, half[pairs.traces, pairs.users]) for one in kept)
    if keep >= n_users:
        assert len(found[0].users) == n_traces * n_users
    else:
        chosen = set(zip(found[0].traces.tolist(), found[0].users.tolist(), strict=True))
        assert chosen == by_brute_force(table, keep)
    assert np.array_equal(found[0].users, found[1].users)
    assert np.array_equal(found[0].offsets, found[1].offsets)
