"""Privacy zones: what lies in them is not released, and everything else is."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from scipy.stats import kstest, semicircular

from tracearena.cities import simulate_gps
from tracearena.errors import ParameterError
from tracearena.mobility.stays import find_frequent_places
from tracearena.obfuscation import Zones
from tracearena.obfuscation.privacy_zones import shift_centres
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, distance_m, forward, metres_per_degree

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def people() -> GpsTraces:
    return simulate_gps(users=4, days=6, interval_s=30, recorded=1.0, seed=3)


def distances(traces: GpsTraces, latitude: float, longitude: float) -> np.ndarray:
    return distance_m(traces.latitude, traces.longitude, latitude, longitude)


def recorded(traces: GpsTraces, chosen: np.ndarray) -> set[tuple[int, ...]]:
    """Users, times and trajectories of points."""
    names = traces.trajectory_ids[traces.trajectory]
    return {*zip(traces.user_index[chosen], traces.time_ms[chosen], names[chosen], strict=True)}


def test_nothing_is_released_within_the_radius_of_a_place_without_a_shift(people: GpsTraces) -> None:
    released = Zones(radius=400, shift=0).transform(people)
    places = find_frequent_places(people).most_frequent(2)
    assert 0 < len(released) < len(people)
    for user, latitude, longitude in zip(places.user, places.latitude, places.longitude, strict=True):
        own = released.take_users([user])
        assert distances(own, latitude, longitude).min(initial=np.inf) > 399.9


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_released_within_the_margin_of_a_place(people: GpsTraces, seed: int) -> None:
    released = Zones(radius=500).transform(people, seed=seed)
    places = find_frequent_places(people).most_frequent(2)
    for user, latitude, longitude in zip(places.user, places.latitude, places.longitude, strict=True):
        own = released.take_users([user])
        assert distances(own, latitude, longitude).min(initial=np.inf) > 99.9


def test_points_elsewhere_are_released_as_they_are(people: GpsTraces) -> None:
    released = Zones(radius=500, digits=9).transform(people, seed=1)
    places = find_frequent_places(people).most_frequent(2)
    far = np.ones(len(people), bool)
    for user, latitude, longitude in zip(places.user, places.latitude, places.longitude, strict=True):
        # A zone reaches 900 m from its place, and what strays from it by 100 m is hidden with it.
        far &= (people.user_index != user) | (distances(people, latitude, longitude) > 1001)
    kept = recorded(released, np.ones(len(released), bool))
    untouched = recorded(people, far)
    assert untouched
    assert untouched <= kept <= recorded(people, np.ones(len(people), bool))
    at = {(u, t): lat for u, t, lat in zip(people.user_index, people.time_ms, people.latitude, strict=True)}
    times = zip(released.user_index, released.time_ms, strict=True)
    assert np.allclose(released.latitude, [at[key] for key in times], atol=1e-9, rtol=0)


def test_a_zone_is_the_same_for_everybody_and_whoever_else_is_in_the_file(people: GpsTraces) -> None:
    together = Zones(radius=500).transform(people, seed=1)
    alone = Zones(radius=500).transform(people.take_users([2]), seed=1)
    assert np.array_equal(together.take_users([2]).time_ms, alone.time_ms)


@pytest.mark.slow
def test_centres_are_uniform_in_the_disc() -> None:
    rng = np.random.default_rng(1)
    latitude, longitude = rng.uniform(34.6, 34.9, 2000), rng.uniform(135.3, 135.6, 2000)
    found = shift_centres(latitude, longitude, 400.0, KEY)
    apart = distance_m(latitude, longitude, *found)
    assert apart.max() <= 400
    # Half of a disc's area lies within 0.707 of its radius.
    assert (apart < 400 * 0.5**0.5).mean() == pytest.approx(0.5, abs=0.04)
    for axis, (near, far) in enumerate(zip((latitude, longitude), found, strict=True)):
        offset_m = (far - near) * metres_per_degree(latitude)[axis]
        assert kstest(offset_m / 400, semicircular.cdf).pvalue > 0.001
        # To either side 1.5 % of a disc lie beyond 0.925 of its radius.
        assert (offset_m > 370).mean() == pytest.approx(0.015, abs=0.01)
        assert (offset_m < -370).mean() == pytest.approx(0.015, abs=0.01)


@pytest.mark.parametrize(("latitude", "longitude"), [(35.66, 139.75), (-33.86, -151.21), (64.15, 0.0)])
def test_a_centre_has_the_lowest_rank_in_the_disc(latitude: float, longitude: float) -> None:
    """Candidates are 50 m apart; later releases with the same key need the same ones, and the same ranks."""
    height = 50 / MIDDLE_DEGREE_M
    ranks: dict[bytes, tuple[float, float]] = {}
    for row in int((latitude + 90) / height) + np.arange(-12, 13):
        lat = (row + 0.5) * height - 90
        width = 360 / round(360 * float(metres_per_degree(lat)[1]) / 50)
        column = int((longitude + 180) / width) + np.arange(-12, 13)
        lon = (column + 0.5) * width - 180
        for one in np.flatnonzero(distance_m(np.full(25, lat), lon, latitude, longitude) <= 400):
            rank = blake2b(f"{row},{column[one]}".encode(), key=KEY, digest_size=16).digest()
            ranks[rank] = lat, lon[one]
    assert len(ranks) == pytest.approx(8**2 * np.pi, abs=5)
    found = shift_centres(np.array([latitude]), np.array([longitude]), 400.0, KEY)
    assert np.ravel(found) == pytest.approx(ranks[min(ranks)], abs=1e-9)


@pytest.mark.slow
def test_neighbours_share_a_centre_and_another_key_gives_another() -> None:
    rng = np.random.default_rng(2)
    latitude, longitude = rng.uniform(34.6, 34.9, 300), rng.uniform(135.3, 135.6, 300)
    next_door = forward(latitude, longitude, rng.uniform(0, 360, 300), 10.0)
    mine, theirs = (shift_centres(*at, 400.0, KEY) for at in ((latitude, longitude), next_door))
    other = shift_centres(latitude, longitude, 400.0, KEY[::-1])
    assert (distance_m(*mine, *theirs) == 0).mean() > 0.95
    assert (distance_m(*mine, *other) == 0).mean() < 0.05


@pytest.mark.parametrize("latitude", [-90.0, -89.9999, 0.0, 89.9999, 90.0])
@pytest.mark.parametrize("longitude", [-180.0, 179.9999])
def test_centres_exist_everywhere_on_earth(latitude: float, longitude: float) -> None:
    found = shift_centres(np.array([latitude]), np.array([longitude]), 400.0, KEY)
    assert 0 < distance_m(latitude, longitude, *found)[0] <= 400


@pytest.mark.parametrize(("radius", "margin"), [(100, 50), (200, 100), (500, 100)])
def test_a_zone_leaves_a_margin_of_100_metres_or_half_of_a_small_radius(radius: float, margin: float) -> None:
    assert (Zones(radius=radius).margin_m, Zones(radius=radius).shift_m) == (margin, radius - margin)


def test_what_strays_a_little_from_a_zone_is_hidden_with_it() -> None:
    north = np.array([*[0] * 25, 450, 520, 560, 520, 450, *[0] * 25, 520, 700, 3000], float)
    time_ms = np.arange(len(north)) * 60_000
    walk = GpsTraces.from_points([1] * len(north), time_ms, 35 + north / 110_941, [135.0] * len(north))
    released = Zones(radius=500, shift=0, places=1).transform(walk)
    assert ((released.latitude - 35) * 110_941).round().tolist() == [520, 700, 3000]


def test_users_with_nothing_left_stay_in_the_release(people: GpsTraces) -> None:
    released = Zones(radius=100_000, shift=0).transform(people)
    assert len(released) == 0
    assert released.user_ids.tolist() == people.user_ids.tolist()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"radius": 0}, "radius"),
        ({"radius": 100_001}, "radius"),
        ({"radius": 500, "shift": 501}, "shift"),
        ({"radius": 500, "shift": -1}, "shift"),
        ({"radius": 500, "places": 0}, "places"),
        ({"radius": 500, "places": 1.5}, "places"),
        ({"radius": float("nan")}, "radius"),
    ],
)
def test_parameters_are_checked(given: dict, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Zones(**given)


@pytest.mark.parametrize("latitude", [-90.0, 90.0])
def test_no_centre_is_beyond_a_pole(latitude: float) -> None:
    found = [shift_centres(np.array([latitude]), np.zeros(1), 400.0, bytes([key]) * 16) for key in range(200)]
    assert np.abs([centre[0] for centre, _ in found]).max() < 90
