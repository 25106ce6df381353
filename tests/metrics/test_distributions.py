"""Populations and visit fractions, against slow and obvious ways to the same numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import DataError, ParameterError
from tracearena.io import ppmtf
from tracearena.metrics import (
    category_fractions,
    cluster_populations,
    population,
    tp_tv,
    vf_tv,
    visit_fractions,
)
from tracearena.metrics._kernels import legacy_argsort
from tracearena.metrics.counts import TraceCounts
from tracearena.mobility.transitions import transition_matrix
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces

CLOCK = Clock(instants_per_day=4, interval_s=3600, instants_per_slot=2)
PLACES = Places(np.linspace(35, 36, 5), np.linspace(139, 140, 5))

events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(0, 4)), min_size=1, max_size=40
)


def traces_of(rows: list[tuple[int, int, int]]) -> Traces:
    users, instants, places = np.array(rows).T
    return Traces.from_events(users, instants, places, PLACES, CLOCK, user_ids=range(4), span=(0, 12))


def slow_population(rows: list[tuple[int, int, int]]) -> list[list[float]]:
    table = []
    for slot in range(2):
        seen = Counter(place for _, instant, place in rows if instant % 4 // 2 == slot)
        total = sum(seen.values())
        table.append([seen[place] / total if total else 1 / 5 for place in range(5)])
    return table


def slow_tp_tv(truth: list[list[float]], other: list[list[float]]) -> float:
    return sum(abs(p - q) for a, b in zip(truth, other, strict=True) for p, q in zip(a, b, strict=True)) / 4


@examples(60)
@given(events, events)
def test_tp_tv_is_half_the_l1_distance_of_pooled_frequencies(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]]
) -> None:
    reference, other = traces_of(a), traces_of(b)
    assert np.allclose(population(reference), slow_population(a))
    assert math.isclose(tp_tv(reference, other), slow_tp_tv(slow_population(a), slow_population(b)))
    assert tp_tv(reference, reference) == 0
    assert 0 <= tp_tv(reference, other, top=2) <= tp_tv(reference, other) <= 1
    assert math.isclose(tp_tv(reference, other, top=5), tp_tv(reference, other))


@examples(40)
@given(events, events)
def test_by_day_is_the_mean_over_the_days_with_events(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]]
) -> None:
    days = defaultdict(list)
    for row in b:
        days[row[1] // 4].append(row)
    slow = np.mean([slow_tp_tv(slow_population(a), slow_population(rows)) for rows in days.values()])
    assert math.isclose(tp_tv(traces_of(a), traces_of(b), by_day=True), float(slow))


def test_an_empty_slot_is_uniform() -> None:
    assert population(traces_of([(0, 0, 1)]))[1].tolist() == [0.2] * 5


def test_the_uniform_baseline_of_a_single_place_is_that_place() -> None:
    stay = Traces.from_dense([[0, 0]], Places([0.0], [0.0]), Clock(instants_per_day=2))
    assert tp_tv(stay, None) == 0


def test_sets_share_their_weight_and_deleted_events_have_none() -> None:
    original = traces_of([(0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 2, 2)])
    released = ObfuscatedTraces.like(original, [1, -2, -1, 4], PlaceSets.of([[0, 3]]))
    assert population(released).tolist() == [[0.25, 0.5, 0, 0.25, 0], [0, 0, 0, 0, 1]]


@examples(60)
@given(events)
def test_an_unchanged_release_has_the_same_population(rows: list[tuple[int, int, int]]) -> None:
    original = traces_of(rows)
    assert tp_tv(original, ObfuscatedTraces.from_traces(original)) == 0


@examples(60)
@given(st.integers(0, 400), st.integers(1, 30), st.integers(0, 10_000))
def test_ties_are_settled_by_a_sort(size: int, distinct: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, size=size) / 7
    order = legacy_argsort(values)
    assert sorted(order.tolist()) == list(range(size))
    assert (np.diff(values[order]) >= 0).all()


def slow_argsort(values: list[float]) -> list[int]:
    """NumPy's quicksort of before 2018, step by step: median of three, insertion sort from 16 values down."""
    order = list(range(len(values)))
    parts = [(0, len(values) - 1)]
    while parts:
        left, right = parts.pop()
        while right - left > 15:
            middle = left + (right - left) // 2
            for a, b in ((left, middle), (middle, right), (left, middle)):
                if values[order[b]] < values[order[a]]:
                    order[a], order[b] = order[b], order[a]
            pivot = values[order[middle]]
            low, high = left, right - 1
            order[middle], order[high] = order[high], order[middle]
            while True:
                low += 1
                while values[order[low]] < pivot:
                    low += 1
                high -= 1
                while pivot < values[order[high]]:
                    high -= 1
                if low >= high:
                    break
                order[low], order[high] = order[high], order[low]
            order[low], order[right - 1] = order[right - 1], order[low]
            if low - left < right - low:
                parts.append((low + 1, right))
                right = low - 1
            else:
                parts.append((left, low - 1))
                left = low + 1
        order[left : right + 1] = sorted(order[left : right + 1], key=lambda index: values[index])
    return order


