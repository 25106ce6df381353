"""What a transition is, against a slow and obvious way to say it, and what follows from it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import DataError
from tracearena.mobility import UserTransitions, departures, has_transitions, transition_matrix
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces

CLOCK = Clock(instants_per_day=4)
M = 6
PLACES = Places(np.arange(M), np.zeros(M))
Rows = list[tuple[int, int, int]]

events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(0, 5)), min_size=1, max_size=40
)


def traces_of(rows: Rows) -> Traces:
    users, instants, places = np.array(rows).T
    return Traces.from_events(users, instants, places, PLACES, CLOCK, user_ids=range(4), span=(0, 12))


def slow_steps(rows: Rows, adjacent: bool, midnight: bool) -> list[tuple[int, int, int]]:
    """List user, place and next place of each transition, user after user."""
    found = []
    for user in range(4):
        mine = sorted((row for row in rows if row[0] == user), key=lambda row: row[1])
        for (_, before, start), (_, after, end) in itertools.pairwise(mine):
            if (midnight or before // 4 == after // 4) and (after - before == 1 or not adjacent):
                found.append((user, start, end))
    return found


def slow_matrix(rows: Rows, adjacent: bool) -> np.ndarray:
    counts = np.zeros((M, M))
    for _, start, end in slow_steps(rows, adjacent, midnight=False):
        counts[start, end] += 1
    for place in range(M):
        counts[place] = counts[place] / counts[place].sum() if counts[place].any() else np.eye(M)[place]
    return counts


@examples(60)
@given(events, st.booleans(), st.booleans())
def test_options_say_what_a_transition_is(rows: Rows, adjacent: bool, midnight: bool) -> None:
    traces = traces_of(rows)
    start = departures(traces, adjacent=adjacent, midnight=midnight)
    place = traces.place_index
    found = np.column_stack([traces.user_index[start], place[start], place[start + 1]])
    assert [tuple(step) for step in found.tolist()] == slow_steps(rows, adjacent, midnight)
    assert has_transitions(traces) == bool(slow_steps(rows, adjacent=True, midnight=False))


@examples(60)
@given(events)
def test_a_matrix_counts_pairs_and_keeps_whom_nobody_saw_leave(rows: Rows) -> None:
    assert np.allclose(transition_matrix(traces_of(rows)).toarray(), slow_matrix(rows, True))
    loose = transition_matrix(traces_of(rows), adjacent=False).toarray()
    assert np.allclose(loose, slow_matrix(rows, False))


def test_neither_gaps_nor_midnight_nor_the_same_hour_make_a_transition() -> None:
    matrix = transition_matrix(traces_of([(0, 0, 1), (0, 2, 2), (0, 3, 3), (0, 3, 4), (0, 4, 5)])).toarray()
    assert matrix[2, 3] == 1
    assert (np.delete(matrix, 2, axis=0) == np.delete(np.eye(M), 2, axis=0)).all()


def test_sets_spread_their_transitions_and_deleted_events_break_the_chain() -> None:
    original = traces_of([(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3)])
    released = ObfuscatedTraces.like(original, [0, -2, -1, 3], PlaceSets.of([[1, 2]]))
    matrix = transition_matrix(released).toarray()
    assert matrix[0].tolist() == [0, 0.5, 0.5, 0, 0, 0]
    assert (matrix[1:] == np.eye(M)[1:]).all()


@examples(60)
@given(events, events)
def test_matrices_of_users_learn_from_all_their_consecutive_events(a: Rows, b: Rows) -> None:
    known = UserTransitions.of(traces_of(a), traces_of(b))
    steps = slow_steps(a, adjacent=False, midnight=True)
    steps += [(user + 4, start, end) for user, start, end in slow_steps(b, adjacent=False, midnight=True)]
    found = {}
    for at, cell in enumerate(known.cells.tolist()):
        for k in range(known.offsets[at], known.offsets[at + 1]):
            found[int(known.users[k]), *divmod(cell, M)] = float(known.probabilities[k])
    expected = {
        step: steps.count(step) / sum(other[:2] == step[:2] for other in steps) for step in set(steps)
    }
    assert found == pytest.approx(expected)
    assert known.find(known.cells).tolist() == list(range(len(known.cells)))
    assert known.find(np.array([M * M])).tolist() == [-1]


def test_users_of_other_places_do_not_go_together() -> None:
    few = Traces.from_dense([[0, 1]], Places([0, 1], [0, 0]), CLOCK)
    with pytest.raises(DataError, match="places cannot be combined"):
        UserTransitions.of(traces_of([(0, 0, 1)]), few)
