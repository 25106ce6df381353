"""Markov attacks against slow and obvious ways to the same numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.attacks import MembershipInference, SyntheticIdentification
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, Places, Traces

M, DAY, UNSEEN = 4, 3, 1e-8
CLOCK = Clock(instants_per_day=DAY)
PLACES = Places(np.arange(M), np.arange(M))

days = st.integers(1, 3)
seeds = st.integers(0, 10_000)


def random_traces(seed: int, users: int, n_days: int, missing: float = 0.2) -> Traces:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, M, size=(users, n_days * DAY))
    table[rng.random(table.shape) < missing] = -1
    return Traces.from_dense(table, PLACES, CLOCK)


def slow_matrix(trace: list[int]) -> np.ndarray:
    counts = np.zeros((M, M))
    for a, b in itertools.pairwise(trace):
        counts[a, b] += 1
    totals = counts.sum(axis=1, keepdims=True)
    return counts / np.where(totals > 0, totals, 1)


def seen(row: np.ndarray) -> list[int]:
    return [int(place) for place in row if place >= 0]


def floored_log(p: float) -> float:
    return math.log(p if p > 0 else UNSEEN)


@pytest.mark.slow
@examples(60)
@given(seeds, days)
def test_the_answer_is_the_first_of_the_most_likely_users(seed: int, n_days: int) -> None:
    training, synthetic = random_traces(seed, 5, 2), random_traces(seed + 1, 5, n_days)
    matrices = [slow_matrix(seen(row)) for row in training.dense()]
    found = SyntheticIdentification().fit(training).identify(synthetic)
    guesses = np.full((5, n_days), -1)
    guesses[found.users, found.days] = found.answers
    for user, row in enumerate(synthetic.dense()):
        for day in range(n_days):
            trace = seen(row[day * DAY : (day + 1) * DAY])
            if not trace:
                assert guesses[user, day] == -1
                continue
            scores = [sum(floored_log(W[a, b]) for a, b in itertools.pairwise(trace)) for W in matrices]
            best = next(n for n, score in enumerate(scores) if score >= max(scores) - 1e-9)
            assert guesses[user, day] == best


def slow_statistics(training: Traces, testing: Traces, synthetic: Traces, legacy: bool) -> np.ndarray:
    matrices = [slow_matrix(seen(row)) for traces in (training, testing) for row in traces.dense()]
    others = len(matrices) - 1
    rows = []
    for day in range(synthetic.n_instants // DAY):
        largest = [-math.inf] * len(matrices)
        for row in synthetic.dense():
            trace = seen(row[day * DAY : (day + 1) * DAY])
            if not trace:
                continue
            earlier = seen(row[: day * DAY])
            if legacy and earlier:
                trace = [earlier[-1], *trace]
            for n, W in enumerate(matrices):
                rest = sum(V for m, V in enumerate(matrices) if m != n) / others
                ratio = sum(
                    floored_log(W[a, b]) - floored_log(rest[a, b]) for a, b in itertools.pairwise(trace)
                )
                largest[n] = max(largest[n], ratio)
        if math.isfinite(largest[0]):
            rows.append(largest)
    return np.array(rows)


@examples(60)
@given(seeds, days, st.booleans())
def test_the_statistic_is_the_largest_log_likelihood_ratio(seed: int, n_days: int, legacy: bool) -> None:
    training, testing = random_traces(seed, 4, 1, 0.1), random_traces(seed + 1, 3, 2, 0.1)
    synthetic = random_traces(seed + 2, 4, n_days)
    attack = MembershipInference(legacy_ppmtf=legacy).fit(training, testing)
    fast = attack.statistics(synthetic)
    slow = slow_statistics(training, testing, synthetic, legacy)
    assert np.allclose(fast, slow, atol=1e-9)


@examples(40)
@given(seeds, st.booleans())
def test_advantage_and_accuracy_are_the_best_over_the_thresholds(seed: int, legacy: bool) -> None:
    training, testing = random_traces(seed, 5, 1), random_traces(seed + 1, 4, 1)
    synthetic = random_traces(seed + 2, 5, 2)
    attack = MembershipInference(legacy_ppmtf=legacy, thresholds=50).fit(training, testing)
    statistics = attack.statistics(synthetic)
    low, high = max(min(row) for row in statistics), statistics.max()
    advantage, accuracy = -1.0, 0.0
    for i in range(50):
        threshold = low + (high - low) * i / 50
        positive = statistics > threshold if legacy else statistics >= threshold
        tp, fp = positive[:, :5].mean(), positive[:, 5:].mean()
        advantage = max(advantage, tp - fp)
        accuracy = max(accuracy, (positive[:, :5].sum() + (~positive[:, 5:]).sum()) / statistics.size)
    result = attack.evaluate(synthetic)
    assert math.isclose(result.advantage, advantage, abs_tol=1e-12)
    assert math.isclose(result.accuracy, accuracy)
    assert (result.members, result.non_members) == (len(statistics) * 5, len(statistics) * 4)


@examples(40)
@given(seeds)
def test_by_default_no_threshold_is_better_than_the_one_found(seed: int) -> None:
    training, testing = random_traces(seed, 5, 1), random_traces(seed + 1, 4, 1)
    synthetic = random_traces(seed + 2, 5, 2)
    attack = MembershipInference().fit(training, testing)
    statistics, result = attack.statistics(synthetic), attack.evaluate(synthetic)
    rates = [
        ((statistics[:, :5] >= threshold).mean(), (statistics[:, 5:] >= threshold).mean())
        for threshold in [*statistics.ravel(), statistics.max() + 1]
    ]
    assert math.isclose(result.advantage, max(tp - fp for tp, fp in rates), abs_tol=1e-12)
    assert result.advantage >= 0
    assert result.accuracy >= result.guess
    for count in (1, 10, 1000):
        some = MembershipInference(thresholds=count).fit(training, testing).evaluate(synthetic)
        assert some.advantage <= result.advantage + 1e-12


def test_a_grid_of_thresholds_can_be_worse_than_a_guess() -> None:
    # Both kinds reach the smallest sum, and above it only those who are no members.
    attack = MembershipInference(legacy_ppmtf=True)
    attack.n_members_ = 2
    attack.statistics = lambda synthetic: np.array([[0.0, 0.0, 0.0, 1.0]])  # type: ignore[method-assign]
    assert attack.evaluate(random_traces(0, 2, 1)).advantage == -0.5
    attack.legacy_ppmtf = False
    assert attack.evaluate(random_traces(0, 2, 1)).advantage == 0


def test_copies_of_distinctive_traces_are_found_and_betray_membership(
    make_walks: Callable[..., Traces],
) -> None:
    people = make_walks(users=40, days=2, seed=3)
    training, testing = people.take_users(np.arange(20)), people.take_users(np.arange(20, 40))
    assert SyntheticIdentification().fit(training).rate(training) > 0.9
    assert MembershipInference().fit(training, testing).evaluate(training).advantage > 0.9


def test_attacks_do_not_depend_on_threads(
    make_walks: Callable[..., Traces], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = make_walks(users=300, days=4, seed=5)
    training, testing = people.take_users(np.arange(150)), people.take_users(np.arange(150, 300))
    answers = []
    for threads in ("1", "2"):
        monkeypatch.setenv("TRACEARENA_THREADS", threads)
        guesses = SyntheticIdentification().fit(training).identify(people)
        statistics = MembershipInference().fit(training, testing).statistics(people)
        answers.append((guesses.answers.tobytes(), statistics.tobytes()))
    assert answers[0] == answers[1]


def test_users_with_one_event_are_candidates_like_others() -> None:
    single = Traces.from_dense([[0, -1, -1], [1, 1, 1]], PLACES, CLOCK)
    assert SyntheticIdentification().fit(single).identify(single).answers.tolist() == [0, 1]
    # Two members and the same two as others: the second of each made the one transition that is seen.
    (one, two, three, four) = MembershipInference().fit(single, single).statistics(single)[0]
    assert one == three < two == four


def test_what_cannot_be_attacked_is_refused() -> None:
    some = random_traces(0, 2, 1, missing=0)
    none = some.keep(np.zeros(some.n_events, bool))
    nobody = some.take_users([])
    with pytest.raises(DataError, match="no users"):
        SyntheticIdentification().fit(nobody)
    with pytest.raises(DataError, match="no synthetic traces"):
        SyntheticIdentification().fit(some).rate(none)
    with pytest.raises(DataError, match="ids of training users"):
        SyntheticIdentification().fit(some).rate(some.with_user_ids(np.arange(some.n_users) + 77))
    with pytest.raises(DataError, match="testing users"):
        MembershipInference().fit(some, nobody)
    with pytest.raises(DataError, match="no synthetic traces"):
        MembershipInference().fit(some, some).evaluate(none)
    with pytest.raises(ParameterError, match="unseen = 0"):
        SyntheticIdentification(unseen=0)
    with pytest.raises(ParameterError, match="thresholds = 0"):
        MembershipInference(thresholds=0)
    with pytest.raises(DataError, match="4 and with 1 places"):
        MembershipInference().fit(some, Traces.from_dense([[0]], Places([0], [0]), CLOCK))


def test_traces_are_identified_one_by_one_however_many_there_are() -> None:
    training = random_traces(1, 300, 2)
    attack = SyntheticIdentification().fit(training)
    together = attack.identify(training)
    alone = [attack.identify(training.take_users([user])).answers for user in range(300)]
    order = np.lexsort([together.days, together.users])
    assert together.answers[order].tolist() == np.concatenate(alone).tolist()


@pytest.mark.parametrize("attack", [SyntheticIdentification(), MembershipInference(thresholds=3)])
def test_a_fitted_attack_is_shown_by_its_settings_and_equal_to_one_with_the_same(
    attack: SyntheticIdentification | MembershipInference,
) -> None:
    before = repr(attack)
    training = random_traces(1, 3, 2)
    if isinstance(attack, MembershipInference):
        attack.fit(training, random_traces(2, 3, 2))
    else:
        attack.fit(training)
    assert repr(attack) == before
    assert attack == type(attack)(**{name: getattr(attack, name) for name in before_names(before)})


def before_names(shown: str) -> list[str]:
    """Return the names of the settings in a representation."""
    return [part.split("=")[0] for part in shown.partition("(")[2].rstrip(")").split(", ")]
