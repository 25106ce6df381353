"""What every algorithm of the catalogue keeps to, whatever its kind.

The catalogue names the algorithms and an example of each; what its kind takes and gives is read from
the kind's own methods. A new algorithm is tried here as soon as it has a line in the catalogue.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from tests.contract.conftest import Points, Releases, Shapes
from tests.threads import on_threads

from tracearena.algorithms import Algorithm, catalogue, validation
from tracearena.algorithms.base import KINDS, Defence, Kind, constructor_fields, kinds_of, parameter_fields
from tracearena.errors import DataError, ParameterError
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

VARIANTS = [
    "MRLH(1,1,0.5,legacy_2019=true)",
    "RR(2,legacy_2019=true)",
    "PL(4,1,legacy_2019=true)",
    "Cheat(0.5,legacy_2019=true)",
    "Fakes(uniform,3,0.5)",
    "VisitProb-R(legacy_2019=true)",
    "HomeProb-T(legacy_2019=true)",
    "FuzzyCount-R(count-idf)",
    "PPMTF(2,20,iterations=4,shared_factors=false)",
    "SGD(2)",
    "SGLT(privacy_tests=false)",
    "SGLT(4,privacy_tests=false,legacy_sglt=true)",
    "GeoInd(epsilon=0.02)",
    "Zones(500m,0)",
    "Zones(1km,places=1)",
    "Smooth(4,true)",
    "PrivateTrips(2,trip)",
    "SwapTimes(300m,day)",
    "SwapTimes(100km,all)",
    "RoundTime(day)",
    "RoundTime(20min)",
    "PL(4,1)+SwapTimes(1km,week)",
    "PerDay(3)+RR(2)+RoundTime(part)",
    "MRLH(1,1,0.5)+SwapHours(1km)",
    "Snap(500m)+PerDay(12)+SwapTimes(1km,day)",
    "Thin(60s)+GeoInd(100m)+Resample(10min)",
    "PerDay(3)+RoundTime(day)",
]
"""Ways of working beside those of the catalogue's examples."""
SPECS = [*(entry.example for entry in catalogue.entries().values()), *VARIANTS]
BOTH = [spec for spec in SPECS if len(kinds_of(catalogue.create(spec))) > 1]
"""Those of several kinds: under their names they are tried as their first, with `AS_GPS` as the other."""
AS_GPS = " of points"
SPECS += [f"{spec}{AS_GPS}" for spec in BOTH]
SHAPES = ["ordinary", "one user", "one event", "half missing", "nothing"]
RELEASES = [*SHAPES, "all deleted", "all one set", "mixed", "fewer pseudonyms"]
TRACES = (Traces, ObfuscatedTraces, GpsTraces)
DAYS = 2
BOX = "34.9,150.0,35.0,150.12"
"""The public box of algorithms that need one: that of the embedded city."""


def create(spec: str) -> Any:
    """Make the algorithm of a spec, which says as what it is tried."""
    return catalogue.create(spec.removesuffix(AS_GPS), bounds=BOX)


def kind_of(spec: str) -> Kind:
    """Return as what an algorithm is tried."""
    return "gps-obfuscator" if spec.endswith(AS_GPS) else create(spec).kind


def of_kinds(*kinds: str) -> list[str]:
    return [spec for spec in SPECS if kind_of(spec) in kinds]


ATTACKS = of_kinds("reidentification", "trace-inference")
SYNTHESIZERS = of_kinds("synthesizer")
GPS_SYNTHESIZERS = of_kinds("gps-synthesizer")
CASES = [
    (spec, shape)
    for spec in SPECS
    for shape in (RELEASES if spec in ATTACKS else SHAPES)
    if not (spec in SYNTHESIZERS and shape == "nothing")
]
"""Every algorithm with every shape that its kind can be given."""


def methods(algorithm: Algorithm) -> dict[str, type | None]:
    """Return the methods of the kind, each with the kind of traces that it takes, if any."""
    base, known = KINDS[algorithm.kind], {kind.__name__: kind for kind in TRACES}
    taken = {
        name: list(signature(getattr(base, name)).parameters.values()) for name in base.__abstractmethods__
    }
    return {name: known.get(asked[1].annotation) for name, asked in taken.items()}


def called(algorithm: Algorithm, method: str, given: object) -> object:
    """Call a method of the kind with what is given, and with a seed if it takes one."""
    seeded = "seed" in signature(getattr(KINDS[algorithm.kind], method)).parameters
    return getattr(algorithm, method)(given, **({"seed": 1} if seeded else {}))


def also_taken(algorithm: Algorithm) -> list[type]:
    """Return what an algorithm takes besides: of another kind, or the release of an earlier defence."""
    takes_points = kinds_of(algorithm)[1:] == ("gps-obfuscator",) or getattr(algorithm, "takes_points", False)
    served = [GpsTraces] if takes_points else []
    follows = algorithm.kind in ("obfuscator", "synthesizer")
    return [*served, ObfuscatedTraces] if follows else served


