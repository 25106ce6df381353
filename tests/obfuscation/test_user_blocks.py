"""Defences of GPS traces a few users at a time: what they give on all users at once."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.algorithms import GpsObfuscator, catalogue
from tracearena.cities import simulate_gps
from tracearena.engine import seed_sequence, stream
from tracearena.obfuscation import GeoInd
from tracearena.obfuscation.gps import draw_polar_noise
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import forward, forward_rounded, round_degrees

DEFENCES = ("GeoInd(100m)", "GeoInd(50km)", "GeoInd(100m,5min)", "Snap(500m)", "Thin(60s)", "Zones(500m)",
            "TrimEnds(300m)", "RoundTime(3h)", "RoundTime(day)", "PerDay(5)", "ShuffleDays(month)",
            "Resample(10min)", "GeoInd(100m,5min)+RoundTime(1h)", "Thin(60s)+PerDay(9)+GeoInd(50m)",
            "Zones(500m)+GeoInd(100m,5min)+Resample(1h)")  # fmt: skip
EVERYBODY = ("SwapTimes(1km,month)", "SwapHours(1km)")
"""Those that need all users at once."""


@pytest.fixture(scope="module")
def people() -> GpsTraces:
    return simulate_gps(7, 30, recorded=0.5, seed=3)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *((name, 5) for name in DEFENCES),
        (DEFENCES[-1], None),
        *(pytest.param(name, None, marks=pytest.mark.long) for name in DEFENCES[:-1]),
    ],
)
def test_some_users_after_the_others_get_what_all_get_at_once(
    name: str, seed: int | None, people: GpsTraces
) -> None:
    defence: GpsObfuscator = catalogue.create(name, "gps-obfuscator")
    root = seed_sequence(seed)
    whole = defence.transform(people, seed=root)
    parts = [people.take_users(slice(first, first + 2)) for first in range(0, 7, 2)]
    counts = [defence.draws(part) for part in parts]
    done = 0
    for number, (part, count) in enumerate(zip(parts, counts, strict=True)):
        released = defence.transform_part(part, seed=root, first=done, total=sum(counts))
        assert released == whole.take_users(slice(2 * number, 2 * number + 2))
        done += count


def test_our_gps_defences_all_work_user_by_user() -> None:
    ours = [catalogue.create(name, "gps-obfuscator") for name in DEFENCES]
    others = [catalogue.create(name, "gps-obfuscator") for name in EVERYBODY]
    assert all(one.by_user for one in ours)
    assert not any(one.by_user for one in others)
    known = {one.name for one in [*ours, *others]} - {"Pipeline"}
    assert known == set(catalogue.names("gps-obfuscator"))


def test_noise_is_drawn_block_by_block_and_stepped_along_the_geodesic(people: GpsTraces) -> None:
    size, root, count = 1 << 16, seed_sequence(9), len(people)
    assert count > 2 * size
    expected = []
    for block, first in enumerate(range(0, count, size)):
        part = slice(first, first + size)
        distance, azimuth = draw_polar_noise(stream(root, block), min(size, count - first), 100)
        expected.append(forward(people.latitude[part], people.longitude[part], azimuth, distance))
    latitude, longitude = (round_degrees(np.concatenate(one), 6) for one in zip(*expected, strict=True))
    released = GeoInd(expected_noise=100).transform(people, seed=9)
    assert np.array_equal(released.latitude, latitude)
    assert np.array_equal(released.longitude, longitude)


@pytest.mark.parametrize("digits", [0, 6, 7, 9])
@pytest.mark.parametrize("reach_m", [200.0, 10_000.0, 1e6])
def test_quick_steps_are_the_geodesic_to_the_last_decimal(digits: int, reach_m: float) -> None:
    rng = np.random.default_rng(digits)
    n = 50_000
    latitude, longitude = rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)
    latitude[:3], longitude[3:6] = (-90, 0, 90), (-180, 0, 180)
    azimuth, distance = rng.uniform(0, 360, n), rng.uniform(0, reach_m, n)
    exact = forward(latitude, longitude, azimuth, distance)
    quick = forward_rounded(latitude, longitude, azimuth, distance, digits)
    for one, other in zip(exact, quick, strict=True):
        assert np.array_equal(round_degrees(one, digits), other)
    assert digits < 6 or not np.array_equal(exact[0], quick[0])
