"""Planar Laplace noise: the right distances, directions and guarantee, everywhere on earth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from pyproj import Geod

from tracearena.algorithms import catalogue
from tracearena.errors import ParameterError
from tracearena.obfuscation import GeoInd, Snapping, Thinning
from tracearena.obfuscation.gps import draw_polar_noise
from tracearena.traces import GpsTraces

GEOD = Geod(ellps="WGS84")


def crowd(latitude: float, longitude: float, count: int, step_s: float = 5.0) -> GpsTraces:
    times = (np.arange(count) * step_s * 1000).astype(np.int64)
    return GpsTraces.from_points([1] * count, times, [latitude] * count, [longitude] * count)


def noise_of(original: GpsTraces, released: GpsTraces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    azimuth, _, distance = GEOD.inv(
        original.longitude, original.latitude, released.longitude, released.latitude
    )
    return np.asarray(distance), np.asarray(azimuth) % 360


@pytest.mark.parametrize(
    ("latitude", "longitude"), [(40.0, 116.3), (0.0, 180.0), (12.0, -179.9999), (89.9, 0.0), (-89.999, 50.0)]
)
def test_radius_is_gamma_and_azimuth_uniform_wherever_the_point_lies(
    latitude: float, longitude: float
) -> None:
    from scipy import stats

    original = crowd(latitude, longitude, 20_000)
    distance, azimuth = noise_of(original, GeoInd(expected_noise=100).transform(original, seed=7))
    assert distance.mean() == pytest.approx(100, rel=0.02)
    assert stats.kstest(distance, stats.gamma(2, scale=50).cdf).pvalue > 0.001
    assert stats.kstest(azimuth / 360, "uniform").pvalue > 0.001
    assert abs(stats.spearmanr(distance, azimuth).statistic) < 0.03


def test_noise_is_drawn_once_around() -> None:
    """Of a direction that could be drawn twice, one degree would hold twice as many of the draws."""
    _, azimuth = draw_polar_noise(np.random.default_rng(1), 100_000, 100.0)
    assert 0 <= azimuth.min() < 0.1
    assert 359.9 < azimuth.max() < 360


def test_the_goodness_of_fit_can_fail() -> None:
    from scipy import stats

    original = crowd(40.0, 116.3, 20_000)
    distance, _ = noise_of(original, GeoInd(expected_noise=110).transform(original, seed=7))
    assert stats.kstest(distance, stats.gamma(2, scale=50).cdf).pvalue < 1e-6


def test_epsilon_is_two_over_the_expected_noise() -> None:
    original = crowd(40.0, 116.3, 100)
    by_noise = GeoInd(expected_noise=100).transform(original, seed=1)
    assert GeoInd(epsilon=0.02).transform(original, seed=1) == by_noise


def test_d_privacy_holds_on_a_grid_of_pairs() -> None:
    """Counts in common cells differ by no more than exp(ε d), beyond what chance explains."""
    epsilon, count = 0.02, 200_000
    mechanism = GeoInd(epsilon=epsilon)
    counts = {}
    for offset in (0.0, 30.0, 60.0, 100.0):
        longitude, latitude, _ = GEOD.fwd(116.3, 40.0, 90.0, offset)
        released = mechanism.transform(crowd(latitude, longitude, count), seed=int(offset))
        x = np.floor((released.longitude - 116.3) * 85_394 / 80).astype(int)
        y = np.floor((released.latitude - 40.0) * 111_035 / 80).astype(int)
        near = (np.abs(x) <= 3) & (np.abs(y) <= 3)
        counts[offset] = np.bincount((x[near] + 3) * 7 + y[near] + 3, minlength=49)
    for a in counts:
        for b in counts:
            allowed = math.exp(epsilon * abs(a - b)) * counts[b]
            assert (counts[a] <= allowed + 5 * np.sqrt(counts[a] + allowed**2 / counts[b])).all()
    # The bound is reached along the line through both, so it is not passed by being loose.
    assert (counts[0.0] / counts[100.0]).max() > 0.7 * math.exp(epsilon * 100)


def test_within_a_window_all_points_share_the_noise_of_the_first() -> None:
    original = GpsTraces.from_points(
        [1] * 6, np.array([0, 100, 299, 300, 650, 900]) * 1000, [0.0] * 6, [0.0] * 6
    )
    released = GeoInd(expected_noise=100, window=300).transform(original, seed=1)
    pieces = [0, 0, 0, 1, 2, 2]
    assert np.unique(released.latitude, return_inverse=True)[1].max() == 2
    for i in range(6):
        for j in range(6):
            assert (released.latitude[i] == released.latitude[j]) == (pieces[i] == pieces[j])


def test_windows_begin_anew_with_every_trajectory() -> None:
    original = GpsTraces.from_points(
        [1] * 4, np.array([0, 10, 20, 30]) * 1000, [0.0] * 4, [0.0] * 4, trajectories=[0, 1, 0, 1]
    )
    released = GeoInd(expected_noise=100, window=300).transform(original, seed=1)
    assert released.latitude[0] == released.latitude[2] != released.latitude[1] == released.latitude[3]


def test_a_seed_fixes_every_byte_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    original = crowd(40.0, 116.3, 150_000)
    released = []
    for threads in ("1", "2"):
        monkeypatch.setenv("TRACEARENA_THREADS", threads)
        released.append(GeoInd(expected_noise=100).transform(original, seed=5))
    assert released[0] == released[1]
    assert released[0] != GeoInd(expected_noise=100).transform(original, seed=6)


@pytest.mark.parametrize(
    "text", ["GeoInd", "GeoInd(0)", "GeoInd(-5m)", "GeoInd(100m, epsilon=0.02)", "GeoInd(inf)"]
)
def test_bad_parameters_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="GeoInd"):
        catalogue.create(text, "gps-obfuscator")


@pytest.mark.parametrize(
    "text",
    ["GeoInd(expected_noise=100m)", "GeoInd(expected_noise=100m, window=5min)", "GeoInd(epsilon=0.02)"],
)
def test_names_lead_back_to_the_mechanism(text: str) -> None:
    mechanism = catalogue.create(text, "gps-obfuscator")
    assert catalogue.create(str(mechanism)) == mechanism


def test_no_points_stay_no_points() -> None:
    empty = GpsTraces.from_points([], [], [], [], user_ids=[1])
    for mechanism in (
        GeoInd(expected_noise=1), GeoInd(expected_noise=1, window=5), Thinning(interval=5), Snapping(side=5)
    ):  # fmt: skip
        assert len(mechanism.transform(empty, seed=1)) == 0


def test_thinned_points_are_at_least_an_interval_apart() -> None:
    original = crowd(40.0, 116.3, 1000, step_s=7)
    thinned = Thinning(interval=60).transform(original)
    assert thinned.time_ms[0] == original.time_ms[0]
    assert (np.diff(thinned.time_ms) >= 60_000).all()
    assert len(thinned) == math.ceil(1000 / 9)


@pytest.mark.parametrize(
    ("latitude", "longitude"), [(40.0, 116.3), (-89.9999, 5.0), (0.0, 180.0), (0.0, -180.0)]
)
def test_snapped_points_move_at_most_half_a_diagonal(latitude: float, longitude: float) -> None:
    original = crowd(latitude, longitude, 3)
    released = Snapping(side=500).transform(original)
    distance, _ = noise_of(original, released)
    assert (distance < 500).all()
    assert Snapping(side=500).transform(released) == released
