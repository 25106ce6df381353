"""An attacker who knows the program, the mechanism and the release, and tries seeds.

He replays what each of 2^14 seeds would have drawn, and every number that the command printed, and
keeps the seeds that explain the release. For releases of places he has a guess at the original and
looks whether the seed turns it into the release; for GPS traces he has nothing but the file, takes
the noise off and sees whether the points become a track.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.command_line import tracearena

import tracearena as ta
from tracearena.algorithms import catalogue
from tracearena.io import pwscup, read, write
from tracearena.traces import Clock, GpsTraces, Grid, ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import metres_per_degree

SEEDS = 2**14
EVENTS = 40
SEED = 12345
DRAW_NOTHING = {"No", "KAnonymous", "Thin", "Snap", "TrimEnds", "Resample"}
OF_TIME = ("SwapTimes(100km,month)", "SwapHours(100km)", "RoundTime(day)", "PerDay(5)", "ShuffleDays(month)")


def command(*arguments: object) -> str:
    """Run ``tracearena`` and return all it said."""
    with mock.patch.dict(os.environ, {"COLUMNS": "200"}):
        done = tracearena(*arguments)
    assert done.status == 0, done.err
    return done.out + done.err


def numbers_in(text: str) -> set[int]:
    return {int(word) for word in re.findall(r"\d+", text)}


def generator_of(seed: int, *key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


@cache
def drawn(*key: int) -> NDArray[np.float64]:
    """What every seed draws first in the stream of a name, seeds × events."""
    table = np.empty((SEEDS, EVENTS))
    for seed in range(SEEDS):
        generator_of(seed, *key).random(out=table[seed])
    return table


GRID = Grid(rows=8, columns=8, south=34.64, west=135.44, north=34.74, east=135.56)
REGIONS = Places.of_grid(GRID, sensitive=np.arange(64) % 9 == 4, km_per_degree=(111, 91))


CLOCK = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
WANDERERS = Traces.from_dense(np.random.default_rng(1).integers(0, 64, (2, 20)), REGIONS, CLOCK)
MANY = Traces.from_dense(np.repeat(np.arange(40, 60)[:, None], 20, axis=1), REGIONS, CLOCK)
AT_ONE_SENSITIVE_PLACE = Traces.from_dense(np.full((1, 40), 31), REGIONS, CLOCK)
BESIDE_ANOTHER = Traces.from_dense(np.repeat([[31], [32]], 40, axis=1), REGIONS, CLOCK)


def by_deletion(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    return ((drawn(0) < 0.5) == released.is_deleted).all(axis=1)


def by_exposure(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    return ((drawn(0, 0) < 0.5) != released.is_deleted).all(axis=1)


def by_answers(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    keep = 1 / (63 * np.exp(-1.0) + 1)
    return ((drawn(0) < keep) == (released.codes == WANDERERS.place_index)).all(axis=1)


def by_order(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    moved = released.codes[:EVENTS] != AT_ONE_SENSITIVE_PLACE.place_index
    last, first = drawn(0, 0)[:, moved].max(axis=1), drawn(0, 0)[:, ~moved].min(axis=1)
    return np.asarray(last < first)


def by_shuffle(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    where = released.codes[::20]
    found = np.zeros(SEEDS, bool)
    for seed in range(SEEDS):
        order = np.arange(20)
        generator_of(seed).shuffle(order)
        found[seed] = (where[order] == MANY.place_index[::20]).all()
    return found


def by_noise(released: ObfuscatedTraces) -> NDArray[np.bool_]:
    found = np.zeros(SEEDS, bool)
    row, column = np.divmod(released.codes, 8)
    latitude, longitude = (
        getattr(REGIONS, name)[WANDERERS.place_index] for name in ("latitude", "longitude")
    )
    for seed in range(SEEDS):
        rng = generator_of(seed, 0)
        radius, angle = rng.gamma(2.0, 1.0, EVENTS), rng.uniform(0, 2 * np.pi, EVENTS)
        north = (latitude + radius * np.sin(angle) / 111 - GRID.south) / GRID.cell_height
        east = (longitude + radius * np.cos(angle) / 91 - GRID.west) / GRID.cell_width
        found[seed] = (np.clip(north, 0, 7).astype(int) == row).all() and (
            np.clip(east, 0, 7).astype(int) == column
        ).all()
    return found


MECHANISMS: dict[str, tuple[str, Traces, Callable[[ObfuscatedTraces], NDArray[np.bool_]]]] = {
    "MRLH": ("MRLH(1,1,0.5)", WANDERERS, by_deletion),
    "RR": ("RR(1)", WANDERERS, by_answers),
    "PL": ("PL(1,1)", WANDERERS, by_noise),
    "Cheat": ("Cheat(1)", MANY, by_shuffle),
    "ClusterAveraging": ("ClusterAveraging(0.5)", AT_ONE_SENSITIVE_PLACE, by_order),
    "Decoy": ("Decoy(0.5)", AT_ONE_SENSITIVE_PLACE, by_order),
    "Impostor": ("Impostor(0.83)", BESIDE_ANOTHER, by_order),
    "Fakes": ("Fakes(uniform,2,0.5)", WANDERERS, by_exposure),
}
OTHER_FAKES = ("Fakes(sglt,1,0.5)", "Fakes(aggregate,1,0.5)", "Fakes(walk,1,0.5)", "Fakes(own-walk,1,0.5)")
ONE_AND_LONG = [
    "MRLH",
    *(pytest.param(name, marks=pytest.mark.long) for name in (*MECHANISMS, *OTHER_FAKES) if name != "MRLH"),
]


def test_the_attacker_knows_every_mechanism_that_draws() -> None:
    drawing = {*catalogue.names("obfuscator"), *catalogue.names("gps-obfuscator")} - DRAW_NOTHING
    times = {name.partition("(")[0] for name in OF_TIME}
    assert drawing == {*MECHANISMS, "GeoInd", "Zones", *times}


class Release:
    """One release of places by the command line, and what the attacker makes of it."""

    def __init__(self, folder: Path, defence: str, original: Traces, *options: object) -> None:
        self.defence, self.original, self.folder = defence, original, folder
        pwscup.write_places(original.places, folder / "places.csv")
        pwscup.write_traces(original, folder / "org.csv")
        named = ("--places", folder / "places.csv", *options)
        said = command("obfuscate", defence, folder / "org.csv", folder / "ano.csv", *named)
        self.said = said.replace(str(folder), "")
        self.bytes = (folder / "ano.csv").read_bytes()

    def explained_by(self, seeds: object) -> list[int]:
        return [seed for seed in sorted({int(s) for s in seeds}) if self._replayed(seed) == self.bytes]  # type: ignore[attr-defined]

    def _replayed(self, seed: int) -> bytes:
        defence = catalogue.create(self.defence, "obfuscator")
        pwscup.write_obfuscated(defence.transform(self.original, seed=seed), self.folder / "try.csv")
        return (self.folder / "try.csv").read_bytes()

    def attacked(self, screen: Callable[[ObfuscatedTraces], NDArray[np.bool_]]) -> list[int]:
        released = pwscup.read_obfuscated(self.folder / "ano.csv", self.original)
        likely = np.flatnonzero(screen(released))
        return self.explained_by({*likely.tolist(), *numbers_in(self.said)})


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_AND_LONG)
def test_a_seed_is_found_and_a_secret_root_is_not(name: str, tmp_path: Path) -> None:
    defence, original, screen = MECHANISMS.get(name, (name, WANDERERS, by_exposure))
    assert Release(tmp_path, defence, original, "--seed", SEED).attacked(screen) == [SEED]
    assert Release(tmp_path, defence, original).attacked(screen) == []


@pytest.mark.long
@pytest.mark.parametrize("defence", [*OF_TIME, "RR(1)+SwapTimes(100km,all)"])
def test_times_are_drawn_again_under_a_seed_only(defence: str, tmp_path: Path) -> None:
    """The attacker tries some seeds, the right one among them, and every number that was printed."""
    months = Traces.from_dense(np.random.default_rng(1).integers(0, 64, (2, 20 * 56)), REGIONS, CLOCK)
    pwscup.write_places(months.places, tmp_path / "places.csv")
    pwscup.write_traces(months, tmp_path / "org.csv")
    mechanism = catalogue.create(defence, "obfuscator")

    def found(*options: object) -> list[int]:
        files = (tmp_path / "org.csv", tmp_path / "out.csv", "--places", tmp_path / "places.csv")
        said = command("obfuscate", defence, *files, *options).replace(str(tmp_path), "")
        released = (tmp_path / "out.csv").read_bytes()
        explained = []
        for seed in sorted({*range(SEED - 50, SEED + 50), *numbers_in(said)}):
            write(mechanism.transform(months, seed=seed), tmp_path / "try.csv")
            if (tmp_path / "try.csv").read_bytes() == released:
                explained.append(seed)
        return explained

    assert found("--seed", SEED) == [SEED]
    assert found() == []


def a_track(points: int = EVENTS) -> GpsTraces:
    """Somebody who walks on at 1.4 m/s, round a bend, with a fix every ten seconds."""
    turn = np.linspace(0, np.pi / 2, points)
    return GpsTraces(
        user_ids=["a"],
        offsets=[0, points],
        latitude=39.9 + np.cumsum(14 * np.cos(turn)) / 111_000,
        longitude=116.3 + np.cumsum(14 * np.sin(turn)) / 85_000,
        time_ms=1_200_000_000_000 + 10_000 * np.arange(points),
    )


def tracks_of(people: int) -> GpsTraces:
    """People who live ten kilometres from each other and walk alike."""
    one, points = a_track(400), 400
    return GpsTraces(
        user_ids=[f"person {number}" for number in range(people)],
        offsets=np.arange(people + 1) * points,
        latitude=np.concatenate([one.latitude + 0.1 * number for number in range(people)]),
        longitude=np.tile(one.longitude, people),
        time_ms=np.tile(one.time_ms, people),
    )


def denoised(latitude: NDArray[np.float64], longitude: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Take the noise of a seed off released points; metres north and east of the first."""
    rng = generator_of(seed, 0)
    distance, azimuth = (
        rng.gamma(2.0, 50.0, len(latitude)),
        np.radians(rng.uniform(0.0, 360.0, len(latitude))),
    )
    north, east = metres_per_degree(39.9)
    points = np.array([(latitude - latitude[0]) * north, (longitude - longitude[0]) * east])
    return np.asarray(points - distance * np.array([np.cos(azimuth), np.sin(azimuth)]))


