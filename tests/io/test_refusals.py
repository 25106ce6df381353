"""Options that do not fit a file, and files of places and ids that are broken: each is told in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tracearena.errors import FileError, ParameterError
from tracearena.io import Choices, read, read_places, read_released
from tracearena.io.places import read_id_pairs
from tracearena.traces import Places

POINTS = pl.DataFrame({"user": [1, 1], "time": [0, 60], "lat": [40.0, 40.1], "lon": [-74.0, -74.1]})
VENUES = Places([40.0], [-74.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": "often", "choices": Choices(grid=(2, 2))}, "resample = 'often'"),
        ({"choices": Choices(utc_hours=True, grid=(2, 2))}, "GPS points have no offsets to ignore"),
        (
            {"choices": Choices(grid=(2, 2)), "places": VENUES},
            "use either places or grid, not both",
        ),
        ({"times": "info_time.csv"}, "only files of format pwscup have a table of times"),
    ],
)
def test_an_option_that_gps_points_do_not_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        read(POINTS, "points", **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; an id table has a header"),
        ("pse_id,user_id,more\n1,2,3\n", "has 3 columns; an id table has two, pse_id,user_id"),
        ("pse_id,user_id\n1\n", "a row must have a pseudonym and a user"),
        ("pse_id,user_id\n1,7\n1,8\n", "occurs twice; ids and pseudonyms must be unique"),
        ("pse_id,user_id\n1,7\n2,7\n", "occurs twice; ids and pseudonyms must be unique"),
        ("pse_id,user_id\n", "has a header and no rows"),
    ],
)
def test_a_broken_id_table_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(FileError) as refused:
        read_id_pairs(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


def test_places_with_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("id,lat,lon,lat\n1,40,-74,40\n")
    with pytest.raises(FileError, match="has two columns with the same name"):
        read_places(path)


def test_a_release_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file or directory"):
        read_released(tmp_path / "release.csv")
