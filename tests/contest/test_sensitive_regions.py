"""Regions with a hospital in them are sensitive, wherever the hospital is written down."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.contest.data import mark_sensitive, parse_categories, select_categories
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, Grid, Places, Traces

GRID = Grid(rows=2, columns=2, south=0, west=0, north=2, east=2)
TRACES = Traces.from_dense(
    [[0, 1, 2]], Places.of_grid(GRID, sensitive=[1, 0, 0, 0]), Clock(instants_per_day=3)
)
POINTS = Places(
    [0.5, 1.5, 1.7, 9.0],
    [1.5, 1.5, 0.5, 9.0],
    categories=["building/Hospital/7", "Hospital", "food/Hospital Cafe/2", "building/Hospital/7"],
)


def test_points_mark_their_regions_and_no_others() -> None:
    marked = mark_sensitive(TRACES, select_categories(POINTS, ("hospital",)))
    assert marked.places.sensitive.tolist() == [False, True, False, True]
    assert np.array_equal(marked.place_index, TRACES.place_index)
    assert TRACES.places.sensitive.tolist() == [True, False, False, False]


@pytest.mark.parametrize("text", ["hospital", "category=", "category=a,,b", "kind=hospital", ""])
def test_what_is_sensitive_is_read_strictly(text: str) -> None:
    with pytest.raises(ParameterError, match="category="):
        parse_categories(text)


def test_a_category_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(DataError, match=r"'clinic'; the categories are .*Hospital"):
        select_categories(POINTS, ("hospital", "clinic"))
    with pytest.raises(DataError, match="no categories"):
        select_categories(Places([0], [0]), ("hospital",))


def test_points_outside_or_without_a_grid_are_refused() -> None:
    with pytest.raises(DataError, match="none of the 1 sensitive places"):
        mark_sensitive(TRACES, Places([9.0], [9.0]))
    free = Traces.from_dense([[0]], Places([0], [0]), Clock(instants_per_day=1))
    with pytest.raises(DataError, match="grid"):
        mark_sensitive(free, POINTS)
