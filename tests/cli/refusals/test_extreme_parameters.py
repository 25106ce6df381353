"""Extreme but allowed parameters: no library has a reason to warn, and no user sees it if one does."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.arena import make_attacks, pseudonymise
from tracearena.cities.gps import simulate_gps
from tracearena.errors import TracearenaError
from tracearena.io import pwscup
from tracearena.metrics import utility_score
from tracearena.traces import Box, GpsTraces, Traces

NUMBERS = ("0", "1e-300", "1e-12", "0.5", "1", "36.7", "700", "709", "745", "746", "1e9", "1e300")
LENGTHS = ("1e-9m", "1m", "1e6m", "1e18m", "1e300m")
SPANS = ("0.001s", "1s", "1e9s", "1e300s")
EXTREMES = {
    "MRLH": [f"({x},{y},{d})" for x, y, d in product(("0", "1", "1000"), ("0", "1000"), ("0", "0.5", "1"))],
    "RR": [f"({e})" for e in NUMBERS],
    "PL": [f"({level},{r})" for level, r in product(NUMBERS, ("1e-300", "1", "1e300"))],
    "Cheat": ["(0)", "(1e-300)", "(1)"],
    "ClusterAveraging": [
        f"({t},{k},{b},{limit})"
        for t, k, b, limit in product(
            ("0", "0.7"),
            ("2", "100"),
            ("0", "1e-300", "1", "10", "1e3", "1e4", "1e5", "1e6", "1e9", "1e300"),
            ("1e-300", "2"),
        )
    ],
    "KAnonymous": [
        f"({k},{w},{limit})"
        for k, w, limit in product(("1", "2", "1000"), ("move", "generalise"), ("1e-300", "2", "1e9"))
    ],
    "Decoy": [
        f"({t},{n},{b},{limit})"
        for t, n, b, limit in product(
            ("0", "0.7"), ("0", "1e-300", "1e6"), ("0", "1e-300", "1", "1e9"), ("1e-300", "2")
        )
    ],
    "Impostor": [
        f"({t},{p},{n},{b})"
        for t, p, n, b in product(("0", "0.7"), ("1", "48"), ("0", "1e-300", "1e6"), ("0", "1e-300", "1e9"))
    ],
    "Fakes": [f"({m},{n},{e})" for m, n, e in product(("uniform", "walk"), ("1", "10"), ("1e-300", "1"))],
    "GeoInd": [f"({d})" for d in LENGTHS] + [f"(epsilon={e})" for e in ("1e-300", "1", "700", "1e300")],
    "Thin": [f"({t})" for t in SPANS],
    "Snap": [f"({d})" for d in LENGTHS],
    "Zones": [f"({d})" for d in LENGTHS] + ["(1,1)", "(100km,100km)", "(500,0)", "(500,1e-300m)"],
    "TrimEnds": [f"({d})" for d in LENGTHS],
    "FuzzyCount-R": [
        f"({w},{e},{d})" for w, e, d in product(("log", "count-idf"), NUMBERS, ("0", "1", "1e300"))
    ],
    "FuzzyCount-T": [f"({w},{e},1)" for w, e in product(("count", "log-idf"), NUMBERS)],
    "PPMTF": [f"(factors=2,alpha={a},iterations=2)" for a in NUMBERS],
    "SGD": ["(0)", "(1)", "(1000000)"],
    "SGLT": [f"({c},{p},{p},{p},{v})" for c, p, v in product(("1", "3"), ("0", "1"), ("1", "1e9", "1e300"))],
    "Smooth": [f"({k},{f})" for k, f in product(("1", "9", "1000001"), ("false", "true"))],
    "Interpolate+Smooth": [f"({k},{f})" for k, f in product(("1", "1000001"), ("false", "true"))],
}


def specs(name: str) -> list[str]:
    """The extremes of an algorithm's parameters; its example where there are none to go to."""
    return [name + given for given in EXTREMES.get(name, [])] or [catalogue.entries()[name].example]


@pytest.fixture(scope="module")
def events(make_walks: Callable[..., Traces]) -> list[Traces]:
    return [
        make_walks(users=40),
        make_walks(users=1, days=1, side=2),
        make_walks(users=6, missing=0.6),
        make_walks(users=3, side=3, missing=1.0),
    ]


@pytest.fixture(scope="module")
def points() -> list[GpsTraces]:
    some = simulate_gps(2, 1, seed=1)
    return [some, some.take_box(Box(0, 0, 1, 1))]