@pytest.fixture
def data(shapes: Shapes, releases: Releases, points: Points) -> Callable[[str, str], Any]:
    """What an algorithm is given: traces of its kind and of a shape, for an attack with a reference."""

    def of(spec: str, shape: str) -> Any:
        kind = kind_of(spec)
        if kind.startswith("gps"):
            return points[shape]
        return releases[shape] if kind in ("reidentification", "trace-inference") else shapes[shape]

    return of


def used(algorithm: Any, given: Any, seed: Any = 1) -> Any:
    """Let an algorithm do its work; `answers` refuses what is not asked of its kind."""
    if isinstance(algorithm, Defence):
        asked = validation.run_gps_transform if isinstance(given, GpsTraces) else validation.run_transform
        return asked(algorithm, given, seed=seed)
    if algorithm.kind == "gps-attack":
        return validation.run_recover(algorithm, given)
    if algorithm.kind.endswith("synthesizer"):
        validation.run_fit(algorithm, given, seed=1)
        return validation.run_synthesize(algorithm, given, DAYS, seed=seed)
    reference, anonymized = given
    validation.run_fit(algorithm, reference)
    asked = validation.run_identify if algorithm.kind == "reidentification" else validation.run_infer
    return asked(algorithm, anonymized, reference, seed=seed)


def draws(algorithm: Algorithm, given: Any) -> bool:
    """Whether the algorithm takes anything from the source of chance that it is given."""
    if algorithm.get_params(deep=False).get("legacy_2019"):
        return True  # The programs of 2019 knew numbers only.
    source = np.random.default_rng(1)
    before = copy.deepcopy(source.bit_generator.state)
    used(algorithm, given, seed=source)
    return bool(source.bit_generator.state != before)


@pytest.mark.parametrize(("spec", "shape"), CASES)
def test_it_answers_what_its_kind_is_asked_for(spec: str, shape: str, data: Any) -> None:
    algorithm = create(spec)
    given = data(spec, shape)
    answer = used(algorithm, given)
    if isinstance(answer, Traces) and algorithm.kind == "trace-inference":
        assert answer.is_complete
        assert answer.span == given[1].span
    if isinstance(algorithm, Defence):
        assert len(answer) <= len(given)
    if kind_of(spec) == "obfuscator" and algorithm.keeps_times:
        assert answer.has_rows_of(given)


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        case if case[1] in ("ordinary", "mixed") else pytest.param(*case, marks=pytest.mark.long)
        for case in CASES
    ],
)
def test_a_seed_fixes_the_answer_on_any_number_of_threads(spec: str, shape: str, data: Any) -> None:
    algorithm = create(spec)
    given = data(spec, shape)
    one, three = (on_threads(count, lambda: used(algorithm, given, seed=7)) for count in (1, 3))
    assert one == three


@pytest.mark.parametrize(
    "spec", [*of_kinds("obfuscator", "gps-obfuscator"), *SYNTHESIZERS, *GPS_SYNTHESIZERS]
)
def test_another_seed_gives_another_answer_to_those_who_draw(spec: str, data: Any) -> None:
    algorithm = create(spec)
    given = data(spec, "ordinary")
    first, second = (used(algorithm, given, seed=seed) for seed in (1, 2))
    assert (first != second) == draws(algorithm, given)


@pytest.mark.parametrize("spec", SPECS)
def test_what_it_is_given_is_left_alone(spec: str, data: Any) -> None:
    algorithm = create(spec)
    given = data(spec, "mixed" if spec in ATTACKS else "half missing")
    before = copy.deepcopy(given)
    used(algorithm, given)
    assert given == before


@pytest.mark.parametrize("spec", SPECS)
def test_its_name_makes_it_again(spec: str) -> None:
    algorithm = create(spec)
    written = {field.name for field in parameter_fields(type(algorithm))}
    settings = {
        name: value for name, value in algorithm.get_params(deep=False).items() if name not in written
    }
    assert catalogue.create(str(algorithm), kinds_of(algorithm), **settings) == algorithm
    assert str(catalogue.create(str(algorithm))) == str(algorithm)


@pytest.mark.parametrize("spec", SPECS)
def test_its_parameters_make_it_again_and_are_all_it_is(spec: str, data: Any) -> None:
    algorithm = create(spec)
    again = type(algorithm)(**algorithm.get_params(deep=False))
    assert again == algorithm
    assert hash(again) == hash(algorithm)
    assert repr(again) == repr(algorithm)
    used(algorithm, data(spec, "ordinary"))
    assert again == algorithm
    assert again.get_params(deep=False) == algorithm.get_params(deep=False)
    assert repr(again) == repr(algorithm)
    shown = [f"{field.name}=" for field in constructor_fields(type(algorithm)) if field.repr]
    assert all(name in repr(algorithm) for name in shown)


@pytest.mark.parametrize("spec", SPECS)
def test_its_parameters_cannot_be_set(spec: str) -> None:
    algorithm = create(spec)
    for name, value in algorithm.get_params(deep=False).items():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, name, value)


