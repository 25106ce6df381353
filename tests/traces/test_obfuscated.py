import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import DataError
from tracearena.traces import DELETED, Clock, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

PLACES = Places(np.linspace(0, 1, 6), np.zeros(6))
ORIGINAL = Traces.from_dense([[0, 1, 2], [3, 4, 5]], PLACES, Clock(instants_per_day=24))
RELEASED = ObfuscatedTraces.like(ORIGINAL, [0, DELETED, -2, -3, -2, 5], PlaceSets.of([[0, 1], [3, 4, 5]]))


def test_an_event_is_one_place_several_or_none() -> None:
    assert RELEASED.cells() == [[0], [], [0, 1], [3, 4, 5], [0, 1], [5]]
    assert RELEASED.is_single.tolist() == [True, False, False, False, False, True]
    assert RELEASED.is_deleted.sum() == 1
    assert RELEASED.is_set.sum() == 3


def test_slices_keep_their_sets() -> None:
    assert RELEASED.take_users([1]).cells() == [[3, 4, 5], [0, 1], [5]]
    assert RELEASED.take_instants(1, 2).cells() == [[], [0, 1]]


@given(
    st.lists(st.integers(-4, 5), min_size=6, max_size=6),
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=3, max_size=3),
)
def test_pairs_are_the_cells_event_by_event(codes: list[int], sets: list[list[int]]) -> None:
    released = ObfuscatedTraces.like(ORIGINAL, codes, PlaceSets.of(sets))
    expected = [(e, place, 1 / len(cell)) for e, cell in enumerate(released.cells()) for place in cell]
    event, place, weight = released.pairs()
    assert list(zip(event.tolist(), place.tolist(), weight.tolist(), strict=True)) == expected
    assert np.bincount(event, weight, minlength=6) == pytest.approx((~released.is_deleted).astype(float))


def test_a_release_of_nothing_has_no_pairs() -> None:
    nothing = ObfuscatedTraces.like(ORIGINAL, [DELETED] * 6)
    assert [len(column) for column in nothing.pairs()] == [0, 0, 0]
    assert len(nothing.keep(np.zeros(6, bool)).pairs().event) == 0


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), max_size=5),
    st.lists(st.integers(0, 4), max_size=8),
)
def test_sets_are_taken_by_number(sets: list[list[int]], wanted: list[int]) -> None:
    chosen = [number for number in wanted if number < len(sets)]
    taken = PlaceSets.of(sets).take(chosen)
    assert [taken[at].tolist() for at in range(len(taken))] == [sets[number] for number in chosen]


def test_equality_looks_at_the_places_not_at_how_sets_are_numbered() -> None:
    renumbered = ObfuscatedTraces.like(ORIGINAL, [0, -1, -3, -2, -3, 5], PlaceSets.of([[3, 4, 5], [0, 1]]))
    assert renumbered == RELEASED
    assert ObfuscatedTraces.like(ORIGINAL, [0, -1, -2, -3, -3, 5], RELEASED.sets) != RELEASED


@pytest.mark.parametrize(
    ("codes", "sets", "told"),
    [
        ([0] * 5, None, "6 events need 6 codes"),
        ([6] * 6, None, "codes[0] = 6"),
        ([-2] * 6, None, "codes[0] = -2"),
        ([-2] * 6, PlaceSets.of([[6]]), "members"),
    ],
)
def test_codes_without_meaning_are_refused(codes: list, sets: PlaceSets | None, told: str) -> None:
    with pytest.raises(DataError) as error:
        ObfuscatedTraces.like(ORIGINAL, codes, sets)
    assert told in str(error.value)


def test_a_set_has_members() -> None:
    with pytest.raises(DataError, match="size of place set"):
        PlaceSets.of([[]])


def test_deleted_and_never_seen_are_different(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(missing=0.5)
    released = ObfuscatedTraces.like(walks, np.full(walks.n_events, DELETED))
    assert released.n_events == (walks.dense() >= 0).sum()
    assert released.is_deleted.all()


def test_a_table_of_ids_knows_whether_it_is_one_to_one() -> None:
    assert not IdTable([4, 5], [1, 1]).is_one_to_one
    with pytest.raises(DataError, match="ascending"):
        IdTable([5, 4], [1, 2])
    with pytest.raises(DataError, match="2 pseudonyms but 1"):
        IdTable([4, 5], [1])


def test_times_to_the_second_go_with_the_events() -> None:
    places = Places([35.0, 35.1], [139.0, 139.1])
    moments = np.array([5, 3605, 7, 3609])
    original = Traces.from_events(
        [1, 1, 2, 2], [0, 1, 0, 1], [0, 1, 1, 0], places, Clock(instants_per_day=24), timestamps=moments
    )
    released = ObfuscatedTraces.like(original, [1, DELETED, 0, 1])
    assert released.timestamps is not None
    assert released.timestamps.tolist() == moments.tolist()
    assert ObfuscatedTraces.from_traces(original).timestamps is original.timestamps
    assert released.keep([True, False, True, True]).timestamps.tolist() == [5, 7, 3609]
    assert released.take_users([1]).timestamps.tolist() == [7, 3609]
    assert released.take_instants(1, 2).timestamps.tolist() == [3605, 3609]
    assert released.with_user_ids([8, 9]).timestamps.tolist() == moments.tolist()
    assert ObfuscatedTraces.concat([released.take_users([1]), released.take_users([0])]) == released
    assert pickle.loads(pickle.dumps(released)) == released
    bare = released.without_timestamps()
    assert bare.timestamps is None
    assert bare != released
    assert bare == ObfuscatedTraces.like(original.without_timestamps(), [1, DELETED, 0, 1])
    assert ObfuscatedTraces.concat([released.take_users([1]), bare.take_users([0])]).timestamps is None
    assert bare.with_timestamps(moments) == released
    with pytest.raises(DataError, match="4 events need 4 timestamps, not 3"):
        bare.with_timestamps(moments[1:])
