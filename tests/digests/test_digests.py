"""What every algorithm and every writer makes of fixed data, by digest: no rearrangement may change it.

Whole numbers are digested as they are, other numbers to nine digits, so that another processor's
last bit does not matter. Where a change of results is meant, the table is made again with
``python -m pytest tests/digests --update-digests`` and the commit says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contest.residents import Residents
from tests.digests.conftest import Known, digest

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import kinds_of
from tracearena.arena import pseudonymise
from tracearena.cities import simulate, simulate_fleet, simulate_gps
from tracearena.contest import simulate_contest
from tracearena.io import FORMATS, write
from tracearena.io.formats.recognition import EITHER
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces


def spec_of(name: str) -> str:
    return catalogue.entries()[name].example if name in catalogue.entries() else name


@pytest.fixture(scope="module")
def walks(make_walks: Callable[..., Traces]) -> Traces:
    return make_walks(users=30, days=4)


@pytest.fixture(scope="module")
def points() -> GpsTraces:
    return simulate_gps(users=3, days=2, seed=1)


@pytest.mark.parametrize("name", catalogue.names("obfuscator"))
def test_defences_release_what_they_did(name: str, walks: Traces, known: Known) -> None:
    released: ObfuscatedTraces = catalogue.create(spec_of(name), "obfuscator").transform(walks, seed=1)
    times = () if released.has_rows_of(walks) else (released.instants,)
    known(name, digest(released.codes, released.sets.offsets, released.sets.members, *times))


LEGACY = ("FuzzyCount-R(log,spread=last)", "FuzzyCount-T(log,spread=last)")
"""What once was the default, by name."""


@pytest.mark.parametrize(
    "name", [*catalogue.names("reidentification"), *catalogue.names("trace-inference"), *LEGACY]
)
def test_attacks_answer_what_they_did(name: str, walks: Traces, known: Known) -> None:
    reference, original = walks.split_days(2)
    released = pseudonymise(PlanarLaplace(l=4, r=1).transform(original, seed=2), seed=3).anonymized
    attack = catalogue.create(spec_of(name)).fit(reference)
    if attack.kind == "reidentification":
        table = attack.identify(released, seed=4)
        known(name, digest(table.pseudonyms, table.user_ids))
    else:
        known(name, digest(attack.infer(released, seed=4).place_index))


@pytest.mark.parametrize("name", catalogue.names("synthesizer"))
def test_synthesizers_make_what_they_did(name: str, walks: Traces, known: Known) -> None:
    made = catalogue.create(spec_of(name)).fit(walks, seed=1).synthesize(2, seed=2)
    known(name, digest(made.instants, made.place_index))


@pytest.mark.parametrize("name", [*catalogue.names("gps-obfuscator"), *catalogue.names("gps-attack")])
def test_gps_algorithms_make_what_they_did(name: str, points: GpsTraces, known: Known) -> None:
    algorithm = catalogue.create(spec_of(name))
    made = (
        algorithm.transform(points, seed=1)
        if "gps-obfuscator" in kinds_of(algorithm)
        else algorithm.recover(catalogue.create("GeoInd(100m,5min)").transform(points, seed=1))
    )
    is_both = len(kinds_of(algorithm)) > 1
    known(f"{name} of points" if is_both else name, digest(made.time_ms, made.latitude, made.longitude))


@pytest.mark.parametrize("name", catalogue.names("gps-synthesizer"))
def test_gps_synthesizers_make_what_they_did(name: str, points: GpsTraces, known: Known) -> None:
    model = catalogue.create(spec_of(name), bounds="34.9,150.0,35.0,150.12").fit(points, seed=1)
    made = model.synthesize(2, seed=2)
    known(name, digest(made.time_ms, made.latitude, made.longitude))


@pytest.mark.parametrize("mode", ["regular", "checkins"])
def test_the_city_lives_as_it_did(mode: Any, known: Known) -> None:
    city = simulate(users=50, days=5, mode=mode, seed=1)
    known(f"city {mode}", digest(city.offsets, city.instants, city.place_index))


def test_receivers_record_what_they_did(points: GpsTraces, known: Known) -> None:
    known("city gps", digest(points.time_ms, points.latitude, points.longitude))


def test_the_fleet_drives_as_it_did(known: Known) -> None:
    fleet = simulate_fleet(vehicles=3, days=2, seed=1)
    known("city fleet", digest(fleet.time_ms, fleet.latitude, fleet.longitude))


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("partitions", *EITHER)])
def test_events_are_written_as_they_were(
    format: str, make_check_ins: Callable[..., Traces], walks: Traces, tmp_path: Path, known: Known
) -> None:
    prepared = {"pwscup": walks, "ppmtf": walks, "peopleflow": walks.take_days(0, 1)}
    written = write(prepared.get(format) or make_check_ins(), tmp_path / "traces.csv", to=format)
    known(f"write {format}", digest(*(np.frombuffer(path.read_bytes(), np.uint8) for path in written)))


@pytest.mark.parametrize("name", ["released.csv", "released.csv of the contest"])
def test_releases_are_written_as_they_were(
    name: str, make_check_ins: Callable[..., Traces], walks: Traces, tmp_path: Path, known: Known
) -> None:
    original = walks if "contest" in name else make_check_ins()
    (written,) = write(PlanarLaplace(l=4, r=1).transform(original, seed=1), tmp_path / "released.csv")
    known(f"write {name}", digest(np.frombuffer(written.read_bytes(), np.uint8)))


@pytest.mark.parametrize("name", ["points.csv", "points.gpx", "folder"])
def test_points_are_written_as_they_were(name: str, points: GpsTraces, tmp_path: Path, known: Known) -> None:
    target = tmp_path / name
    one_file_one_user = points.take_users(np.arange(points.n_users) < 1) if name.endswith("gpx") else points
    write(one_file_one_user, target, to="geolife" if name == "folder" else None)
    files = sorted(target.rglob("*.plt")) if target.is_dir() else [target]
    known(f"write {name}", digest(*(np.frombuffer(path.read_bytes(), np.uint8) for path in files)))


def test_a_contest_ends_as_it_did(known: Known) -> None:
    held = simulate_contest(teams=3, users=40, days=4, maker=Residents(), seed=7)
    text = json.dumps(held.to_dict(), sort_keys=True, default=str)
    rounded = json.dumps(json.loads(text, parse_float=lambda number: f"{float(number):.9g}"), sort_keys=True)
    known("contest", digest(np.frombuffer(rounded.encode(), np.uint8)))
