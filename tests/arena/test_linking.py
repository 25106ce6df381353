"""Who knows a few points of a person finds her in a release, noise or not: more points, more surely."""

from __future__ import annotations

import gzip
import math
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import tracearena as ta
from tracearena.algorithms import catalogue
from tracearena.arena import Uniqueness, uniqueness
from tracearena.engine import use
from tracearena.errors import DataError
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import metres_per_degree

SIDE, HOUR = 250.0, 3_600_000
DEGREE = 111_132.0
DRAWS = 4
MECHANISMS = (
    "GeoInd(100m)",
    "GeoInd(500m)",
    "GeoInd(1km)",
    "GeoInd(500m, 10min)",
    "Thin(10min)",
    "Thin(2h)",
    "Snap(500m)",
)
ONE_AND_LONG = [
    MECHANISMS[1],
    *(pytest.param(m, marks=pytest.mark.long) for m in MECHANISMS if m != MECHANISMS[1]),
]


@cache
def gowalla(folder: Path) -> GpsTraces:
    with gzip.open(folder / "gowalla-nyc.txt.gz", "rt") as file:
        rows = [line.split("\t") for line in file]
    time = np.array([row[1][:-1] for row in rows], "datetime64[ms]").astype(np.int64)
    columns = ([float(row[at]) for row in rows] for at in (2, 3))
    return GpsTraces.from_points([int(row[0]) for row in rows], time, *columns)


@cache
def city() -> GpsTraces:
    """Another city than the one on which the attacker's fixed numbers were looked at (seed 7)."""
    return ta.cities.simulate_gps(users=30, days=6, seed=11)


@cache
def released(folder: Path | None, mechanism: str) -> GpsTraces:
    original = city() if folder is None else gowalla(folder)
    return catalogue.create(mechanism, "gps-obfuscator").transform(original, seed=5)


@cache
def ours(folder: Path | None, mechanism: str, *, known: bool) -> Uniqueness:
    original = city() if folder is None else gowalla(folder)
    return uniqueness(
        original,
        released(folder, mechanism),
        draws=40 if folder is None else 4,
        mechanism=catalogue.create(mechanism, "gps-obfuscator") if known else None,
        seed=3,
    )


def known_points(traces: GpsTraces, user: int) -> np.ndarray:
    """The different cells (centre in metres north, degrees east, metres a degree) and hours of a user."""
    own = slice(traces.offsets[user], traces.offsets[user + 1])
    row = np.floor(traces.latitude[own] * DEGREE / SIDE)
    width = metres_per_degree((row + 0.5) * SIDE / DEGREE)[1]
    column = np.floor(traces.longitude[own] * width / SIDE)
    hour = traces.time_ms[own] // HOUR
    return np.unique(
        np.stack([(row + 0.5) * SIDE, (column + 0.5) * SIDE / width, width, hour], axis=1), axis=0
    )


def twenty_lines(original: GpsTraces, release: GpsTraces, targets: list[int], tolerance: int) -> np.ndarray:
    """Add up the distances to everybody's nearest released point within the hour; the least is the person."""
    rng = np.random.default_rng(17)
    order = np.argsort(release.time_ms, kind="stable")
    hour = release.time_ms[order] // HOUR
    shares = np.zeros((len(targets), 5))
    for row, user in enumerate(targets):
        known = known_points(original, user)
        for _ in range(DRAWS):
            total = np.zeros(release.n_users)
            drawn = rng.permutation(len(known))[:5]
            for k in range(5):
                if k < len(drawn):
                    y, longitude, width, when = known[drawn[k]]
                    first, stop = np.searchsorted(hour, [when - tolerance, when + tolerance + 1])
                    near = order[first:stop]
                    east, north = release.longitude[near] - longitude, release.latitude[near] * DEGREE - y
                    away = np.full(release.n_users, 20_000.0)
                    np.minimum.at(away, release.user_index[near], np.hypot(east * width, north))
                    total += away
                best = total == total.min()
                shares[row, k] += best[user] / best.sum() / DRAWS
    return shares


def sampling_error(shares: np.ndarray) -> np.ndarray:
    """Standard error of the mean over users of their shares, and no less than one draw of one user."""
    error = shares.std(axis=0, ddof=1) / math.sqrt(len(shares))
    return np.maximum(error, 1 / (DRAWS * len(shares)))


def assert_never_weaker(folder: Path | None, mechanism: str) -> None:
    original, release = city() if folder is None else gowalla(folder), released(folder, mechanism)
    tried = [user for user in range(original.n_users) if original.offsets[user] < original.offsets[user + 1]]
    targets = tried if folder is None else tried[::4]
    simple = [twenty_lines(original, release, targets, tolerance) for tolerance in (0, 1)]
    for known in (False, True):
        found = ours(folder, mechanism, known=known)
        for k in range(1, 6):
            shares = max(simple, key=lambda each: each[:, k - 1].mean())
            theirs = float(shares[:, k - 1].mean())
            # ours has the same users, and draws of its own
            margin = 2 * math.sqrt(2) * float(sampling_error(shares)[k - 1])
            print(f"{mechanism} known={known} k={k}: {found.linked[k]:.4f}, {theirs:.4f} ± {margin:.4f}")
            assert found.linked[k] >= theirs - margin, (mechanism, known, k, theirs, found.linked[k], margin)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ONE_AND_LONG)