def tracks_found(released: GpsTraces, said: str) -> list[int]:
    seeds = np.array(sorted({*range(SEEDS), *numbers_in(said)}))
    roughness = [
        np.abs(np.diff(denoised(released.latitude, released.longitude, int(seed)), 2)).mean()
        for seed in seeds
    ]
    # Of wrong seeds none comes near: the second differences of 80 m of noise are as rough as that.
    return [int(seed) for seed in seeds[np.array(roughness) < 10]]


@pytest.mark.slow
def test_gps_points_become_a_track_again_under_a_seed_only(tmp_path: Path) -> None:
    track, out = a_track(), tmp_path / "released.parquet"
    write(track, tmp_path / "track.csv")
    defence = ("obfuscate", "GeoInd(expected_noise=100m)", tmp_path / "track.csv", out)
    said = command(*defence, "--seed", SEED)
    released = read(out).traces
    assert tracks_found(released, said) == [SEED]
    found = denoised(released.latitude, released.longitude, SEED)
    truth = np.array([track.latitude - released.latitude[0], track.longitude - released.longitude[0]])
    truth *= np.array(metres_per_degree(39.9)).reshape(2, 1)
    assert np.hypot(*(found - truth)).max() < 0.5

    said = command(*defence).replace(str(tmp_path), "")
    assert tracks_found(read(out).traces, said) == []


