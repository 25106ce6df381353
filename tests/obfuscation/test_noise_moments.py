"""Mechanisms say the mean and the variance of their noise: as integrals and as large samples have them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pyproj import Geod
from scipy.integrate import quad

from tracearena.obfuscation import GeoInd, PlanarLaplace, RandomizedResponse
from tracearena.traces import Clock, GpsTraces, Grid, Places, Traces

COUNT = 200_000
MECHANISMS = [
    (PlanarLaplace(l=4, r=1), 4.0),
    (PlanarLaplace(l=1, r=2), 0.5),
    (GeoInd(expected_noise=100), 0.02),
    (GeoInd(epsilon=0.5), 0.5),
]
Floats = NDArray[np.float64]


def standing_at(places: Places, place: int) -> Traces:
    return Traces.from_dense(np.full((20, COUNT // 20), place), places, Clock(instants_per_day=20))


def noise_of(mechanism: PlanarLaplace | GeoInd) -> tuple[Floats, Floats]:
    """Draw noise, east and north, in the unit of the mechanism."""
    if isinstance(mechanism, PlanarLaplace):
        # Regions of a twentieth of the mean: their rounding adds side² / 12 to a variance, which is nothing.
        side, width = mechanism.noise_mean() / 20, 801
        grid = Grid(rows=width, columns=width, south=0, west=0, north=1, east=1)
        places = Places.of_grid(grid, km_per_degree=(side * width, side * width))
        original = standing_at(places, width * width // 2)
        row, column = np.divmod(mechanism.transform(original, seed=5).codes, width)
        return (column - width // 2) * side, (row - width // 2) * side
    points = GpsTraces.from_points([1] * COUNT, np.arange(COUNT) * 1000, [40.0] * COUNT, [116.3] * COUNT)
    released = mechanism.transform(points, seed=5)
    azimuth, _, distance = Geod(ellps="WGS84").inv(
        points.longitude, points.latitude, released.longitude, released.latitude
    )
    return np.asarray(distance * np.sin(np.radians(azimuth))), np.asarray(
        distance * np.cos(np.radians(azimuth))
    )


def is_mean_of(values: Floats, expected: float) -> bool:
    """Whether a sample has this mean, within five standard errors."""
    return bool(abs(values.mean() - expected) < 5 * values.std() / np.sqrt(len(values)))


@pytest.mark.parametrize(("mechanism", "epsilon"), MECHANISMS, ids=str)
def test_the_moments_are_the_integrals_of_the_density(
    mechanism: PlanarLaplace | GeoInd, epsilon: float
) -> None:
    def moment(power: int) -> float:
        return float(quad(lambda r: r**power * epsilon**2 * r * np.exp(-epsilon * r), 0, 80 / epsilon)[0])

    assert moment(0) == pytest.approx(1)
    assert mechanism.noise_mean() == pytest.approx(moment(1))
    assert mechanism.noise_variance() == pytest.approx(moment(2) - moment(1) ** 2)
    # With a uniform direction each axis has r² cos², half of r² on average.
    turn = quad(lambda angle: np.cos(angle) ** 2 / (2 * np.pi), 0, 2 * np.pi)[0]
    assert mechanism.noise_axis_variance() == pytest.approx(moment(2) * turn)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "epsilon"), MECHANISMS, ids=str)
def test_a_large_sample_has_the_moments(mechanism: PlanarLaplace | GeoInd, epsilon: float) -> None:
    east, north = noise_of(mechanism)
    distance, mean = np.hypot(east, north), mechanism.noise_mean()
    assert is_mean_of(distance, mean)
    assert is_mean_of((distance - mean) ** 2, mechanism.noise_variance())
    for axis in (east, north):
        assert is_mean_of(axis, 0.0)
        assert is_mean_of(axis**2, mechanism.noise_axis_variance())
    # The sample is large enough to tell the two variances, and a mean that is 2 % off.
    assert not is_mean_of(axis**2, mechanism.noise_variance())
    assert not is_mean_of(distance, 1.02 * mean)


def test_all_points_of_a_window_share_the_noise_of_which_the_moments_are_told() -> None:
    assert GeoInd(expected_noise=100, window=300).noise_mean() == GeoInd(expected_noise=100).noise_mean()


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0])
def test_randomized_response_keeps_the_share_that_it_says(epsilon: float) -> None:
    places = Places(np.zeros(10), np.arange(10.0))
    original = standing_at(places, 3)
    mechanism = RandomizedResponse(epsilon=epsilon)
    kept = mechanism.transform(original, seed=5).codes == 3
    assert mechanism.keep_probability(10) == pytest.approx(np.exp(epsilon) / (9 + np.exp(epsilon)))
    assert is_mean_of(kept.astype(np.float64), mechanism.keep_probability(10))
