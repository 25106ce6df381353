"""One odd id makes text of a file's other ids; they stay the ids that they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import tracearena

from tracearena.arena import uniqueness
from tracearena.metrics.applications.error import distance_error
from tracearena.metrics.applications.paired import with_true_ids
from tracearena.traces import GpsTraces


@pytest.mark.parametrize("last", ["4", "unknown"])
def test_a_guess_is_scored_whatever_its_wrong_answers_are_called(tmp_path: Path, last: str) -> None:
    (tmp_path / "truth.csv").write_text("pse_id,user_id\n101,1\n102,2\n103,3\n")
    (tmp_path / "guess.csv").write_text(f"pse_id,user_id\n101,1\n102,2\n103,{last}\n")
    files = ("--id-table", "truth.csv", "--inferred", "guess.csv")
    done = tracearena("score", "reidentification", *files, "--json", folder=tmp_path)
    assert done.json["identified"] == 2


def test_a_release_with_one_odd_id_is_compared_user_by_user() -> None:
    original = GpsTraces.from_points([1, 1, 2, 2], [0, 60_000] * 2, [1.0, 1.1, 2.0, 2.1], [0.0] * 4)
    released = GpsTraces.from_points(
        ["1", "1", "2", "2", "x"], [0, 60_000, 0, 60_000, 0], [1.0, 1.1, 2.0, 2.1, 3.0], [0.0] * 5
    )
    assert with_true_ids(original, released).user_ids.tolist() == ["1", "2", "x"]
    assert distance_error(original, released).max_m == 0
    assert uniqueness(original, released, seed=1).not_released == 0
