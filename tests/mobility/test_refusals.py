"""Counts and profiles that cannot be made: the value and what is allowed are named."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.errors import DataError
from tracearena.mobility import AggregateMobility, MobilityProfiles, SparseTensor
from tracearena.traces import Clock, Places, Traces


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ((1, 0, 0), "users of a tensor of shape (1, 2, 3) must be from 0 to 0"),
        ((0, 2, 0), "i of a tensor of shape (1, 2, 3) must be from 0 to 1"),
        ((0, 0, -1), "j of a tensor of shape (1, 2, 3) must be from 0 to 2"),
    ],
)
def test_a_cell_outside_a_tensor_is_refused(cell: tuple[int, int, int], message: str) -> None:
    with pytest.raises(DataError) as refused:
        SparseTensor.from_cells((1, 2, 3), *(np.array([index]) for index in cell))
    assert message in str(refused.value)


def test_the_mobility_of_nobody_is_refused() -> None:
    places = Places([0, 1], [0, 0])
    nobody = Traces.from_dense(np.full((1, 2), -1), places, Clock(instants_per_day=2))
    with pytest.raises(DataError, match="needs at least one user with an event"):
        AggregateMobility.of(MobilityProfiles.of(nobody), places)
