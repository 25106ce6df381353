"""The city seen by receivers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracearena.cities import gps as receivers
from tracearena.cities import simulate_gps
from tracearena.engine import use
from tracearena.errors import ParameterError
from tracearena.io.formats import geolife
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m


@pytest.fixture(scope="module")
def city() -> GpsTraces:
    return simulate_gps(users=8, days=10, seed=1)


def test_points_come_every_few_seconds(city: GpsTraces) -> None:
    gaps = np.diff(city.time_ms)[np.diff(city.trajectory) == 0] / 1000
    assert 1 <= np.median(gaps) <= 5
    assert gaps.min() >= 0
    assert (np.diff(city.offsets) > 0).all()


def test_people_keep_to_the_streets_and_to_human_speed(city: GpsTraces) -> None:
    north, east = receivers.degree_m()
    x, y = (city.longitude - 150.0) * east, (city.latitude - 34.9) * north
    street = receivers.STREET_M
    off_street = np.minimum(
        np.abs(x - np.rint(x / street) * street), np.abs(y - np.rint(y / street) * street)
    )
    assert np.quantile(off_street, 0.99) < 15
    same = (np.diff(city.trajectory) == 0) & (np.diff(city.time_ms) >= 2000)
    meters = distance_m(city.latitude[:-1], city.longitude[:-1], city.latitude[1:], city.longitude[1:])[same]
    assert np.quantile(meters / (np.diff(city.time_ms)[same] / 1000), 0.99) < 35


def test_the_seed_decides_everything(city: GpsTraces) -> None:
    with use(threads=1):
        assert simulate_gps(users=8, days=10, seed=1) == city
    assert simulate_gps(users=8, days=10, seed=2) != city


def test_a_simulated_folder_reads_like_geolife(city: GpsTraces, tmp_path: Path) -> None:
    geolife.write(city, tmp_path / "city")
    again = geolife.read(tmp_path / "city").traces
    assert again.n_points == city.n_points
    assert again.n_trajectories == city.n_trajectories
    assert again.user_ids.tolist() == city.user_ids.tolist()


def test_nonsense_is_refused() -> None:
    with pytest.raises(ParameterError, match="recorded"):
        simulate_gps(users=1, days=1, recorded=0)
    with pytest.raises(ParameterError, match="users"):
        simulate_gps(users=0)
