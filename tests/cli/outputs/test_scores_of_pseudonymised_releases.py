"""A release under other ids is judged by who is who, or not at all: never 0.0 because ids differ."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.arena import uniqueness
from tracearena.errors import DataError
from tracearena.io import read, write
from tracearena.metrics.applications import compare_homes, distance_error, hotspots
from tracearena.traces import GpsTraces

COMMANDS = ("uniqueness", "homes", "error", "hotspots")
TABLES = ("ptable.csv", "swapped.csv")


def answer(command: str, folder: Path, released: str, *more: object) -> dict[str, Any]:
    seed = ("--seed", 1, "--draws", 20) if command == "uniqueness" else ()
    both = ("--original", folder / "original.csv", "--released", folder / released)
    done = tracearena("applications", command, *both, *seed, *more, "--json")
    assert done.status == 0, done.err
    result: dict[str, Any] = done.json
    return result


@pytest.fixture(scope="module")
def original() -> GpsTraces:
    people = ta.cities.simulate_gps(users=16, days=2, seed=3)
    return people.take_users(np.flatnonzero(np.diff(people.offsets))[:12])


@pytest.fixture(scope="module")
def folder(original: GpsTraces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Original, a release under the same ids, the same under pseudonyms, and who is who."""
    place = tmp_path_factory.mktemp("release")
    released = ta.obfuscation.GeoInd(expected_noise=100).transform(original, seed=2)
    pseudonyms = np.random.default_rng(1).permutation(released.n_users) + 9001
    hidden = released.with_user_ids(pseudonyms).take_users(np.argsort(pseudonyms))
    write(original, place / "original.csv")
    write(released, place / "released.csv")
    write(hidden, place / "hidden.csv")
    users = read(place / "original.csv").traces.user_ids
    rows = sorted(zip(pseudonyms.tolist(), users.tolist(), strict=True))
    for name, header, lines in (
        ("ptable.csv", ("pse_id", "user_id"), rows),
        ("swapped.csv", ("user_id", "pseudonym"), [row[::-1] for row in rows]),
        ("wrong.csv", ("pse_id", "user_id"), [(a, users[at]) for at, (a, _) in enumerate(rows)]),
        ("short.csv", ("pse_id", "user_id"), rows[1:]),
    ):
        with (place / name).open("w", newline="") as file:
            csv.writer(file).writerows([header, *lines])
    return place


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_other_ids_are_refused_by_a_sentence_that_names_the_option(folder: Path, command: str) -> None:
    both = ("--original", folder / "original.csv", "--released", folder / "hidden.csv")
    done = tracearena("applications", command, *both)
    assert done.status == 2
    assert "--id-table" in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "table"),
    [
        *(("homes", table) for table in TABLES),
        *(
            pytest.param(n, table, marks=pytest.mark.long)
            for n in COMMANDS
            if n != "homes"
            for table in TABLES
        ),
    ],
)
def test_with_the_table_the_figures_are_those_of_the_release(folder: Path, command: str, table: str) -> None:
    named = answer(command, folder, "hidden.csv", "--id-table", folder / table)
    assert named == answer(command, folder, "released.csv")


@pytest.mark.slow
@pytest.mark.parametrize(("table", "said"), [("wrong.csv", "does not belong"), ("short.csv", "no row for")])
def test_a_table_of_another_release_is_refused(folder: Path, table: str, said: str) -> None:
    both = ("--original", folder / "original.csv", "--released", folder / "hidden.csv")
    done = tracearena("applications", "homes", *both, "--id-table", folder / table)
    assert done.status == 2
    assert said in done.err


@pytest.mark.slow
def test_a_partial_overlap_is_counted_and_said(folder: Path, original: GpsTraces) -> None:
    ids = original.user_ids.tolist()
    some = original.with_user_ids([*ids[:9], 701, 702, 703])
    write(some, folder / "some.csv")
    both = ("--original", folder / "original.csv", "--released", folder / "some.csv")
    done = tracearena("applications", "uniqueness", *both, "--seed", 1, "--draws", 5, "--json")
    result = done.json
    assert (result["users"], result["not_released"], result["strangers"]) == (12, 3, 3)
    assert "3 of 12 released users are not in the original" in done.err
    assert "3 of 12 users have no points in the release" in done.err


def test_in_python_the_table_is_a_mapping(original: GpsTraces) -> None:
    ids = original.user_ids.tolist()
    hidden = original.with_user_ids([f"p{user}" for user in ids])
    table = {f"p{user}": user for user in ids}
    for judge in (uniqueness, compare_homes, distance_error, hotspots):
        with pytest.raises(DataError, match="id_table="):
            judge(original, hidden)
    assert uniqueness(original, hidden, id_table=table, draws=3, seed=1).linked[5] == 1
    assert compare_homes(original, hidden, id_table=table).home_found == 1
    assert distance_error(original, hidden, id_table=table).max_m == 0
    assert hotspots(original, hidden, id_table=table).offloaded == 1


def test_ids_that_are_the_same_words_for_other_people_are_refused(original: GpsTraces) -> None:
    swapped = original.with_user_ids(np.roll(original.user_ids, 1))
    noisy = ta.obfuscation.GeoInd(expected_noise=500).transform(swapped, seed=1)
    for judge in (uniqueness, compare_homes, distance_error):
        with pytest.raises(DataError, match="the recording times of another user"):
            judge(original, noisy)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["GeoInd(2km, 30min)", "Thin(1h)", "Snap(5km)"])
def test_honest_ids_are_not_taken_for_pseudonyms(original: GpsTraces, mechanism: str) -> None:
    released = ta.algorithms.catalogue.create(mechanism, "gps-obfuscator").transform(original, seed=1)
    assert uniqueness(original, released, draws=2, seed=1).users == 12


def test_homes_say_what_chance_gives() -> None:
    """Four people in two houses: another's home is right for one of the three others."""
    hours = np.arange(0, 240)
    n = len(hours)
    latitude = np.repeat([40.0, 40.0, 40.1, 40.1], n)
    original = GpsTraces.from_points(
        np.repeat([1, 2, 3, 4], n), np.tile(hours, 4) * 3_600_000, latitude, [0.01] * 4 * n
    )
    found = compare_homes(original, original)
    assert (found.home_found, found.users_with_home, found.users_released) == (1, 4, 4)
    assert found.home_chance == pytest.approx(1 / 3)
    far = compare_homes(original, original.with_positions(original.latitude + 1, original.longitude))
    assert (far.home_found, far.home_chance) == (0, 0)
    assert compare_homes(original.take_users([0]), original.take_users([0])).home_chance is None
