"""Files of one data set on common ground."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.io.alignment import align_tables, move_to_common_places
from tracearena.traces import Clock, Grid, ObfuscatedTraces, Places, PlaceSets, Traces


def clock(day: int | None = 3, **settings: int) -> Clock:
    first = None if day is None else datetime.date(2012, 4, day)
    return Clock(**({"instants_per_day": 24} | settings), first_day=first)


def places(*names: str, shift: float = 0.0) -> Places:
    at = np.array([ord(name) for name in names]) / 10
    return Places(at + shift, at, ids=list(names), sensitive=[name == "a" for name in names])


def test_places_are_known_by_their_ids_and_days_by_their_dates() -> None:
    one = Traces.from_dense([[0, 1]], places("b", "c"), clock(5))
    other = Traces.from_dense([[0, 1]], places("a", "b"), clock(3))
    first, second = align_tables(one, other)
    assert first.places.ids.tolist() == second.places.ids.tolist() == ["b", "c", "a"]
    assert first.places.sensitive.tolist() == [False, False, True]
    assert (first.place_index.tolist(), second.place_index.tolist()) == ([0, 1], [2, 0])
    assert (first.instants.tolist(), second.instants.tolist()) == ([48, 49], [0, 1])
    assert first.clock == second.clock == clock(3)
    assert (first.span, second.span) == ((48, 50), (0, 2))


def test_what_is_released_moves_with_its_sets() -> None:
    original = Traces.from_dense([[0, 1, 0]], places("a", "b"), clock(4))
    released = ObfuscatedTraces.like(original, [1, -1, -2], PlaceSets.of([[0, 1]]))
    reference = Traces.from_dense([[0]], places("b", "c"), clock(3))
    known, target = align_tables(reference, released)
    assert known.places.ids.tolist() == ["b", "c", "a"]
    assert target.cells() == [[0], [], [2, 0]]
    assert target.instants.tolist() == [24, 25, 26]


def test_the_larger_places_stay_a_grid() -> None:
    grid = Places.of_grid(Grid(rows=2, columns=2, south=40, west=-74, north=41, east=-73))
    some = Places(grid.latitude[1:3], grid.longitude[1:3], ids=grid.ids[1:3])
    first, second = align_tables(
        Traces.from_dense([[0]], some, clock()), Traces.from_dense([[0]], grid, clock())
    )
    assert first.places == second.places == grid
    assert (first.place_index.tolist(), second.place_index.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (places("a"), places("a", shift=0.1), "place 'a' is at"),
        (
            Places.of_grid(Grid(rows=1, columns=2, south=40, west=-74, north=41, east=-73)),
            places("a"),
            "different grids",
        ),
    ],
)
def test_places_that_contradict_each_other_are_refused(one: Places, other: Places, told: str) -> None:
    with pytest.raises(DataError, match=told):
        align_tables(Traces.from_dense([[0]], one, clock()), Traces.from_dense([[0]], other, clock()))


@pytest.mark.parametrize("other", [clock(None), clock(3, instants_per_day=12, interval_s=7200)])
def test_two_clocks_are_refused(other: Clock) -> None:
    with pytest.raises(DataError, match="they need the same clock"):
        align_tables(
            Traces.from_dense([[0]], places("a"), clock()), Traces.from_dense([[0]], places("a"), other)
        )


def test_only_places_are_made_alike_where_clocks_may_differ() -> None:
    made = move_to_common_places(
        [
            Traces.from_dense([[0]], places("a"), clock()),
            Traces.from_dense([[0]], places("b"), clock(None)),
            Traces.from_dense([[0]], places("c"), clock(9)),
        ]
    )
    assert [traces.places.ids.tolist() for traces in made] == [["a", "b", "c"]] * 3
    assert [traces.place_index.tolist() for traces in made] == [[0], [1], [2]]
    assert [traces.clock for traces in made] == [clock(), clock(None), clock(9)]
