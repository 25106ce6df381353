from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tracearena.errors import DataError
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

PLACES = Places(np.linspace(0, 1, 6), np.zeros(6))
CLOCK = Clock(instants_per_day=4, interval_s=3600)
tables = hnp.arrays(
    np.int32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(-1, len(PLACES) - 1)
)


@given(tables)
def test_dense_and_back_is_the_identity(table: np.ndarray) -> None:
    traces = Traces.from_dense(table, PLACES, CLOCK)
    assert np.array_equal(traces.dense(), table)
    assert traces.n_events == (table >= 0).sum()


@given(tables, st.randoms())
def test_the_order_of_events_does_not_matter(table: np.ndarray, random: object) -> None:
    traces = Traces.from_dense(table, PLACES, CLOCK)
    order = list(range(traces.n_events))
    random.shuffle(order)  # type: ignore[attr-defined]
    again = Traces.from_events(
        traces.user_ids[traces.user_index][order],
        traces.instants[order],
        traces.place_index[order],
        PLACES,
        CLOCK,
        user_ids=traces.user_ids,
        span=traces.span,
    )
    assert again == traces


@given(tables)
def test_users_days_and_instants_slice_as_the_table_does(table: np.ndarray) -> None:
    traces = Traces.from_dense(table, PLACES, CLOCK)
    users = np.arange(len(table))[::-2]
    assert np.array_equal(traces.take_users(users).dense(), table[users])
    middle = table.shape[1] // 2
    assert np.array_equal(traces.take_instants(0, middle).dense(), table[:, :middle])
    assert np.array_equal(traces.take_users(table[:, 0] >= 0).dense(), table[table[:, 0] >= 0])
    assert traces.take_days(0, 1).n_instants == 4


@given(tables)
def test_visit_counts_count(table: np.ndarray) -> None:
    offsets, visited, counts = Traces.from_dense(table, PLACES, CLOCK).visit_counts()
    for user, row in enumerate(table):
        own = slice(offsets[user], offsets[user + 1])
        assert visited[own].tolist() == sorted(set(row[row >= 0].tolist()))
        assert counts[own].tolist() == [(row == place).sum() for place in visited[own]]


def test_reference_and_original_are_split_by_days(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(days=4)
    reference, original = walks.split_days(2)
    assert reference.span == (0, 40)
    assert original.span == (40, 80)
    assert np.array_equal(np.hstack([reference.dense(), original.dense()]), walks.dense())
    with pytest.raises(DataError, match="cannot split"):
        walks.split_days(4)


def test_check_ins_keep_several_events_of_an_hour_in_their_order() -> None:
    traces = Traces.from_events(
        ["b", "a", "b", "b"], [7, 3, 7, 2], [0, 1, 2, 3], PLACES, CLOCK, timestamps=[90, 10, 80, 5]
    )
    assert traces.user_ids.tolist() == ["a", "b"]
    assert traces.place_index.tolist() == [1, 3, 2, 0]
    assert not traces.is_regular
    with pytest.raises(DataError, match="no dense view"):
        traces.dense()


def test_columns_of_a_data_frame_will_do() -> None:
    frame = pl.DataFrame({"who": [2, 1, 1], "when": [0, 1, 0], "where": [5, 4, 3]})
    traces = Traces.from_events(frame["who"], frame["when"], frame["where"], PLACES, CLOCK)
    assert traces.dense().tolist() == [[3, 4], [5, -1]]


def test_users_without_events_can_be_listed() -> None:
    traces = Traces.from_events([7], [0], [0], PLACES, CLOCK, user_ids=[9, 7])
    assert traces.user_ids.tolist() == [9, 7]
    assert np.diff(traces.offsets).tolist() == [0, 1]
    with pytest.raises(DataError, match="not listed"):
        Traces.from_events([8], [0], [0], PLACES, CLOCK, user_ids=[9, 7])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"place_index": [0, 6]}, "place_index[1] = 6"),
        ({"place_index": [0, -1]}, "place_index[1] = -1"),
        ({"place_index": [0]}, "2 events but 1"),
        ({"place_index": [0, 0.5]}, "fractions"),
        ({"instants": [1, 0]}, "sorted by time"),
        ({"instants": [0, 3], "span": (0, 2)}, "instants[1] = 3"),
        ({"instants": [0, 2**40]}, "instants has values outside"),
        ({"offsets": [0, 1]}, "offsets"),
        ({"offsets": [0, 2, 1]}, "offsets"),
        ({"user_ids": [1, 1], "offsets": [0, 1, 2]}, "same id"),
        ({"timestamps": [0]}, "timestamps"),
    ],
)
def test_contradictory_traces_are_refused(changed: dict, told: str) -> None:
    good = {"user_ids": [1], "offsets": [0, 2], "instants": [0, 1], "place_index": [0, 1]}
    with pytest.raises(DataError) as error:
        Traces(PLACES, CLOCK, **{**good, **changed})
    assert told in str(error.value)


