"""What published traces keep of visits and of time."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.metrics.services import spatial_allocation, time_allocation, time_divergence, visit_divergence
from tracearena.traces import Clock, Places, Traces

PLACES, CLOCK = Places(np.zeros(5), np.arange(5)), Clock(instants_per_day=4)


def traces(*rows):
    return Traces.from_dense(rows, PLACES, CLOCK)


def test_only_the_popularity_of_places_counts_not_which():
    assert visit_divergence(traces([0, 0, 1, 2]), traces([4, 4, 3, 2])) == 0
    assert visit_divergence(traces([0, 0, 0, 0]), traces([0, 1, 2, 3])) > 0


def test_shares_are_smoothed_and_descend():
    assert spatial_allocation(np.array([0, 3, 1])).tolist() == [4 / 7, 2 / 7, 1 / 7]
    assert spatial_allocation(np.array([0, 3, 1]), top=2).tolist() == [4 / 6, 2 / 6]


def test_the_number_of_traces_does_not_matter():
    one, many = traces([0, 0, 1, 2]), traces(*[[0, 0, 1, 2]] * 7)
    assert visit_divergence(one, many) == pytest.approx(0)
    assert time_divergence(one, many, 1) == pytest.approx(0)


def test_time_allocation_is_the_share_of_the_ranked_place():
    both = traces([0, 0, 0, 1], [2, 2, 2, 2])
    assert time_allocation(both, 1).tolist() == [0.75, 1]
    assert time_allocation(both, 2).tolist() == [0.25, 0]


def test_baselines_are_shares():
    real = traces([0, 0, 0, 1], [2, 2, 3, 3])
    assert time_divergence(real, np.array([0.75, 0.5]), 1) == pytest.approx(0)
    assert time_divergence(real, np.array([0.5, 0.5]), 1) > 0


def test_nothing_cannot_be_compared():
    empty = traces([-1] * 4)
    with pytest.raises(DataError):
        visit_divergence(traces([0] * 4), empty)
    with pytest.raises(DataError):
        time_divergence(traces([0] * 4), empty, 1)
