"""Transition matrices and their distances, against slow and obvious ways to the same numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance
from tests.examples import examples

from tracearena.errors import ParameterError
from tracearena.metrics import (
    legacy_directions,
    population,
    tm_emd,
    tm_emd_exact,
    tm_emd_sliced,
    tm_tv,
    tp_emd_exact,
    tp_emd_sliced,
)
from tracearena.metrics.transitions import find_bins
from tracearena.traces import Box, Clock, Grid, ObfuscatedTraces, Places, Traces

CLOCK = Clock(instants_per_day=4, interval_s=3600, instants_per_slot=2)
GRID = Grid(rows=3, columns=2, south=35, west=139, north=36, east=140)
PLACES = Places.of_grid(GRID)
M = 6

events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(0, 5)), min_size=1, max_size=40
)
Rows = list[tuple[int, int, int]]


def traces_of(rows: Rows) -> Traces:
    users, instants, places = np.array(rows).T
    return Traces.from_events(users, instants, places, PLACES, CLOCK, user_ids=range(4), span=(0, 12))


def slow_matrix(rows: Rows, adjacent: bool) -> np.ndarray:
    counts = np.zeros((M, M))
    for user in range(4):
        mine = sorted((row for row in rows if row[0] == user), key=lambda row: row[1])
        for (_, before, start), (_, after, end) in itertools.pairwise(mine):
            if before // 4 == after // 4 and (after - before == 1 or not adjacent):
                counts[start, end] += 1
    for place in range(M):
        counts[place] = counts[place] / counts[place].sum() if counts[place].any() else np.eye(M)[place]
    return counts


def by_day(rows: Rows) -> list[Rows]:
    days: dict[int, Rows] = defaultdict(list)
    for row in rows:
        days[row[1] // 4].append(row)
    return list(days.values())


def slow_rows(a: np.ndarray, b: np.ndarray, positions: np.ndarray) -> float:
    return float(
        np.mean([wasserstein_distance(positions, positions, p, q) for p, q in zip(a, b, strict=True)])
    )


@examples(50)
@given(events, events)
def test_distances_of_matrices(a: Rows, b: Rows) -> None:
    truth, other = slow_matrix(a, True), slow_matrix(b, True)
    y, x = find_bins(PLACES)
    reference, traces = traces_of(a), traces_of(b)
    assert math.isclose(tm_tv(reference, traces), np.abs(truth - other).sum() / 2 / M, abs_tol=1e-12)
    assert math.isclose(tm_emd(reference, traces, "x"), slow_rows(truth, other, x), abs_tol=1e-9)
    assert math.isclose(tm_emd(reference, traces, "y"), slow_rows(truth, other, y), abs_tol=1e-9)
    slices = [slow_rows(truth, other, np.array([x, y]).T @ way) for way in legacy_directions().T]
    assert math.isclose(tm_emd_sliced(reference, traces), float(np.mean(slices)), abs_tol=1e-9)
    p, q = population(reference), population(traces)
    slices = [slow_rows(p, q, np.array([x, y]).T @ way) for way in legacy_directions().T]
    assert math.isclose(tp_emd_sliced(reference, traces), float(np.mean(slices)), abs_tol=1e-9)


@examples(30)
@given(events, events)
def test_synthetic_days_are_compared_one_by_one_with_all_their_pairs(a: Rows, b: Rows) -> None:
    truth = slow_matrix(a, True)
    _, x = find_bins(PLACES)
    slow = np.mean([slow_rows(truth, slow_matrix(day, False), x) for day in by_day(b)])
    assert math.isclose(tm_emd(traces_of(a), traces_of(b), "x", by_day=True), float(slow), abs_tol=1e-9)


@examples(30)
@given(events)
def test_the_uniform_baseline(rows: Rows) -> None:
    truth, uniform = slow_matrix(rows, True), np.full((M, M), 1 / M)
    y, x = find_bins(PLACES)
    reference = traces_of(rows)
    assert math.isclose(tm_tv(reference, None), np.abs(truth - uniform).sum() / 2 / M)
    assert math.isclose(tm_emd(reference, None, "y"), slow_rows(truth, uniform, y), abs_tol=1e-9)
    slices = [slow_rows(truth, uniform, np.array([x, y]).T @ way) for way in legacy_directions().T]
    assert math.isclose(tm_emd_sliced(reference, None), float(np.mean(slices)), abs_tol=1e-9)


@examples(30)
@given(events)
def test_an_unchanged_release_has_the_same_transitions(rows: Rows) -> None:
    original = traces_of(rows)
    released = ObfuscatedTraces.from_traces(original)
    assert tm_tv(original, released) == tm_emd_sliced(original, released) == 0


def test_places_beyond_the_bounds_fall_into_the_outermost_bins() -> None:
    places = Places([40.0, 40.5, 40.75, 41.0, 42.0], [-74.0] * 5)
    y, x = find_bins(places, bounds=Box(40.5, -74.5, 41.0, -73.5), bins=2)
    assert y.tolist() == [0, 0, 1, 1, 1]
    assert x.tolist() == [1] * 5
    assert Box.of(places) == Box(40.0, -74.0, 42.0, -74.0)
    with pytest.raises(ParameterError, match="south < north"):
        find_bins(places, bounds=Box(40.5, -73.5, 41.0, -73.5))
    with pytest.raises(ParameterError, match="none of the 5 places"):
        find_bins(places, bounds=Box(-6.4, 106.7, -6.1, 107.0))


def test_a_city_has_twenty_half_open_bins_a_side() -> None:
    """Places at every border of a bin: each belongs to the bin that it begins, the last to the last bin."""
    borders = np.arange(21.0)
    y, x = find_bins(Places(borders, np.concatenate([borders[::-1]])))
    assert y.tolist() == [*range(20), 19]
    assert x.tolist() == [19, *range(19, -1, -1)]
    below = np.nextafter(borders[1:], 0)
    y, _ = find_bins(Places([0.0, *below, 20.0], np.zeros(22)))
    assert y.tolist() == [0, *range(20), 19]


def test_a_distance_is_counted_in_bins_of_its_own_axis() -> None:
    """All who leave the first place go three of twenty bins east and five bins north."""
    places = Places.of_grid(Grid(rows=20, columns=20, south=35, west=139, north=36, east=141))
    there = 5 * 20 + 3
    stay, go = (Traces.from_dense([[0, to]], places, Clock(instants_per_day=2)) for to in (0, there))
    assert tm_emd(stay, go, "x") == pytest.approx(3 / 400)
    assert tm_emd(stay, go, "y") == pytest.approx(5 / 400)


def test_places_on_one_line_are_no_distance_apart_across_it() -> None:
    places = Places([40.0, 41.0], [-74.0, -74.0])
    stay, go = (Traces.from_dense([[0, to, to]], places, Clock(instants_per_day=3)) for to in (0, 1))
    assert tm_emd(stay, go, "x") == 0
    assert tm_emd(stay, go, "y") == 9.5


def test_the_directions_are_those_of_normal_numbers_by_the_polar_method() -> None:
    """The 50 published directions: first all parts east, then all parts north, of NumPy's seed 0."""
    rng, normals = np.random.RandomState(0), []
    while len(normals) < 100:
        a, b = 2 * rng.random_sample(2) - 1
        square = a * a + b * b
        if 0 < square < 1:
            factor = math.sqrt(-2 * math.log(square) / square)
            normals += [factor * b, factor * a]
    expected = [
        (x / math.hypot(x, y), y / math.hypot(x, y)) for x, y in zip(normals[:50], normals[50:], strict=True)
    ]
    assert np.allclose(legacy_directions().T, expected, rtol=1e-12)


