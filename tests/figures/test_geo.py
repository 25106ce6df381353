"""The figures of GPS traces under noise, on a handful of receivers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tracearena.figures import figure
from tracearena.figures.data import Size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "columns", "small"),
    [
        ("geo-2", ["version", "time_ms", "latitude", "longitude"], {}),
        ("geo-3", ["expected_noise_m", "run", "offloaded", "offloaded_after_update"], {"runs": 1}),
        ("geo-4", ["map", "latitude", "longitude", "share"], {}),
        ("geo-5", ["window_s", "expected_noise_m", "run", "infection_rate"], {"runs": 1}),
    ],
)
def test_a_figure_is_a_picture_and_its_numbers(
    name: str, columns: list[str], small: dict[str, Any], tmp_path: Path
) -> None:
    picture, table = figure(name)(tmp_path, seed=1, size=Size(6, 4), **small)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == columns
    assert len(rows) > 3
    assert all(len(row) == len(columns) for row in rows)
