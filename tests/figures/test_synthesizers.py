"""Figures 7, 8 and 9 of [ppmtf], at a size for tests."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

from tracearena.figures import _people_flow, figure
from tracearena.figures.ppmtf import figure_7 as ppmtf_7
from tracearena.figures.ppmtf import figure_8 as ppmtf_8
from tracearena.figures.ppmtf import figure_9 as ppmtf_9
from tracearena.formats import ppmtf
from tracearena.synthesis import PPMTF


@pytest.fixture
def quick(monkeypatch):
    """Small models on a small city."""
    monkeypatch.setattr(_people_flow, "USERS", 30)
    for module in (ppmtf_7, ppmtf_8, ppmtf_9):
        monkeypatch.setattr(
            module,
            "PPMTF",
            lambda **given: PPMTF(**{"factors": 4, "zero_transitions": 50} | given | {"iterations": 3}),
        )
    monkeypatch.setattr(ppmtf_7, "ALPHAS", (1, 200))
    monkeypatch.setattr(ppmtf_7, "COPIED", (0, 3))
    monkeypatch.setattr(ppmtf_9, "SIZES", (20, 40))


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_privacy_and_utility_of_the_synthesizers(quick, tmp_path):
    picture, numbers = figure("ppmtf-7")(tmp_path, seed=1)
    table = rows(numbers)
    drawn = Counter(row["series"] for row in table)
    limits = {"training": 1, "uniform": 1, "halves": 1, "halves, spread": 1}
    assert (drawn.pop("SGLT"), drawn) == (10, {"PPMTF": 2, "SGD": 2, **limits})
    assert all(0 <= float(row["tp_tv"]) <= 1 for row in table)
    assert picture.read_text().startswith("<?xml")
    again, _ = figure("ppmtf-7")(tmp_path, seed=1)
    assert again.read_bytes() == picture.read_bytes()


def test_the_authors_points_stand_beside_ours(tokyo_results):
    sglt = _people_flow.published_results(tokyo_results, "SGLT")
    points = [ppmtf_7._published(row, "SGLT (published)") for row in sglt]
    assert {point.setting for point in points} == {"c=50", "c=100", "c=150", "c=200"}
    ours = _people_flow.published_results(tokyo_results, "PPMTF")
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


def test_clusters_on_the_map(quick, tmp_path):
    _, numbers = figure("ppmtf-8")(tmp_path, seed=1)
    table = rows(numbers)
    assert len(table) == 3 * 1024
    b = np.array([float(row["b"]) for row in table]).reshape(3, -1)
    assert np.allclose((b**2).sum(axis=1), 1)
    shares = np.array([float(row["training"]) for row in table]).reshape(3, -1)
    assert np.allclose(shares.sum(axis=1), 1)


def test_running_times_over_users_and_places(quick, tmp_path):
    _, numbers = figure("ppmtf-9")(tmp_path, seed=1)
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
    training, testing = _people_flow.people_flow(None, seed=3)
    assert ppmtf.is_people_flow(training.clock)
    assert training.n_users == testing.n_users == 500
    assert not set(training.user_ids) & set(testing.user_ids)
