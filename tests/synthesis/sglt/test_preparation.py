"""Gaps are filled and places are merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.synthesis.sglt import DaySeeds, fill_gaps, merge_places
from tracearena.traces import Clock, Places, Traces

LINE = Places(np.zeros(10), np.arange(10), km_per_degree=(111, 111))


def test_gaps_are_crossed_in_a_straight_line_and_ends_are_held():
    traces = Traces.from_dense([[-1, 2, -1, -1, 8, -1]], LINE, Clock(instants_per_day=6))
    assert fill_gaps(traces).dense().tolist() == [[2, 2, 4, 6, 8, 8]]


def test_days_without_events_stay_empty_and_days_do_not_touch():
    traces = Traces.from_dense([[0, -1, -1, -1, -1, 9]], LINE, Clock(instants_per_day=2))
    assert fill_gaps(traces).dense().tolist() == [[0, 0, -1, -1, 9, 9]]


def test_of_several_events_at_an_instant_the_first_counts():
    traces = Traces.from_events([1, 1, 1], [0, 0, 1], [3, 4, 5], LINE, Clock(instants_per_day=2))
    assert DaySeeds.of(traces).places.tolist() == [[3, 5]]


def test_complete_traces_stay_as_they_are(make_walks):
    walks = make_walks()
    assert fill_gaps(walks) == walks


def merged_by_hand(points, weight, wanted):
    """Compare every pair at every step."""
    groups = [[i] for i in range(len(points))]
    points, weight = list(points), list(weight)
    while len(groups) > wanted:
        _, i, j = min(
            (np.linalg.norm(points[i] - points[j]) * weight[i] * weight[j], i, j)
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        )
        points[i] = (weight[i] * points[i] + weight[j] * points[j]) / (weight[i] + weight[j])
        weight[i] += weight[j]
        groups[i] += groups[j]
        del groups[j], points[j], weight[j]
    return {frozenset(group) for group in groups}


@examples(30)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_merging_joins_the_cheapest_pair_each_time(seed, wanted):
    rng = np.random.default_rng(seed)
    places = Places(rng.random(14), rng.random(14), km_per_degree=(111, 91))
    traces = Traces.from_dense(rng.integers(0, 14, (3, 10)), places, Clock(instants_per_day=10))
    into = merge_places(traces, wanted).merged_into
    visits = np.bincount(traces.place_index, minlength=14) + 1.0
    found = {frozenset(np.flatnonzero(into == group).tolist()) for group in np.unique(into)}
    assert found == merged_by_hand(places.points_km, visits, wanted)


def test_merged_places_keep_events_and_what_is_known_of_them():
    places = Places([0, 0, 0], [0, 0.001, 5], sensitive=[True, False, False], categories=["a", "b", "c"])
    traces = Traces.from_dense([[1, 1, 0, 2]], places, Clock(instants_per_day=4))
    merged = merge_places(traces, 2).traces
    assert merged.dense().tolist() == [[0, 0, 0, 1]]
    assert merged.places.ids.tolist() == [1, 2]
    assert merged.places.sensitive.tolist() == [True, False]
    assert merged.places.categories.tolist() == ["b", "c"]
    assert merge_places(traces, 99).traces.dense().tolist() == traces.dense().tolist()
    assert merged.places.longitude[0] == pytest.approx((3 * 0.001 + 2 * 0) / 5)
