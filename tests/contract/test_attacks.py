"""What every attack keeps to."""

import copy

import numpy as np
import pytest

from tracearena.algorithms import ReidentificationAttack, TraceInferenceAttack, catalogue
from tracearena.traces import ObfuscatedTraces, Traces

SHAPES = [
    "ordinary",
    "one user",
    "one event",
    "half missing",
    "nothing",
    "all deleted",
    "all one set",
    "mixed",
    "fewer pseudonyms",
]
Releases = dict[str, tuple[Traces, ObfuscatedTraces]]


@pytest.fixture(params=catalogue.names("reidentification"))
def identifier(request: pytest.FixtureRequest) -> ReidentificationAttack:
    made: ReidentificationAttack = catalogue.create(request.param, "reidentification")
    return made


@pytest.fixture(params=catalogue.names("trace-inference"))
def inferrer(request: pytest.FixtureRequest) -> TraceInferenceAttack:
    made: TraceInferenceAttack = catalogue.create(request.param, "trace-inference")
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pseudonym_gets_a_known_user(
    identifier: ReidentificationAttack, releases: Releases, shape: str
) -> None:
    reference, anonymized = releases[shape]
    table = identifier.fit(reference).identify(anonymized, seed=1)
    assert np.array_equal(table.pseudonyms, anonymized.user_ids)
    assert np.isin(table.user_ids, reference.user_ids).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_user_gets_a_place_at_every_instant(
    inferrer: TraceInferenceAttack, releases: Releases, shape: str
) -> None:
    reference, anonymized = releases[shape]
    inferred = inferrer.fit(reference).infer(anonymized, seed=1)
    assert inferred.is_complete
    assert inferred.span == anonymized.span
    assert np.array_equal(inferred.user_ids, reference.user_ids)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_gives_the_same_answer(
    identifier: ReidentificationAttack,
    inferrer: TraceInferenceAttack,
    releases: Releases,
    shape: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference, anonymized = releases[shape]
    table = identifier.fit(reference).identify(anonymized, seed=3)
    inferred = inferrer.fit(reference).infer(anonymized, seed=3)
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    assert identifier.identify(anonymized, seed=3) == table
    assert inferrer.infer(anonymized, seed=3) == inferred


def test_what_is_given_is_left_alone(
    identifier: ReidentificationAttack, inferrer: TraceInferenceAttack, releases: Releases
) -> None:
    reference, anonymized = releases["mixed"]
    before = copy.deepcopy((reference, anonymized))
    identifier.fit(reference).identify(anonymized, seed=1)
    inferrer.fit(reference).infer(anonymized, seed=1)
    assert (reference, anonymized) == before


def test_its_name_makes_it_again(identifier: ReidentificationAttack, inferrer: TraceInferenceAttack) -> None:
    assert catalogue.create(str(identifier)) == identifier
    assert catalogue.create(str(inferrer)) == inferrer
