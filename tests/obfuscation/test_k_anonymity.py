"""k-anonymity: every trace occurs k times, so one in k is found; alike people are told of all the same."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.arena import pseudonymise, run_sweep
from tracearena.cities import simulate
from tracearena.errors import ParameterError
from tracearena.metrics import utility_score
from tracearena.obfuscation import KAnonymous
from tracearena.obfuscation.k_anonymity import group_by_mdav
from tracearena.obfuscation.samples_2019 import rank_within_instant
from tracearena.papers.contest_board import make_companions
from tracearena.papers.data import TeamData
from tracearena.traces import DELETED, Clock, ObfuscatedTraces, Places, Traces

Walks = Callable[..., Traces]
WAYS = ("move", "generalise")


def told(released: ObfuscatedTraces) -> list[tuple[tuple[int, ...], ...]]:
    """Return the trace of each user as she is shown, instant by instant."""
    cells = [tuple(sorted(cell)) for cell in released.cells()]
    return [
        tuple(cells[first:stop])
        for first, stop in zip(released.offsets[:-1], released.offsets[1:], strict=True)
    ]


@given(k=st.integers(1, 9), users=st.integers(1, 30), way=st.sampled_from(WAYS), seed=st.integers(0, 50))
@examples(40)
def test_every_trace_occurs_k_times_or_says_nothing(
    make_walks: Walks, k: int, users: int, way: str, seed: int
) -> None:
    original = make_walks(users=users, days=1, seed=seed)
    released = KAnonymous(k=k, way=way).transform(original)  # type: ignore[arg-type]
    if users < k:
        assert released.is_deleted.all()
    else:
        assert min(Counter(told(released)).values()) >= k


@given(k=st.integers(1, 9), users=st.integers(1, 40), seed=st.integers(0, 50))
@examples(40)
def test_groups_have_k_to_less_than_twice_as_many(make_walks: Walks, k: int, users: int, seed: int) -> None:
    sizes = np.bincount(group_by_mdav(make_walks(users=users, days=1, seed=seed), k))
    assert sizes.min() >= min(k, users)
    assert sizes.max() <= 2 * k - 1 or len(sizes) == 1


@pytest.mark.parametrize("way", WAYS)
def test_what_traces_with_gaps_tell_is_k_anonymous(make_walks: Walks, way: str) -> None:
    original = make_walks(users=30, days=2, missing=0.3)
    released = KAnonymous(k=3, way=way).transform(original)  # type: ignore[arg-type]
    group_of = group_by_mdav(original, 3)
    said: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for user, instant, cell in zip(original.user_index, original.instants, released.cells(), strict=True):
        said.setdefault((int(group_of[user]), int(instant)), set()).add(tuple(sorted(cell)))
    assert all(len(shown) == 1 for shown in said.values())
    assert not released.is_deleted.all()


def test_events_of_one_instant_are_told_as_k_people_have_them(make_check_ins: Walks) -> None:
    """Two people are at the same three places, and visit one of them twice within an hour."""
    places = Places([0] * 3, [0, 1, 2], km_per_degree=(1, 1))
    user, instant, place = [0] * 4 + [1] * 4, [0, 0, 1, 2] * 2, [0, 1, 2, 0] * 2
    original = Traces.from_events(user, instant, place, places, Clock(instants_per_day=24))
    assert KAnonymous(k=2).transform(original) == ObfuscatedTraces.from_traces(original)
    check_ins = make_check_ins(users=20, events=400)
    released = KAnonymous(k=2).transform(check_ins)
    group_of, rank = group_by_mdav(check_ins, 2), rank_within_instant(check_ins)
    said: dict[tuple[int, int, int], list[int]] = {}
    for user_, instant_, rank_, code in zip(
        check_ins.user_index, check_ins.instants, rank, released.codes, strict=True
    ):
        said.setdefault((int(group_of[user_]), int(instant_), int(rank_)), []).append(int(code))
    sizes = np.bincount(group_of)
    for (group, _, _), codes in said.items():
        assert set(codes) == {DELETED} if len(codes) < sizes[group] else len({*codes}) == 1


def test_people_who_are_alike_stay_as_they_are() -> None:
    places = Places([0] * 3, [0, 1, 2], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 1], [2, 2], [0, 1], [2, 2]], places, Clock(instants_per_day=2))
    assert KAnonymous(k=2).transform(original) == ObfuscatedTraces.from_traces(original)


def test_all_move_to_the_place_of_theirs_that_loses_least() -> None:
    places = Places([0] * 4, [0, 1, 1.5, 9], km_per_degree=(1, 1))
    original = Traces.from_dense([[0], [1], [2]], places, Clock(instants_per_day=1))
    assert KAnonymous(k=3).transform(original).codes.tolist() == [1, 1, 1]


def test_places_two_kilometres_apart_are_lost_as_those_beyond() -> None:
    """Of three people 2.2 km and more apart, all lose another's place: the first stays, not the middle."""
    places = Places([0] * 3, [0, 2.2, 5], km_per_degree=(1, 1))
    original = Traces.from_dense([[0], [1], [2]], places, Clock(instants_per_day=1))
    assert KAnonymous(k=3).transform(original).codes.tolist() == [0, 0, 0]
    assert KAnonymous(k=3, limit_km=3).transform(original).codes.tolist() == [1, 1, 1]


