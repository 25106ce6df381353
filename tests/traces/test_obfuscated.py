from collections.abc import Callable

import numpy as np
import pytest

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


def test_equality_looks_at_the_places_not_at_how_sets_are_numbered() -> None:
    renumbered = ObfuscatedTraces.like(ORIGINAL, [0, -1, -3, -2, -3, 5], PlaceSets.of([[3, 4, 5], [0, 1]]))
    assert renumbered == RELEASED
    assert ObfuscatedTraces.like(ORIGINAL, [0, -1, -2, -3, -3, 5], RELEASED.sets) != RELEASED


@pytest.mark.parametrize(
    ("codes", "sets", "told"),
    [
        ([0] * 5, None, "as many codes"),
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
    codes = released.dense_codes()
    assert ((codes == DELETED) == (walks.dense() >= 0)).all()


def test_a_table_of_ids_knows_whether_it_is_one_to_one() -> None:
    assert not IdTable([4, 5], [1, 1]).is_one_to_one
    with pytest.raises(DataError, match="ascending"):
        IdTable([5, 4], [1, 2])
    with pytest.raises(DataError, match="2 pseudonyms but 1"):
        IdTable([4, 5], [1])
