"""Pictures of traces show what was done to them, on maps in the shape of the ground."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pages.svg.gallery import SVG, numbers, of_class, people, released, tree

from tracearena.metrics import utility_score
from tracearena.pages.contest_data import count_noon_crowds, sum_losses_by_place
from tracearena.pages.svg import crowd_pictures, losses_picture
from tracearena.pages.svg.maps import MapProjection, build_map_data, true_day_picture
from tracearena.traces import Clock, Grid, ObfuscatedTraces, Places, Traces


def small(rows: int = 4, columns: int = 4) -> Places:
    """A grid at 60 degrees, where a degree of longitude is half as long as one of latitude."""
    grid = Grid(rows=rows, columns=columns, south=59.9, west=10.0, north=60.1, east=10.4)
    return Places.of_grid(grid, sensitive=np.arange(rows * columns) == 5)


def test_a_map_keeps_the_shape_of_the_ground_with_north_up() -> None:
    ground = MapProjection(small())
    assert ground.height / ground.width == pytest.approx(1.0, abs=1e-3)
    assert ground.at(0)[1] > ground.at(12)[1]
    assert ground.at(0)[0] < ground.at(3)[0]
    tall = Grid(rows=9, columns=1, south=0.0, west=10.0, north=0.9, east=10.1)
    narrow = MapProjection(Places.of_grid(tall))
    assert narrow.height / narrow.width == pytest.approx(9.0, abs=1e-3)


def test_the_bar_has_the_length_that_it_says() -> None:
    places = people().places
    (bar,) = of_class(crowd_pictures(people(), released())[0], "scale")
    ground = MapProjection(places)
    middle = np.radians(ground.box.middle[0])
    km_per_unit = (ground.box.east - ground.box.west) * 111.195 * np.cos(middle) / ground.width
    length = float(bar.attrib["x2"]) - float(bar.attrib["x1"])
    assert length * km_per_unit == pytest.approx(float(bar.attrib["data-km"]), rel=1e-3)


def test_every_place_with_people_is_a_tile_and_no_other() -> None:
    crowds = count_noon_crowds(people(), released())
    for picture, amounts in zip(crowd_pictures(people(), released()), crowds[1:], strict=True):
        assert sum(path.attrib["d"].count("M") for path in of_class(picture, "tiles")) == (amounts > 0).sum()
        assert len(of_class(picture, "sensitive")) == 1
        (crosses,) = of_class(picture, "sensitive")
        assert crosses.attrib["d"].count("M") == people().places.sensitive.sum()


def test_the_captions_of_the_crowds_are_true() -> None:
    crowds, sensitive = count_noon_crowds(people(), released()), people().places.sensitive
    before, after = crowd_pictures(people(), released())
    assert crowds.before.sum() == people().n_users * 2
    assert crowds.after.sum() == pytest.approx(crowds.before.sum())
    at = crowds.before[sensitive].sum() / crowds.before.sum()
    assert numbers(before.caption)[-1] == pytest.approx(at, abs=6e-4)
    off = np.abs(crowds.before - crowds.after).sum() / 2 / crowds.before.sum()
    assert numbers(after.caption)[0] == pytest.approx(off, abs=6e-3)
    assert before.table_rows == after.table_rows
    assert sum(row[1] for row in before.table_rows) == crowds.before.sum()


def test_nothing_is_lost_where_nothing_was_changed() -> None:
    same = ObfuscatedTraces.from_traces(people())
    assert count_noon_crowds(people(), same).off == 0
    assert losses_picture(people(), same, 2.0).caption.startswith("Where usefulness is lost: 0%")


def test_losses_add_up_to_the_utility() -> None:
    utility = utility_score(people(), released(), limit_km=2.0).utility
    assert sum_losses_by_place(people(), released(), 2.0).total == pytest.approx(1 - utility)
    picture = losses_picture(people(), released(), 2.0)
    assert numbers(picture.caption)[0] == pytest.approx(1 - utility, abs=6e-3)
    rows = picture.table_rows
    assert sum(row[1] * row[2] for row in rows) / people().n_events == pytest.approx(1 - utility)


def test_places_without_a_grid_have_a_map_too() -> None:
    places = Places([35.0, 35.01, 35.02], [139.0, 139.01, 139.0])
    original = Traces.from_dense([[0, 1, 2]], places, Clock(instants_per_day=24, interval_s=3600))
    for picture in (
        losses_picture(original, ObfuscatedTraces.from_traces(original), 2.0),
        true_day_picture(original, 0, 0),
    ):
        assert tree(picture).attrib["role"] == "img"


def test_the_ground_of_a_viewer_has_the_distances_of_the_places() -> None:
    ground = build_map_data(people())["map"]
    x, y = np.array(ground["x_km"]), np.array(ground["y_km"])
    straight = np.hypot(x[0] - x, y[0] - y)
    # The contest's own rule of 111 and 91 km a degree differs a little from the ground.
    assert straight[1:] == pytest.approx(people().places.distance_km(0, np.arange(1, 1024)), rel=0.02)
    assert ground["grid"] == {"rows": 32, "columns": 32}
    assert ground["sensitive"] == np.flatnonzero(people().places.sensitive).tolist()


def test_a_true_day_has_the_true_way_and_nothing_that_was_released() -> None:
    """So it can be looked at before anything is handed in."""
    original = Traces.from_dense([[0, 1, 2, 2]], small(), Clock(instants_per_day=4, interval_s=3600))
    picture = true_day_picture(original, 0, 0)
    assert picture.table_header == ("time", "true place")
    assert picture.table_rows == (("00:00", "1"), ("01:00", "2"), ("02:00", "3"), ("03:00", "3"))
    (way,) = [one for one in of_class(picture, "way") if one.tag == f"{SVG}polyline"]
    assert len(way.attrib["points"].split()) == 4
    assert 'class="line way"' in picture.svg
    for never in ("set-area", "deleted", "single", "released"):
        assert never not in picture.svg
