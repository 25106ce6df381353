"""The three scores against the papers' examples and against slow obvious implementations."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import DataError, ParameterError
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.metrics.contest_scores import UtilitySum
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import DELETED, Clock, Grid, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

CONTEST_GRID = Grid(rows=32, columns=32, south=34.64, west=135.44, north=34.74, east=135.56)
CONTEST = Places.of_grid(CONTEST_GRID, km_per_degree=(111, 91))
CLOCK = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)


def everywhere() -> Traces:
    """One user who visits every region of the contest."""
    return Traces.from_dense([np.arange(1024)], CONTEST, CLOCK)


def slow_loss(places: Places, true: int, cell: list[int], rule: str) -> float:
    if not cell:
        return 1.0
    distances = [float(places.distance_km(true, place)) for place in cell]
    if rule == "2019":
        return float(np.mean([min(d / 2, 1) for d in distances]))
    return min(float(np.mean(distances)) / 2, 1)


cells = st.lists(st.lists(st.integers(0, 63), max_size=4, unique=True), min_size=1, max_size=12)


@given(cells, st.data())
def test_utility_is_the_mean_of_what_each_event_keeps(released: list[list[int]], data: st.DataObject) -> None:
    grid = Grid(rows=8, columns=8, south=34.64, west=135.44, north=34.74, east=135.56)
    places = Places.of_grid(grid, km_per_degree=(111, 91))
    true = data.draw(st.lists(st.integers(0, 63), min_size=len(released), max_size=len(released)))
    original = Traces.from_dense([true], places, CLOCK)
    sets = [cell for cell in released if len(cell) > 1]
    codes = [
        DELETED if not cell else cell[0] if len(cell) == 1 else -2 - sets.index(cell) for cell in released
    ]
    obfuscated = ObfuscatedTraces.like(original, codes, PlaceSets.of(sets) if sets else None)
    for rule in ("paper", "2019"):
        slow = 1 - np.mean([slow_loss(places, t, cell, rule) for t, cell in zip(true, released, strict=True)])
        assert utility_score(original, obfuscated, rule=rule).utility == pytest.approx(slow, abs=1e-12)


def test_the_utility_of_parts_is_added_up_to_that_of_the_whole(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(side=32)
    released = PlanarLaplace(l=1, r=1).transform(walks, seed=1)
    parts = [
        UtilitySum.of(walks.take_users(part), released.take_users(part)) for part in ([0, 1], range(2, 12))
    ]
    assert (parts[0] + parts[1]).score == utility_score(walks, released)


def test_untouched_traces_have_all_their_utility(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(missing=0.3)
    assert utility_score(walks, ObfuscatedTraces.from_traces(walks)).utility == 1
    deleted = ObfuscatedTraces.like(walks, np.full(walks.n_events, DELETED))
    assert utility_score(walks, deleted).utility == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "paper", "official"),
    [
        pytest.param(1, None, None, marks=pytest.mark.long),
        pytest.param(2, None, None, marks=pytest.mark.slow),
        (3, 0.2816, 0.3240),
        pytest.param(4, 0.0, 0.1048, marks=pytest.mark.long),
    ],
)
def test_rules_differ_once_blocks_reach_beyond_two_km(
    bits: int, paper: float | None, official: float | None, osaka: object
) -> None:
    from tracearena.io import pwscup

    places = pwscup.read_places(osaka / "info_region.csv")  # type: ignore[operator]
    original = pwscup.read_traces(osaka / "orgtraces_team001_data01_IDP.csv", places)  # type: ignore[operator]
    blocks = MRLH(mu_x=bits, mu_y=bits, deletion=0).transform(original)
    ours, theirs = (utility_score(original, blocks, rule=rule).utility for rule in ("paper", "2019"))
    if paper is None:
        assert ours == pytest.approx(theirs, abs=1e-9)
    else:
        assert (round(ours, 4), round(theirs, 4)) == (paper, official)


def test_the_true_cell_hidden_with_the_farthest_one_keeps_half_only_for_the_2019_rule() -> None:
    original = Traces.from_dense([[0]], CONTEST, CLOCK)
    pair = ObfuscatedTraces.like(original, [-2], PlaceSets.of([[0, 1023]]))
    assert utility_score(original, pair, rule="2019").utility == 0.5
    assert utility_score(original, pair, rule="paper").utility == 0


@given(st.integers(0, 2**32 - 1))
def test_the_2019_rule_is_never_harder_than_the_papers(seed: int) -> None:
    original = everywhere()
    rng = np.random.default_rng(seed)
    sets = PlaceSets.of(rng.integers(0, 1024, (40, 5)))
    released = ObfuscatedTraces.like(original, -2 - rng.integers(0, 40, 1024), sets)
    paper, official = (utility_score(original, released, rule=rule).utility for rule in ("paper", "2019"))
    assert 0 <= paper <= official + 1e-12 <= 1 + 1e-12


def test_a_region_listed_twice_counts_twice() -> None:
    original = Traces.from_dense([[0]], CONTEST, CLOCK)
    once = ObfuscatedTraces.like(original, [-2], PlaceSets.of([[0, 3]]))
    twice = ObfuscatedTraces.like(original, [-2], PlaceSets.of([[0, 3, 3]]))
    far = 3 * 0.34125 / 2
    assert utility_score(original, once).utility == pytest.approx(1 - far / 2)
    assert utility_score(original, twice).utility == pytest.approx(1 - far * 2 / 3)


def test_scores_of_other_traces_or_of_nothing_are_refused(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    other = ObfuscatedTraces.from_traces(walks.take_days(0, 1))
    with pytest.raises(DataError, match="not made from these"):
        utility_score(walks, other)
    empty = walks.keep(np.zeros(walks.n_events, bool))
    with pytest.raises(DataError, match="no events"):
        utility_score(empty, ObfuscatedTraces.from_traces(empty))
    with pytest.raises(ParameterError, match="rule"):
        utility_score(walks, ObfuscatedTraces.from_traces(walks), rule="2020")  # type: ignore[arg-type]


def test_figure_6_two_of_three_pseudonyms_are_identified() -> None:
    truth = IdTable([2001, 2002, 2003], [2, 3, 1])
    score = reidentification_score(truth, IdTable([2001, 2002, 2003], [2, 2, 1]))
    assert score.reidentification == pytest.approx(1 / 3)
    assert score.to_dict() == {"reidentification": score.reidentification, "identified": 2, "pseudonyms": 3}


def test_a_table_for_other_pseudonyms_is_refused() -> None:
    with pytest.raises(DataError, match="pseudonyms"):
        reidentification_score(IdTable([4, 5], [1, 2]), IdTable([5, 6], [1, 2]))


def slow_trace_inference(original: Traces, inferred: Traces, weight: float) -> tuple[float, float]:
    total = weights = error = 0.0
    truth, guess = original.dense(), inferred.dense()
    for user, row in enumerate(truth):
        for instant, place in enumerate(row):
            if place < 0:
                continue
            distance = float(original.places.distance_km(place, guess[user, instant]))
            w = weight if original.places.sensitive[place] else 1.0
            total += w * min(distance / 2, 1)
            weights += w
            error += distance
    return total / weights, error / original.n_events


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_trace_inference_is_the_weighted_mean_distance(
    make_walks: Callable[..., Traces], missing: float
) -> None:
    original = make_walks(missing=missing, seed=1)
    inferred = make_walks(seed=2)
    score = trace_inference_score(original, inferred, sensitive_weight=7)
    slow, error = slow_trace_inference(original, inferred, 7)
    assert score.trace_inference == pytest.approx(slow, abs=1e-12)
    assert score.expected_error_km == pytest.approx(error, abs=1e-12)
    assert score.cells == original.n_events


def test_perfect_inference_leaves_no_privacy(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    score = trace_inference_score(walks, walks)
    assert (score.trace_inference, score.expected_error_km) == (0, 0)


def test_users_are_compared_by_id_not_by_position(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    shuffled = walks.take_users(np.random.default_rng(0).permutation(walks.n_users))
    assert trace_inference_score(walks, shuffled).trace_inference == 0


def test_an_answer_that_lacks_something_is_refused(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    with pytest.raises(DataError, match="a user of the original traces is missing"):
        trace_inference_score(walks, walks.take_users([0]))
    with pytest.raises(DataError, match="cover instants"):
        trace_inference_score(walks, walks.take_days(0, 1))
    with pytest.raises(DataError, match="have no place for 1 events"):
        trace_inference_score(walks, walks.keep(np.arange(walks.n_events) != 3))


def test_only_the_original_place_decides_the_weight() -> None:
    places = Places([0, 0.01, 0.02], [0, 0, 0], sensitive=[True, False, False], km_per_degree=(100, 100))
    clock = Clock(instants_per_day=2)
    ill = Traces.from_dense([[0, 1]], places, clock)
    healthy = Traces.from_dense([[1, 1]], places, clock)
    assert trace_inference_score(ill, ill.with_places([1, 1])).trace_inference == pytest.approx(5 / 11)
    assert trace_inference_score(healthy, healthy.with_places([0, 1])).trace_inference == pytest.approx(1 / 4)


def test_noise_lowers_utility(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(side=32)
    scores = [
        utility_score(walks, PlanarLaplace(l=level, r=1).transform(walks, seed=1)).utility
        for level in (1, 4, 16)
    ]
    assert scores == sorted(scores)


@pytest.mark.parametrize("limit_km", [0, -1, float("nan")])
def test_a_limit_must_be_a_distance(make_walks: Callable[..., Traces], limit_km: float) -> None:
    walks = make_walks()
    with pytest.raises(ParameterError, match="limit_km"):
        utility_score(walks, ObfuscatedTraces.from_traces(walks), limit_km=limit_km)
    with pytest.raises(ParameterError, match="limit_km"):
        trace_inference_score(walks, walks, limit_km=limit_km)


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), 1e308])
def test_a_weight_must_leave_a_number(make_walks: Callable[..., Traces], weight: float) -> None:
    with pytest.raises(ParameterError, match="sensitive_weight"):
        trace_inference_score(make_walks(), make_walks(), sensitive_weight=weight)


def test_one_odd_id_hides_none_of_the_others() -> None:
    truth = IdTable([101, 102, 103], [1, 2, 3])
    assert reidentification_score(truth, IdTable([101, 102, 103], ["1", "2", "unknown"])).identified == 2
    original = Traces.from_dense([[0, 1], [2, 3]], CONTEST, CLOCK).with_user_ids([9, 10])
    guess = Traces.from_dense([[2, 3], [0, 1], [5, 5]], CONTEST, CLOCK).with_user_ids(["10", "9", "nobody"])
    assert trace_inference_score(original, guess).trace_inference == 0
