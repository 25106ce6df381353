"""The two tensors, on the paper's example and on the authors' files."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tracearena.synthesis.ppmtf.tensors import transition_counts, visit_counts
from tracearena.traces import Clock, Places, Traces

FIVE = Places([0.0] * 5, range(5))
NINE = Clock(instants_per_day=9, instants_per_slot=3)


def cells(tensor) -> dict[tuple[int, int, int], int]:
    keys = zip(tensor.user.tolist(), tensor.first.tolist(), tensor.second.tolist(), strict=True)
    return dict(zip(keys, tensor.counts.tolist(), strict=True))


def test_trace_s1_of_figure_1_gives_the_counts_of_figure_3():
    # s_1 = (x_2, 1), (x_3, 2), (x_4, 3), (x_3, 5), (x_4, 6), (x_5, 7), (x_5, 9); the paper counts from 1.
    s1 = Traces.from_dense([[1, 2, 3, -1, 2, 3, 4, -1, 4]], FIVE, NINE)
    moves, visits = cells(transition_counts(s1)), cells(visit_counts(s1))
    assert moves == {(0, 1, 2): 1, (0, 2, 3): 2, (0, 3, 4): 1}
    assert moves[0, 3 - 1, 4 - 1] == 2
    assert visits[0, 5 - 1, 3 - 1] == 2
    assert sum(visits.values()) == 7


def test_no_transition_crosses_midnight_a_gap_a_user_or_an_instant():
    clock = Clock(instants_per_day=3)
    users = [0, 0, 0, 0, 0, 0, 1]
    instants = [1, 2, 3, 4, 4, 5, 1]
    traces = Traces.from_events(users, instants, [0, 1, 2, 3, 4, 0, 1], FIVE, clock)
    assert cells(transition_counts(traces)) == {(0, 0, 1): 1, (0, 2, 3): 1, (0, 4, 0): 1}


def test_slots_repeat_every_day_and_every_event_of_an_instant_is_a_visit():
    clock = Clock(instants_per_day=4, instants_per_slot=2)
    traces = Traces.from_events([7] * 4, [0, 5, 5, 6], [2, 2, 2, 3], FIVE, clock)
    assert cells(visit_counts(traces)) == {(0, 2, 0): 3, (0, 3, 1): 1}


def test_trimming_keeps_a_random_choice_with_full_counts(make_walks):
    tensor = visit_counts(make_walks(users=5, days=4))
    trimmed = tensor.trimmed(10, seed=1)
    before, after = cells(tensor), cells(trimmed)
    assert after.items() <= before.items()
    assert np.diff(trimmed.offsets).tolist() == [min(10, n) for n in np.diff(tensor.offsets).tolist()]
    assert cells(tensor.trimmed(10, seed=1)) == after != cells(tensor.trimmed(10, seed=2))
    assert tensor.trimmed(10_000, seed=1) is tensor


def test_truncation_cuts_counts_only():
    traces = Traces.from_dense([[0] * 9, [1] * 9], FIVE, NINE)
    tensor = transition_counts(traces)
    assert tensor.counts.tolist() == [8, 8]
    assert tensor.truncated(5).counts.tolist() == [5, 5]


def test_users_without_events_have_no_cells():
    traces = Traces.from_events([1], [0], [0], FIVE, NINE, user_ids=[1, 2, 3])
    assert transition_counts(traces).offsets.tolist() == [0, 0, 0, 0]
    assert visit_counts(traces).take_users(1, 3).offsets.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("file", "count", "second"),
    [
        ("traintranstensor_TK_mnt100.csv", transition_counts, "poi_index_to"),
        ("trainvisittensor_TK_mnv100.csv", visit_counts, "time_slot"),
    ],
)
def test_both_tensors_equal_the_published_files(tokyo_training, shared_data, file, count, second):
    published = pl.read_csv(shared_data / "ppmtf-tokyo" / file)
    keys = published.select("user_index", "poi_index_from", second).rows()
    assert cells(count(tokyo_training)) == dict(zip(keys, published["count"].to_list(), strict=True))
