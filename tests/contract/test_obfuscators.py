"""What every defence keeps to."""

import copy

import numpy as np
import pytest

from tracearena.algorithms import Obfuscator, catalogue
from tracearena.traces import ObfuscatedTraces, Traces

PARAMETERS = {"MRLH": "(1,1,0.5)", "RR": "(2)", "PL": "(4,1)", "Cheat": "(0.5)", "ClusterAveraging": "(0.7)"}
SHAPES = ["ordinary", "one user", "one event", "half missing", "nothing"]


@pytest.fixture(params=catalogue.names("obfuscator"))
def obfuscator(request: pytest.FixtureRequest) -> Obfuscator:
    made: Obfuscator = catalogue.create(request.param + PARAMETERS.get(request.param, ""), "obfuscator")
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_every_event_is_answered_where_it_stands(
    obfuscator: Obfuscator, shapes: dict[str, Traces], shape: str
) -> None:
    original = shapes[shape]
    released = obfuscator.transform(original, seed=1)
    assert isinstance(released, ObfuscatedTraces)
    assert released.has_rows_of(original)
    assert np.array_equal(released.user_ids, original.user_ids)
    assert released.span == original.span


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_gives_the_same_release(
    obfuscator: Obfuscator, shapes: dict[str, Traces], shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = obfuscator.transform(shapes[shape], seed=7)
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    assert obfuscator.transform(shapes[shape], seed=7) == released


def test_another_seed_gives_another_release(obfuscator: Obfuscator, shapes: dict[str, Traces]) -> None:
    if str(obfuscator) == "No":
        pytest.skip("draws nothing")
    first, second = (obfuscator.transform(shapes["ordinary"], seed=seed) for seed in (1, 2))
    assert first != second


def test_the_original_is_left_alone(obfuscator: Obfuscator, shapes: dict[str, Traces]) -> None:
    original = shapes["ordinary"]
    before = copy.deepcopy(original)
    obfuscator.transform(original, seed=1)
    assert original == before


def test_its_name_makes_it_again(obfuscator: Obfuscator) -> None:
    assert catalogue.create(str(obfuscator), "obfuscator") == obfuscator
