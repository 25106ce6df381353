"""Who of a release is who of the original, and which of their points belong together."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.metrics.applications import distance_error
from tracearena.metrics.applications.paired import with_true_ids
from tracearena.traces import GpsTraces

ORIGINAL = GpsTraces.from_points(["ann", "bob"], [0, 0], [1.0, 2.0], [0.0, 0.0])
RELEASED = GpsTraces.from_points([8, 9], [0, 0], [2.0, 1.0], [0.0, 0.0])


@pytest.mark.parametrize(
    "table", [{8: "bob", 9: "ann"}, {"8": "bob", "9": "ann"}, {"08": "bob", " 9": "ann"}]
)
def test_a_table_names_pseudonyms_as_text_or_as_numbers(table: dict[int | str, str]) -> None:
    named = with_true_ids(ORIGINAL, RELEASED, table)
    assert named.user_ids.tolist() == ["ann", "bob"]
    assert named.latitude.tolist() == [1.0, 2.0]


def test_a_number_that_a_table_writes_in_two_ways_names_nobody() -> None:
    with pytest.raises(DataError, match="no row for the released user '8'"):
        with_true_ids(ORIGINAL, RELEASED, {"08": "bob", "8 ": "ann", "9": "ann"})


def test_points_are_paired_with_the_nearest_in_time_of_the_same_user() -> None:
    """Users 1 and 2 stand at other longitudes, and each lost points."""
    seconds = np.array([0, 10, 20, 30])
    original = GpsTraces.from_points(
        np.repeat([1, 2], 4),
        np.tile(seconds, 2) * 1000,
        np.zeros(8),
        [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3],
    )
    kept = np.array([0, 3, 5, 6])
    released = GpsTraces.from_points(
        original.user_index[kept] + 1, original.time_ms[kept], np.zeros(4), original.longitude[kept]
    )
    kilometres = np.array([0, 1, 1, 0, 1, 0, 0, 1]) * 11.13195
    assert distance_error(original, released).mean_m == pytest.approx(kilometres.mean() * 1000, rel=1e-5)


def test_users_whom_the_original_lacks_come_last() -> None:
    released = GpsTraces.from_points(["bob", "zoe", "ann"], [0, 0, 0], [2.0, 3.0, 1.0], [0.0] * 3)
    named = with_true_ids(ORIGINAL, released, None)
    assert named.user_ids.tolist() == ["ann", "bob", "zoe"]
    assert named.latitude.tolist() == [1.0, 2.0, 3.0]
