"""The measures of trips, against slow and obvious ways to the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import DataError
from tracearena.metrics import TripUtility, compare_trips, summarise_trips
from tracearena.metrics.trips import divergence, measure_diameters, measure_lengths
from tracearena.mobility import Trips
from tracearena.traces import Box

BOX = Box(34.9, 150.0, 35.0, 150.12)


def build(*paths: list[tuple[float, float]]) -> Trips:
    points = np.array([point for path in paths for point in path], float).reshape(-1, 2)
    sizes = [len(path) for path in paths]
    return Trips(np.concatenate([[0], np.cumsum(sizes)]), points[:, 0], points[:, 1], np.arange(len(paths)))


def compare(reference: Trips, trips: Trips) -> TripUtility:
    return compare_trips(summarise_trips(reference, BOX), summarise_trips(trips, BOX))


def draw(number: int, seed: int) -> Trips:
    rng = np.random.default_rng(seed)
    return build(*(list(map(tuple, np.cumsum(rng.random((12, 2)) / 15, axis=0))) for _ in range(number)))


def test_the_same_trips_are_as_near_as_can_be() -> None:
    trips = draw(60, 1)
    found = compare(trips, trips).to_dict()
    assert (found.pop("kendall_tau"), found.pop("pattern_f1")) == (pytest.approx(1), 1)
    assert set(found.values()) == {0}


def test_trips_elsewhere_are_as_far_as_can_be() -> None:
    one = build(*[[(0.01 + i / 100, 0.01) for i in range(12)]] * 5)
    other = build(*[[(0.9, 0.99 - i / 100) for i in range(12)]] * 5)
    found = compare(one, other)
    assert (found.density, found.density_coarse, found.trip, found.transition, found.pattern_f1) == (
        1,
        1,
        1,
        1,
        0,
    )
    assert found.kendall_tau < 0
    assert found.query_error > 0


@given(
    p=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    q=st.lists(st.integers(0, 9), min_size=3, max_size=3),
)
@examples(100)
def test_the_divergence_is_that_of_scipy(p: list[int], q: list[int]) -> None:
    from scipy.spatial.distance import jensenshannon

    if sum(p) and sum(q):
        wanted = float(np.nan_to_num(jensenshannon(p, q, base=2))) ** 2
        assert divergence(np.array(p, float), np.array(q, float)) == pytest.approx(wanted, abs=1e-7)


def test_lengths_and_diameters_are_in_metres() -> None:
    # Out and back: the way is twice as long as the diameter.
    trips = build([(0.0, 0.5), (0.5, 0.5), (0.0, 0.5)], [(0.2, 0.2), (0.2, 0.2), (0.2, 0.3)])
    height, width = BOX.size_m()
    assert measure_lengths(trips, BOX) == pytest.approx([width, height / 10])
    assert measure_diameters(trips, BOX) == pytest.approx([width / 2, height / 10])


def test_the_densities_count_points_and_the_trip_its_ends() -> None:
    one = build([(0.01, 0.01)] * 9 + [(0.99, 0.01)])
    other = build([(0.01, 0.01)] + [(0.99, 0.01)] * 9)
    found = compare(one, other)
    wanted = divergence(np.array([9.0, 1.0]), np.array([1.0, 9.0]))
    assert found.density == found.density_coarse == pytest.approx(wanted)
    assert found.trip == 0


def test_patterns_are_runs_of_different_cells() -> None:
    def list_cells(trips: Trips) -> Counter[tuple[int, ...]]:
        counts: Counter[tuple[int, ...]] = Counter()
        for first, stop in zip(trips.offsets[:-1], trips.offsets[1:], strict=True):
            cells: list[int] = []
            for x, y in zip(trips.x[first:stop], trips.y[first:stop], strict=True):
                cell = min(int(y * 15), 14) * 15 + min(int(x * 15), 14)
                if not cells or cells[-1] != cell:
                    cells.append(cell)
            for length in range(2, 6):
                counts.update(tuple(cells[i : i + length]) for i in range(len(cells) - length + 1))
        return counts

    def top(trips: Trips) -> set[tuple[int, ...]]:
        return set(sorted(list_cells(trips), key=lambda one: (-list_cells_of[one], len(one), one))[:100])

    one, other = draw(30, 1), draw(30, 2)
    tops = []
    for trips in (one, other):
        list_cells_of = list_cells(trips)
        tops.append(top(trips))
    assert compare(one, other).pattern_f1 == pytest.approx(len(tops[0] & tops[1]) / 100)


def test_the_query_error_counts_trips_once_and_small_shares_as_one_per_cent() -> None:
    # A square is passed by all trips or by none, so the other set misses all of what it misses.
    one, other = build(*[[(0.5, 0.5)] * 10] * 4), build(*[[(0.5, 0.5)] * 10] * 3 + [[(0.0, 0.0)] * 10])
    rng = np.random.default_rng(1)
    sides = rng.uniform(0.02, 0.15, 500)
    corners = rng.random((500, 2)) * (1 - sides)[:, None]
    hits = [((corners <= at) & (at < corners + sides[:, None])).all(axis=1) for at in (0.5, 0.0)]
    assert compare(one, other).query_error == pytest.approx(
        (0.25 * hits[0].sum() + 0.25 / 0.01 * hits[1].sum()) / 500
    )


def test_a_box_without_trips_is_refused() -> None:
    with pytest.raises(DataError, match="there is no trip of ten minutes"):
        summarise_trips(build(), BOX)
