"""Undoing noise on GPS traces."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.attacks import Interpolation, Smoothing
from tracearena.errors import ParameterError
from tracearena.metrics.applications import distance_error
from tracearena.obfuscation import GeoInd
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import interpolate_geodesic


def straight_walk(count: int = 2000, user: int = 1) -> GpsTraces:
    times = np.arange(count) * 5000
    return GpsTraces.from_points([user] * count, times, 40 + np.arange(count) * 6e-5, [116.3] * count)


def test_smoothing_takes_most_independent_noise_away() -> None:
    original = straight_walk()
    released = GeoInd(expected_noise=100).transform(original, seed=1)
    recovered = Smoothing(k=9).recover(released)
    assert distance_error(original, recovered).mean_m < 45
    assert distance_error(original, released).mean_m == pytest.approx(100, rel=0.05)


def test_interpolation_takes_most_of_the_standing_still_away() -> None:
    original = straight_walk()
    released = GeoInd(expected_noise=50, window=300).transform(original, seed=1)
    recovered = Interpolation().recover(released)
    assert distance_error(original, recovered).mean_m < 0.5 * distance_error(original, released).mean_m


def test_interpolated_points_lie_on_the_geodesic_in_proportion_to_time() -> None:
    traces = GpsTraces.from_points(
        [1] * 5, [0, 1000, 3000, 4000, 9000], [0.0, 0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0]
    )
    found = Interpolation().recover(traces)
    latitude, longitude = interpolate_geodesic([0] * 3, [0] * 3, [1] * 3, [1] * 3, [0, 0.25, 0.75])
    assert found.latitude == pytest.approx([*latitude, 1.0, 1.0])
    assert found.longitude == pytest.approx([*longitude, 1.0, 1.0])


def test_attacks_do_not_mix_trajectories() -> None:
    traces = GpsTraces.from_points(
        [1] * 6, [0, 1, 2, 3, 4, 5], [0.0, 9.0, 0.0, 9.0, 0.0, 9.0], [0.0] * 6, trajectories=[0, 1] * 3
    )
    for name in ("Interpolate", "Smooth(3)", "Interpolate+Smooth(3)", "Smooth(3,true)"):
        found = catalogue.create(name, "gps-attack").recover(traces)
        assert found.latitude == pytest.approx(traces.latitude)


def test_a_centred_window_is_the_mean_of_its_points() -> None:
    latitude = np.array([0.0, 1.0, 5.0, 2.0, 0.0, 3.0]) * 1e-3
    traces = GpsTraces.from_points([1] * 6, np.arange(6), latitude, [0.0] * 6)
    expected = [
        latitude[0],
        latitude[:3].mean(),
        latitude[:5].mean(),
        latitude[1:].mean(),
        latitude[3:].mean(),
    ]
    assert Smoothing(k=5).recover(traces).latitude == pytest.approx([*expected, latitude[5]], abs=1e-9)


def test_with_feedback_each_result_feeds_the_next() -> None:
    latitude = np.array([0.0, 3.0, 6.0, 1.0, 1.0]) * 1e-3
    traces = GpsTraces.from_points([1] * 5, np.arange(5), latitude, [0.0] * 5)
    expected: list[float] = []
    for value in latitude:
        expected.append(float(np.mean([*expected[-2:], value])))
    assert Smoothing(k=3, feedback=True).recover(traces).latitude == pytest.approx(expected, abs=1e-9)


def test_averages_cross_the_date_line_on_the_short_way() -> None:
    traces = GpsTraces.from_points([1] * 3, [0, 1, 2], [0.0] * 3, [179.9, -179.9, 179.9])
    assert abs(Smoothing(k=3).recover(traces).longitude[1]) == pytest.approx(179.9667, abs=1e-3)


@pytest.mark.parametrize(
    "name", ["Smooth(0)", "Smooth(2.5)", "Smooth", "Interpolate+Smooth(-1)", "Smooth(x)"]
)
def test_bad_windows_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="Smooth"):
        catalogue.create(name, "gps-attack")
