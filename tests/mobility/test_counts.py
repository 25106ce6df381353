"""The two tensors, on the paper's example and on the authors' files."""

from __future__ import annotations

from tracearena.io.ppmtf import read_transition_tensor, read_visit_tensor
from tracearena.mobility import transition_counts, visit_counts
from tracearena.traces import Clock, Places, Traces

FIVE = Places([0.0] * 5, range(5))
NINE = Clock(instants_per_day=9, instants_per_slot=3)


def cells(tensor) -> dict[tuple[int, int, int], int]:
    keys = zip(tensor.users.tolist(), tensor.i.tolist(), tensor.j.tolist(), strict=True)
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


def test_users_without_events_have_no_cells():
    traces = Traces.from_events([1], [0], [0], FIVE, NINE, user_ids=[1, 2, 3])
    assert transition_counts(traces).offsets.tolist() == [0, 0, 0, 0]
    assert visit_counts(traces.take_users(slice(1, 3))).offsets.tolist() == [0, 0, 0]


def test_both_tensors_equal_the_published_files(tokyo_training, tokyo):
    moves = read_transition_tensor(tokyo / "traintranstensor_TK_mnt100.csv", 500, 400)
    visits = read_visit_tensor(tokyo / "trainvisittensor_TK_mnv100.csv", 500, 400, 30)
    assert transition_counts(tokyo_training) == moves
    assert visit_counts(tokyo_training) == visits
