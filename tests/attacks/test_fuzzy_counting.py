"""Fuzzy counting against the paper's example and a slow obvious implementation."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.arena import SampleTeam, tune
from tracearena.attacks import FuzzyCounting, FuzzyCountingT, FuzzyMatcher
from tracearena.attacks.fuzzy_counting import (
    Weighting,
    build_spreading_matrix,
    count_place_visits,
    find_frequent_places,
)
from tracearena.cities import simulate
from tracearena.errors import DataError, ParameterError
from tracearena.metrics import reidentification_score
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import DELETED, Clock, Grid, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

FIVE = Places.of_grid(Grid(rows=5, columns=5, south=0, west=0, north=5, east=5))
CLOCK = Clock(instants_per_day=2)


def test_figure_11() -> None:
    counts = (
        count_place_visits(Traces.from_dense([[12]], FIVE, CLOCK)) @ build_spreading_matrix(FIVE, 0.2, 0.5)
    ).toarray()
    expected = np.zeros((5, 5))
    expected[1:4, 1:4] = [[0.099, 0.121, 0.099], [0.121, 0.2, 0.121], [0.099, 0.121, 0.099]]
    assert np.array_equal(counts.reshape(5, 5).round(3), expected)


def test_a_corner_has_three_neighbours() -> None:
    assert (build_spreading_matrix(FIVE, 1, 1).toarray()[0] > 0).sum() == 4


def test_places_without_a_grid_count_for_themselves() -> None:
    scattered = Places(np.arange(3.0), np.zeros(3))
    assert np.array_equal(build_spreading_matrix(scattered, 0.33, 1).toarray(), 0.33 * np.eye(3))


def test_a_set_of_k_places_adds_a_kth_to_each_and_a_deleted_event_nothing() -> None:
    original = Traces.from_dense([[0, 0, 0, 7]], FIVE, Clock(instants_per_day=4))
    released = ObfuscatedTraces.like(original, [3, -2, DELETED, 3], PlaceSets.of([[3, 4, 5, 6]]))
    counts = count_place_visits(released).toarray()[0]
    assert counts[3:7].tolist() == [2.25, 0.25, 0.25, 0.25]
    assert counts.sum() == 3


AT_THE_CENTRE = Traces.from_dense([[12, 12, 12]], FIVE, Clock(instants_per_day=3))


def test_the_paper_spreads_first_and_then_weighs() -> None:
    vector = FuzzyMatcher(eta=0.2, decay=0.5).fit(AT_THE_CENTRE).vectors_.toarray()[0]
    assert vector[12] == pytest.approx(np.log(1 + 3 * 0.2))
    assert vector[7] == pytest.approx(np.log(1 + 3 * 0.2 * np.exp(-0.5)))


@pytest.mark.parametrize("weighting", ["log", "count"])
def test_the_program_weighs_first_and_then_spreads(weighting: str) -> None:
    matcher = FuzzyMatcher(weighting=weighting, eta=0.2, decay=0.5, spread="last")  # type: ignore[arg-type]
    vector = matcher.fit(AT_THE_CENTRE).vectors_.toarray()[0]
    weight = np.log(4) if weighting == "log" else 3
    assert vector[12] == pytest.approx(0.2 * weight)
    assert vector[7] == pytest.approx(0.2 * weight * np.exp(-0.5))


def test_the_printed_weight_forgets_how_often_and_how_far() -> None:
    reference = Traces.from_dense([[12, 12, 12, 0], [0, 0, 0, 0]], FIVE, Clock(instants_per_day=4))
    near, far = (
        FuzzyMatcher(weighting="printed", decay=decay).fit(reference).vectors_.toarray() for decay in (0, 3)
    )
    assert np.array_equal(near, far)
    assert near[0, 12] == near[0, 7] == pytest.approx(np.log(3))
    assert near[0, 0] == pytest.approx(np.log(2))
    assert near[1, 12] == 0


def test_the_printed_weight_identifies_next_to_nobody_where_counts_identify_nearly_all() -> None:
    reference, original = simulate(users=60, days=10, seed=1).split_days(5)
    truth = IdTable(original.user_ids, original.user_ids)
    released = ObfuscatedTraces.from_traces(original)
    counts, printed = (
        reidentification_score(truth, FuzzyCounting(weighting=weighting).fit(reference).identify(released))
        for weighting in ("log", "printed")
    )
    assert counts.reidentification < 0.1
    assert printed.reidentification > 0.9


def slow_answer(
    reference: Traces, anonymized: ObfuscatedTraces, weighting: str, eta: float, decay: float, spread: str
) -> NDArray[np.float64]:
    """Return all squared distances, pseudonyms × users, straight from the definition."""
    m, n = reference.n_users, len(reference.places)
    table = reference.dense()
    counts = np.array([[np.sum(row == place) for place in range(n)] for row in table], float)
    xi = np.maximum((counts > 0).sum(axis=0), 1)

    def weigh(one: NDArray[np.float64]) -> NDArray[np.float64]:
        kinds = {"log": np.log(1 + one), "count": one, "printed": np.log(1 + m / xi) * (one > 0)}
        tf = kinds[weighting.partition("-")[0]]
        return tf * np.log(m / xi) if weighting.endswith("idf") else tf

    grid = reference.places.grid
    assert grid is not None
    vectors = np.zeros((m, n))
    spread_out = counts if spread == "first" else np.array([weigh(one) for one in counts])
    for user, place in np.argwhere(counts > 0):
        y, x = divmod(place, grid.columns)
        for to in range(n):
            v, u = divmod(to, grid.columns)
            if max(abs(v - y), abs(u - x)) <= 1:
                near = eta * np.exp(-decay * np.sqrt((v - y) ** 2 + (u - x) ** 2))
                vectors[user, to] += spread_out[user, place] * near
    if spread == "first":
        vectors = np.array([weigh(one) for one in vectors])
    seen = np.zeros((anonymized.n_users, n))
    for user, cell in zip(anonymized.user_index, anonymized.cells(), strict=True):
        for place in cell:
            seen[user, place] += 1 / len(cell)
    return np.array([((weigh(one) - vectors) ** 2).sum(axis=1) for one in seen])


@given(
    weighting=st.sampled_from(get_args(Weighting)),
    eta=st.floats(0.05, 1),
    decay=st.floats(0, 3),
    spread=st.sampled_from(["first", "last"]),
    seed=st.integers(0, 100),
)
@examples(20)
def test_the_nearest_user_is_answered(
    make_walks: Callable[..., Traces], weighting: str, eta: float, decay: float, spread: str, seed: int
) -> None:
    reference, original = make_walks(users=8, days=2, side=5, seed=seed).split_days(1)
    anonymized = MRLH(mu_x=1, mu_y=0, deletion=0.3).transform(original, seed=seed)
    distance = slow_answer(reference, anonymized, weighting, eta, decay, spread)
    matcher = FuzzyMatcher(weighting=weighting, eta=eta, decay=decay, spread=spread)  # type: ignore[arg-type]
    best = matcher.fit(reference).match(anonymized).best
    assert distance[np.arange(8), best] == pytest.approx(distance.min(axis=1))


def test_small_noise_is_forgiven(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=60, days=40, side=16).split_days(20)
    noisy = PlanarLaplace(l=4, r=1).transform(original, seed=1)
    truth = IdTable(original.user_ids, original.user_ids)
    guess = FuzzyCounting().fit(reference).identify(noisy)
    assert reidentification_score(truth, guess).reidentification < 0.3


def test_habits_are_the_most_frequent_places_by_time_of_day() -> None:
    reference = Traces.from_dense([[4, 1, 4, 2, 3, 2], [-1, 5, -1, -1, -1, -1]], FIVE, CLOCK)
    place, share = find_frequent_places(reference)
    assert place.tolist() == [[4, 2], [-1, 5]]
    assert share.round(3).tolist() == [[0.667, 0.667], [0, 0.333]]


def test_frequent_places_replace_what_the_trace_says() -> None:
    reference = Traces.from_dense([[4, 1, 4, 2]], FIVE, CLOCK)
    original = Traces.from_dense([[9, 9, 9, 9]], FIVE, CLOCK)
    released = ObfuscatedTraces.like(original, [8, 8, DELETED, DELETED])
    attack = FuzzyCountingT(frequent=0.9).fit(reference)
    # 4 is always there at the first time of day; 1 (of 1 and 2) only where nothing is told.
    assert attack.infer(released, seed=1).dense().tolist() == [[4, 8, 4, 1]]


@pytest.mark.parametrize(("frequent", "answered"), [(0.49, 4), (0.5, 8), (0.51, 8)])
def test_a_place_is_frequent_if_its_share_exceeds_the_threshold(frequent: float, answered: int) -> None:
    """The paper: "if the visit-count exceeds a threshold". Place 4 has one of two days."""
    reference = Traces.from_dense([[4, 1, 9, 1]], FIVE, CLOCK)
    released = ObfuscatedTraces.from_traces(Traces.from_dense([[8, 1]], FIVE, CLOCK))
    assert FuzzyCountingT(frequent=frequent).fit(reference).infer(released, seed=1).dense()[0, 0] == answered


def test_a_share_above_every_habit_leaves_what_is_told(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=5, days=4).split_days(2)
    released = ObfuscatedTraces.from_traces(original)
    attack = FuzzyCountingT(frequent=1.0).fit(reference)
    match = attack.matcher_.match(released)
    inferred = attack.infer_from(match, released, seed=1).dense()
    share = find_frequent_places(reference)[1]
    kept = np.tile(share <= 1, 2)
    given_to = np.argsort(match.exclusive)
    assert np.array_equal(inferred[kept], original.dense()[given_to][kept])


def test_tuning_finds_the_setting_that_identifies_most(make_walks: Callable[..., Traces]) -> None:
    teams = []
    for seed in range(2):
        reference, original = make_walks(users=25, days=8, side=12, seed=seed).split_days(4)
        released = PlanarLaplace(l=3, r=1).transform(original, seed=seed)
        table = IdTable(original.user_ids, original.user_ids)
        teams.append(SampleTeam(reference, original, released, table))
    found = tune(teams, etas=[0.33], seed=1)
    assert len(found.s_R) == (2 + 1 + 2 + 2) * 3  # bare counts once: the order does not matter to them
    assert found.s_R[str(found.reidentification)] == min(found.s_R.values())
    assert found.s_T[str(found.trace_inference)] == min(found.s_T.values())
    assert found.trace_inference.make_matcher() == found.reidentification.make_matcher()
    assert found.to_dict()["reidentification"] == str(found.reidentification)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="log-idf"):
        FuzzyCounting(weighting="tfidf")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="first"):
        FuzzyCounting(spread="twice")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="eta"):
        FuzzyCounting(eta=0)
    with pytest.raises(ParameterError, match="decay"):
        FuzzyCountingT(decay=-1)
    with pytest.raises(ParameterError, match="frequent"):
        FuzzyCountingT(frequent=1.5)
    with pytest.raises(ParameterError, match="no sample team"):
        tune([])


def test_nobody_to_learn_from_is_refused(make_walks: Callable[..., Traces]) -> None:
    with pytest.raises(DataError, match="no users"):
        FuzzyCounting().fit(make_walks().take_users([]))


def test_a_fitted_attack_equals_one_with_the_same_settings(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3)
    for attack in (FuzzyCounting, FuzzyCountingT):
        assert attack(eta=0.2).fit(walks) == attack(eta=0.2)
        assert attack(eta=0.2).fit(walks) != attack(eta=0.3)
