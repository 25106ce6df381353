"""The rows that a linker compares, from traces of any kind."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.linking.cases import MIDNIGHT
from tests.examples import examples

from tracearena.attacks.linking.observations import (
    Observations,
    check_same_kind,
    find_best_cut,
    find_common_cut,
    thin_points,
)
from tracearena.errors import DataError
from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces

CLOCK = Clock(instants_per_day=24, first_day=date(2012, 4, 2))
PLACES = Places([40.0, 40.1, 40.4], [-74.0, -74.0, -74.3])


def test_a_generalised_event_lies_in_the_middle_of_its_places_and_counts_at_each_for_its_part() -> None:
    original = Traces.from_dense([[0, 1, 2, 0], [2, 2, 2, 2]], PLACES, CLOCK)
    released = ObfuscatedTraces.like(
        original, [0, -2, -1, -3, 2, -1, -1, -2], PlaceSets.of([[0, 2], [0, 1, 2]])
    )
    rows = Observations.of(released)
    assert rows.user.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert rows.second.tolist() == [MIDNIGHT + 3600 * hour for hour in range(4)] * 2
    middle = np.array([40.0, 40.2, np.nan, 0.5 / 3 + 40, 40.4, np.nan, np.nan, 40.2])
    assert rows.latitude == pytest.approx(middle, nan_ok=True)
    assert rows.longitude[[1, 3]] == pytest.approx([-74.15, -74.1])
    assert rows.place.tolist() == [0, 3, -1, 4, 2, -1, -1, 3]
    assert rows.weight.tolist() == [1.0] * 8
    members = rows.by_member
    assert members.user.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert members.place.tolist() == [0, 0, 2, 0, 1, 2, 2, 0, 2]
    assert members.weight == pytest.approx([1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1, 1 / 2, 1 / 2])
    assert members.latitude.tolist() == PLACES.latitude[members.place].tolist()
    second = rows.take_users([1])
    assert second.place.tolist() == [2, -1, -1, 3]
    assert second.by_member.place.tolist() == [2, 0, 2]


def test_a_release_without_sets_has_one_place_for_each_event() -> None:
    original = Traces.from_dense([[0, 1, 2]], PLACES, CLOCK)
    rows = Observations.of(ObfuscatedTraces.like(original, [2, -1, 1]))
    assert rows.by_member is rows
    assert rows.place.tolist() == [2, -1, 1]
    assert rows.latitude == pytest.approx(np.array([40.4, np.nan, 40.1]), nan_ok=True)


def test_points_have_local_seconds_and_the_rest_in_milliseconds() -> None:
    points = GpsTraces.from_points([1, 1], [1500, 3_600_007], [35.7, 35.7], [139.7, 139.7])
    for zone in (None, "Asia/Tokyo"):
        rows = Observations.of(points, zone)
        assert rows.second.tolist() == [9 * 3600 + 1, 10 * 3600]
        assert rows.millisecond.tolist() == [500, 7]
        assert rows.is_gps
    with pytest.raises(DataError, match="GPS points"):
        check_same_kind(rows, Observations.of(Traces.from_dense([[0]], PLACES, CLOCK)))


spans = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9)), min_size=1, max_size=8)


@given(spans, st.integers(0, 20))
@examples(60)
def test_the_best_cut_leaves_the_most_people_on_both_sides(spans: list[tuple[int, int]], middle: int) -> None:
    first = np.array([one for one, _ in spans])
    last = first + [length for _, length in spans]
    cut = find_best_cut(first, last, float(middle))

    def people(day: int) -> int:
        return int(((first < day) & (day <= last)).sum())

    best = [day for day in range(30) if people(day) == max(map(people, range(30)))]
    assert cut in best
    assert abs(cut - middle - 0.5) == min(abs(day - middle - 0.5) for day in best)


def test_people_with_events_on_one_day_cannot_be_cut() -> None:
    def observe(*days: list[int]) -> Observations:
        table = np.full((len(days), 5 * 24), -1)
        for user, of_user in enumerate(days):
            table[user, 24 * np.array(of_user)] = 0
        return Observations.of(Traces.from_dense(table, PLACES, CLOCK))

    assert find_common_cut([observe([0], [3])]) is None
    first = MIDNIGHT // 86_400
    assert find_common_cut([observe([0, 1], [1, 2], [0, 4])]) in (first + 1, first + 2)
    assert find_common_cut([observe([0, 4], [2, 3], [3])]) == first + 3


def test_thinned_points_are_whole_days_and_everybodys_first_and_last() -> None:
    rng = np.random.default_rng(1)
    user, day = np.repeat(np.arange(20), 300), np.tile(np.repeat(np.arange(30), 10), 20)
    # Local days near Tokyo begin at 15:00 of UTC.
    second = day * 86_400 - 9 * 3600 + np.tile(np.sort(rng.integers(0, 86_400, (600, 10))).ravel(), 1)
    points = GpsTraces.from_points(user, second * 1000, np.full(6000, 35.7), np.full(6000, 139.7))
    thinned = thin_points(points, np.random.default_rng(2), most=2000)
    kept_day = (thinned.time_ms // 1000 + 9 * 3600) // 86_400
    days, sizes = np.unique(thinned.user_index * 100 + kept_day, return_counts=True)
    assert set(sizes) == {10}
    assert {(one, edge) for one in range(20) for edge in (0, 29)} <= {
        divmod(one, 100) for one in days.tolist()
    }
    # A third of the 28 days between, with a standard deviation of 11 of 560.
    assert abs(len(days) - 40 - 560 / 3) < 5 * 11.2
    assert thin_points(points, rng, most=6000) is points