def test_in_the_city_it_is_never_weaker_than_twenty_lines(mechanism: str) -> None:
    assert_never_weaker(None, mechanism)


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ONE_AND_LONG)
def test_on_check_ins_it_is_never_weaker_than_twenty_lines(shared_data: Path, mechanism: str) -> None:
    assert_never_weaker(shared_data, mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["measured", "known"])
@pytest.mark.parametrize("mechanism", ONE_AND_LONG)
def test_more_knowledge_never_links_less_in_the_city(mechanism: str, known: bool) -> None:
    found = list(ours(None, mechanism, known=known).linked.values())
    assert found == sorted(found)
    assert found[4] > 0.9


@pytest.mark.long
@pytest.mark.parametrize("known", [False, True], ids=["measured", "known"])
@pytest.mark.parametrize("mechanism", ONE_AND_LONG)
def test_more_knowledge_never_links_less_on_check_ins(shared_data: Path, mechanism: str, known: bool) -> None:
    found = list(ours(shared_data, mechanism, known=known).linked.values())
    assert found == sorted(found)
    assert found[4] > 0.9


def few_points(users: int = 40, seed: int = 1) -> GpsTraces:
    """Everybody has one to five points in the same five hours, within 4 km."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.integers(1, 6, users))
    n = len(user)
    return GpsTraces.from_points(
        user, rng.integers(0, 5 * HOUR, n), 40.7 + rng.random(n) * 0.036, -74 + rng.random(n) * 0.047
    )


def obvious_winners(original: GpsTraces, release: GpsTraces, found: Uniqueness) -> float:
    """Do what the linker does with all points of everybody, by loops and a plain sum over the cell."""
    noise, right = found.noise, 0.0
    ends = [1000 * lag for lag in noise.lag_s]
    fine = (np.arange(60) + 0.5) / 60 - 0.5
    filled = [len(known_points(release, v)) for v in range(release.n_users)]
    windows = len(np.unique(release.time_ms // HOUR))
    rows = np.floor(release.latitude * DEGREE / SIDE) * 2.0**31 + np.floor(release.longitude * DEGREE / SIDE)
    anywhere = 1 / (windows * len(np.unique(rows)))
    for user in range(original.n_users):
        score = np.zeros(release.n_users)
        for y, longitude, width, hour in known_points(original, user):
            chance = np.zeros(release.n_users)
            for p in range(len(release)):
                lag = max(0, hour * HOUR - release.time_ms[p], release.time_ms[p] - (hour + 1) * HOUR + 1)
                ranges = [at for at, end in enumerate(ends) if lag <= end]
                if not ranges:
                    continue
                east, north = (release.longitude[p] - longitude) * width, release.latitude[p] * DEGREE - y
                away = np.hypot(east - fine[:, None] * SIDE, north - fine[None, :] * SIDE)
                density = sum(
                    part * (2 / size) ** 2 / (2 * np.pi) * np.exp(-2 * away / size)
                    for part, size in noise.mixture[ranges[0]]
                )
                inside = float(density.mean()) * SIDE**2 * noise.share[ranges[0]]
                v = release.user_index[p]
                chance[v] = max(chance[v], inside / filled[v])
            score += np.log1p(chance / (noise.miss * (anywhere + chance.sum() / release.n_users)))
        right += int(score.argmax() == user)
    return right / original.n_users


@pytest.mark.slow
@pytest.mark.parametrize("size", [600, 1500])
def test_it_is_the_likelihood_that_is_compared(size: int) -> None:
    original = few_points()
    release = ta.obfuscation.GeoInd(expected_noise=size).transform(original, seed=2)
    found = uniqueness(original, release, draws=3, seed=1)
    assert found.linked[5] == pytest.approx(obvious_winners(original, release, found), abs=0.026)
    assert found.linked[1] < found.linked[5]


def test_noise_that_hides_every_cell_hides_nobody() -> None:
    """The exact cell is right for one point in 25; five points find nearly everybody all the same."""
    rng = np.random.default_rng(4)
    n = 100 * 50
    original = GpsTraces.from_points(
        np.repeat(np.arange(100), 50),
        rng.integers(0, 240 * HOUR, n),
        40.6 + rng.random(n) * 0.2,
        -74 + rng.random(n) * 0.2,
    )
    release = ta.obfuscation.GeoInd(expected_noise=500).transform(original, seed=1)
    found = uniqueness(original, release, seed=1)
    assert found.linked[1] > 0.7
    assert found.linked[5] > 0.99
    assert found.chance == 0.01
    assert (found.users, found.candidates, found.not_released, found.strangers) == (100, 100, 0, 0)


def test_noise_beyond_the_city_leaves_chance() -> None:
    original = few_points(users=200)
    release = ta.obfuscation.GeoInd(expected_noise=500_000).transform(original, seed=1)
    found = uniqueness(original, release, seed=1)
    assert found.linked[1] < 0.06


def test_a_point_that_was_not_released_makes_a_user_unlikely_not_impossible() -> None:
    """The second hour of user 1 is missing in the release; her first still tells her from user 2."""
    places = [0.005, 0.105, 0.205, 0.305]
    original = GpsTraces.from_points([1, 1, 2, 2], [0, 50 * HOUR, 0, 50 * HOUR], places, [0.005] * 4)
    release = original.keep([True, False, True, True])
    assert uniqueness(original, release, seed=1).linked[2] == 1


def test_the_figures_do_not_depend_on_threads_and_follow_the_seed() -> None:
    original = few_points(users=60)
    release = ta.obfuscation.GeoInd(expected_noise=400).transform(original, seed=1)
    with use(threads=1):
        one = uniqueness(original, release, draws=20, seed=3)
    with use(threads=4):
        assert uniqueness(original, release, draws=20, seed=3) == one
    assert uniqueness(original, release, draws=20, seed=4) != one


def test_uniqueness_by_exact_cells_says_whose_it_is() -> None:
    original = few_points()
    release = ta.obfuscation.GeoInd(expected_noise=400).transform(original, seed=1)
    found = uniqueness(original, release, seed=1).to_dict()
    assert {"unique_in_original", "unique_in_release", "linked", "chance", "users"} <= set(found)
    assert not {"original", "released"} & set(found)


def visits(table: dict[int, list[int]]) -> GpsTraces:
    """One point a visit: user → places; place p lies p km north, and hours are all the same."""
    users = [user for user, places in table.items() for _ in places]
    latitude = [0.005 + place * 0.01 for places in table.values() for place in places]
    return GpsTraces.from_points(users, [0] * len(users), latitude, [0.005] * len(users))


def all_combinations(table: dict[int, list[int]], k: int) -> float:
    """Share of k-subsets that only their user has, averaged over users."""
    shares = []
    for user, places in table.items():
        chosen = list(combinations(sorted(set(places)), min(k, len(set(places)))))
        alone = [not any(set(c) <= set(other) for v, other in table.items() if v != user) for c in chosen]
        shares.append(np.mean(alone))
    return float(np.mean(shares))


def test_uniqueness_is_the_share_of_all_combinations() -> None:
    table = {1: [0, 1, 2, 3, 4], 2: [0, 1, 2, 5], 3: [3, 4, 0], 4: [6], 5: [0, 1]}
    traces = visits(table)
    found = uniqueness(traces, traces, draws=40_000, seed=1)
    for k in range(1, 6):
        assert found.unique_in_original[k] == pytest.approx(all_combinations(table, k), abs=0.01)
        assert found.unique_in_release[k] == pytest.approx(all_combinations(table, k), abs=0.01)
    assert all(found.linked[k] >= found.unique_in_original[k] - 0.01 for k in range(1, 6))


def test_links_need_the_right_user() -> None:
    traces = visits({1: [0, 1], 2: [2, 3]})
    other = visits({1: [2, 3], 2: [0, 1]})
    assert uniqueness(traces, other, seed=1).linked == dict.fromkeys(range(1, 6), 0.0)
    assert uniqueness(traces, other.with_user_ids([2, 1]), seed=1).linked == dict.fromkeys(range(1, 6), 1.0)
    with pytest.raises(DataError, match="id_table"):
        uniqueness(traces, other.with_user_ids([8, 9]), seed=1)


def test_draws_follow_the_seed() -> None:
    rng = np.random.default_rng(1)
    traces = GpsTraces.from_points(
        rng.integers(0, 9, 900), rng.integers(0, 5, 900) * HOUR, rng.integers(0, 9, 900) / 100, np.zeros(900)
    )
    assert uniqueness(traces, traces, seed=3) == uniqueness(traces, traces, seed=3)
    assert uniqueness(traces, traces, seed=3) != uniqueness(traces, traces, seed=4)


def test_who_was_at_another_place_only_does_not_hide_anybody() -> None:
    """Places P, Q, R from west to east: a was at P and Q, b at Q, c at P and R."""
    users, longitude = ["a", "a", "b", "c", "c"], [0.0, 0.01, 0.01, 0.0, 0.02]
    traces = GpsTraces.from_points(users, range(5), [0.001] * 5, longitude)
    found = uniqueness(traces, traces, draws=20, seed=1)
    assert found.unique_in_original[2] == pytest.approx(2 / 3)  # all but b
