"""Figures 11, 12 and 13 of [ppmtf], at a size that a test can afford."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracearena.errors import DataError
from tracearena.papers import figure
from tracearena.papers import ppmtf_utility as ppmtf_11
from tracearena.papers.data import Size, select_days
from tracearena.traces import Places, Traces

SMALL: dict[str, Any] = {"size": Size(250, 10), "k": 2, "iterations": 10}
"""Few people, few days, few iterations, and few others who could have made a trace."""


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_time_at_four_categories(tmp_path: Path) -> None:
    picture, numbers = figure("ppmtf-11")(tmp_path, seed=1, **SMALL)
    assert "<svg" in picture.read_text()
    rows = rows_of(numbers)
    assert [*dict.fromkeys(row["category"] for row in rows)] == [
        "parks_outdoors/Park", "nightlife/Bar", "building/Office", "education/University",
    ]  # fmt: skip
    methods = list(dict.fromkeys(row["method"] for row in rows))
    assert methods == ["testing", "PPMTF", "PPMTF, k = 2", "SGD"]
    assert len(rows) == 4 * 4 * 24
    assert {row["total_variation"] for row in rows if row["method"] == "testing"} == {"0.0"}
    for category in dict.fromkeys(row["category"] for row in rows):
        shares = [
            float(row["share"]) for row in rows if (row["category"], row["method"]) == (category, "PPMTF")
        ]
        assert sum(shares) == pytest.approx(1)


def test_categories_that_are_missing_give_way_to_the_most_visited() -> None:
    visitors = {"Food/Ramen": 5, "Outdoors/Park/4": 2, "Shop": 9, "Sake Bar": 1, "Office": 0}
    assert ppmtf_11._choose_categories(visitors) == ["Outdoors/Park/4", "Shop", "Food/Ramen", "Sake Bar"]


def test_places_without_categories_are_refused(
    tmp_path: Path, make_check_ins: Callable[..., Traces], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = make_check_ins()
    bare = Traces(
        Places(given.places.latitude, given.places.longitude),
        given.clock,
        user_ids=given.user_ids,
        offsets=given.offsets,
        instants=given.instants,
        place_index=given.place_index,
    )
    monkeypatch.setattr(ppmtf_11, "load_check_ins", lambda *_: (bare, bare))
    with pytest.raises(DataError, match="no categories"):
        figure("ppmtf-11")(tmp_path, seed=1)


@pytest.mark.slow
def test_two_clusters_on_a_map_and_by_the_hour(tmp_path: Path) -> None:
    picture, numbers, hours = figure("ppmtf-12")(tmp_path, seed=1, **SMALL)
    assert "column of B" in picture.read_text()
    rows = rows_of(numbers)
    clusters = list(dict.fromkeys(row["cluster"] for row in rows))
    assert len(clusters) == 2
    assert {row["users"] for row in rows} == {"20"}
    for cluster in clusters:
        for series in ("B", "training", "synthetic"):
            mine = [row for row in rows if (row["cluster"], row["series"]) == (cluster, series)]
            values = [float(row["value"]) for row in mine]
            assert values == sorted(values, reverse=True)
            assert [int(row["rank"]) for row in mine] == list(range(1, len(mine) + 1))
            assert 1 <= len(mine) <= 20
    slots = rows_of(hours)
    assert [row["slot"] for row in slots[:3]] == ["00:00", "02:00", "04:00"]
    assert sum(float(row["d"]) ** 2 for row in slots[:12]) == pytest.approx(1)
    assert sum(float(row["training"]) for row in slots[:12]) == pytest.approx(1)


@pytest.mark.slow
def test_regions_without_categories_have_clusters_too(tmp_path: Path, shared_data: Path) -> None:
    published = shared_data / "ppmtf-tokyo"
    _, numbers, hours = figure("ppmtf-12")(
        tmp_path, data=published, seed=1, k=2, iterations=10, traces_per_user=1
    )
    assert {row["category"] for row in rows_of(numbers)} == {""}
    assert len(rows_of(hours)) == 2 * 30


@pytest.mark.slow
def test_running_times_over_users(tmp_path: Path) -> None:
    _, numbers = figure("ppmtf-13")(tmp_path, seed=1, **SMALL | {"size": Size(100, 10), "iterations": 2})
    rows = rows_of(numbers)
    measured = [row for row in rows if row["source"] == "measured"]
    assert [int(row["users"]) for row in measured if row["series"] == "PPMTF (P)"] == [10, 20, 40, 80]
    series = list(dict.fromkeys(row["series"] for row in rows))
    ways = [f"{name} ({part})" for name in ("PPMTF", "PPMTF, all zeros") for part in "TSP"]
    assert series == [*ways, "SGD (T)", "SGD (S)"]
    assert all(float(row["seconds"]) > 0 for row in rows)
    assert len(rows) == 4 * 8 + 3


@pytest.mark.slow
def test_sampled_zeros_and_all_zeros_stand_beside_each_other(tmp_path: Path) -> None:
    few = {"size": SMALL["size"], "iterations": 2}
    _, rates = figure("ppmtf-14")(tmp_path, seed=1, **few, ks=(1, 10))
    assert [(row["zeros"], row["users"], row["k"]) for row in rows_of(rates)] == [
        (zeros, users, k)
        for zeros in ("sampled", "all")
        for users in ("50", "100", "200")
        for k in ("1", "10")
    ]
    _, bars = figure("ppmtf-10")(tmp_path, seed=1, **few | {"size": Size(100, 10)})
    methods = [row["method"] for row in rows_of(bars)]
    assert {"PPMTF", "PPMTF, all zeros", "PPMTF, factors apart", "SGD", "training", "uniform"} <= set(methods)


def test_users_without_a_deniable_trace_stay_without_events(make_walks: Callable[..., Traces]) -> None:
    made = make_walks(users=2, days=2)
    kept = select_days(made, [False, False, True, False])
    assert kept.user_ids.tolist() == made.user_ids.tolist()
    assert (kept.offsets[1:] - kept.offsets[:-1]).tolist() == [0, 20]
    assert kept.instants.max() < 20
