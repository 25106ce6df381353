"""Cluster averaging: the budget is spent and never broken, and the moves are the cheapest."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.errors import ParameterError
from tracearena.io import pwscup
from tracearena.metrics import utility_score
from tracearena.obfuscation import ClusterAveraging
from tracearena.obfuscation._kernels import apportion_visits, solve_transport
from tracearena.obfuscation.cluster_averaging import (
    cluster_users,
    find_moves_to_average,
    group_by_user,
    swap_after_moves,
)
from tracearena.obfuscation.visit_moves import build_blur_weights, find_sensitive_swaps, price_moves
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

Walks = Callable[..., Traces]


def cheapest(supply: NDArray[np.int64], demand: NDArray[np.int64], cost: NDArray[np.float64]) -> float:
    """Return the least cost by giving every single unit a place of its own."""
    from scipy.optimize import linear_sum_assignment

    units = np.repeat(np.repeat(cost, supply, axis=0), demand, axis=1)
    return float(units[linear_sum_assignment(units)].sum())


@given(seed=st.integers(0, 10_000), sources=st.integers(1, 8), sinks=st.integers(1, 8))
@examples(100)
def test_transport_carries_everything_at_the_least_cost(seed: int, sources: int, sinks: int) -> None:
    rng = np.random.default_rng(seed)
    supply = rng.integers(0, 6, sources)
    demand = rng.multinomial(supply.sum(), np.full(sinks, 1 / sinks))
    cost = np.minimum(rng.random((sources, sinks)).round(1) * 1.5, 1)
    flow = solve_transport(supply, demand, cost)
    assert np.array_equal(flow.sum(axis=1), supply)
    assert np.array_equal(flow.sum(axis=0), demand)
    assert (flow >= 0).all()
    assert (flow * cost).sum() == pytest.approx(cheapest(supply, demand, cost))


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20), st.integers(0, 50))
def test_a_rounded_average_keeps_the_total_and_is_off_by_less_than_one(
    weights: list[float], total: int
) -> None:
    array = np.array(weights) + 0.01
    shares = apportion_visits(array, total)
    assert shares.sum() == total
    assert (np.abs(shares - array * total / array.sum()) < 1).all()


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_budget_is_used_up_and_never_broken(make_walks: Walks, threshold: float, missing: float) -> None:
    original = make_walks(users=40, days=10, side=16, missing=missing)
    released = ClusterAveraging(threshold=threshold).transform(original, seed=1)
    utility = utility_score(original, released).utility
    everything = ClusterAveraging(threshold=0, clusters=1).transform(original, seed=1)
    assert utility >= threshold
    assert utility <= max(threshold + 0.001, utility_score(original, everything).utility)


@given(threshold=st.floats(0, 1), users=st.integers(1, 12), seed=st.integers(0, 50))
@examples(40)
def test_no_threshold_is_ever_broken(make_walks: Walks, threshold: float, users: int, seed: int) -> None:
    original = make_walks(users=users, days=1, seed=seed)
    released = ClusterAveraging(threshold=threshold, clusters=3).transform(original, seed=seed)
    assert utility_score(original, released).utility >= threshold


def test_members_of_a_cluster_end_with_the_same_counts(make_walks: Walks) -> None:
    original = make_walks(users=30, days=4)
    insensitive = Traces.from_dense(
        original.dense(),
        Places.of_grid(original.places.grid, km_per_degree=(111, 91)),  # type: ignore[arg-type]
        original.clock,
    )
    cluster_of = cluster_users(insensitive, 5, 0.5, np.random.SeedSequence(1))
    chance = np.random.default_rng(1).random(original.n_events)
    moves = find_moves_to_average(insensitive, group_by_user(insensitive, chance), cluster_of, 2.0)
    places = insensitive.place_index.copy()
    places[moves.events] = moves.places
    offsets, visited, counts = insensitive.with_places(places).visit_counts()
    rows = {
        user: (
            tuple(visited[offsets[user] : offsets[user + 1]]),
            tuple(counts[offsets[user] : offsets[user + 1]]),
        )
        for user in range(30)
    }
    for cluster in range(5):
        members = np.flatnonzero(cluster_of == cluster)
        assert len({rows[user] for user in members}) == 1


def test_no_user_moves_more_visits_than_she_must(make_walks: Walks) -> None:
    original = make_walks(users=20, days=4)
    cluster_of = np.zeros(20, np.int64)
    chance = np.random.default_rng(1).random(original.n_events)
    moves = find_moves_to_average(original, group_by_user(original, chance), cluster_of, 2.0)
    counts = np.zeros((20, len(original.places)), np.int64)
    np.add.at(counts, (original.user_index, original.place_index), 1)
    wanted = apportion_visits(counts.sum(axis=0).astype(np.float64), 80)
    expected = np.maximum(counts - wanted, 0).sum(axis=1)
    assert np.array_equal(np.bincount(original.user_index[moves.events], minlength=20), expected)
    assert len(np.unique(moves.events)) == len(moves.events)


def test_a_hospital_becomes_the_nearest_other_hospital() -> None:
    places = Places([0, 0, 0, 0], [0, 1, 2, 10], sensitive=[1, 0, 1, 1], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 1, 2, 3]], places, Clock(instants_per_day=4))
    swaps = find_sensitive_swaps(original, 2.0)
    assert swaps.events.tolist() == [0, 2, 3]
    assert swaps.places.tolist() == [2, 0, 2]
    assert swaps.losses.tolist() == [1, 1, 1]


def test_no_hospital_is_left_where_it_was(make_walks: Walks) -> None:
    original = make_walks(users=40, days=10)
    visits = original.places.sensitive[original.place_index]
    released = ClusterAveraging(threshold=0.8).transform(original, seed=1)
    assert visits.any()
    assert (released.codes[visits] != original.place_index[visits]).all()


def in_a_row(sensitive: list[int]) -> Places:
    """Four places, half a kilometre from one to the next."""
    return Places([0, 0, 0, 0], [0, 0.5, 1, 1.5], sensitive=sensitive, km_per_degree=(1, 1))


def test_the_paper_averages_first_and_swaps_hospitals_then() -> None:
    original = Traces.from_dense([[2], [2]], in_a_row([1, 0, 0, 1]), Clock(instants_per_day=1))
    to_hospitals = price_moves(original, np.array([0, 1]), np.array([3, 0], np.int32), 2.0)
    ended = swap_after_moves(original, to_hospitals, find_sensitive_swaps(original, 2.0), 2.0)
    assert ended.places.tolist() == [0, 3]
    assert ended.losses.tolist() == [0.5, 0.25]


def test_a_visit_that_the_swap_would_bring_back_stays_at_the_other_hospital() -> None:
    original = Traces.from_dense([[0]], in_a_row([1, 0, 0, 1]), Clock(instants_per_day=1))
    moved = price_moves(original, np.array([0]), np.array([3], np.int32), 2.0)
    assert swap_after_moves(original, moved, find_sensitive_swaps(original, 2.0), 2.0).places.tolist() == [3]


def test_averaging_a_hospital_away_gives_back_what_its_swap_would_cost() -> None:
    original = Traces.from_dense([[0]], in_a_row([1, 0, 0, 1]), Clock(instants_per_day=1))
    moved = price_moves(original, np.array([0]), np.array([1], np.int32), 2.0)
    assert swap_after_moves(original, moved, find_sensitive_swaps(original, 2.0), 2.0).losses.tolist() == [
        -0.5
    ]


def test_the_counts_are_clustered_bare_unless_a_blur_is_asked_for() -> None:
    assert ClusterAveraging(threshold=0.7) == ClusterAveraging(threshold=0.7, blur_km=0)
    places = Places([0] * 4, [0, 0.1, 9, 9.1], km_per_degree=(1, 1))
    traces = Traces.from_dense(np.repeat([[0], [1], [2], [3]], 9, axis=1), places, Clock(instants_per_day=9))
    blurred = cluster_users(traces, 2, 0.5, np.random.SeedSequence(1))
    assert blurred[0] == blurred[1] != blurred[2] == blurred[3]
    # Bare counts that share no place are all equally far from each other: neighbours are nothing special.
    parted = [cluster_users(traces, 2, 0.0, np.random.SeedSequence(seed)) for seed in range(8)]
    assert any(one[0] != one[1] or one[2] != one[3] for one in parted)


def test_one_hospital_alone_is_averaged_like_any_place() -> None:
    places = Places([0, 0, 0], [0, 0.5, 1], sensitive=[1, 0, 0], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 0], [1, 1]], places, Clock(instants_per_day=2))
    released = ClusterAveraging(threshold=0).transform(original, seed=1)
    assert sorted(released.codes[:2]) == sorted(released.codes[2:]) == [0, 1]


def test_fewer_users_make_fewer_clusters(make_walks: Walks) -> None:
    original = make_walks(users=4, days=2)
    released = ClusterAveraging(threshold=0).transform(original, seed=1)
    assert not np.array_equal(released.codes, original.place_index)


def test_users_who_are_all_alike_are_left_as_they_are() -> None:
    places = Places([0, 0], [0, 1], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 1]] * 20, places, Clock(instants_per_day=2))
    released = ClusterAveraging(threshold=0).transform(original, seed=1)
    assert released == ObfuscatedTraces.from_traces(original)


@pytest.mark.parametrize("bad", [{"threshold": 1.1}, {"clusters": 0}, {"blur_km": -1}, {"limit_km": 0}])
def test_wrong_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        ClusterAveraging(**{"threshold": 0.7, **bad})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.7, pytest.param(0.95, marks=pytest.mark.long)])
def test_osaka_keeps_the_threshold_to_the_thousandth(osaka: Path, threshold: float) -> None:
    places = pwscup.read_places(osaka / "info_region.csv")
    original = pwscup.read_traces(osaka / "orgtraces_team001_data01_IDP.csv", places)
    released = ClusterAveraging(threshold=threshold).transform(original, seed=1)
    assert threshold <= utility_score(original, released).utility <= threshold + 0.001


def test_blur_is_gaussian_up_to_three_deviations() -> None:
    places = Places(np.zeros(4), np.array([0, 0.005, 0.015, 0.016]), km_per_degree=(100, 100))
    weights = build_blur_weights(places, 0.5).toarray()
    assert weights[0] == pytest.approx([1, math.exp(-1 / 2), math.exp(-9 / 2), 0])
    assert weights == pytest.approx(weights.T)
