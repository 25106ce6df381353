"""Cluster averaging moves the very visits that a slow and obvious program moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.obfuscation._kernels import apportion_visits, solve_transport
from tracearena.obfuscation.cluster_averaging import find_moves_to_average, group_by_user
from tracearena.traces import Clock, Places, Traces

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def carried(supply: Ints, demand: Ints, cost: Floats) -> Ints:
    """Return the cheapest flow by shortest augmenting paths, visiting sink after sink."""
    n, m = cost.shape
    flow, left, wanting = np.zeros((n, m), np.int64), supply.copy(), demand.copy()
    u, v = np.zeros(n), np.zeros(m)
    for start in range(n):
        while left[start] > 0:
            done, entered = np.zeros(m, bool), {}
            source_distance = np.full(n, np.inf)
            source_distance[start] = 0.0
            distance, came = cost[start] - u[start] - v, np.full(m, start)
            while True:
                end = int(np.argmin(np.where(done, np.inf, distance)))
                if wanting[end] > 0:
                    break
                done[end] = True
                for i in np.flatnonzero((flow[:, end] > 0) & np.isinf(source_distance)):
                    source_distance[i], entered[i] = distance[end], end
                    through = distance[end] + cost[i] - u[i] - v
                    nearer = ~done & (through < distance)
                    distance[nearer], came[nearer] = through[nearer], i
            reached = np.isfinite(source_distance)
            u[reached] += distance[end] - source_distance[reached]
            v[done] += distance[done] - distance[end]
            there, back, sink = [(came[end], end)], [], end
            while came[sink] != start:
                back.append((came[sink], entered[came[sink]]))
                sink = entered[came[sink]]
                there.append((came[sink], sink))
            amount = min(left[start], wanting[end], *(flow[edge] for edge in back))
            for edge in there:
                flow[edge] += amount
            for edge in back:
                flow[edge] -= amount
            left[start] -= amount
            wanting[end] -= amount
    return flow


def slow_moves(original: Traces, cluster_of: Ints, chance: Floats, limit_km: float) -> dict[int, int]:
    """Return event → new place, with every count in a dense table."""
    counts = np.zeros((original.n_users, len(original.places)), np.int64)
    np.add.at(counts, (original.user_index, original.place_index), 1)
    moved = {}
    for user, cluster in enumerate(cluster_of):
        average = counts[cluster_of == cluster].sum(axis=0).astype(np.float64)
        lacking = apportion_visits(average, int(counts[user].sum())) - counts[user]
        sources, sinks = np.flatnonzero(lacking < 0), np.flatnonzero(lacking > 0)
        distance = original.places.distance_km(sources[:, None], sinks[None, :])
        flow = carried(-lacking[sources], lacking[sinks], np.minimum(distance / limit_km, 1))
        for source, leaving in zip(sources, flow, strict=True):
            here = np.flatnonzero((original.user_index == user) & (original.place_index == source))
            here = here[np.argsort(chance[here], kind="stable")]
            moved.update(zip(here.tolist(), np.repeat(sinks, leaving).tolist(), strict=False))
    return moved


@given(seed=st.integers(0, 10_000), sources=st.integers(1, 12), sinks=st.integers(1, 12))
@examples(100)
def test_of_equally_cheap_ways_the_same_is_taken(seed: int, sources: int, sinks: int) -> None:
    rng = np.random.default_rng(seed)
    supply = rng.integers(0, 6, sources)
    demand = rng.multinomial(supply.sum(), np.full(sinks, 1 / sinks))
    cost = np.minimum(rng.random((sources, sinks)).round(1) * 1.5, 1)
    assert np.array_equal(solve_transport(supply, demand, cost), carried(supply, demand, cost))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("clusters", [1, 4, 30])
def test_the_same_visits_move_to_the_same_places(
    make_walks: Callable[..., Traces], missing: float, clusters: int
) -> None:
    original = make_walks(users=30, days=6, side=12, missing=missing)
    rng = np.random.default_rng(clusters)
    cluster_of = rng.integers(0, clusters, original.n_users)
    chance = rng.random(original.n_events).round(2)
    moves = find_moves_to_average(original, group_by_user(original, chance), cluster_of, 2.0)
    expected = slow_moves(original, cluster_of, chance, 2.0)
    assert expected or clusters == 30
    assert dict(zip(moves.events.tolist(), moves.places.tolist(), strict=True)) == expected


def test_places_of_the_whole_earth_are_averaged_alike() -> None:
    rng = np.random.default_rng(1)
    places = Places(rng.uniform(34, 36, 40), rng.uniform(135, 137, 40))
    original = Traces.from_dense(rng.integers(0, 40, (20, 24)), places, Clock(instants_per_day=24))
    cluster_of, chance = rng.integers(0, 3, 20), rng.random(original.n_events)
    moves = find_moves_to_average(original, group_by_user(original, chance), cluster_of, 50.0)
    expected = slow_moves(original, cluster_of, chance, 50.0)
    assert dict(zip(moves.events.tolist(), moves.places.tolist(), strict=True)) == expected


def test_nobody_and_nothing_is_averaged_to_nothing() -> None:
    places = Places([0, 0], [0, 1], km_per_degree=(1, 1))
    silent = Traces.from_dense([[0, 1]] * 2, places, Clock(instants_per_day=2)).keep(np.zeros(4, bool))
    assert not len(
        find_moves_to_average(
            silent, group_by_user(silent, np.zeros(0)), np.zeros(silent.n_users, np.int64), 2.0
        ).events
    )