@examples(60)
@given(st.integers(0, 200), st.integers(1, 30), st.integers(0, 10_000))
def test_ties_fall_as_in_the_published_program(size: int, distinct: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, size=size) / 7
    assert legacy_argsort(values).tolist() == slow_argsort(values.tolist())


def test_of_tied_places_the_last_ones_are_among_the_most_visited() -> None:
    """Place 1 is visited twice, 0, 2, 3 and 4 once each: the top three are 1, 4 and 3."""
    reference = traces_of([(0, 0, 1), (1, 0, 1), (0, 1, 0), (1, 1, 2), (2, 0, 3), (3, 0, 4)])
    # Nobody is at place 0 or 2 any more, whose share of 1/6 each would count twice if they were chosen.
    other = traces_of([(0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1), (2, 0, 3), (3, 0, 4)])
    assert tp_tv(reference, other, top=1) == pytest.approx((4 / 6 - 2 / 6) / 2 / 2)
    assert tp_tv(reference, other, top=3) == pytest.approx((4 / 6 - 2 / 6) / 2 / 2)
    assert tp_tv(reference, other, top=4) == pytest.approx((4 / 6 - 2 / 6 + 1 / 6) / 2 / 2)


def test_of_many_tied_places_those_of_the_published_program_are_the_most_visited() -> None:
    rng = np.random.default_rng(2)
    places, clock = Places(np.arange(60.0), np.zeros(60)), Clock(instants_per_day=1)
    here, there = (
        Traces.from_dense(np.repeat(np.arange(60), rng.integers(0, 4, 60))[:, None], places, clock)
        for _ in range(2)
    )
    truth, other = population(here)[0], population(there)[0]
    for top in (5, 20, 50):
        chosen = slow_argsort(truth.tolist())[::-1][:top]
        assert tp_tv(here, there, top=top) == pytest.approx(np.abs(truth - other)[chosen].sum() / 2)


def test_traces_of_other_places_or_slots_are_refused() -> None:
    here = traces_of([(0, 0, 1)])
    elsewhere = Traces.from_dense([[0]], Places([0.0], [0.0]), CLOCK)
    with pytest.raises(DataError, match="5 places, but the traces have 1"):
        tp_tv(here, elsewhere)
    with pytest.raises(DataError, match="2 slots per day, but the traces have 4"):
        tp_tv(here, Traces.from_dense([[0]], PLACES, Clock(instants_per_day=4)))
    with pytest.raises(ParameterError, match="top = 0"):
        tp_tv(here, here, top=0)
    with pytest.raises(DataError, match="no events"):
        tp_tv(here, here.keep(np.zeros(1, bool)))


def slow_fractions(rows: list[tuple[int, int, int]]) -> list[list[int]]:
    table = [[0] * 24 for _ in range(5)]
    for user in range(4):
        visited = Counter(place for owner, _, place in rows if owner == user)
        total = sum(visited.values())
        for place, count in visited.items():
            if total >= 5 and count < total:
                table[place][math.ceil(24 * count / total) - 1] += 1
    return table


def slow_vf_tv(truth: list[list[int]], other: list[list[int]], training: list[list[int]]) -> float | None:
    distances = []
    for p, q, t in zip(truth, other, training, strict=True):
        if sum(p) and sum(t):
            q = q if sum(q) else [1] + [0] * 23
            distances.append(sum(abs(a / sum(p) - b / sum(q)) for a, b in zip(p, q, strict=True)) / 2)
    return sum(distances) / len(distances) if distances else None


@examples(80)
@given(events, events, events)
def test_vf_tv_compares_histograms_place_by_place(
    a: list[tuple[int, int, int]], b: list[tuple[int, int, int]], c: list[tuple[int, int, int]]
) -> None:
    assert visit_fractions(traces_of(a)).tolist() == slow_fractions(a)
    fast = vf_tv(traces_of(a), traces_of(b), training=traces_of(c))
    slow = slow_vf_tv(slow_fractions(a), slow_fractions(b), slow_fractions(c))
    assert (fast is None) == (slow is None)
    assert fast is None or slow is None or math.isclose(fast, slow, abs_tol=1e-12)


def test_days_counted_by_themselves_are_those_of_the_traces_of_each_day() -> None:
    table = np.random.default_rng(1).integers(0, 5, (3, 18))
    clock = Clock(instants_per_day=6, instants_per_slot=2)
    by_day = list(TraceCounts.of(Traces.from_dense(table, PLACES, clock), by_day=True).days())
    assert len(by_day) == 3
    for day, found in enumerate(by_day):
        alone = Traces.from_dense(table[:, day * 6 : day * 6 + 6], PLACES, clock)
        assert found.fractions.sum() > 0
        assert np.array_equal(found.fractions, visit_fractions(alone))
        assert np.array_equal(found.population, population(alone))
        assert found.moves is not None
        steps = transition_matrix(alone, adjacent=False).toarray()
        assert found.moves.toarray() == pytest.approx(steps)


