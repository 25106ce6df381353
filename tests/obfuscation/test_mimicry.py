"""Decoys and impostors: somebody else's habits, at the least distance, and no threshold broken."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from tests.examples import examples

from tracearena.errors import ParameterError
from tracearena.io import pwscup
from tracearena.metrics import utility_score
from tracearena.obfuscation import Decoy, Impostor
from tracearena.obfuscation.mimicry import (
    PartnerSettings,
    assign_partners,
    find_moves_to_partners,
    parts_of_day,
)
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

Walks = Callable[..., Traces]
Defence = type[Decoy] | type[Impostor]
BOTH = pytest.mark.parametrize("defence", [Decoy, Impostor])


def chances(original: Traces) -> NDArray[np.float64]:
    return np.random.default_rng(1).random(original.n_events)


def imitated(original: Traces, partner: NDArray[np.int64], parts: int) -> Traces:
    free = np.ones(original.n_events, bool)
    moves = find_moves_to_partners(original, free, partner, parts, chances(original), 2.0)
    places = original.place_index.copy()
    places[moves.events] = moves.places
    return original.with_places(places)


def visits(traces: Traces, parts: int) -> list[Counter[tuple[int, int]]]:
    """How often each user is at each place in each part of the day."""
    counted: list[Counter[tuple[int, int]]] = [Counter() for _ in range(traces.n_users)]
    for user, part, place in zip(
        traces.user_index, parts_of_day(traces, parts), traces.place_index, strict=True
    ):
        counted[user][int(part), int(place)] += 1
    return counted


@BOTH
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_budget_is_used_up_and_never_broken(
    make_walks: Walks, defence: Defence, threshold: float, missing: float
) -> None:
    original = make_walks(users=40, days=10, side=16, missing=missing)
    utility = utility_score(original, defence(threshold=threshold).transform(original, seed=1)).utility
    everything = defence(threshold=0).transform(original, seed=1)
    assert utility >= threshold
    assert utility <= max(threshold + 0.002, utility_score(original, everything).utility)


@BOTH
@given(threshold=st.floats(0, 1), users=st.integers(1, 12), seed=st.integers(0, 50))
@examples(30)
def test_no_threshold_is_ever_broken(
    make_walks: Walks, defence: Defence, threshold: float, users: int, seed: int
) -> None:
    original = make_walks(users=users, days=1, seed=seed)
    released = defence(threshold=threshold).transform(original, seed=seed)
    assert utility_score(original, released).utility >= threshold


@pytest.mark.parametrize("parts", [1, 4, 20])
def test_she_is_as_often_at_each_place_as_her_partner(make_walks: Walks, parts: int) -> None:
    original = make_walks(users=12, days=5)
    partner = np.roll(np.arange(12), 1)
    before, after = visits(original, parts), visits(imitated(original, partner, parts), parts)
    assert after == [before[other] for other in partner]


def test_nobody_could_imitate_for_less(make_walks: Walks) -> None:
    from scipy.optimize import linear_sum_assignment

    original = make_walks(users=6, days=3, side=12)
    partner, places, part = np.roll(np.arange(6), 2), original.places, parts_of_day(original, 4)
    after = imitated(original, partner, 4)
    moved_km = np.minimum(places.distance_km(original.place_index, after.place_index) / 2, 1)
    for user in range(6):
        for one in range(4):
            own = original.place_index[(original.user_index == user) & (part == one)]
            his = original.place_index[(original.user_index == partner[user]) & (part == one)]
            each = np.minimum(places.distance_km(own[:, None], his[None, :]) / 2, 1)
            least = each[linear_sum_assignment(each)].sum()
            assert moved_km[(original.user_index == user) & (part == one)].sum() == pytest.approx(least)


def test_different_numbers_of_visits_are_matched_in_proportion() -> None:
    places = Places([0, 0, 0], [0, 0.1, 0.2], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 0, 0, 0], [1, 2, -1, -1]], places, Clock(instants_per_day=4))
    after = imitated(original, np.array([1, 0]), 1)
    assert sorted(after.place_index.tolist()) == [0, 0, 1, 1, 2, 2]


def test_a_partner_who_is_never_there_then_lends_his_whole_day() -> None:
    places = Places([0, 0], [0, 0.1], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 0], [1, -1]], places, Clock(instants_per_day=2))
    assert imitated(original, np.array([1, 0]), 2).place_index.tolist() == [1, 1, 0]


def test_a_partner_without_visits_moves_nobody() -> None:
    places = Places([0, 0], [0, 0.1], km_per_degree=(1, 1))
    original = Traces.from_dense([[0, 1], [-1, -1]], places, Clock(instants_per_day=2))
    assert imitated(original, np.array([1, 0]), 1) == original


@pytest.mark.parametrize("users", [2, 3, 30])
@pytest.mark.parametrize("noise", [0.0, 0.5, 100.0])
def test_everybody_is_the_partner_of_one_other(make_walks: Walks, users: int, noise: float) -> None:
    partner = assign_partners(make_walks(users=users, days=2), 0.5, noise, np.random.SeedSequence(1))
    assert sorted(partner) == list(range(users))
    assert (partner != np.arange(users)).all()


def test_partners_live_alike_unless_noise_drowns_it() -> None:
    places = Places(np.zeros(10), np.arange(10) * 5.0, km_per_degree=(1, 1))
    original = Traces.from_dense(
        np.repeat(np.arange(10), 2)[:, None].repeat(4, 1), places, Clock(instants_per_day=4)
    )
    twins = np.arange(20) ^ 1
    seeds = [np.random.SeedSequence(number) for number in range(20)]
    assert all(np.array_equal(assign_partners(original, 0.5, 0.01, seed), twins) for seed in seeds)
    assert not any(np.array_equal(assign_partners(original, 0.5, 1e3, seed), twins) for seed in seeds)


def test_with_noise_another_seed_gives_other_partners(make_walks: Walks) -> None:
    original = make_walks(users=30, days=4)
    first, second = (assign_partners(original, 0.5, 1.0, np.random.SeedSequence(number)) for number in (1, 2))
    assert not np.array_equal(first, second)
    first, second = (assign_partners(original, 0.5, 0.0, np.random.SeedSequence(number)) for number in (1, 2))
    assert np.array_equal(first, second)


def test_many_users_find_partners_in_their_part_of_the_map(make_walks: Walks) -> None:
    original = make_walks(users=50, days=2)
    partner = assign_partners(original, 0.5, 0.5, np.random.SeedSequence(1), PartnerSettings(most_together=8))
    assert sorted(partner) == list(range(50))
    assert (partner != np.arange(50)).all()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_partners_of_sparse_and_dense_tables_have_the_least_difference(
    make_walks: Walks, share: float
) -> None:
    original = make_walks(users=9, days=2)
    rows = np.zeros((9, 4 * len(original.places)))
    column = parts_of_day(original, 4) * len(original.places) + original.place_index
    np.add.at(rows, (original.user_index, column), 1)
    exact = np.sqrt(((rows[:, None] - rows[None, :]) ** 2).sum(axis=2)) + 1e6 * np.eye(9)
    partner = assign_partners(
        original, 0.0, 0.0, np.random.SeedSequence(1), PartnerSettings(sparse_share=share)
    )
    least = exact[linear_sum_assignment(exact)].sum()
    assert exact[np.arange(9), partner].sum() == pytest.approx(least, abs=1e-9)


def test_a_decoy_keeps_hospitals_among_hospitals_and_an_impostor_does_not(make_walks: Walks) -> None:
    original = make_walks(users=40, days=10)
    sensitive = original.places.sensitive
    there = sensitive[original.place_index]
    decoy = Decoy(threshold=0.8).transform(original, seed=1).codes
    impostor = Impostor(threshold=0).transform(original, seed=1).codes
    assert sensitive[decoy[there]].all()
    assert (decoy[there] != original.place_index[there]).all()
    assert not sensitive[impostor[there]].all()


def test_an_impostor_hides_sensitive_visits_first(make_walks: Walks) -> None:
    original = make_walks(users=40, days=10, side=16)
    there = original.places.sensitive[original.place_index]
    everything = Impostor(threshold=0).transform(original, seed=1).codes != original.place_index
    some = Impostor(threshold=0.9).transform(original, seed=1).codes != original.place_index
    assert some[everything & there].mean() > some[everything & ~there].mean()


@BOTH
def test_one_user_alone_stays_as_she_is(make_walks: Walks, defence: Defence) -> None:
    original = make_walks(users=1, days=2)
    released = defence(threshold=0.5).transform(original, seed=1)
    sensitive = original.places.sensitive[original.place_index]
    assert np.array_equal(released.codes[~sensitive], original.place_index[~sensitive])
    if defence is Impostor:
        assert released == ObfuscatedTraces.from_traces(original)


@BOTH
def test_places_need_no_grid(defence: Defence) -> None:
    rng = np.random.default_rng(1)
    places = Places(35 + rng.random(50) / 50, 135 + rng.random(50) / 50)
    original = Traces.from_dense(rng.integers(0, 50, (20, 40)), places, Clock(instants_per_day=20))
    released = defence(threshold=0.7).transform(original, seed=1)
    assert utility_score(original, released).utility >= 0.7
    assert (released.codes != original.place_index).mean() > 0.2


@BOTH
@pytest.mark.parametrize("bad", [{"threshold": 1.1}, {"noise": -1}, {"blur_km": -1}, {"limit_km": 0}])
def test_wrong_settings_are_refused(defence: Defence, bad: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        defence(**{"threshold": 0.7, **bad})


@pytest.mark.parametrize("parts", [0, 1.5, 1000])
def test_parts_of_the_day_are_a_few(parts: float) -> None:
    with pytest.raises(ParameterError, match="parts"):
        Impostor(threshold=0.7, parts=parts)  # type: ignore[arg-type]


@BOTH
@pytest.mark.slow
def test_osaka_keeps_the_threshold_to_the_thousandth(osaka: Path, defence: Defence) -> None:
    places = pwscup.read_places(osaka / "info_region.csv")
    original = pwscup.read_traces(osaka / "orgtraces_team001_data01_IDP.csv", places)
    released = defence(threshold=0.7).transform(original, seed=1)
    assert 0.7 <= utility_score(original, released).utility <= 0.701
