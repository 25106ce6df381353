"""Small public worlds, in which anybody may have any events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracearena.synthesis.private.roles import PublicFrame
from tracearena.traces import Clock, Grid, Places, Traces

Events = list[tuple[int, int]]
"""Instants and places of one person."""


@pytest.fixture(scope="session")
def frame() -> PublicFrame:
    grid = Grid(rows=3, columns=3, south=34.64, west=135.44, north=34.74, east=135.56)
    return PublicFrame(Places.of_grid(grid, km_per_degree=(111, 91)), Clock(instants_per_day=6))


@pytest.fixture(scope="session")
def people(frame: PublicFrame) -> Callable[[list[Events]], Traces]:
    """Traces of people by their events; one without events is a person too."""

    def make(lives: list[Events]) -> Traces:
        rows = [(number, *event) for number, events in enumerate(lives) for event in events]
        who, when, where = np.array(rows, np.int64).reshape(-1, 3).T
        return Traces.from_events(who, when, where, *frame, user_ids=np.arange(len(lives)), span=(0, 10**6))

    return make
