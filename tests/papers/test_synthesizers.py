"""Figures 7, 8 and 9 of [ppmtf], at a size for tests."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

from tracearena.io import ppmtf
from tracearena.papers import figure
from tracearena.papers import ppmtf_utility as ppmtf_7
from tracearena.papers.data import FigureSource, Size, load_people_flow, read_published_results

QUICK = {"size": Size(30), "iterations": 3}


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_privacy_and_utility_of_the_synthesizers(tmp_path):
    few = QUICK | {"alphas": (1, 200), "copied": (0, 3), "dropped": (0, 1), "classes": (5, 9)}
    picture, numbers = figure("ppmtf-7")(tmp_path, seed=1, **few)
    drawn_once = picture.read_bytes()
    table = rows(numbers)
    drawn = Counter(row["series"] for row in table)
    ends = ("training", "uniform", "halves", "halves, spread")
    ours = ("PPMTF", "SGD", "SGLT, c=5", "SGLT, c=9")
    assert drawn == dict.fromkeys(ours, 2) | dict.fromkeys(ends, 1)
    assert all(0 <= float(row["tp_tv"]) <= 1 for row in table)
    assert picture.read_text().startswith("<?xml")
    again, _ = figure("ppmtf-7")(tmp_path, seed=1, **few)
    assert again.read_bytes() == drawn_once


def test_the_authors_points_stand_beside_ours(tokyo_results):
    points = [
        ppmtf_7._read_published_point(row, method)
        for method in ("PPMTF", "SGD", "SGLT")
        for row in read_published_results(tokyo_results, method)
    ]
    by_name = {(point.series, point.setting): point for point in points}
    assert len(by_name) == len(points) == 12 + 6 + 40
    at_200 = by_name["PPMTF (published)", "α=200"]
    assert at_200.tp_tv == pytest.approx(0.42736)
    assert at_200.reidentification_rate == 0.016
    assert by_name["SGLT, c=200 (published)", "par_l=1"].tp_tv == pytest.approx(0.602, abs=0.001)
    assert by_name["SGD (published)", "ξ=5"].reidentification_rate == 0.1536


@pytest.mark.slow
def test_factors_shared_and_apart(tmp_path):
    _, numbers = figure("ppmtf-factors")(tmp_path, seed=1, **QUICK, alphas=(1, 200), seeds=2)
    table = rows(numbers)
    assert Counter(row["factors"] for row in table) == {"shared": 4, "apart": 4, "training": 1, "uniform": 1}
    assert {row["seed"] for row in table if row["factors"] == "apart"} == {"1", "2"}


@pytest.fixture
def tokyo_results(shared_data):
    return shared_data / "ppmtf-tokyo"


@pytest.mark.slow
def test_clusters_on_the_map(tmp_path):
    _, numbers = figure("ppmtf-8")(tmp_path, seed=1, **QUICK)
    table = rows(numbers)
    assert len(table) == 3 * 1024
    b = np.array([float(row["b"]) for row in table]).reshape(3, -1)
    assert np.allclose((b**2).sum(axis=1), 1)
    shares = np.array([float(row["training"]) for row in table]).reshape(3, -1)
    assert np.allclose(shares.sum(axis=1), 1)


@pytest.mark.slow
def test_running_times_over_users_and_places(tmp_path):
    _, numbers = figure("ppmtf-9")(tmp_path, seed=1, **QUICK, sizes=(20, 40))
    table = rows(numbers)
    ours = [row for row in table if "published" not in row["series"]]
    series = {row["series"] for row in ours}
    assert {name.split()[0] for name in series} == {"PPMTF", "SGLT"}
    assert len(ours) == 2 * 2 * len(series)
    assert all(float(row["seconds"]) > 0 for row in table)


def test_a_folder_without_the_files_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"has no POI_\*\.csv"):
        figure("ppmtf-8")(tmp_path, data=tmp_path)


@pytest.mark.slow
def test_the_city_walks_in_people_flow_hours():
    training, testing = load_people_flow(FigureSource(seed=3))
    assert ppmtf.is_people_flow(training.clock)
    assert training.n_users == testing.n_users == 500
    assert not set(training.user_ids) & set(testing.user_ids)