@pytest.mark.parametrize("spec", SPECS)
def test_scikit_learn_clones_it_without_what_it_has_learned(spec: str, data: Any) -> None:
    algorithm = create(spec)
    used(algorithm, data(spec, "ordinary"))
    again = clone(algorithm)
    assert type(again) is type(algorithm)
    assert again == algorithm
    assert not [name for name in vars(again) if name.endswith("_")]


@pytest.mark.parametrize("spec", SPECS)
def test_its_parameters_are_set_together_or_not_at_all(spec: str) -> None:
    algorithm, again = create(spec), create(spec)
    vars(algorithm)["learned_"] = 1
    assert algorithm.set_params(**algorithm.get_params(deep=False)) is algorithm
    assert algorithm == again
    assert "learned_" not in vars(algorithm)
    with pytest.raises(ParameterError, match="has no parameter 'colour'"):
        algorithm.set_params(colour="red")
    assert algorithm == again


@pytest.mark.parametrize("spec", SPECS)
def test_it_is_a_step_of_scikit_learns_pipelines(spec: str, data: Any) -> None:
    algorithm = create(spec)
    if algorithm.kind == "gps-attack":
        return  # it learns nothing and releases nothing
    given = data(spec, "ordinary")
    if spec in ATTACKS:
        assert Pipeline([("attack", algorithm)]).fit(given[0])["attack"] is algorithm
        used(algorithm, given)
        return
    pipeline = Pipeline([("first", algorithm)])
    made = pipeline.fit_transform(given, first__seed=7)
    if isinstance(algorithm, Defence):
        assert made == algorithm.transform(given, seed=7)
        assert pipeline.transform(given).n_users == given.n_users
    else:
        assert np.array_equal(made.user_ids, given.user_ids)
        assert made == algorithm.fit_transform(given, seed=7)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "fit" in methods(create(spec))])
def test_it_says_that_it_has_learned_nothing_yet(spec: str, data: Any) -> None:
    algorithm = create(spec)
    given = data(spec, "ordinary")
    for method, taken in methods(algorithm).items():
        if method != "fit":
            with pytest.raises(DataError, match=r"is not trained: call fit first") as refused:
                called(algorithm, method, DAYS if taken is None else given[1])
            assert str(refused.value).startswith(str(algorithm))
    with pytest.raises(NotFittedError):  # of scikit-learn, which looks for attributes that end in _
        check_is_fitted(algorithm)
    check_is_fitted(algorithm.fit(given if spec in [*SYNTHESIZERS, *GPS_SYNTHESIZERS] else given[0]))


@pytest.mark.parametrize("spec", SPECS)
def test_it_names_the_kind_of_traces_that_it_works_on(
    spec: str, data: Any, shapes: Shapes, releases: Releases, points: Points
) -> None:
    algorithm = create(spec)
    used(algorithm, data(spec, "ordinary"))
    for method, taken in methods(algorithm).items():
        others: list[Any] = [shapes["ordinary"], releases["ordinary"][1], points["ordinary"], None, "a.csv"]
        for other in others if taken is not None else ():
            if not isinstance(other, (taken, *also_taken(algorithm))):
                with pytest.raises(DataError, match=f"works on {taken.__name__}; it got") as refused:
                    called(algorithm, method, other)
                assert str(refused.value).startswith(str(algorithm))


PRIVATE = [spec for spec in SPECS if hasattr(type(create(spec)), "guarantee")]


@pytest.mark.parametrize("spec", [spec for spec in SYNTHESIZERS if spec not in PRIVATE])
def test_nothing_is_learned_from_nothing(spec: str, data: Any) -> None:
    algorithm = create(spec)
    with pytest.raises(DataError, match="at least one user and one event"):
        algorithm.fit(data(spec, "nothing"), seed=1)


@pytest.mark.parametrize("spec", PRIVATE)
def test_that_there_is_no_data_is_as_private_as_data(spec: str, data: Any) -> None:
    # A refusal would say that there is none.
    assert create(spec).fit(data(spec, "nothing"), seed=1).synthesize(1, seed=1).n_users == 3


@pytest.mark.parametrize("spec", [*SYNTHESIZERS, *GPS_SYNTHESIZERS])
def test_traces_are_counted_in_whole_numbers(spec: str, data: Any) -> None:
    algorithm = create(spec)
    algorithm.fit(data(spec, "ordinary"), seed=1)
    for wanted in (0, -1, 1.0, True, "2"):
        with pytest.raises(ParameterError, match="traces_per_user"):
            algorithm.synthesize(wanted, seed=1)


def test_all_seven_kinds_are_tried() -> None:
    assert {kind_of(spec) for spec in SPECS} == set(KINDS)
    assert all(any(methods(create(spec)).values()) for spec in SPECS)
    assert {name for kind in KINDS.values() for name in kind.__abstractmethods__} == {
        "fit",
        "identify",
        "infer",
        "recover",
        "synthesize",
        "transform",
    }