def test_losses_are_limited_by_at_most_a_billion_kilometres() -> None:
    assert KAnonymous(k=3, limit_km=1e9).limit_km == 1e9
    with pytest.raises(ParameterError, match="limit_km"):
        KAnonymous(k=3, limit_km=1e9 + 1)


def test_with_k_1_nothing_changes(make_walks: Walks) -> None:
    original = make_walks(users=10, days=2)
    assert KAnonymous(k=1).transform(original) == ObfuscatedTraces.from_traces(original)


@pytest.fixture(scope="module")
def people() -> tuple[Traces, Traces]:
    reference, original = simulate(users=200, days=8, seed=1).split_days(4)
    return reference, original


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 20])
def test_even_who_knows_the_originals_finds_one_in_k(people: tuple[Traces, Traces], k: int) -> None:
    _, original = people
    (row,) = run_sweep(
        original, original, defences=[f"KAnonymous({k})"], attacks=["samples", "Aligned-R"], seed=1
    )
    groups = group_by_mdav(original, k).max() + 1
    chance = 3 * groups**0.5 / original.n_users
    assert row.scores.s_R_min is not None
    assert 1 - row.scores.s_R_min <= 1 / k + chance


def losses_by_user(original: Traces, guess: Traces) -> NDArray[np.float64]:
    distance = original.places.distance_km(original.place_index, guess.place_index)
    return np.minimum(distance / 2, 1).reshape(original.n_users, -1).mean(axis=1)


def test_of_people_who_are_alike_everything_is_told_though_one_in_k_is_found(
    people: tuple[Traces, Traces],
) -> None:
    alike = make_companions(TeamData(*people), 10, 1.0, 1)
    (row,) = run_sweep(*alike, defences=["KAnonymous(10)"], attacks=["samples"], seed=1)
    s_R, s_T = row.scores.minima
    assert row.utility == 1
    assert s_R >= 0.9
    assert s_T == 0


def test_the_more_alike_a_group_is_the_more_is_told_of_its_members(people: tuple[Traces, Traces]) -> None:
    """Homogeneity: whoever finds the group needs no name to know where its members were."""
    from tracearena.algorithms import catalogue

    reference, original = people
    release = pseudonymise(KAnonymous(k=5).transform(original), seed=1)
    guess = catalogue.create("VisitProb-T").fit(reference).infer(release.anonymized, seed=1)
    left = losses_by_user(original, guess)
    moved = losses_by_user(original, original.with_places(KAnonymous(k=5).transform(original).codes))
    alike, unlike = moved <= np.median(moved), moved > np.median(moved)
    assert left[alike].mean() + 0.1 < left[unlike].mean()
    assert np.corrcoef(moved, left)[0, 1] > 0.5


def test_long_traces_and_many_equal_ones_cost_the_usefulness(people: tuple[Traces, Traces]) -> None:
    _, original = people
    few, many = (utility_score(original, KAnonymous(k=k).transform(original)).utility for k in (2, 20))
    assert many < few < 0.7


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": 1.5}, {"way": "hide"}, {"limit_km": 0}])
def test_wrong_settings_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        KAnonymous(**{"k": 2, **bad})  # type: ignore[arg-type]
