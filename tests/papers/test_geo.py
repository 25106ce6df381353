"""The figures of GPS traces under noise, on a handful of receivers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tracearena.papers import figure
from tracearena.papers.data import Size


def drawn(name: str, folder: Path, **small: Any) -> tuple[list[dict[str, str]], list[Any]]:
    """Draw a figure of a few receivers; return its numbers and what was said of it."""
    said: list[Any] = []
    picture, table = figure(name)(folder, seed=1, size=Size(4, 2), tell=said.append, **small)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 3
    return rows, said


@pytest.mark.slow
def test_geo_2_has_one_trajectory_four_ways(tmp_path: Path) -> None:
    rows, _ = drawn("geo-2", tmp_path)
    assert list(rows[0]) == ["version", "time_ms", "latitude", "longitude"]
    times = {name: [row["time_ms"] for row in rows if row["version"] == name] for name in _versions(rows)}
    assert len(times) == 4
    assert len({tuple(one) for one in times.values()}) == 1
    places = [
        {(row["latitude"], row["longitude"]) for row in rows if row["version"] == name} for name in times
    ]
    assert min(map(len, places)) < max(map(len, places))  # pieces of time-dependent noise share a value


def _versions(rows: list[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(row["version"] for row in rows))


@pytest.mark.slow
def test_geo_3_has_cells_and_traffic_on_a_clipped_and_a_wide_grid(tmp_path: Path) -> None:
    rows, said = drawn("geo-3", tmp_path, runs=1)
    assert {row["grid"] for row in rows} == {"clipped", "margin"}
    assert len(rows) == 2 * 5
    by_noise = {float(row["expected_noise_m"]): row for row in rows if row["grid"] == "margin"}
    assert float(by_noise[50]["offloaded"]) > float(by_noise[1000]["offloaded"])
    assert float(by_noise[50]["cells_found"]) > float(by_noise[1000]["cells_found"])
    assert all(
        float(row["cells_found"]) < float(row["offloaded"]) for row in rows
    )  # busy cells are found first
    assert len(said) == 2


@pytest.mark.slow
def test_geo_4_has_maps_that_show_nearly_everybody(tmp_path: Path) -> None:
    rows, _ = drawn("geo-4", tmp_path)
    assert list(rows[0]) == ["map", "latitude", "longitude", "share"]
    maps = {row["map"] for row in rows}
    assert len(maps) >= 3
    for name in maps:
        shown = sum(float(row["share"]) for row in rows if row["map"] == name)  # all but the emptiest cells
        assert 0.9 < shown <= 1.0001


@pytest.mark.slow
def test_geo_5_has_infection_rates_over_the_noise(tmp_path: Path) -> None:
    rows, _ = drawn("geo-5", tmp_path, runs=1)
    assert list(rows[0]) == ["window_s", "expected_noise_m", "run", "infection_rate"]
    assert all(0 < float(row["infection_rate"]) <= 1 for row in rows)
    assert len({row["window_s"] for row in rows}) > 1


@pytest.mark.slow
def test_geo_6_sets_guesses_beside_the_answers(tmp_path: Path) -> None:
    rows, said = drawn("geo-6", tmp_path, targets=2)
    assert {row["method"] for row in rows} >= {"forest"}
    for row in rows:
        assert 0 <= float(row["most_frequent"]) <= 1
        assert 0 <= float(row["balanced_accuracy"]) <= 1
    forest = [row for row in rows if row["method"] == "forest" and row["noise"] == "independent"]
    right = sum(int(row["windows"]) for row in forest if row["true_class"] == row["answered_class"])
    assert float(forest[0]["accuracy"]) == pytest.approx(
        right / sum(int(row["windows"]) for row in forest), abs=1e-5
    )
    assert len(said) == 2
