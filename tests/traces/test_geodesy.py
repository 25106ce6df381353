"""Steps and distances on the ellipsoid, at the places where flat maps fail."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.traces.geodesy import (
    distance_bounds_m,
    distance_m,
    earth_centred,
    forward,
    interpolate_geodesic,
    metres_per_degree,
)

SPOTS = [(40.0, 116.3), (0.0, 179.9999), (0.0, -179.9999), (89.9995, 10.0), (-90.0, 0.0), (90.0, 77.0)]


@pytest.mark.parametrize(("latitude", "longitude"), SPOTS)
def test_a_step_has_the_length_asked_for(latitude: float, longitude: float) -> None:
    azimuth = np.linspace(0, 350, 36)
    there = forward(np.full(36, latitude), np.full(36, longitude), azimuth, np.full(36, 250.0))
    assert distance_m(latitude, longitude, *there) == pytest.approx(250.0, abs=1e-6)
    assert (np.abs(there[0]) <= 90).all()
    assert (np.abs(there[1]) <= 180).all()


@pytest.mark.parametrize(("latitude", "longitude"), SPOTS)
def test_halfway_is_equally_far_from_both_ends(latitude: float, longitude: float) -> None:
    end = forward([latitude], [longitude], [45.0], [1000.0])
    middle = interpolate_geodesic([latitude], [longitude], *end, [0.5])
    assert distance_m([latitude], [longitude], *middle)[0] == pytest.approx(500.0, abs=1e-6)
    assert distance_m(*end, *middle)[0] == pytest.approx(500.0, abs=1e-6)


def test_short_straight_lines_are_geodesic_distances_everywhere() -> None:
    for latitude, longitude in SPOTS:
        there = forward([latitude], [longitude], [30.0], [50.0])
        a, b = earth_centred(np.array([latitude]), np.array([longitude])), earth_centred(*there)
        assert np.linalg.norm(a - b) == pytest.approx(50.0, abs=1e-6)


def test_a_degree_is_as_long_as_the_geodesic_says() -> None:
    north, east = metres_per_degree(40.0)
    assert north == pytest.approx(distance_m(39.5, 0, 40.5, 0)[0], rel=1e-5)
    assert east == pytest.approx(distance_m(40.0, 0, 40.0, 0.01)[0] * 100, rel=1e-5)


def test_bounds_hold_the_distance_however_far() -> None:
    drawn = np.random.default_rng(3)
    latitude, longitude = drawn.uniform(-90, 90, 20_000), drawn.uniform(-180, 180, 20_000)
    away = 10.0 ** drawn.uniform(-8, 2, (2, 20_000)) * drawn.choice([-1, 1], (2, 20_000))
    there = np.clip(latitude + away[0], -90, 90), (longitude + away[1] + 180) % 360 - 180
    low, high = distance_bounds_m(latitude, longitude, *there)
    metres = distance_m(latitude, longitude, *there)
    assert ((low <= metres) & (metres <= high)).all()
    near = metres < 10_000
    assert near.sum() > 5_000
    assert (high[near] - low[near] < 1e-5 + 1e-6 * metres[near]).all()