@examples(30)
@given(events, events)
def test_the_exact_distance_is_that_of_a_linear_program(a: Rows, b: Rows) -> None:
    pytest.importorskip("ot")
    truth, other = slow_matrix(a, True), slow_matrix(b, True)
    y, x = find_bins(PLACES)
    apart = np.hypot(x[:, None] - x, y[:, None] - y)
    rows = np.vstack([np.kron(np.eye(M), np.ones(M)), np.kron(np.ones(M), np.eye(M))])
    slow = [
        linprog(apart.ravel(), A_eq=rows, b_eq=np.concatenate([p, q])).fun
        for p, q in zip(truth, other, strict=True)
    ]
    found = tm_emd_exact(traces_of(a), traces_of(b))
    assert math.isclose(found, float(np.mean(slow)), abs_tol=1e-7)
    assert found >= tm_emd(traces_of(a), traces_of(b), "x") - 1e-9
    assert found >= tm_emd_sliced(traces_of(a), traces_of(b)) - 1e-9


def test_exact_distances_of_uniform_places_and_of_populations() -> None:
    pytest.importorskip("ot")
    there = traces_of([(0, 0, 0), (0, 1, 5)])
    assert tm_emd_exact(there, there) == tp_emd_exact(there, there) == 0
    assert tm_emd_exact(there, None) > 0
    assert tp_emd_exact(there, None) >= tp_emd_sliced(there, None)
