"""GPS traces: sorted flat arrays that refuse nonsense."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.errors import DataError
from tracearena.traces import Box, GpsTraces


def test_points_are_sorted_by_user_and_time_and_ties_keep_their_order() -> None:
    traces = GpsTraces.from_points(
        ["b", "a", "b", "b"], [7, 5, 3, 3], [1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]
    )
    assert traces.user_ids.tolist() == ["a", "b"]
    assert traces.offsets.tolist() == [0, 1, 4]
    assert traces.latitude.tolist() == [2.0, 3.0, 4.0, 1.0]


def test_users_without_points_can_be_listed() -> None:
    traces = GpsTraces.from_points([2], [0], [0.0], [0.0], user_ids=[1, 2, 3])
    assert np.diff(traces.offsets).tolist() == [0, 1, 0]


def test_trajectories_may_overlap_in_time() -> None:
    traces = GpsTraces.from_points(
        [1] * 4, [0, 10, 5, 15], [0.0, 1.0, 2.0, 3.0], [0.0] * 4, trajectories=["x", "x", "y", "y"]
    )
    assert traces.trajectory.tolist() == [0, 1, 0, 1]
    first, second = traces.trajectory_offsets[1], traces.trajectory_offsets[2]
    assert traces.latitude[traces.trajectory_order[:first]].tolist() == [0.0, 1.0]
    assert traces.latitude[traces.trajectory_order[first:second]].tolist() == [2.0, 3.0]


def test_the_same_trajectory_name_of_two_users_is_two_trajectories() -> None:
    traces = GpsTraces.from_points([1, 2], [0, 0], [0.0, 1.0], [0.0, 0.0], trajectories=["x", "x"])
    assert traces.n_trajectories == 2
    assert traces.trajectory_user.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"latitude": [400.17, 0.0]}, r"latitude\[0\] = 400.17 .* from -90 to 90"),
        ({"longitude": [0.0, 181.0]}, r"longitude\[1\]"),
        ({"latitude": [np.nan, 0.0]}, "latitude"),
        ({"time_ms": [5, 0]}, "sorted by time"),
        ({"offsets": [0, 1]}, "offsets must rise"),
        ({"longitude": [0.0]}, "values in longitude"),
        ({"trajectory": [0, 3], "trajectory_ids": [0]}, "trajectory"),
    ],
)
def test_nonsense_is_refused(changed: dict[str, list[float]], message: str) -> None:
    good = {"user_ids": [1], "offsets": [0, 2], "time_ms": [0, 5], "latitude": [0, 0], "longitude": [0, 0]}
    with pytest.raises(DataError, match=message):
        GpsTraces(**{**good, **changed})


def test_a_trajectory_belongs_to_one_user() -> None:
    with pytest.raises(DataError, match="one user"):
        GpsTraces(
            user_ids=[1, 2],
            offsets=[0, 1, 2],
            time_ms=[0, 0],
            latitude=[0, 0],
            longitude=[0, 0],
            trajectory=[0, 0],
        )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.booleans()), max_size=40))
def test_keeping_points_keeps_exactly_those(rows: list[tuple[int, int, bool]]) -> None:
    users, times, kept = ([row[i] for row in rows] for i in range(3))
    latitude = np.arange(len(rows)) / 100
    traces = GpsTraces.from_points(users, times, latitude, latitude, user_ids=range(4))
    mask = np.array(kept, bool)[np.lexsort((times, users))] if rows else np.empty(0, bool)
    part = traces.keep(mask)
    assert part.latitude.tolist() == traces.latitude[mask].tolist()
    assert part.user_index.tolist() == traces.user_index[mask].tolist()
    assert part.n_users == 4
    assert set(part.trajectory.tolist()) == set(range(part.n_trajectories))


def test_trajectories_close_up_when_points_go() -> None:
    traces = GpsTraces.from_points([1, 1, 2], [0, 1, 0], [1.0, 2.0, 3.0], [0.0] * 3, trajectories=[7, 8, 9])
    second = traces.take_users(slice(1, 2))
    assert (second.trajectory.tolist(), second.trajectory_ids.tolist()) == ([0], [9])
    later = traces.keep(traces.time_ms == 1)
    assert (later.trajectory.tolist(), later.trajectory_ids.tolist()) == ([0], [8])


def test_recordings_of_one_name_are_put_together_again() -> None:
    traces = GpsTraces.from_points([1, 1, 2], [0, 9, 0], [1.0, 2.0, 3.0], [0.0] * 3, trajectories=["x"] * 3)
    again = GpsTraces.concat([traces.keep(traces.time_ms >= 5), traces.keep(traces.time_ms < 5)])
    assert again == traces
    assert again.n_trajectories == 2


def test_trajectories_can_have_other_ids() -> None:
    traces = GpsTraces.from_points([1, 2], [0, 0], [1.0, 2.0], [0.0] * 2, trajectories=["x", "y"])
    assert traces.with_trajectory_ids([0, 1]).trajectory_ids.tolist() == [0, 1]
    with pytest.raises(DataError, match="2 trajectories need 2 ids, not 1"):
        traces.with_trajectory_ids([0])


def test_a_box_keeps_the_points_on_its_border() -> None:
    traces = GpsTraces.from_points([1] * 3, [0, 1, 2], [0.0, 1.0, 1.1], [0.0, 2.0, 1.0])
    assert traces.take_box(Box(0, 0, 1, 2)).latitude.tolist() == [0.0, 1.0]


def test_joining_takes_no_more_memory_where_users_have_long_names() -> None:
    def peak_bytes(length: int) -> int:
        n = 20_000
        parts = [
            GpsTraces.from_points(
                [f"{part:0{length}}"] * n, 1000 * np.arange(n), np.full(n, 35.0), np.full(n, 139.0)
            )
            for part in range(5)
        ]
        tracemalloc.start()
        try:
            assert GpsTraces.concat(parts).n_points == 5 * n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak_bytes(60) < 1.1 * peak_bytes(1)
