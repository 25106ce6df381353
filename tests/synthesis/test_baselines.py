"""SGD, Uniform and Training."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError, ParameterError
from tracearena.synthesis import SGD, Training, Uniform
from tracearena.traces import Clock, Places, Traces

THREE = Places([0.0, 0.1, 0.2], [0.0, 0.1, 0.2])


def test_sgd_walks_with_the_matrix_of_the_slot_of_the_new_instant():
    clock = Clock(instants_per_day=4, instants_per_slot=2)
    # Slot 0 stays (0 -> 0), slot 1 moves on (0 -> 1 -> 2).
    model = SGD().fit(Traces.from_dense([[0, 0, 1, 2]], THREE, clock))
    assert model.synthesize(3, seed=1).dense().tolist() == [[0, 0, 1, 2] * 3]


def test_sgd_has_the_frequencies_of_the_training_transitions():
    clock = Clock(instants_per_day=2)
    training = Traces.from_dense([[0, 1]] * 3 + [[0, 2]] * 1 + [[1, 1]] * 4, THREE, clock)
    drawn = SGD().fit(training).synthesize(20_000, seed=2).dense().reshape(-1, 2)
    assert np.mean(drawn[:, 0] == 0) == pytest.approx(0.5, abs=0.01)
    assert np.mean(drawn[drawn[:, 0] == 0, 1] == 1) == pytest.approx(0.75, abs=0.01)
    assert (drawn[drawn[:, 0] == 1, 1] == 1).all()


def test_sgd_goes_anywhere_from_a_place_that_was_never_left():
    clock = Clock(instants_per_day=3)
    training = Traces.from_dense([[0, 1, -1], [-1, -1, 2]], THREE, clock)
    drawn = SGD().fit(training).synthesize(6_000, seed=1).dense().reshape(-1, 3)
    assert np.bincount(drawn[:, 2], minlength=3) == pytest.approx([4000] * 3, rel=0.1)


def test_sgd_copies_beginnings():
    clock = Clock(instants_per_day=4)
    events = ([0, 0, 0, 1, 1], [0, 1, 1, 0, 2], [2, 0, 1, 0, 0])
    model = SGD(copied=2).fit(Traces.from_events(*events, THREE, clock))
    drawn = model.synthesize(50, seed=1).dense().reshape(2, 50, 4)
    assert (drawn[0, :, :2] == [2, 1]).all(), "the last of several events is copied"
    assert (drawn[1, :, 0] == 0).all()
    assert len(np.unique(drawn[1, :, 1])) > 1, "a missing event is drawn"


def test_sgd_copies_at_most_a_day(make_walks):
    with pytest.raises(ParameterError, match="copied"):
        SGD(copied=21).fit(make_walks())
    with pytest.raises(ParameterError, match="copied"):
        SGD(copied=-1)


def test_uniform_visits_every_place_equally_often(make_walks):
    drawn = Uniform().fit(make_walks(users=50)).synthesize(20, seed=1)
    counts = np.bincount(drawn.place_index, minlength=64)
    assert np.abs(counts - counts.mean()).max() < 6 * np.sqrt(counts.mean())


def test_training_gives_the_traces_themselves(checkins):
    model = Training().fit(checkins)
    once, twice = model.synthesize(), model.synthesize(2)
    assert np.array_equal(once.place_index, checkins.place_index)
    assert np.array_equal(once.instants, checkins.instants)
    first, second = twice.split_days(20)
    assert np.array_equal(first.place_index, checkins.place_index)
    assert np.array_equal(second.instants - 20 * 24, checkins.instants)


@pytest.mark.parametrize("synthesizer", [SGD, Uniform, Training])
def test_nothing_comes_from_an_untrained_synthesizer(synthesizer):
    with pytest.raises(DataError, match="not trained"):
        synthesizer().synthesize()