def attack(name: str, original: Traces) -> None:
    reference = original
    for defence in ("No", "MRLH(0,0,1)"):
        release = pseudonymise(catalogue.create(defence).transform(original, seed=1), seed=1)
        (attacker,) = make_attacks([name])
        attacker.fit(reference)
        answer = attacker.identify if name.partition("(")[0].endswith("-R") else attacker.infer
        answer(release.anonymized, seed=1)


def synthesize(name: str, training: Traces) -> None:
    catalogue.create(name).fit(training, seed=1).synthesize(2, seed=1)


def synthesize_trips(name: str, training: GpsTraces) -> None:
    model = catalogue.create(name).set_params(bounds="-80,-170,80,170")
    model.fit(training, seed=1).synthesize(2, seed=1)


def obfuscate(name: str, original: Traces) -> None:
    defence = catalogue.create(name)
    released = defence.transform(original, seed=1)
    if defence.keeps_times:
        utility_score(original, released)


def used(
    entry: str, name: str, events: list[Traces], points: list[GpsTraces]
) -> Iterator[Callable[[], object]]:
    for kind in catalogue.entries()[entry].kinds:
        if kind.startswith("gps"):
            for some in points:
                if kind == "gps-obfuscator":
                    yield lambda some=some: catalogue.create(name).transform(some, seed=1)
                elif kind == "gps-synthesizer":
                    yield lambda some=some: synthesize_trips(name, some)
                else:
                    yield lambda some=some: catalogue.create(name).recover(some)
            continue
        act = {"obfuscator": obfuscate, "synthesizer": synthesize}.get(kind, attack)
        for some in events:
            yield lambda some=some, act=act: act(name, some)


def test_extremes_are_those_of_algorithms_that_there_are():
    assert set(EXTREMES) <= set(catalogue.entries())


@pytest.mark.slow
@pytest.mark.parametrize("entry", catalogue.entries())
def test_some_extreme_parameters_make_no_library_warn(entry, events, points):
    every = specs(entry)
    check(entry, random.Random(1).sample(every, min(6, len(every))), events, points)


@pytest.mark.long
@pytest.mark.parametrize("entry", EXTREMES)
def test_no_allowed_parameter_makes_a_library_warn(entry, events, points):
    check(entry, specs(entry), events, points)


def check(entry: str, names: list[str], events: list[Traces], points: list[GpsTraces]) -> None:
    worked = 0
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        for spec in names:
            for work in used(entry, spec, events, points):
                try:
                    work()
                    worked += 1
                except TracearenaError:
                    continue
                except (Warning, ArithmeticError) as error:
                    pytest.fail(f"{spec}: {type(error).__name__}: {error}")
    assert worked


@pytest.mark.slow
@pytest.mark.parametrize(
    "defence",
    [
        "RR(700)",
        pytest.param("RR(745)", marks=pytest.mark.long),
        pytest.param("ClusterAveraging(0.7,2,1e9)", marks=pytest.mark.long),
    ],
)
def test_stderr_has_the_seed_and_nothing_else(tmp_path, make_walks, defence):
    walks = make_walks(users=40)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    command = [
        sys.executable,
        "-W",
        "default",
        "-m",
        "tracearena",
        "obfuscate",
        defence,
        "org.csv",
        "ano.csv",
    ]
    done = subprocess.run(
        [*command, "--places", "places.csv", "--seed", "1"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "Warning" not in done.stderr


PLUG_IN = '''
import warnings
import numpy as np
from tracearena.errors import TracearenaWarning
from tracearena.obfuscation import NoObfuscation


class Careless(NoObfuscation):
    """Warns in four ways."""

    name = "Careless"

    def transform(self, original, *, seed=None):
        np.float64(1) / np.float64(0)
        warnings.warn("a library grows old", DeprecationWarning)
        warnings.warn("the user wrote this")
        warnings.warn("two users look alike", TracearenaWarning)
        return super().transform(original, seed=seed)
'''


@pytest.mark.slow
def test_a_warning_of_ones_own_is_a_sentence_without_a_path(tmp_path, make_walks):
    walks = make_walks(users=4)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    (tmp_path / "careless.py").write_text(PLUG_IN)
    command = [sys.executable, "-m", "tracearena", "obfuscate", "careless:Careless", "org.csv", "ano.csv"]
    done = subprocess.run(
        [*command, "--places", "places.csv"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "warn" in line.lower() or "old" in line] == [
        "warning: the user wrote this",
        "warning: two users look alike",
        "warning: careless:Careless changed nothing: ano.csv has every event at its original place; the "
        "places may be too far apart",
    ]
    assert str(Path(tmp_path)) not in done.stderr