@pytest.mark.slow
def test_zones_are_drawn_again_under_a_seed_only(tmp_path: Path) -> None:
    """Whoever has a guess at some homes sees whether a seed puts the zones where trips end.

    Eight people have sixteen ends of trips: that another key cuts all of them alike is no chance to meet.
    """
    write(tracks_of(8), tmp_path / "track.csv")

    def explained(*options: object) -> list[int]:
        out = tmp_path / "released.parquet"
        said = command("obfuscate", "Zones(300m)", tmp_path / "track.csv", out, *options)
        released, guess = read(out).traces, read(tmp_path / "track.csv").traces
        tries = {*range(64), *(number for number in numbers_in(said) if number < 2**64)}
        drawn = {seed: ta.create("Zones(300m)").transform(guess, seed=seed) for seed in tries}
        return [seed for seed, again in drawn.items() if np.array_equal(again.time_ms, released.time_ms)]

    assert explained("--seed", 17) == [17]
    assert explained() == []


@pytest.mark.slow
def test_a_shuffle_is_found_under_a_seed_only(tmp_path: Path) -> None:
    pwscup.write_places(MANY.places, tmp_path / "places.csv")
    pwscup.write_traces(MANY, tmp_path / "org.csv")
    pwscup.write_obfuscated(ObfuscatedTraces.from_traces(MANY), tmp_path / "ano.csv")

    def found(*options: object) -> list[int]:
        named = ("--places", tmp_path / "places.csv", "--id-table", tmp_path / "ids.csv", *options)
        files = (tmp_path / "ano.csv", tmp_path / "pub.csv", "--original", tmp_path / "org.csv")
        said = command("pseudonymise", *files, *named).replace(str(tmp_path), "")
        owner = pwscup.read_id_table(tmp_path / "ids.csv").user_ids
        for kept in tmp_path.glob("ids.csv*"):
            kept.unlink()
        tries = {*range(SEEDS), *(number for number in numbers_in(said) if number < 2**64)}
        return [s for s in sorted(tries) if (generator_of(s).permutation(20) + 1 == owner).all()]

    assert found("--seed", SEED) == [SEED]
    assert found() == []


@pytest.mark.parametrize(
    "release",
    [
        lambda: ta.obfuscation.RandomizedResponse(epsilon=1).transform(WANDERERS).codes.tobytes(),
        lambda: ta.obfuscation.GeoInd(expected_noise=100).transform(a_track()).latitude.tobytes(),
        lambda: ta.arena.pseudonymise(ObfuscatedTraces.from_traces(MANY)).id_table.user_ids.tobytes(),
        lambda: ta.synthesis.SGD().fit(WANDERERS).synthesize(2).place_index.tobytes(),
    ],
)
def test_what_is_not_seeded_never_repeats(release: Callable[[], bytes]) -> None:
    assert release() != release()


@pytest.mark.parametrize("option", [("--seed", 3), ("--legacy-2019",)])
def test_a_release_that_can_be_repeated_is_warned_of(tmp_path: Path, option: tuple[object, ...]) -> None:
    said = Release(tmp_path, "RR(1)", WANDERERS, *option).said
    assert "undo this release" in said
    assert "leave" in said


def test_a_release_without_a_seed_tells_of_none(tmp_path: Path) -> None:
    said = Release(tmp_path, "RR(1)", WANDERERS).said
    assert "seed" not in said
    assert "warning" not in said
