"""Small populations whose risks are known beforehand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.cities import simulate
from tracearena.traces import Clock, Grid, Places, Traces

CLOCK = Clock(instants_per_day=24)


@pytest.fixture(scope="session")
def city() -> Traces:
    """Forty people of the city, six days."""
    return simulate(users=40, days=6, seed=1)


@pytest.fixture(scope="session")
def people_at() -> Callable[..., Traces]:
    """Make traces of a table of users × instants on a line of cells of one kilometre."""

    def make(table: object, cells: int = 40) -> Traces:
        grid = Grid(rows=1, columns=cells, south=0.0, west=0.0, north=0.009, east=0.009 * cells)
        return Traces.from_dense(np.asarray(table), Places.of_grid(grid), CLOCK)

    return make
