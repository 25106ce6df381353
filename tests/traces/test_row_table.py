"""Original, obfuscated and GPS traces obey the same verbs: a slow list of rows says what they must do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.row_table import arrange_rows

PLACES = Places(np.linspace(0, 1, 6), np.zeros(6))
CLOCK = Clock(instants_per_day=24)
SETS = PlaceSets.of([[0, 1], [5, 3, 4]])
IDS = ["ann", "bob", "cy", "dee"]

# A row is a user, a time, and a value from 0 to 5.
Row = tuple[int, int, int]
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 5)), max_size=25)


def _events(given: list[Row]) -> Traces:
    users, times, values = zip(*given, strict=True) if given else ((), (), ())
    names = np.array(IDS)[list(users)] if users else np.zeros(0, "U3")
    where = np.array(values, np.int32)
    return Traces.from_events(names, np.array(times, int), where, PLACES, CLOCK, user_ids=IDS, span=(0, 31))


def _released(given: list[Row]) -> ObfuscatedTraces:
    traces = _events(given)
    return ObfuscatedTraces.like(traces, np.array([0, 3, -1, -2, -3, 5])[traces.place_index], SETS)


def _points(given: list[Row]) -> GpsTraces:
    users, times, values = zip(*given, strict=True) if given else ((), (), ())
    names = np.array(IDS)[list(users)] if users else np.zeros(0, "U3")
    where = np.array(values, float)
    labels = np.array(values, int) % 2
    return GpsTraces.from_points(names, np.array(times, int), where, where, trajectories=labels, user_ids=IDS)


MAKERS: list[Callable[[list[Row]], Any]] = [_events, _released, _points]
each_kind = pytest.mark.parametrize("make", MAKERS, ids=["Traces", "ObfuscatedTraces", "GpsTraces"])


def listed(traces: Any) -> list[tuple[Any, ...]]:
    """Return id, time and what is known of each row, one by one."""
    found = []
    for user, name in enumerate(traces.user_ids.tolist()):
        for row in range(traces.offsets[user], traces.offsets[user + 1]):
            assert traces.user_index[row] == user
            if isinstance(traces, GpsTraces):
                label = traces.trajectory_ids[traces.trajectory[row]]
                found.append((name, int(traces.time_ms[row]), float(traces.latitude[row]), int(label)))
            elif isinstance(traces, ObfuscatedTraces):
                found.append((name, int(traces.instants[row]), tuple(traces.cell(row))))
            else:
                found.append((name, int(traces.instants[row]), int(traces.place_index[row])))
    return found


@each_kind
@given(given=rows)
def test_rows_stand_by_user_and_time_and_ties_keep_their_order(make: Callable, given: list[Row]) -> None:
    traces = make(given)
    assert len(traces) == len(given)
    assert traces.n_users == 4
    ordered = sorted(given, key=lambda row: row[:2])  # stable
    assert traces == make(ordered)
    assert [(name, time) for name, time, *_ in listed(traces)] == [(IDS[u], t) for u, t, _ in ordered]


@each_kind
@given(given=rows, chosen=st.lists(st.integers(0, 3), max_size=4, unique=True))
def test_taken_users_bring_all_their_rows(make: Callable, given: list[Row], chosen: list[int]) -> None:
    traces = make(given)
    taken = traces.take_users(chosen)
    assert listed(taken) == [row for user in chosen for row in listed(traces) if row[0] == IDS[user]]
    mask = np.isin(np.arange(4), chosen)
    assert traces.take_users(mask) == traces.take_users(sorted(chosen))


@each_kind
@given(given=rows, first=st.integers(-5, 5), stop=st.integers(-5, 5), step=st.sampled_from([None, 1, 2, -1]))
def test_slices_of_users_are_those_of_a_list(
    make: Callable, given: list[Row], first: int, stop: int, step: int | None
) -> None:
    traces, cut = make(given), slice(first, stop, step)
    assert traces.take_users(cut) == traces.take_users(np.array(range(4)[cut], int))


@each_kind
@given(given=rows, data=st.data())
def test_kept_rows_are_exactly_those_and_all_users_stay(
    make: Callable, given: list[Row], data: st.DataObject
) -> None:
    traces = make(given)
    mask = data.draw(st.lists(st.booleans(), min_size=len(given), max_size=len(given)))
    kept = traces.keep(mask)
    assert listed(kept) == [row for row, wanted in zip(listed(traces), mask, strict=True) if wanted]
    assert kept.has_users_of(traces)
    with pytest.raises(DataError, match="need a mask of"):
        traces.keep([*mask, True])


@each_kind
@given(given=rows, mask=st.lists(st.booleans(), min_size=25, max_size=25))
def test_joined_parts_hold_all_rows_of_each_user(make: Callable, given: list[Row], mask: list[bool]) -> None:
    # Rows at one time stand in the order of the parts, so the parts share no time of a user.
    given = list({row[:2]: row for row in given}.values())
    first = [row for row, here in zip(given, mask, strict=False) if here]
    second = [row for row, here in zip(given, mask, strict=False) if not here]
    parts = [make(second).take_users(slice(None, None, -1)), make(first)]
    whole = type(parts[0]).concat(parts)
    assert whole == make(given)
    assert type(whole).concat([whole]) == whole
    with pytest.raises(DataError, match="no traces to join"):
        type(whole).concat([])


@each_kind
def test_other_ids_change_nothing_else(make: Callable) -> None:
    traces = make([(0, 1, 2), (2, 0, 3)])
    other = traces.with_user_ids([9, 8, 7, 6])
    assert other != traces
    assert other.has_rows_of(traces)
    assert not other.has_users_of(traces)
    assert other.with_user_ids(IDS) == traces
    for wrong in ([1, 2, 3], [1, 1, 2, 3]):
        with pytest.raises(DataError, match="4 users need 4 different ids"):
            traces.with_user_ids(wrong)


@each_kind
@given(given=rows, other=rows)
def test_equal_are_those_with_equal_rows(make: Callable, given: list[Row], other: list[Row]) -> None:
    assert (make(given) == make(other)) == (listed(make(given)) == listed(make(other)))
    assert make(given) != "traces"


def test_the_three_kinds_are_never_equal() -> None:
    given = [(0, 1, 2)]
    assert _events(given) != _released(given)
    assert _events(given) != _points(given)


@each_kind
def test_nothing_can_be_changed_and_copies_are_equal(make: Callable) -> None:
    traces = make([(0, 1, 2), (2, 0, 3)])
    with pytest.raises(AttributeError, match=f"{type(traces).__name__} cannot be changed"):
        traces.user_ids = np.arange(4)
    for part in (traces, traces.take_users([2]), traces.take_users(slice(0, 1)), traces.keep([True, False])):
        arrays = [value for value in vars(part).values() if isinstance(value, np.ndarray)]
        assert len(arrays) >= 4
        assert not any(array.flags.writeable for array in arrays)
    assert pickle.loads(pickle.dumps(traces)) == copy.deepcopy(traces) == traces
    with pytest.raises(TypeError, match="unhashable"):
        hash(traces)


@each_kind
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"offsets": [0, 1]}, "2 users need 3 offsets, not 2"),
        ({"offsets": [0, 2, 1]}, "offsets must rise from 0 to the number of"),
        ({"offsets": [0, 1, 1]}, "offsets must rise from 0 to the number of"),
        ({"user_ids": [7, 7]}, "two users have the same id"),
    ],
)
def test_users_and_offsets_must_fit(make: Callable, changed: dict[str, list[int]], told: str) -> None:
    traces = make([(0, 1, 2), (2, 0, 3)]).take_users([0, 2])
    known = {"user_ids": traces.user_ids, "offsets": traces.offsets, **changed}
    if isinstance(traces, GpsTraces):
        known |= {"time_ms": traces.time_ms, "latitude": traces.latitude, "longitude": traces.longitude}
    else:
        known |= {"places": PLACES, "clock": CLOCK, "instants": traces.instants}
        known |= {"codes": [0, 0]} if isinstance(traces, ObfuscatedTraces) else {"place_index": [0, 0]}
    with pytest.raises(DataError, match=told):
        type(traces)(**known)


def test_whole_numbers_without_a_sign_are_sorted_too() -> None:
    times = np.array([5, 3], np.uint64)
    assert GpsTraces.from_points([1, 1], times, [1.0, 2.0], [0.0, 0.0]).time_ms.tolist() == [3, 5]


@pytest.mark.parametrize("widest", [10, 2**45, 2**61, 2**62 + 1])
def test_rows_are_sorted_stably_however_far_their_times_lie_apart(widest: int) -> None:
    # Near times are sorted together with the rows, farther ones without, the farthest key by key.
    rng = np.random.default_rng(widest % 97)
    users, times = rng.integers(0, 40, 3000), rng.choice(rng.integers(-widest, widest, 50), 3000)
    times[:2] = -widest, widest - 1
    rows = arrange_rows(users, [times])
    np.testing.assert_array_equal(rows.order, np.lexsort((times, users)))


@each_kind
@given(given=rows)
def test_users_are_looped_over_and_taken_by_their_ids(
    make: Callable[[list[Row]], Any], given: list[Row]
) -> None:
    traces = make(given)
    assert list(traces) == IDS
    assert [len(traces[user]) for user in traces] == np.diff(traces.offsets).tolist()
    assert all(user in traces for user in traces)
    assert traces["cy"] == traces.take_users([2])
    assert traces[["cy", "ann"]] == traces.take_users([2, 0])
    assert list(traces[traces.user_ids]) == IDS
    assert list(traces[[]]) == []
    assert "zed" not in traces
    with pytest.raises(
        ParameterError, match="there is no user 'zed'; name one of them, such as 'ann', 'bob', 'cy'"
    ):
        traces["zed"]
    with pytest.raises(ParameterError, match="there is no user 'zed'"):
        traces[["ann", "zed"]]
    with pytest.raises(ParameterError, match="take users with take_users"):
        traces[:2]


@each_kind
@given(given=rows, n=st.integers(0, 30))
def test_the_head_is_the_first_rows_of_the_frame(
    make: Callable[[list[Row]], Any], given: list[Row], n: int
) -> None:
    traces = make(given)
    assert traces.head(n).equals(traces.to_frame().head(n))


def test_ids_that_are_numbers_are_found_by_their_text_too() -> None:
    traces = _events([(0, 1, 2)]).with_user_ids([7, 8, 9, 10])
    assert traces["7"] == traces[7]
    table = IdTable([2001, 2002], ["ann", "bob"])
    assert {pseudonym: table[pseudonym] for pseudonym in table} == {2001: "ann", 2002: "bob"}
    assert table["2002"] == "bob"
    assert table.head(1).rows() == [(2001, "ann")]
    with pytest.raises(ParameterError, match="there is no pseudonym '7' in the table"):
        table[7]


def test_places_have_a_head_too() -> None:
    assert PLACES.head(2).get_column("lat").to_list() == [0.0, 0.2]
    with pytest.raises(ParameterError, match="n = -1"):
        PLACES.head(-1)