def test_moves_counted_together_are_those_of_the_transition_matrix() -> None:
    walks = Traces.from_dense(np.random.default_rng(1).integers(0, 5, (3, 12)), PLACES, CLOCK)
    found = TraceCounts.of(walks).on_day(0).moves
    assert found is not None
    assert found.toarray() == pytest.approx(transition_matrix(walks).toarray())


def test_traces_are_complete_if_everybody_has_one_event_at_every_instant() -> None:
    full = [(user, instant, 0) for user in range(4) for instant in range(12)]
    assert TraceCounts.of(traces_of(full)).is_complete
    assert not TraceCounts.of(traces_of(full[:-1])).is_complete
    assert not TraceCounts.of(traces_of([*full[:-1], (0, 0, 1)])).is_complete, "twice at one instant"


def test_a_fraction_of_exactly_one_bin_border_belongs_below() -> None:
    rows = [(0, i, 0 if i < 3 else 1) for i in range(12)]
    assert np.argwhere(visit_fractions(traces_of(rows))).tolist() == [[0, 5], [1, 17]]


@examples(60)
@given(events)
def test_fractions_of_a_category_are_those_of_its_places(rows: list[tuple[int, int, int]]) -> None:
    users, instants, places = np.array(rows).T
    kinds = Places(np.zeros(5), np.arange(5), categories=["b", "a", "b", "c", "a"])
    traces = Traces.from_events(users, instants, places, kinds, CLOCK, user_ids=range(4))
    slow = slow_fractions(rows)
    found = {name: counts.tolist() for name, counts in category_fractions(traces).items()}
    pairs = {"a": (1, 4), "b": (0, 2)}
    assert found == {"c": slow[3]} | {
        name: [x + y for x, y in zip(slow[one], slow[other], strict=True)]
        for name, (one, other) in pairs.items()
    }


def test_fractions_by_category_need_categories() -> None:
    with pytest.raises(DataError, match="no categories"):
        category_fractions(traces_of([(0, 0, 1)]))


def test_visit_fractions_of_the_uniform_baseline_lie_in_the_lowest_bin() -> None:
    rows = [(0, i, 0 if i < 3 else 1) for i in range(12)]
    assert vf_tv(traces_of(rows), None) == 1


def test_clusters_are_the_strongest_users(make_walks: Callable[..., Traces]) -> None:
    training = make_walks(users=20, seed=1)
    strengths = np.random.default_rng(0).random((20, 3))
    found = cluster_populations(strengths, training, training)
    assert found.users.shape == (3, 2)
    assert [set(users) for users in found.users.tolist()] == [
        set(np.argsort(strengths[:, cluster])[-2:].tolist()) for cluster in range(3)
    ]
    assert found.total_variation.tolist() == [0, 0, 0]
    assert np.allclose(found.training.sum(axis=1), 1)
    with pytest.raises(DataError, match="same users"):
        cluster_populations(strengths, training, make_walks(users=19))


def test_a_cluster_of_which_half_moved_has_half_a_total_variation() -> None:
    training, synthetic = (
        Traces.from_dense(rows, PLACES, CLOCK, user_ids=range(2))
        for rows in ([[0, 0, 0, 0], [1, 1, 2, 2]], [[0, 0, 0, 0], [1, 1, 3, 3]])
    )
    found = cluster_populations(np.eye(2), training, synthetic)
    assert found.users.tolist() == [[0], [1]]
    assert found.total_variation.tolist() == [0, 0.5]


def test_clusters_of_the_published_model_keep_their_places(shared_data: Path) -> None:
    folder = shared_data / "ppmtf-tokyo"
    places = ppmtf.read_places(folder / "POI_TK.csv")
    training = ppmtf.read_traces(folder / "traintraces_TK.csv", places)
    A = ppmtf.read_parameters(folder).A
    ppmtf_made = ppmtf.read_synthetic(folder / "syntraces_ppmtf_Itr100.csv.gz", places, training.clock).traces
    sgd_made = ppmtf.read_synthetic(folder / "syntraces_sgd_cn0.csv.gz", places, training.clock).traces
    near = cluster_populations(A, training, ppmtf_made).total_variation
    far = cluster_populations(A, training, sgd_made).total_variation
    assert near.shape == (16,)
    assert (near < far).all()


def test_a_place_of_several_visitors_is_compared_by_the_shares_of_their_bins() -> None:
    """Two of three users are at place 0 seldom and one often, and in the other traces all of them seldom."""
    seldom, often = [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]
    clock = Clock(instants_per_day=6)
    here = Traces.from_dense([seldom, seldom, often], PLACES, clock)
    there = Traces.from_dense([seldom] * 3, PLACES, clock)
    assert vf_tv(here, there) == pytest.approx(1 / 3)
