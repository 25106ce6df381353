"""VisitProb and HomeProb against the paper's example and a slow obvious implementation."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.attacks import (
    HomeProbabilityR,
    HomeProbabilityT,
    ReferenceReplay,
    VisitMatcher,
    VisitProbabilityR,
    VisitProbabilityT,
)
from tracearena.attacks._kernels import compute_set_gains, cut_by_sets
from tracearena.errors import DataError
from tracearena.metrics import trace_inference_score
from tracearena.obfuscation import MRLH, Cheating, PlanarLaplace
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, PlaceSets, Traces

FOUR = Places(np.arange(4.0), np.zeros(4))
CLOCK = Clock(instants_per_day=4)


def figure_20() -> tuple[Traces, ObfuscatedTraces]:
    reference = Traces.from_dense([[0, 0, 1, 3], [0, 2, 2, 2], [1, 3, 3, 3]], FOUR, CLOCK)
    unknown = Traces.from_dense([[0, 0, 0, 0]], FOUR, CLOCK, user_ids=[4])
    return reference, ObfuscatedTraces.like(unknown, [1, DELETED, -2, 3], PlaceSets.of([[1, 2]]))


@pytest.mark.parametrize("in_order", [False, True])
def test_figure_20_answers_user_3(in_order: bool) -> None:
    reference, anonymized = figure_20()
    match = VisitMatcher(in_order=in_order).fit(reference).match(anonymized)
    assert reference.user_ids[match.best].tolist() == [3]
    assert VisitProbabilityR().fit(reference).identify(anonymized).user_ids.tolist() == [3]


def slow_scores(reference: Traces, anonymized: ObfuscatedTraces) -> np.ndarray:
    """Log-likelihood of every user for every pseudonym, straight from the definition."""
    table = np.zeros((anonymized.n_users, reference.n_users))
    for u in range(reference.n_users):
        own = reference.place_index[reference.offsets[u] : reference.offsets[u + 1]]
        counts = np.bincount(own, minlength=len(reference.places))
        probability = np.where(counts > 0, counts / max(len(own), 1), 1e-8)
        for p in range(anonymized.n_users):
            for event in range(anonymized.offsets[p], anonymized.offsets[p + 1]):
                cell = anonymized.cell(event)
                if cell:
                    table[p, u] += np.log(probability[cell].mean())
    return table


def slow_choices(scores: np.ndarray) -> tuple[list[int], list[int]]:
    best, exclusive, taken = [], [], set()
    for row in scores:
        best.append(int(np.flatnonzero(row >= row.max() - 1e-9)[0]))
        free = [u for u in range(len(row)) if u not in taken]
        top = max(row[u] for u in free)
        chosen = next(u for u in free if row[u] >= top - 1e-9)
        taken.add(chosen)
        exclusive.append(chosen)
    return best, exclusive


@examples(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "mrlh", "noise", "mixed"]))
def test_the_index_gives_the_answers_of_the_definition(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    places = Places(np.linspace(0, 1, 12), np.zeros(12))
    reference = Traces.from_dense(rng.integers(-1, 12, (7, 9)), places, CLOCK)
    original = Traces.from_dense(rng.integers(-1, 12, (7, 9)), places, CLOCK)
    sets = PlaceSets.of([rng.integers(0, 12, size) for size in (2, 3, 12)])
    low = {"none": 0, "mrlh": -4, "noise": -1, "mixed": -4}[kind]
    high = {"none": 12, "mrlh": -1, "noise": 12, "mixed": 12}[kind]
    anonymized = ObfuscatedTraces.like(original, rng.integers(low, high, original.n_events), sets)
    match = VisitMatcher().fit(reference).match(anonymized)
    best, exclusive = slow_choices(slow_scores(reference, anonymized))
    assert match.best.tolist() == best
    assert match.exclusive.tolist() == exclusive


@pytest.mark.parametrize("sampling", [1.0, 0.5, 1e-9])
def test_a_share_of_the_events_is_looked_at(sampling: float) -> None:
    """User 1 is always at place 1, and every event that is looked at says so; without any the first wins."""
    reference = Traces.from_dense([[0] * 4, [1] * 4], FOUR, CLOCK)
    released = ObfuscatedTraces.from_traces(Traces.from_dense(np.ones((1000, 4), int), FOUR, CLOCK))
    best = VisitMatcher(sampling=sampling).fit(reference).match(released, seed=1).best
    missed = (1 - sampling) ** 4 * 1000
    assert (best == 0).sum() == pytest.approx(missed, abs=5 * np.sqrt(missed) + 1e-3)


def test_a_set_that_is_too_large_is_looked_at_in_part() -> None:
    """Two users are at one place each: one place drawn from a set of both names either half the time."""
    reference = Traces.from_dense([[0] * 4, [1] * 4], FOUR, CLOCK)
    unknown = Traces.from_dense([[0, -1, -1, -1]] * 400, FOUR, CLOCK)
    released = ObfuscatedTraces.like(unknown, [-2] * 400, PlaceSets.of([[0, 1]]))
    whole, part = (
        VisitMatcher(largest_set=largest).fit(reference).match(released, seed=1) for largest in (2, 1)
    )
    assert (whole.best == 0).all()
    assert (part.best == 0).mean() == pytest.approx(0.5, abs=0.13)


def test_a_set_is_worth_the_mean_probability_of_its_places() -> None:
    """Places 0 to 3 have the visitors (0: 0.5, 1: 1.0), (0: 0.5), nobody and (2: 0.25)."""
    offsets, users, gains = compute_set_gains(
        np.array([1, 0]), np.array([3, 4]), np.array([0, 2, 3, 3, 4]), np.array([0, 1, 0, 2]),
        np.array([0.5, 1.0, 0.5, 0.25]), np.array([0, 2, 5]), np.array([0, 1, 0, 2, 3]), 0.01, 3,
    )  # fmt: skip
    assert offsets.tolist() == [0, 3, 5]
    assert users.tolist() == [0, 1, 2, 0, 1]
    means = np.array([0.52 / 3, 1.02 / 3, 0.27 / 3, 0.5, 1.01 / 2])
    assert gains == pytest.approx(np.log(means / 0.01))


def test_parts_of_traces_have_as_many_visitors_of_sets_as_fit() -> None:
    rng = np.random.default_rng(3)
    bounds = rng.integers(1, 6, 12)
    codes = np.setdiff1d(np.arange(-13, 5), [-1])
    items = [rng.choice(codes, rng.integers(0, 5), replace=False) for _ in range(60)]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in items])])
    limits = cut_by_sets(offsets, np.concatenate(items), bounds, 12)
    assert (limits[0], limits[-1]) == (0, 60)
    assert (np.diff(limits) > 0).all()

    def visitors(first: int, stop: int) -> int:
        shown = np.unique(np.concatenate(items[first:stop]))
        return int(bounds[-2 - shown[shown < 0]].sum())

    for first, stop in pairwise(limits.tolist()):
        assert stop == first + 1 or visitors(first, stop) <= 12
        assert stop == 60 or visitors(first, stop + 1) > 12


@pytest.mark.slow
def test_more_users_than_a_block_are_matched_as_one_would_by_hand(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=600, days=4).split_days(2)
    anonymized = PlanarLaplace(l=4, r=1).transform(original, seed=1)
    match = VisitMatcher().fit(reference).match(anonymized)
    best, exclusive = slow_choices(slow_scores(reference, anonymized.take_users(np.arange(20))))
    assert match.best[:20].tolist() == best
    assert match.exclusive[:20].tolist() == exclusive
    assert sorted(match.exclusive.tolist()) == list(range(600))


def test_the_order_of_events_does_not_change_the_answer(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=40, days=4).split_days(2)
    backwards = Traces.from_dense(
        original.dense()[:, ::-1], original.places, original.clock, first_instant=40
    )
    answers = [
        VisitProbabilityR().fit(reference).identify(ObfuscatedTraces.from_traces(one))
        for one in (original, backwards)
    ]
    assert answers[0] == answers[1]


def test_home_hours_are_the_first_hour_of_the_contests_day(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(days=4)
    reference, original = walks.split_days(2)
    early = reference.clock.time_of_day(reference.instants) < 2
    only_early = VisitProbabilityR().fit(reference.keep(early))
    blind = ObfuscatedTraces.like(
        original, np.where(original.clock.time_of_day(original.instants) < 2, original.place_index, DELETED)
    )
    assert HomeProbabilityR().fit(reference).identify(
        ObfuscatedTraces.from_traces(original)
    ) == only_early.identify(blind)


def test_shuffled_traces_are_found_again_though_nobody_is_identified() -> None:
    rng = np.random.default_rng(0)
    places = Places(np.arange(60.0), np.zeros(60))
    table = np.arange(30)[:, None] * 2 + rng.integers(0, 2, (30, 8))
    reference, original = Traces.from_dense(table, places, CLOCK).split_days(1)
    cheated = Cheating(share=1).transform(original, seed=1).with_user_ids(np.arange(31, 61))
    assert (
        trace_inference_score(original, VisitProbabilityT().fit(reference).infer(cheated)).trace_inference
        == 0
    )
    own = (cheated.codes.reshape(30, -1) // 2 == np.arange(30)[:, None]).all(axis=1)
    guessed = VisitProbabilityR().fit(reference).identify(cheated).user_ids
    assert (guessed == np.arange(1, 31)).sum() == own.sum()


def test_the_thinning_of_2019_uses_a_tenth_of_the_events_and_ten_places(
    make_walks: Callable[..., Traces],
) -> None:
    original = make_walks(users=300)
    matcher = VisitProbabilityR(legacy_2019=True).make_matcher()
    blocks = MRLH(mu_x=2, mu_y=2, deletion=0).transform(original)
    thinned = matcher.sample_events(blocks, 5)
    assert thinned.n_events == pytest.approx(blocks.n_events / 10, rel=0.15)
    assert thinned.sets.sizes[thinned.set_index].tolist() == [10] * thinned.n_events
    for event in range(20):
        assert len(set(thinned.cell(event))) == 10
    assert HomeProbabilityT(legacy_2019=True).make_matcher().sampling == 1


def test_inferred_places_come_from_what_was_released(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=1, days=4).split_days(2)
    blocks = MRLH(mu_x=1, mu_y=1, deletion=0.5).transform(original, seed=1)
    inferred = VisitProbabilityT().fit(reference).infer(blocks, seed=2)
    for event in range(blocks.n_events):
        cell = blocks.cell(event)
        assert not cell or inferred.place_index[event] in cell


def test_sets_and_gaps_are_answered_uniformly() -> None:
    places = Places(np.arange(8.0), np.zeros(8))
    original = Traces.from_dense(np.zeros((1, 40_000), int), places, CLOCK)
    half = np.where(np.arange(40_000) % 2 == 0, -2, DELETED)
    released = ObfuscatedTraces.like(original, half, PlaceSets.of([[1, 3, 5]]))
    places_inferred = VisitProbabilityT().fit(original).infer(released, seed=1).place_index
    in_set = np.bincount(places_inferred[::2], minlength=8) / 20_000
    anywhere = np.bincount(places_inferred[1::2], minlength=8) / 20_000
    assert in_set == pytest.approx([0, 1 / 3, 0, 1 / 3, 0, 1 / 3, 0, 0], abs=0.015)
    assert anywhere == pytest.approx([1 / 8] * 8, abs=0.015)


def test_replay_answers_yesterday(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(days=4).split_days(2)
    replay = ReferenceReplay().fit(reference).infer(ObfuscatedTraces.from_traces(original))
    assert np.array_equal(replay.dense(), reference.dense())


def test_replay_repeats_a_single_day_and_fills_gaps_from_it() -> None:
    reference = Traces.from_dense([[-1, 2, -1, 3]], FOUR, CLOCK)
    unseen = Traces.from_dense([[0] * 8], FOUR, CLOCK, first_instant=4)
    replay = ReferenceReplay().fit(reference).infer(ObfuscatedTraces.from_traces(unseen))
    assert replay.dense().tolist() == [[2, 2, 2, 3, 2, 2, 2, 3]]


def test_other_places_are_refused(make_walks: Callable[..., Traces]) -> None:
    with pytest.raises(DataError, match="places"):
        VisitProbabilityR().fit(make_walks(side=8)).identify(ObfuscatedTraces.from_traces(make_walks(side=4)))


def test_replay_refuses_days_of_another_clock(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    hourly = Traces.from_dense(walks.dense(), walks.places, Clock(instants_per_day=24))
    attack = ReferenceReplay().fit(walks)
    with pytest.raises(DataError, match="instants per day"):
        attack.infer(ObfuscatedTraces.from_traces(hourly), seed=1)