def test_nothing_that_is_handed_out_can_be_written_to(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks()
    for part in (walks, walks.take_users([0]), walks.take_days(0, 1)):
        for array in (part.instants, part.place_index, part.offsets, part.user_ids, part.user_index):
            assert not array.flags.writeable


@pytest.mark.long
def test_a_million_users_are_comfortable() -> None:
    users, instants = 1_000_000, 48
    table = np.broadcast_to(np.arange(instants) % 6, (users, instants))
    traces = Traces.from_dense(table, PLACES, Clock(instants_per_day=24))
    assert traces.n_events == users * instants
    assert traces.take_users(np.arange(0, users, 1000)).dense().shape == (1000, instants)


@pytest.mark.long
def test_sparse_check_ins_over_two_years_are_comfortable() -> None:
    users, events, hours = 220_000, 30, 2 * 365 * 24
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(users), events)
    when = rng.integers(0, hours, users * events)
    where = rng.integers(0, 6, users * events)
    traces = Traces.from_events(who, when, where, PLACES, Clock(instants_per_day=24), span=(0, hours))
    assert traces.n_events == users * events
    assert traces.take_days(0, 365).n_events < traces.n_events


def test_events_go_onto_other_places_with_all_else_kept(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(3, 10)
    halves = np.arange(len(walks.places)) // 2
    moved = walks.onto(walks.places.take(np.arange(len(walks.places) // 2 + 1)), halves)
    assert moved.place_index.tolist() == [int(halves[place]) for place in walks.place_index]
    assert (moved.span, moved.clock) == (walks.span, walks.clock)
    assert moved.has_rows_of(walks)
    assert walks.onto(walks.places) == walks
    with pytest.raises(DataError, match="place_index"):
        walks.onto(walks.places.take([0]))


def test_replaced_attributes_are_checked_and_nothing_derived_is_taken_over() -> None:
    traces = Traces.from_dense([[0, -1, -1], [-1, 1, 0]], PLACES, CLOCK)
    assert traces.user_index.tolist() == [0, 1, 1]
    other = traces.replace(offsets=[0, 2, 3])
    assert other.user_index.tolist() == [0, 0, 1]
    assert other.places is traces.places
    assert traces.replace() == traces
    with pytest.raises(DataError, match=r"place_index\[1\] = 6"):
        traces.replace(place_index=[0, 6, 1])


def test_places_put_on_a_release_keep_its_events() -> None:
    traces = Traces.from_dense([[0, 1, -1], [1, 1, 0]], PLACES, CLOCK).with_timestamps(range(5))
    released = ObfuscatedTraces.like(traces, [1, 1, 0, 0, 1])
    assert Traces.like(released, released.codes) == traces.with_places([1, 1, 0, 0, 1])
    with pytest.raises(DataError, match=r"events need \d+ places"):
        Traces.like(released, [0])
