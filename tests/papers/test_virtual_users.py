"""Figures of virtual users, deniability and the privacy budget, at a size that a test can afford."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracearena.contest import ContestPlan
from tracearena.errors import DataError
from tracearena.papers import figure
from tracearena.papers.data import FOURSQUARE_CITIES, FigureSource, Size, load_check_in_cities
from tracearena.traces import Box

CHECK_INS, PEOPLE_FLOW, GENERATOR = Size(150, 10), Size(40), Size(60, 4)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "rows", "small"),
    [
        ("ppmtf-10", 4, {"size": CHECK_INS}),
        ("ppmtf-14", 9, {"size": CHECK_INS, "ks": (1, 5, 20)}),
        ("ppmtf-15", 2, {"size": CHECK_INS, "alphas": (1e-3, 10.0)}),
        ("contest-16", 6, {"size": CHECK_INS, "days": 4}),
        ("contest-17", 18, {"size": CHECK_INS, "days": 4}),
        ("contest-18", 10, {"size": PEOPLE_FLOW, "alphas": (10.0,), "settings": ((50, 0.0),)}),
        ("contest-table2", 4, {"size": GENERATOR, "count": 2, "plan": ContestPlan(users=30, days=4)}),
    ],
)
def test_a_figure_is_a_picture_and_its_numbers(
    name: str, rows: int, small: dict[str, Any], tmp_path: Path
) -> None:
    picture, numbers = figure(name)(tmp_path, seed=1, iterations=5, **small)
    assert "<svg" in picture.read_text()
    assert len(rows_of(numbers)) >= rows


@pytest.mark.slow
def test_noon_and_homes_come_together(tmp_path: Path) -> None:
    files = figure("contest-19")(tmp_path, seed=1, size=GENERATOR, iterations=5)
    assert [path.name for path in files] == [
        "contest-4.svg", "contest-4.csv", "contest-19.svg", "contest-19.csv",
    ]  # fmt: skip
    homes = rows_of(tmp_path / "contest-19.csv")
    assert [row["time"] for row in homes][:2] == ["06:00", "06:30"]
    assert float(homes[0]["at_home"]) > 0.9
    noon = rows_of(tmp_path / "contest-4.csv")
    assert len(noon) == 1_024
    assert sum(float(row["synthetic"]) for row in noon) == pytest.approx(1)


@pytest.mark.slow
def test_cities_of_published_data_are_folders_and_files_of_check_ins(shared_data: Path) -> None:
    tokyo, york = load_check_in_cities(FigureSource(shared_data, 1))
    assert (tokyo.name, york.name) == ("ppmtf-tokyo", "gowalla-nyc")
    assert (tokyo.training.n_users, len(york.training.places)) == (500, 1000)
    assert york.testing.n_users == round(0.2 * (york.training.n_users + york.testing.n_users))


def test_the_check_ins_of_foursquare_are_six_cities(tmp_path: Path) -> None:
    middles = [Box.parse(bounds).middle for bounds in FOURSQUARE_CITIES.values()]
    venues = [f"v{number}\t{lat}\t{lon}\tBar\t-" for number, (lat, lon) in enumerate(middles)]
    (tmp_path / "raw_POIs.txt").write_text("\n".join(venues) + "\n")
    at = np.random.default_rng(1).integers(0, 6, 600)
    events = [
        f"{row // 20}\tv{venue}\tTue Apr {row % 20 + 3:02} 18:00:09 +0000 2012\t0"
        for row, venue in enumerate(at)
    ]
    (tmp_path / "raw_Checkins_anonymized.txt").write_text("\n".join(events) + "\n")
    found = load_check_in_cities(FigureSource(tmp_path))
    assert [city.name for city in found] == list(FOURSQUARE_CITIES)
    for number, city in enumerate(found):
        assert city.training.n_events + city.testing.n_events == (at == number).sum()
        assert city.training.clock.slots_per_day == 12


def test_a_folder_without_a_city_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no data of a city"):
        load_check_in_cities(FigureSource(tmp_path))


def test_simulated_cities_differ_in_what_their_people_tell() -> None:
    city, quiet, town = load_check_in_cities(FigureSource(size=Size(200, 20)))
    assert quiet.training.n_events < city.training.n_events / 2
    assert len(town.training.places) == 200 < len(city.training.places)
