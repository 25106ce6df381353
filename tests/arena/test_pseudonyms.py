"""Pseudonymisation is a uniform shuffle of whole traces that keeps everything but the names."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from tracearena.arena import pseudonymise
from tracearena.arena.pseudonyms import random_order
from tracearena.cities import simulate_gps
from tracearena.errors import DataError
from tracearena.traces import DELETED, Clock, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

MakeWalks = Callable[..., Traces]


def some_obfuscated(
    users: int, instants: int = 3, user_ids: object = None, seed: int = 0
) -> ObfuscatedTraces:
    rng = np.random.default_rng(seed)
    places = Places(np.linspace(35, 36, 9), np.linspace(139, 140, 9))
    dense = rng.integers(0, 9, (users, instants))
    original = Traces.from_dense(dense, places, Clock(instants_per_day=24), user_ids=user_ids)
    sets = PlaceSets.of([[0, 1], [2, 4, 5], [7, 8], [0, 8]])
    return ObfuscatedTraces.like(original, rng.integers(-1 - len(sets), 9, original.n_events), sets)


def trace_of(traces: ObfuscatedTraces, user: object) -> list[list[int]]:
    at = int(np.flatnonzero(traces.user_ids == user)[0])
    return [traces.cell(event) for event in range(traces.offsets[at], traces.offsets[at + 1])]


@pytest.mark.slow
@given(st.integers(0, 12), st.sampled_from([None, 0, 7]), st.integers(0, 5))
def test_every_pseudonym_has_the_trace_of_its_user(users: int, seed: int | None, data: int) -> None:
    obfuscated = some_obfuscated(users, seed=data)
    release = pseudonymise(obfuscated, seed=seed)
    table = release.id_table
    assert table.is_one_to_one
    assert sorted(table.user_ids.tolist()) == list(range(1, users + 1))
    assert table.pseudonyms.tolist() == release.anonymized.user_ids.tolist()
    for pseudonym, user in zip(table.pseudonyms, table.user_ids, strict=True):
        assert trace_of(release.anonymized, pseudonym) == trace_of(obfuscated, user)


def test_two_thousand_users_become_2001_to_4000(make_walks: MakeWalks) -> None:
    release = pseudonymise(ObfuscatedTraces.from_traces(make_walks(users=2000, days=1)))
    assert release.anonymized.user_ids.tolist() == list(range(2001, 4001))


def test_pseudonyms_start_above_the_largest_user_id() -> None:
    assert pseudonymise(some_obfuscated(3, user_ids=[900, 5, 17])).id_table.pseudonyms.tolist() == [
        901,
        902,
        903,
    ]


def test_users_named_by_text_get_pseudonyms_in_text_order() -> None:
    release = pseudonymise(some_obfuscated(5, user_ids=["ann", "bob", "cem", "dua", "eve"]))
    assert release.anonymized.user_ids.tolist() == ["P06", "P07", "P08", "P09", "P10"]


def test_a_user_id_that_looks_like_a_pseudonym_is_refused() -> None:
    with pytest.raises(DataError, match="P3 to P4"):
        pseudonymise(some_obfuscated(2, user_ids=["P3", "ann"]))


def test_the_same_seed_gives_the_same_release_and_no_seed_another() -> None:
    obfuscated = some_obfuscated(50)
    assert pseudonymise(obfuscated, seed=3).anonymized == pseudonymise(obfuscated, seed=3).anonymized
    assert pseudonymise(obfuscated, seed=3).id_table != pseudonymise(obfuscated, seed=4).id_table
    assert pseudonymise(obfuscated).id_table != pseudonymise(obfuscated).id_table


def test_the_input_stays_as_it_is() -> None:
    obfuscated = some_obfuscated(20)
    pseudonymise(obfuscated)
    assert obfuscated == some_obfuscated(20)


def test_the_numbering_of_place_sets_does_not_tell_the_old_order() -> None:
    users = 30
    places = Places(np.linspace(35, 36, users + 1), np.linspace(139, 140, users + 1))
    original = Traces.from_dense(np.zeros((users, 2), int), places, Clock(instants_per_day=24))
    one_set_a_user = PlaceSets.of([[0, user + 1] for user in range(users)] + [[5, 6]])
    codes = np.column_stack([-2 - np.arange(users), np.full(users, DELETED)]).ravel()
    release = pseudonymise(ObfuscatedTraces.like(original, codes, one_set_a_user), seed=1)
    assert release.anonymized.set_index[::2].tolist() == list(range(users))
    assert len(release.anonymized.sets) == users
    assert [cell[1] for cell in release.anonymized.cells()[::2]] == release.id_table.user_ids.tolist()


def test_the_release_does_not_print_the_secret() -> None:
    assert repr(pseudonymise(some_obfuscated(3)).id_table) == "<IdTable of 3 pseudonyms>"


def chi_square_of_orders(shuffles: Iterable[tuple[int, ...]], users: int) -> tuple[float, float]:
    """The statistic over all orders, and the bound that chance exceeds once in a million."""
    seen = Counter(shuffles)
    orders = list(itertools.permutations(range(users)))
    expected = sum(seen.values()) / len(orders)
    statistic = sum((seen[order] - expected) ** 2 / expected for order in orders)
    return statistic, float(chi2.isf(1e-6, len(orders) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("seeded", [False, True])
def test_all_orders_are_equally_likely(seeded: bool) -> None:
    """T25."""
    draws = (tuple(random_order(4, seed if seeded else None).tolist()) for seed in range(24_000))
    statistic, bound = chi_square_of_orders(draws, 4)
    assert statistic < bound


def test_the_chi_square_test_finds_a_biased_shuffle() -> None:
    rng = random.Random(1)

    def swap_with_anyone() -> tuple[int, ...]:
        order = list(range(4))
        for at in range(4):
            other = rng.randrange(4)
            order[at], order[other] = order[other], order[at]
        return tuple(order)

    statistic, bound = chi_square_of_orders((swap_with_anyone() for _ in range(24_000)), 4)
    assert statistic > bound


@pytest.mark.slow
def test_in_a_release_every_user_gets_every_pseudonym_equally_often() -> None:
    """T25."""
    users, draws = 6, 3000
    obfuscated = some_obfuscated(users, instants=1)
    counts = np.zeros((users, users))
    for _ in range(draws):
        counts[np.arange(users), pseudonymise(obfuscated).id_table.user_ids - 1] += 1
    expected = draws / users
    # The table has (n - 1)² degrees of freedom; of a permutation matrix the sum is n/(n - 1) times χ².
    statistic = ((counts - expected) ** 2 / expected).sum() * (users - 1) / users
    assert statistic < chi2.isf(1e-6, (users - 1) ** 2)


def test_keys_that_collide_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([np.array([5, 5, 1], np.uint64), np.array([9, 4, 7], np.uint64)])
    monkeypatch.setattr("secrets.token_bytes", lambda n: next(answers).tobytes())
    assert random_order(3, None).tolist() == [1, 2, 0]


def test_the_id_tables_of_figure_6_agree_on_two_of_three_pseudonyms() -> None:
    table = IdTable([2001, 2002, 2003], [2, 3, 1])
    guess = IdTable([2001, 2002, 2003], [2, 2, 1])
    assert table.is_one_to_one
    assert not guess.is_one_to_one
    assert int((table.user_ids == guess.user_ids).sum()) == 2


def test_the_organisers_table_has_the_shape_of_ours(osaka: object) -> None:
    rows = np.loadtxt(f"{osaka}/ptable_team001_data01_IDP.csv", int, delimiter=",", skiprows=1)
    theirs = IdTable(rows[:, 0], rows[:, 1])
    ours = pseudonymise(some_obfuscated(2000, instants=1)).id_table
    assert theirs.pseudonyms.tolist() == ours.pseudonyms.tolist()
    assert sorted(theirs.user_ids.tolist()) == sorted(ours.user_ids.tolist())


def test_pseudonyms_above_the_largest_user_id_may_reach_the_largest_number() -> None:
    """Three users get pseudonyms up to 2⁶³ - 1; a user id one larger leaves no room for them."""
    traces = some_obfuscated(3, instants=1)
    assert (
        pseudonymise(traces.with_user_ids([1, 2, 2**63 - 4]), seed=1).id_table.pseudonyms.max() == 2**63 - 1
    )
    with pytest.raises(DataError, match="3 pseudonyms above it would not fit"):
        pseudonymise(traces.with_user_ids([1, 2, 2**63 - 3]), seed=1)


def test_numbers_of_trajectories_do_not_tell_in_which_order_users_stood() -> None:
    traces = simulate_gps(12, 3, seed=1)
    release = pseudonymise(traces, seed=4)
    released, id_table = release.anonymized, release.id_table
    assert (np.diff(released.trajectory_order) == 1).all()
    assert (np.diff(released.trajectory_user) >= 0).all()
    assert released.trajectory_ids.tolist() == list(range(traces.n_trajectories))
    assert id_table.user_ids.tolist() != sorted(id_table.user_ids.tolist())
    for number, user in enumerate(id_table.user_ids):
        own = traces.take_users(traces.user_ids == user)
        there = released.take_users(slice(number, number + 1))
        assert np.array_equal(there.latitude, own.latitude)
        assert there.n_trajectories == own.n_trajectories
        assert np.array_equal(np.diff(there.trajectory) != 0, np.diff(own.trajectory) != 0)
