"""A box says which points lie in it, and refuses sides that make none."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Box, GpsTraces, Grid, Places

latitudes = st.floats(-90, 90)
longitudes = st.floats(-180, 180)
points = st.lists(st.tuples(latitudes, longitudes), min_size=1, max_size=20)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    south, north = sorted((draw(latitudes), draw(latitudes)))
    west, east = sorted((draw(longitudes), draw(longitudes)))
    return Box(south, west, north, east)


@given(boxes(), points)
def test_a_point_is_inside_if_it_lies_between_all_four_sides(box: Box, where: list) -> None:
    latitude, longitude = zip(*where, strict=True)
    expected = [box.south <= y <= box.north and box.west <= x <= box.east for y, x in where]
    assert box.contains(latitude, longitude).tolist() == expected
    assert box.contains([box.south, box.north], [box.east, box.west]).all()


@given(points)
def test_the_box_of_points_is_the_smallest_that_holds_them(where: list) -> None:
    latitude, longitude = zip(*where, strict=True)
    of_places = Box.of(Places(latitude, longitude))
    of_points = Box.of(GpsTraces.from_points([1] * len(where), range(len(where)), latitude, longitude))
    assert of_places == of_points == Box(min(latitude), min(longitude), max(latitude), max(longitude))
    assert of_places.contains(latitude, longitude).all()


@given(boxes(), st.floats(0, 400), st.floats(0, 400))
def test_a_margin_is_cut_at_the_poles_and_the_date_line(box: Box, up: float, aside: float) -> None:
    wider = box.with_margin(up, aside)
    assert wider.contains([box.south, box.north], [box.west, box.east]).all()
    assert wider.north == (box.north + up if box.north + up <= 90 else 90)
    assert wider.west == (box.west - aside if box.west - aside >= -180 else -180)
    assert box.with_margin(up) == box.with_margin(up, up)


@given(boxes())
def test_what_is_written_is_read_back(box: Box) -> None:
    if box.south < box.north and box.west < box.east:
        assert Box.parse(str(box)) == box
    else:
        with pytest.raises(ParameterError, match="south < north and west < east"):
            Box.parse(str(box))


@pytest.mark.parametrize(
    "sides", [(41, -74, 40, -73), (40, -73, 41, -74), (-91, 0, 0, 1), (0, 0, 1, 181), (0, math.nan, 1, 1)]
)
def test_sides_that_make_no_box_are_refused_by_a_sentence(sides: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=f"south {sides[0]}, west {sides[1]}, .* within ±90"):
        Box(*sides)


@pytest.mark.parametrize("text", ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1;2;3;4"])
def test_a_text_that_is_no_box_is_refused_under_the_name_the_user_gave_it(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^--box = .* such as 40\.5,-74\.28,41\.0,-73\.68"):
        Box.parse(text, "--box")


def test_places_of_a_grid_have_the_box_of_the_grid_not_of_its_centres() -> None:
    box = Box(34.64, 135.44, 34.74, 135.56)
    grid = Grid.over(box, 4, 6)
    assert (grid.rows, grid.columns) == (4, 6)
    assert grid.box == Box.of(Places.of_grid(grid)) == box


def test_nothing_has_no_box() -> None:
    with pytest.raises(DataError, match="no bounding box"):
        Box.of(Places([], []))


def test_a_box_is_frozen_and_its_size_is_metres_at_its_middle() -> None:
    box = Box(-0.5, 10.0, 0.5, 12.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        box.south = 3.0  # type: ignore[misc]
    assert box.middle == (0.0, 11.0)
    assert np.round(box.size_m()).tolist() == [110_574, 222_639]
