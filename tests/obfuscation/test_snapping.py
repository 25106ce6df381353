"""Points in the centres of a world-wide grid, fewer points, and the decimals of what is released."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.errors import ParameterError
from tracearena.obfuscation import GeoInd, Snapping, Thinning
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m


def scatter(n: int = 2000, seed: int = 0) -> GpsTraces:
    """Points all over the world, also at its poles and on both sides of the date line."""
    rng = np.random.default_rng(seed)
    latitude = np.concatenate([np.degrees(np.arcsin(rng.uniform(-1, 1, n))), [90.0, -90.0, 0.0, 0.0]])
    longitude = np.concatenate([rng.uniform(-180, 180, n), [0.0, 0.0, 180.0, -180.0]])
    return GpsTraces.from_points([1] * (n + 4), np.arange(n + 4), latitude, longitude)


@pytest.mark.parametrize("side", [100.0, 50_000.0])
def test_a_point_moves_to_the_centre_of_a_cell_of_its_size(side: float) -> None:
    original = scatter()
    released = Snapping(side=side, digits=9).transform(original)
    moved = distance_m(original.latitude, original.longitude, released.latitude, released.longitude)
    assert moved.max() < side * 0.75
    assert np.abs(released.longitude).max() <= 180
    # A point of a square is 0.3826 sides from its centre on average.
    assert moved.mean() == pytest.approx(0.3826 * side, rel=0.05)
    again = Snapping(side=side, digits=9).transform(released)
    assert np.allclose(again.latitude, released.latitude, atol=1e-8)
    assert np.allclose(again.longitude, released.longitude, atol=1e-8)


def test_rows_are_equally_high_and_reach_from_pole_to_pole() -> None:
    latitude = np.linspace(-90, 90, 5001)
    points = GpsTraces.from_points([1] * 5001, np.arange(5001), latitude, np.zeros(5001))
    rows = np.unique(Snapping(side=1e6, digits=9).transform(points).latitude)
    assert len(rows) == 20
    assert rows == pytest.approx(-90 + 9 * (np.arange(20) + 0.5), abs=1e-8)


def test_thinning_keeps_the_first_point_of_each_piece_of_a_trajectory() -> None:
    seconds = np.array([0, 9, 10, 25, 30, 31, 5, 14, 15])
    points = GpsTraces.from_points([1] * 6 + [2] * 3, seconds * 1000, np.arange(9.0), np.arange(9.0))
    assert Thinning(interval=10).transform(points).latitude.tolist() == [0, 2, 3, 6, 8]


@pytest.mark.parametrize(
    "make", [lambda d: GeoInd(expected_noise=1, digits=d), lambda d: Snapping(side=1, digits=d),
             lambda d: Thinning(interval=1, digits=d)],
)  # fmt: skip
def test_degrees_have_from_no_to_nine_decimals(make: Callable[[int], GeoInd | Snapping | Thinning]) -> None:
    points = scatter(20)
    for digits in (0, 9):
        released = make(digits).transform(points, seed=1)
        assert np.array_equal(released.latitude, released.latitude.round(digits))
        assert np.array_equal(released.longitude, released.longitude.round(digits))
    for digits in (-1, 10):
        with pytest.raises(ParameterError, match="digits"):
            make(digits)
