"""Figures 7, 8 and 9 of [ppmtf], at a size for tests."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

from tracearena.figures import figure
from tracearena.figures.data import Size, Source, people_flow, published_results
from tracearena.figures.ppmtf import figure_7 as ppmtf_7
from tracearena.formats import ppmtf

QUICK = {"size": Size(30), "iterations": 3}


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_privacy_and_utility_of_the_synthesizers(tmp_path):
    few = QUICK | {"alphas": (1, 200), "copied": (0, 3), "dropped": (0, 1)}
    picture, numbers = figure("ppmtf-7")(tmp_path, seed=1, **few)
    drawn_once = picture.read_bytes()
    table = rows(numbers)
    drawn = Counter(row["series"] for row in table)
    ends = ("training", "uniform", "halves", "halves, spread")
    assert drawn == {"PPMTF": 2, "SGD": 2, "SGLT": 2} | dict.fromkeys(ends, 1)
    assert all(0 <= float(row["tp_tv"]) <= 1 for row in table)
    assert picture.read_text().startswith("<?xml")
    again, _ = figure("ppmtf-7")(tmp_path, seed=1, **few)
    assert again.read_bytes() == drawn_once


def test_the_authors_points_stand_beside_ours(tokyo_results):
    sglt = published_results(tokyo_results, "SGLT")
    points = [ppmtf_7._published(row, "SGLT (published)") for row in sglt]
    assert {point.setting for point in points} == {"c=50", "c=100", "c=150", "c=200"}
    ours = published_results(tokyo_results, "PPMTF")
    at_200 = [
        point
        for point in (ppmtf_7._published(row, "PPMTF (published)") for row in ours)
        if point.setting == "α=200"
    ]
    assert at_200[0].tp_tv == pytest.approx(0.42736)
    assert at_200[0].reidentification_rate == 0.016


@pytest.fixture
def tokyo_results(shared_data):
    return shared_data / "ppmtf-tokyo"


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
    with pytest.raises(ValueError, match=r"holds no POI_\*\.csv"):
        figure("ppmtf-8")(tmp_path, data=tmp_path)


@pytest.mark.slow
def test_the_city_walks_in_people_flow_hours():
    training, testing = people_flow(Source(seed=3))
    assert ppmtf.is_people_flow(training.clock)
    assert training.n_users == testing.n_users == 500
    assert not set(training.user_ids) & set(testing.user_ids)
