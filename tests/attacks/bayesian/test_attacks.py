"""The attacks as a whole: awkward data, what they are told, and that they are strong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.attacks.bayesian.releases import in_another_order, released
from tests.threads import on_threads

from tracearena.algorithms import catalogue, validation
from tracearena.algorithms.base import Obfuscator
from tracearena.attacks.bayesian import BayesIdentification, BayesInference, TrackingInference
from tracearena.attacks.bayesian.likelihoods import build_mixtures
from tracearena.attacks.bayesian.matcher import BayesMatcher, split_by_time
from tracearena.cities import simulate
from tracearena.engine import SeedLike
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.contest_scores import reidentification_score, trace_inference_score
from tracearena.traces import Clock, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

NAMES = ["Polya-R", "Markov-R", "Bayes-R", "Bayes-T", "Tracking-T", "Habits-T"]
TOLD = [name for name in NAMES if name != "Habits-T"]
CLOCK = Clock(instants_per_day=4, start_s=0, interval_s=6 * 3600)


@dataclass(frozen=True, kw_only=True)
class NextDoor(Obfuscator):
    """Answer the place whose number is one higher: a defence that no attack has heard of."""

    name: ClassVar[str] = "NextDoor"

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        return ObfuscatedTraces.like(original, (original.place_index + 1) % len(original.places))


def answered(attack: Any, reference: Traces, anonymized: ObfuscatedTraces, seed: int = 1) -> Any:
    """Let an attack do its work; `answers` refuses what is not asked of its kind."""
    validation.run_fit(attack, reference)
    asked = validation.run_identify if attack.kind == "reidentification" else validation.run_infer
    return asked(attack, anonymized, reference, seed=seed)


def near(count: int, spread: float = 0.02) -> Places:
    rng = np.random.default_rng(1)
    return Places(rng.uniform(40, 40 + spread, count), rng.uniform(116, 116 + spread, count))


def walks(users: int, days: int, places: Places, *, missing: float = 0.0, seed: int = 0) -> Traces:
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, len(places), (users, days * CLOCK.instants_per_day))
    dense[rng.random(dense.shape) < missing] = -1
    return Traces.from_dense(dense, places, CLOCK)


def tiny() -> Iterator[tuple[str, Traces, ObfuscatedTraces]]:
    """Data that somebody will have, each with what is odd about it."""
    places = near(9)
    for users in (1, 2):
        before, after = walks(users, 4, places).split_days(2)
        yield f"{users} users", before, ObfuscatedTraces.from_traces(after)
    before, after = walks(12, 4, places, missing=0.2).split_days(2)
    release = ObfuscatedTraces.from_traces(after)
    yield "a user without reference events", before.keep(before.user_index != 3), release
    yield "a pseudonym without events", before, release.keep(release.user_index != 5)
    yield "no reference events", before.keep(before.user_index < 0), release
    yield "no events", before, release.keep(release.user_index < 0)
    yield "all deleted", before, ObfuscatedTraces.like(after, np.full(after.n_events, -1))
    every = PlaceSets.of([range(9)])
    yield "all one set", before, ObfuscatedTraces.like(after, np.full(after.n_events, -2), every)
    yield "all one place", before, ObfuscatedTraces.like(after, np.full(after.n_events, 4))
    before, after = walks(12, 4, near(1), missing=0.2).split_days(2)
    yield "one place", before, ObfuscatedTraces.from_traces(after)
    same = Places([40.0] * 5, [116.0] * 5)
    before, after = walks(12, 4, same).split_days(2)
    yield "places at one point", before, ObfuscatedTraces.from_traces(after)
    before, after = walks(12, 4, near(200, 0.001)).split_days(2)
    yield "many places close together", before, ObfuscatedTraces.from_traces(after)
    before, after = walks(12, 2, places).split_days(1)
    yield "one day", before, ObfuscatedTraces.from_traces(after)
    before, after = walks(12, 6, places).split_days(3)
    yield "more users", before, ObfuscatedTraces.from_traces(after.take_users(np.arange(5)))
    yield "more pseudonyms", before.take_users(np.arange(5)), ObfuscatedTraces.from_traces(after)
    rng = np.random.default_rng(5)
    who, where = rng.integers(0, 12, 90), rng.integers(0, 9, 90)
    when = np.sort(rng.choice([3, 4, 5, 90, 91, 400, 402], 90))
    who[:12] = who[-12:] = np.arange(12)
    people = Traces.from_events(who, when, where, places, CLOCK)
    apart = people.take_instants(0, 200), people.take_instants(200, people.span[1])
    yield "gaps of weeks, several events at once", apart[0], ObfuscatedTraces.from_traces(apart[1])
    later = people.take_instants(402, people.span[1])
    yield "a span that begins in the middle of a day", apart[0], ObfuscatedTraces.from_traces(later)


TINY = {name: (reference, release) for name, reference, release in tiny()}


@pytest.mark.parametrize("shape", TINY)
@pytest.mark.parametrize("spec", [*NAMES, "Bayes-R(PL(4,1))", "Tracking-T(PL(4,1))", "Tracking-T(RR(2))"])
def test_there_is_an_answer_to_everything(spec: str, shape: str) -> None:
    reference, release = TINY[shape]
    anonymized, _ = in_another_order(release)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = answered(catalogue.create(spec), reference, anonymized)
    if isinstance(answer, IdTable):
        assert np.isin(answer.user_ids, reference.user_ids).all()
        if anonymized.n_users <= reference.n_users:
            assert answer.is_one_to_one
    else:
        assert answer.is_complete
        assert answer.span == anonymized.span


@pytest.mark.parametrize(
    ("defence", "told"),
    [
        ("No", "unknown"),
        ("PL(4,1)", "unknown"),
        ("PL(4,1)", "PL(4,1)"),
        ("MRLH(1,1,0.3)", "unknown"),
        ("Cheat(0.5)", "Cheat(0.5)"),
        ("ClusterAveraging(0.7,blur_km=0.5)", "ClusterAveraging(0.7,blur_km=0.5)"),
    ],
)
def test_a_seed_and_nothing_else_fixes_the_answer(
    make_walks: Callable[..., Traces], defence: str, told: str
) -> None:
    reference, original = make_walks(users=20, days=6).split_days(3)
    anonymized, _ = in_another_order(released(original, defence))
    for kind in (BayesIdentification, TrackingInference):
        attack = kind(mechanism=told)
        one, three = (
            on_threads(n, lambda attack=attack: answered(attack, reference, anonymized)) for n in (1, 3)
        )
        assert one == three


@pytest.mark.slow
@pytest.mark.parametrize("told", ["unknown", "PL(4,1)"])
def test_they_are_stronger_than_counting_visits(told: str) -> None:
    reference, original = simulate(25, 4, seed=4).split_days(2)
    anonymized, whose = in_another_order(released(original, "PL(4,1)"))
    truth = IdTable(anonymized.user_ids, original.user_ids[whose])

    def missed(spec: str) -> float:
        found = answered(catalogue.create(spec), reference, anonymized)
        if isinstance(found, IdTable):
            return reidentification_score(truth, found).reidentification
        return trace_inference_score(original, found).trace_inference

    assert missed(f"Bayes-R({told})") <= missed("VisitProb-R")
    assert missed(f"Tracking-T({told})") < missed(f"Bayes-T({told})") < missed("VisitProb-T") - 0.05


@pytest.mark.parametrize("name", TOLD)
def test_an_adaptive_attack_waits_to_be_told(make_walks: Callable[..., Traces], name: str) -> None:
    reference, original = make_walks(users=5, days=4).split_days(2)
    anonymized, _ = in_another_order(released(original, "No"))
    attack: Any = catalogue.create(f"{name}(adaptive)").fit(reference)
    ask = attack.identify if attack.kind == "reidentification" else attack.infer
    with pytest.raises(ParameterError, match="adaptive attack gets the defence"):
        ask(anonymized, seed=1)
    defence = catalogue.create("PL(4,1)", "obfuscator")
    told = attack.with_mechanism(defence)
    found = (told.identify if told.kind == "reidentification" else told.infer)(anonymized, seed=1)
    named = answered(catalogue.create(f"{name}(PL(4,1))"), reference, anonymized)
    assert found == named


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize(
    "mechanism", ["Nonsense(1)", "PL(4)", "PL(0,1)", "VisitProb-R", "PL(4,1", "", "Bayes-T(No)"]
)
def test_a_mechanism_that_is_none_is_refused(name: str, mechanism: str) -> None:
    kind = type(catalogue.create(name))
    with pytest.raises(ParameterError) as refused:
        kind(mechanism=mechanism)
    assert str(refused.value)
    with pytest.raises(ParameterError):
        catalogue.create(f"{name}({mechanism or 'nothing'})")


@pytest.mark.parametrize("mechanism", [3, None, ["No"]])
def test_a_mechanism_is_a_name(mechanism: Any) -> None:
    with pytest.raises(ParameterError, match="mechanism must be the name of a defence"):
        BayesInference(mechanism=mechanism)


def test_noise_on_coordinates_is_known_by_its_name(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=12, days=6).split_days(3)
    anonymized, whose = in_another_order(released(original, "PL(2,0.1)"))
    truth = IdTable(anonymized.user_ids, original.user_ids[whose])
    found = answered(catalogue.create("Bayes-R(GeoInd(100m))"), reference, anonymized)
    assert reidentification_score(truth, found).reidentification < 0.4
    assert (
        answered(catalogue.create("Tracking-T(GeoInd(100m))"), reference, anonymized).dense()
        == answered(catalogue.create("Tracking-T(PL(2,0.1))"), reference, anonymized).dense()
    ).mean() > 0.9


@pytest.mark.parametrize("mechanism", ["GeoInd(epsilon=0.02)", "GeoInd(100m,window=300)"])
def test_other_settings_of_the_same_noise_are_known_too(
    make_walks: Callable[..., Traces], mechanism: str
) -> None:
    reference, original = make_walks(users=12, days=4).split_days(2)
    anonymized, _ = in_another_order(released(original, "No"))
    found = answered(catalogue.create(f"Bayes-R({mechanism})"), reference, anonymized)
    assert found.is_one_to_one


@pytest.mark.parametrize("mechanism", ["Thin(60s)", "Snap(500m)"])
def test_a_defence_of_coordinates_that_says_nothing_of_places_is_refused(mechanism: str) -> None:
    with pytest.raises(ParameterError, match="works on GPS traces"):
        catalogue.create(f"Bayes-R({mechanism})")


def test_a_defence_of_ones_own_is_run_on_the_reference(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=25, days=8).split_days(4)
    anonymized, whose = in_another_order(NextDoor().transform(original))
    truth = IdTable(anonymized.user_ids, original.user_ids[whose])
    deceived = answered(BayesIdentification(mechanism="No"), reference, anonymized)
    attack = BayesIdentification(mechanism="adaptive").fit(reference).with_mechanism(NextDoor())
    found = attack.identify(anonymized, seed=1)
    scores = [reidentification_score(truth, one).reidentification for one in (found, deceived)]
    assert scores[0] < scores[1] - 0.1
    tracking = TrackingInference(mechanism="adaptive").fit(reference).with_mechanism(NextDoor())
    inferred = tracking.infer(anonymized, seed=1)
    assert trace_inference_score(original, inferred).trace_inference < 0.2


def test_a_defence_of_ones_own_is_named_by_where_it_is(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=12, days=6).split_days(3)
    anonymized, _ = in_another_order(released(original, "PL(4,1)"))
    path = "tracearena.obfuscation:PlanarLaplace(4,1)"
    assert answered(BayesIdentification(mechanism=path), reference, anonymized) == answered(
        BayesIdentification(mechanism="PL(4,1)"), reference, anonymized
    )


def test_other_places_and_other_days_are_refused(make_walks: Callable[..., Traces]) -> None:
    reference = make_walks(users=3)
    other = ObfuscatedTraces.from_traces(make_walks(users=3, side=4))
    clock = Clock(instants_per_day=10, start_s=0, interval_s=3600)
    days = ObfuscatedTraces.from_traces(Traces.from_dense([[0] * 10], reference.places, clock))
    for name in NAMES:
        attack: Any = catalogue.create(name).fit(reference)
        ask = attack.identify if attack.kind == "reidentification" else attack.infer
        with pytest.raises(DataError, match="places"):
            ask(other)
        with pytest.raises(DataError, match="instants per day"):
            ask(days)


def test_weights_are_pairs_of_a_kind_of_evidence_and_a_number() -> None:
    known = BayesIdentification(weights=(("polya", 1.0), ("home", 0.0)))
    assert known.weights == (("polya", 1.0), ("home", 0.0))
    for wrong in ([("polya", 1.0)], (("polya",),), (("polya", 1.0), ("polya", 2.0)), (("hope", 1.0),)):
        with pytest.raises(ParameterError, match=r"weights = .* must be pairs of"):
            BayesIdentification(weights=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="weight of polya = -1"):
        BayesIdentification(weights=(("polya", -1.0),))


def test_a_reference_is_cut_between_days_or_within_its_only_one(make_walks: Callable[..., Traces]) -> None:
    five = make_walks(users=3, days=5)
    halves = split_by_time(five)
    assert halves is not None
    assert [
        one.clock.day_of(one.instants).max() - one.clock.day_of(one.instants).min() for one in halves
    ] == [2, 1]
    assert [one.n_events for one in halves] == [3 * 3 * 20, 3 * 2 * 20]
    halves = split_by_time(make_walks(users=3, days=1))
    assert halves is not None
    assert [one.n_events for one in halves] == [30, 30]
    assert halves[0].instants.max() < halves[1].instants.min()
    single = Traces.from_dense([[0]], Places([0.0], [0.0]), Clock(instants_per_day=1))
    assert split_by_time(single) is None


def test_calibration_takes_four_hundred_different_people_with_long_traces(
    make_walks: Callable[..., Traces],
) -> None:
    reference, original = make_walks(users=440, days=14, side=4).split_days(12)
    matcher = BayesMatcher(mechanism=catalogue.create("No")).fit(reference)
    calibration = matcher.match(ObfuscatedTraces.from_traces(original), seed=1).calibration
    assert calibration is not None
    assert len(set(calibration.reference.user_ids.tolist())) == calibration.reference.n_users == 400


@pytest.mark.parametrize(("users", "is_calibrated"), [(9, False), (10, True)])
def test_weights_are_learnt_from_ten_people_on(
    make_walks: Callable[..., Traces], users: int, is_calibrated: bool
) -> None:
    reference, original = make_walks(users=users, days=4).split_days(2)
    matcher = BayesMatcher(mechanism=catalogue.create("No")).fit(reference)
    match = matcher.match(ObfuscatedTraces.from_traces(original), seed=1)
    assert (match.calibration is not None) == is_calibrated


def test_transitions_are_tried_where_traces_are_short_and_events_are_treated_singly() -> None:
    """No mixture speaks against what fits, and none relies on transitions in long traces."""
    tried = {
        (by_event, long): build_mixtures(by_event, long_traces=long)
        for by_event in (True, False)
        for long in (True, False)
    }
    assert all((weights >= 0).all() and weights.any(axis=1).all() for _, weights in tried.values())
    kinds, short = tried[True, False]
    only = [{kind for kind, weight in zip(kinds, row, strict=True) if weight} for row in short]
    assert {"home", "markov"} in only
    assert len(tried[True, True][1]) == len(short) - 1
    assert np.array_equal(tried[False, True][1], tried[False, False][1])
